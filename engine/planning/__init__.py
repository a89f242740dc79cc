"""Plan: what to read or write, decided from pinned snapshots without touching data.

Holds what families of statements share; what serves one family is its own `planning.py`. Imports `engine.binding`,
`engine.enforcement` and `engine.tables`. Start at `plans/plan.py` for the values and `reads/read_plan.py` for queries.
"""
