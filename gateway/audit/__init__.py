"""The audit log: who did what from where, in lines that cannot be changed without a trace.

Imports `gateway.sessions` and `gateway.observability`. Start at `auditor.py` for the records and `trail.py` for the
file.
"""
