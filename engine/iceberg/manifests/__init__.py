"""Manifest lists and manifests: Avro files decoded into Arrow.

Imports `engine.iceberg.spec`. Start at `manifest.py` and `manifest_list.py`.
"""
