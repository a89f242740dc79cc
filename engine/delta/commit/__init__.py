"""Transactions: staged actions, read sets, conflict detection, and the put that creates a version.

Imports `engine.delta.snapshot` and its imports. Start at `transaction.py`; `conflicts.py` has the rules for concurrent
commits.
"""
