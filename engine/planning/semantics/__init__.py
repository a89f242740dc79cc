"""Rules for stored expressions, conditions and assignments, which are checked together with Spark's analyzer.

Imports `engine.planning.reads`, `engine.enforcement` and `engine.sql`. Start at `expression_checks.py` and
`conditions.py`.
"""
