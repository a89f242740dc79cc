"""Rules for expressions of tables, conditions and assignments, which Spark's analyzer decides with us.

Imports `engine.planning.reads`, `engine.enforcement` and `engine.sql`. Start at `expression_checks.py` and
`conditions.py`.
"""
