"""The Iceberg specification's values: table metadata, schemas, partition specs and transforms.

Imports `engine.errors` alone. Start at `metadata.py`.
"""
