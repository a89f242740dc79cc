"""Iceberg table definitions: columns, partitioning, sort order and properties, and changes to them.

Imports `engine.iceberg.commit`, `manifests` and `engine.tables`. Start at `definition.py` and `changes.py`.
"""
