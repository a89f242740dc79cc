"""The definition of a table: protocol, metadata and properties joined, and the changes of them.

Imports `engine.delta.schema`, `spec` and the changes of `engine.tables`. Start at `table_config.py` for reading and
`metadata_changes.py` for the fold of changes.
"""
