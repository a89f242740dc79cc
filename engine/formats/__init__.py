"""The interfaces for plans and writes that are specific to a table format.

Imports values of statements, plans and staged writes. Start at `planning.py`; `delta/` and `iceberg/` implement it.
"""
