"""Files that a commit writes besides metadata: manifests, manifest lists, deletes.

Imports `engine.iceberg.manifests` and `engine.tables`. Start at `staged_manifests.py`.
"""
