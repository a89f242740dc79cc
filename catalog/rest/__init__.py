"""Iceberg REST catalogs whose tables are served beside our own: their names, and their tables' metadata as JSON."""
