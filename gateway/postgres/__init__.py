"""PostgreSQL's protocol for BI tools and drivers.

Imports `gateway.sessions`, `gateway.authenticators` and the engine's statement values. Start at
`gateway/postgres/catalog/system_catalog.py` for the system catalog.
"""
