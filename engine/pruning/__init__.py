"""File pruning: selects the files in a table, for any format, that may contain rows that satisfy a condition.

Imports `engine.types` and `engine.errors`. Start at `pruning.py`; `predicates.py` has the conditions.
"""
