"""Statements that run at once: cancellation, table locks, pinned versions, and the retry policy.

Imports `engine.errors` alone. Start at `retry.py`; `cancel.py` is what every long operation looks at.
"""
