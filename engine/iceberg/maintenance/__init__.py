"""Iceberg table maintenance: snapshot expiration and orphan files.

Imports `engine.iceberg.snapshot` and `commit`. Start at `retention.py` and `orphan_files.py`.
"""
