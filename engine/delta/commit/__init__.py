"""Transactions: staged actions, read sets, conflicts, and the put that makes a version.

Imports `engine.delta.snapshot` and what that may import. Start at `transaction.py`; `conflicts.py` has the rules for
concurrent commits.
"""
