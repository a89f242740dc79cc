"""Spark's SQL for sqlglot: tokens, allowed functions, and a cursor for statements with a short grammar.

Imports `engine.types` and `engine.errors`. Start at `dialect.py` and `cursor.py`.
"""
