"""Execution for INSERT, DELETE, UPDATE, MERGE and TRUNCATE.

Imports `engine.execution.writes`. Start at `insert.py` and `update.py`, which show both strategies for changed rows.
"""
