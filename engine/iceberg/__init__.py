"""Iceberg tables: what their metadata and manifests say, as one of the formats of `engine.tables`."""
