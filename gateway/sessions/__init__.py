"""Sessions and operations, their limits, and the admission of statements.

Every front end uses them; they know none. Imports the engine and `gateway.results`. Start at `session.py` and
`operation.py`; `registry.py` has all of them.
"""
