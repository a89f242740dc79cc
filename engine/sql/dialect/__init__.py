"""Spark's SQL for sqlglot: tokens, what is allowed, and a cursor for statements that are a few words.

Imports `engine.types` and `engine.errors`. Start at `dialect.py` and `cursor.py`.
"""
