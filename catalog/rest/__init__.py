"""Iceberg REST catalogs whose tables are served together with our own: names, and tables' metadata as JSON.

Imports values of the catalog, `catalog.discovery.roots` and `catalog.store`. Start at `names.py`, which answers names
of one such catalog, and `client.py` for the requests.
"""
