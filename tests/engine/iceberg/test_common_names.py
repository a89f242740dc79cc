"""When files with and without field ids are read alike, by names."""

from __future__ import annotations

import pytest

from engine.iceberg.snapshot.footers import FileColumns, NamedField, common_names
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType

_LONG = SimpleType(Kind.LONG)
SCHEMA = IcebergSchema(
    schema_id=0,
    struct=StructOfType(
        (
            IcebergField(id=1, name="id", type=_LONG, required=False),
            IcebergField(
                id=2,
                name="s",
                type=StructOfType((IcebergField(id=3, name="x", type=_LONG, required=False),)),
                required=False,
            ),
        )
    ),
)
ALL: tuple[NamedField, ...] = ((0, "id", 1), (0, "s", 2), (2, "x", 3))
CASES: list[tuple[str, tuple[NamedField, ...], dict[int, str] | None]] = [
    ("the same", ALL, {1: "id", 2: "s", 3: "x"}),
    ("fewer", ((0, "s", 2),), {1: "id", 2: "s", 3: "x"}),
    ("others besides", ((0, "y", None), (0, "z", 9), (-1, "x", None)), {1: "id", 2: "s", 3: "x"}),
    ("another name", ((0, "was", 1),), None),
    ("another name below", ((0, "s", 2), (2, "was", 3)), None),
    ("a name of another column", ((0, "id", 9),), None),
    ("a name of no column", ((0, "id", None),), None),
    ("a name in another case", ((0, "ID", 9),), None),
    ("a spelling", ((0, "ID", 1),), None),
    ("the name elsewhere", ((0, "x", 9),), {1: "id", 2: "s", 3: "x"}),
]


@pytest.mark.parametrize(("other", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_names_that_tell_columns(other: tuple[NamedField, ...], expected: dict[int, str] | None) -> None:
    files = [FileColumns(frozenset(), None, fields=fields) for fields in (ALL, other)]
    assert common_names(files, SCHEMA) == expected
