"""Data types of columns, the same for every table format: as values, as JSON, as Arrow and as SQL text.

Imports `engine.errors` alone. Start at `schema.py`.
"""
