"""Manifest lists and manifests: Avro files decoded into Arrow."""
