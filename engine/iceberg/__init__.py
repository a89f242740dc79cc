"""The Iceberg specification as a library: tables opened, read and committed without Spark, SQL text or the catalog.

Imports `engine.tables`, `engine.pruning`, `engine.storage`, and what these import. Start at `snapshot/snapshot.py` for
reading and `transaction/transaction.py` for writing; `spec/` has the metadata, `manifests/` what lists files,
`definition/` what changes a table's definition.
"""

from engine.iceberg.snapshot.snapshot import IcebergSnapshot, load_snapshot
from engine.iceberg.transaction.transaction import IcebergTransaction

__all__ = ["IcebergSnapshot", "IcebergTransaction", "load_snapshot"]
