"""Concurrent statements: cancellation, table locks, pinned versions, and the retry policy.

Imports `engine.errors` only. Start at `retry.py`; every long operation checks the token in `cancel.py`.
"""
