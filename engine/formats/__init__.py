"""The interfaces to what formats of tables plan and write by themselves.

Imports values of statements, plans and staged writes. Start at `planning.py`; `delta/` and `iceberg/` implement it.
"""
