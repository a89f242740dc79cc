"""Queries: where a text names tables, and how other names are put there.

Imports `engine.sql.dialect` and values of `engine.tables`. Start at `query.py`; `values.py` has the results,
`scopes.py` the walk.
"""
