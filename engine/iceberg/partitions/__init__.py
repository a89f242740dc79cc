"""Data files' partition tuples: as text, as one struct, and in SHOW PARTITIONS.

Imports `engine.iceberg.definition` and `manifests`. Start at `partition_values.py`.
"""
