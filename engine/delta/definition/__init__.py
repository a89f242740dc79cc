"""Table definitions: protocol, metadata and properties combined, and changes to them.

Imports `engine.delta.schema`, `spec` and the definition changes in `engine.tables`. Start at `table_config.py` for
reading and at `metadata_changes.py` for applying changes.
"""
