"""File pruning: which files of a table may hold rows that satisfy a condition, whatever its format.

Imports `engine.types` and `engine.errors`. Start at `pruning.py`; `predicates.py` has the conditions.
"""
