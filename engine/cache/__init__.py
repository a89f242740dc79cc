"""The result cache: answers of queries that are reused by later statements.

Imports `engine.runtime` and `engine.spool`. Start at `result_cache.py`.
"""
