"""The Delta protocol as a library: opens, reads and commits tables without Spark, SQL text or the catalog.

Imports `engine.tables`, `engine.pruning`, `engine.storage` and their imports. Start at `snapshot/snapshot.py` for reads
and at `commit/transaction.py` for writes. `spec/` contains actions and table features, `log/` and `checkpoint/` read
the log's files, and `definition/` changes a table's definition.
"""

from engine.delta.commit.transaction import Transaction
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot

__all__ = ["FILES_SCHEMA", "TOMBSTONES_SCHEMA", "Snapshot", "Transaction", "load_snapshot"]
