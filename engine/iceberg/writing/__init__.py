"""What a commit to an Iceberg table writes beside its metadata: manifests, their lists, metrics, and deletes."""
