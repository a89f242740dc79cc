"""Creates tables by transactions, to test the results of commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.definition.table_config import choose_protocol
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Add, Metadata
from engine.storage.storage import Storage
from engine.tables.operations import CommitDescription, TableOperation
from engine.types.schema import PrimitiveType, StructField, StructType

SCHEMA = StructType(
    (
        StructField("id", PrimitiveType.LONG),
        StructField("name", PrimitiveType.STRING),
        StructField("day", PrimitiveType.DATE),
    )
)
NOW_MS = 1_790_000_000_000
STATS = '{"numRecords":3,"minValues":{"id":1,"name":"a"},"maxValues":{"id":9,"name":"z"},"nullCount":{"id":0,"name":1}}'


def describe(operation: TableOperation = TableOperation.APPEND, name: str = "WRITE", **more: Any) -> CommitDescription:
    return CommitDescription(name=name, operation=operation, **more)


def metadata(
    schema: StructType = SCHEMA,
    partition_columns: tuple[str, ...] = ("day",),
    configuration: Mapping[str, str | None] | None = None,
) -> Metadata:
    return Metadata(
        id="5c2d4f6e-0000-4000-8000-000000000001",
        schema_string=schema.to_json(),
        partition_columns=partition_columns,
        configuration=dict(configuration or {}),
        created_time=NOW_MS,
    )


def create(storage: Storage, table: Metadata | None = None, features: frozenset[str] = frozenset()) -> Committed:
    table = table or metadata()
    transaction = Transaction.create(storage, describe(TableOperation.METADATA, "CREATE TABLE"))
    transaction.stage(choose_protocol("t", None, table, features), table)
    return transaction.commit()


def add(path: str, **fields: Any) -> Add:
    defaults: dict[str, Any] = {
        "path": path,
        "partition_values": {"day": "2026-01-31"},
        "size": 100,
        "modification_time": NOW_MS,
        "stats": STATS,
    }
    return Add(**{**defaults, **fields})


def append(storage: Storage, *paths: str, **fields: Any) -> Committed:
    transaction = Transaction.on(Snapshot.load(storage), describe())
    transaction.stage(*(add(path, **fields) for path in paths))
    return transaction.commit()


def change_metadata(storage: Storage, configuration: Mapping[str, str], clock: Any = None) -> Committed:
    """Sets properties, with whatever protocol they need."""
    snapshot = Snapshot.load(storage)
    changed = metadata(configuration=dict(snapshot.metadata.configuration) | dict(configuration))
    options = {"clock": clock} if clock else {}
    transaction = Transaction.on(snapshot, describe(TableOperation.METADATA, "SET TBLPROPERTIES"), **options)
    transaction.stage(changed, choose_protocol("t", snapshot.protocol, changed))
    return transaction.commit()
