"""Sessions and operations, their limits, and the admission of statements.

Every front end uses this package; it does not depend on any. Imports the engine and `gateway.results`. Start at
`session.py` and `operation.py`; `gateway/registry.py` contains all sessions.
"""
