"""Queries: the positions of table names in a text, and their replacement.

Imports `engine.sql.dialect` and values of `engine.tables`. Start at `query.py`; `values.py` has the results,
`scopes.py` the tree walk.
"""
