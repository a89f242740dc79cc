"""The planning stage: decides from pinned snapshots which files to read or write, without touching data.

Holds code that statement families share; each family has its own `planning.py`. Imports `engine.binding` and
`engine.tables`. Start at `plans/plan.py` for the values and `reads/read_plan.py` for queries.
"""
