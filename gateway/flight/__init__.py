"""Arrow Flight SQL over gRPC: ADBC's and JDBC's clients of Arrow, as sessions and operations of this server.

`server.py` is the port, `service.py` has the calls by their messages (`messages.py`). A statement becomes an operation
of a session (`client_sessions.py`), whose result is read by tickets (`results.py`); metadata commands are statement
values of the engine (`metadata.py`), and `ingest.py` writes the rows that a client sends.

The only importer of `pyarrow.flight`; messages require the extra `flight`. It is imported by name if the port is open.
Imports `gateway.sessions`, `gateway.authenticators`, and the engine's statement values. Start at `service.py`.
"""
