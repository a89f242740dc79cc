"""Column data types for all table formats: as values, as JSON, as Arrow and as SQL text.

Imports `engine.errors` only. Start at `schema.py`.
"""
