"""The Delta protocol as a library: tables opened, read and committed without Spark, SQL text or the catalog.

Imports `engine.tables`, `engine.pruning`, `engine.storage`, and what these import. Start at `snapshot/snapshot.py` for
reading and `commit/transaction.py` for writing; `spec/` has actions and table features, `log/` and `checkpoint/` the
files of the log, `definition/` what changes a table's definition.
"""

from engine.delta.commit.transaction import Transaction
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot

__all__ = ["FILES_SCHEMA", "TOMBSTONES_SCHEMA", "Snapshot", "Transaction", "load_snapshot"]
