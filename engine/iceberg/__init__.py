"""The Iceberg specification as a library: opens, reads and commits tables without Spark, SQL text or the catalog.

Imports `engine.tables`, `engine.pruning`, `engine.storage`, and their imports. Start at `snapshot/snapshot.py` for
reading and `transaction/transaction.py` for writing; `spec/` has the metadata, `manifests/` the lists with files,
`definition/` the changes to a table's definition.
"""

from engine.iceberg.snapshot.snapshot import IcebergSnapshot, load_snapshot
from engine.iceberg.transaction.transaction import IcebergTransaction

__all__ = ["IcebergSnapshot", "IcebergTransaction", "load_snapshot"]
