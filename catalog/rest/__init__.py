"""Iceberg REST catalogs whose tables are served together with our own: names, and table metadata as JSON.

Imports catalog values, `catalog.roots` and `catalog.store`. Start at `names.py`, which resolves names in one
REST catalog, and `client.py` for the requests.
"""
