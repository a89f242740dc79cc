"""A folder of Parquet files as a table: its files, their schema, and the partition values of its folders.

Imports `engine.delta.commit` and what that may import. Start at `converted_files.py`.
"""
