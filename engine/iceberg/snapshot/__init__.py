"""One snapshot of an Iceberg table: its files, its deletes, and the scans that read its rows.

Imports `engine.iceberg.manifests`, `definition`, `partitions` and `writing`. Start at `snapshot.py`; `scans.py` makes
scans, `live_files.py` reads manifests.
"""
