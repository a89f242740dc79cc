"""The result cache: query results that later statements reuse.

Imports `engine.runtime` and `engine.spool`. Start at `result_cache.py`.
"""
