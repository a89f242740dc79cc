"""Partition tuples of data files: as text, as one struct, and as SHOW PARTITIONS prints them.

Imports `engine.iceberg.definition` and `manifests`. Start at `partition_values.py`.
"""
