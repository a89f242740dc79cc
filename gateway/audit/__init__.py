"""The audit log: tamper-evident records with each user's actions and origin.

Imports `gateway.sessions` and `gateway.observability`. Start at `auditor.py` for the records and `audit_log.py` for the
file.
"""
