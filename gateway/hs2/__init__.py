"""The HiveServer2 front end over Thrift: IDL, generated stubs, service, SASL, transports and row-set encoding.

The only importer of thrift. Imports `gateway.sessions`, `gateway.results` and `gateway.authenticators`. Start at
`service.py` for the calls and `server.py` for connections.
"""
