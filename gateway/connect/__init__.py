"""Spark Connect over gRPC: PySpark's remote sessions, as sessions and operations of this server.

`server.py` is the port, `service.py` has the RPCs. A client's plan becomes a statement of the pipeline: SQL text, or a
protobuf relation of which each named relation is an input with its own SQL text (`plans.py`, `inputs.py`). Commands
become the SQL statements with the same meaning (`commands.py`, `catalog_calls.py`). `executions.py` sends an
operation's result as responses that a client can read again after its stream was cut.

The only importer of grpcio and of `pyspark.sql.connect.proto`, which require the extra `connect`; it is imported by
name if the port is open. Imports `gateway.sessions`, `gateway.authenticators`, and the engine's statement values. Start
at `service.py` for the calls and `server.py` for the port.
"""
