"""CONVERT TO DELTA: a directory with Parquet files as a table, with its files, their schema, and partition values from
directory names.

Imports `engine.delta.commit` and its imports. Start at `converted_files.py`.
"""
