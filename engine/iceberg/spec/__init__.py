"""Values of the Iceberg specification: table metadata, schemas, partition specs and transforms.

Imports `engine.errors` alone. Start at `metadata.py`.
"""
