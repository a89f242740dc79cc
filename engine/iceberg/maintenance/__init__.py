"""Upkeep of Iceberg tables: snapshots that expire, files that nothing needs.

Imports `engine.iceberg.snapshot` and `commit`. Start at `retention.py` and `orphan_files.py`.
"""
