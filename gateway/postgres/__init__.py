"""PostgreSQL's protocol 3: its clients' connections, as sessions and operations of this server.

`server.py` is the port, `startup.py` the beginning of a connection, `connection.py` its messages. A statement of the
protocol (SET, BEGIN, DECLARE CURSOR, COPY) is answered by the front end; any other becomes one statement of the
pipeline, with the session's rights and limits. `types.py` has the types, `encode.py` makes rows of Arrow batches,
`parameters.py` values of a client's parameters. Queries of the system catalog are answered in `catalog/`.

Imports `gateway.sessions`, `gateway.authenticators`, and the engine's values. Start at `connection.py` for the messages
and `server.py` for the port.
"""
