"""Front ends: bytes of wire protocols, sessions, authentication, audit, metrics.

Knows no SQL and no Delta; front ends share the engine and the sessions alone. Imports the engine and the catalog. Start
at `server.py`, which puts the parts together, and `sessions/`.
"""
