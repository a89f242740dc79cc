"""Logs, metrics, traces, the history of statements, and the redaction of errors for clients.

Imports `gateway.sessions` and `engine.runtime`. Start at `server_metrics.py`, `tracing.py` and `log_format.py`.
"""
