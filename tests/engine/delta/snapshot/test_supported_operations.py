"""Type changes of older files: reading requires that all are readable, other operations do not."""

from __future__ import annotations

import pytest

from catalog.conditions import UnsupportedTypeChange
from engine.delta.snapshot.snapshot import Snapshot
from engine.tables.operations import TableOperation
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.delta.committing import create, metadata
from tests.interleave.storages import DictStorage


@pytest.mark.parametrize(
    ("old", "operation", "is_rejected"),
    [
        ("integer", TableOperation.READ, False),
        ("string", TableOperation.READ, True),
        ("string", TableOperation.METADATA, False),
        ("string", TableOperation.APPEND, False),
    ],
)
def test_reading_is_rejected_after_an_unreadable_type_change(
    old: str, operation: TableOperation, is_rejected: bool
) -> None:
    changes = {"delta.typeChanges": [{"fromType": old, "toType": "long"}]}
    schema = StructType((StructField("id", PrimitiveType.LONG, True, changes),))
    storage = DictStorage()
    create(storage, metadata(schema, ()), frozenset({"typeWidening"}))
    snapshot = Snapshot.load(storage)
    if not is_rejected:
        snapshot.ensure_supported(operation)
        return
    with pytest.raises(UnsupportedTypeChange, match="id"):
        snapshot.ensure_supported(operation)
