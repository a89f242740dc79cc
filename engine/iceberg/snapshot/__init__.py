"""An Iceberg table's snapshot: its files, its deletes, and the scans that read its rows.

Imports `engine.iceberg.manifests`, `definition`, `partitions` and `writing`. Start at `snapshot.py`; `scans.py` builds
scans, `live_files.py` reads manifests.
"""
