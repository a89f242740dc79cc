"""The system catalog of PostgreSQL over the objects that a principal may see.

Imports the engine's listings and `engine.sql.postgres`, and DuckDB, which the extra `postgres` requires. Start at
`system_catalog.py`.
"""
