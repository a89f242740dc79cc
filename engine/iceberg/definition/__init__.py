"""The definition of an Iceberg table: columns, partitioning, order and properties, and changes of them.

Imports `engine.iceberg.commit`, `manifests` and `engine.tables`. Start at `definition.py` and `changes.py`.
"""
