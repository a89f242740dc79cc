"""Files that a commit to an Iceberg table writes besides its metadata: manifests, their lists, deletes.

Imports `engine.iceberg.manifests` and `engine.tables`. Start at `staged_manifests.py`.
"""
