"""PostgreSQL's SQL: its reader, queries of the system catalog, and the translation to Spark's SQL.

Imports `engine.sql.dialect`, `engine.sql.query` and the catalog's conditions. Start at `reader.py` for the tree,
`catalog_query.py` for queries of `pg_catalog`, and `translate.py` for queries of tables.
"""
