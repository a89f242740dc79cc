"""The HTTP front end: the statement API, the console, health checks, and Thrift over HTTP.

The only importer of flask. Imports `gateway.sessions`, `gateway.results` and `gateway.authenticators`. Start at
`app.py` for the routes and `statements.py` for the API.
"""
