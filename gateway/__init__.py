"""Front ends: wire protocols, sessions, authentication, audit log, metrics.

Does not depend on SQL or Delta; front ends share only the engine and the sessions. Imports the engine and the catalog.
Start at `server.py`, which composes the parts, and `registry.py`, which has all sessions.
"""
