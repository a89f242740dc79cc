"""Schema compatibility: schemas that can read each other's files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.delta.definition.table_config import DeltaConfig
from engine.delta.feed.change_feed import is_readable_with
from engine.delta.spec.actions import Metadata, Protocol

_MAPPED = Protocol(min_reader_version=2, min_writer_version=5)


def field(name: str, data_type: Any = "long", physical: str | None = None, number: int = 1) -> dict[str, Any]:
    keys = {} if physical is None else {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": data_type, "nullable": True, "metadata": keys}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def config(*fields: dict[str, Any], mode: str = "none", partitions: tuple[str, ...] = ()) -> DeltaConfig:
    metadata = Metadata(
        id="t",
        schema_string=json.dumps(struct(*fields)),
        partition_columns=partitions,
        configuration={"delta.columnMapping.mode": mode},
    )
    return DeltaConfig.of("t", _MAPPED, metadata)


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


A, B = field("a"), field("b")
INNER = struct(A, B)
CASES = (
    ("the same", config(A), config(A), True),
    ("a column was added", config(A), config(B, A), True),
    ("a column was dropped", config(A, B), config(A), False),
    ("a column was renamed", config(A), config(B), False),
    ("a column has another case", config(A), config(field("A")), False),
    ("a column was widened", config(field("a", "integer")), config(A), True),
    ("a column was narrowed", config(A), config(field("a", "integer")), False),
    ("a column became a struct", config(A), config(field("a", INNER)), False),
    ("a struct became a column", config(field("a", INNER)), config(A), False),
    ("a field was added", config(field("s", struct(A))), config(field("s", INNER)), True),
    ("a field was dropped", config(field("s", INNER)), config(field("s", struct(B))), False),
    ("an element was widened", config(field("s", array("integer"))), config(field("s", array("long"))), True),
    ("an element lost a field", config(field("s", array(INNER))), config(field("s", array(struct(A)))), False),
    (
        "a key changed",
        config(field("m", mapping("string", "long"))),
        config(field("m", mapping("long", "long"))),
        False,
    ),
    (
        "a value was widened",
        config(field("m", mapping("long", "byte"))),
        config(field("m", mapping("long", "long"))),
        True,
    ),
    ("other partitions", config(A, B, partitions=("a",)), config(A, B, partitions=("b",)), False),
    ("no partitions any more", config(A, B, partitions=("a",)), config(A, B), False),
    ("mapping was switched on", config(A), config(field("a", physical="a"), mode="name"), True),
    ("renamed since mapping", config(A), config(field("b", physical="a"), mode="name"), False),
    ("dropped and added again", config(A), config(field("a", physical="x"), mode="name"), False),
    (
        "renamed under mapping",
        config(field("a", physical="x"), mode="name"),
        config(field("b", physical="x"), mode="name"),
        False,
    ),
    (
        "added again under mapping",
        config(field("a", physical="x"), mode="name"),
        config(field("a", physical="y"), mode="name"),
        False,
    ),
    (
        "another id",
        config(field("a", physical="x", number=1), mode="id"),
        config(field("a", physical="x", number=2), mode="id"),
        False,
    ),
    ("mapping was switched off", config(field("a", physical="x"), mode="name"), config(A), False),
)


@pytest.mark.parametrize(("old", "new", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_files_read_under_a_later_schema(old: DeltaConfig, new: DeltaConfig, expected: bool) -> None:
    assert is_readable_with(old, new) is expected
