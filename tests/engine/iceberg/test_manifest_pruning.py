"""Manifest pruning by the manifest list's partition summaries and row counts."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.manifests import decoding
from engine.iceberg.snapshot import live_files
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.partitions import parse_transform
from engine.iceberg.spec.single_values import to_bytes
from engine.iceberg.spec.transforms import apply
from engine.iceberg.spec.types import Kind, SimpleType, parse_type
from engine.pruning.predicates import ALWAYS, Column, Compare, IsNotNull, IsNull, Literal, Operator, Or, Predicate
from engine.storage.storage import open_storage
from engine.types.schema import PrimitiveType
from tests.engine.iceberg.handmade import HandmadeTable

DAY_US = 86_400_000_000
NAN = float("nan")
AVRO = {"int": "int", "long": "long", "string": "bytes", "double": "double", "date": "int", "timestamptz": "long"}


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns manifest names in decoding order."""
    names: list[str] = []
    decode_all = decoding.decode_all

    def counted(files: Iterable[tuple[str, bytes]]) -> Iterator[pa.Table]:
        found = list(files)
        names.extend(name.rpartition("/")[2] for name, _ in found)
        return decode_all(found)

    monkeypatch.setattr(live_files, "decode_all", counted)
    return names


def load(folder: Path) -> IcebergSnapshot:
    return IcebergFormat(open_storage, 1 << 26).load(str(folder))


def add_manifest(table: HandmadeTable, transform: str, type_: SimpleType, values: list[Any], **listed: Any) -> None:
    """Adds a manifest with a file for each value, and its summary in the manifest list."""
    kind = parse_transform(transform)
    numbers = [None if value is None else apply(kind, type_, value) for value in values]
    source = type_ if transform.startswith(("identity", "truncate")) else SimpleType(Kind.INT)
    files = [
        {
            "content": 0,
            "file_path": f"{table.location}/data/{len(table.listed)}-{at}.parquet",
            "file_format": "PARQUET",
            "record_count": 10,
            "file_size_in_bytes": 100,
            "partition": {"p": number},
        }
        for at, number in enumerate(numbers)
    ]
    known = [number for number in numbers if number is not None and number == number]
    summary = {
        "contains_null": None in numbers,
        "contains_nan": any(number is not None and number != number for number in numbers),
        "lower_bound": to_bytes(source, min(known)) if known else None,
        "upper_bound": to_bytes(source, max(known)) if known else None,
    }
    entry = table.manifest(files, 0, len(table.listed) + 1, 1001, 0)
    table.listed.append({**entry, "partitions": [summary], **listed})


def partitioned(folder: Path, transform: str, type_name: str, manifests: list[list[Any]]) -> HandmadeTable:
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": transform}]}
    type_ = parse_type(type_name, "")
    kind = (
        "int" if transform in ("day", "month", "year") or "bucket" in transform else AVRO[type_name.partition("(")[0]]
    )
    column = {"id": 1, "name": "c", "required": False, "type": type_name}
    table = HandmadeTable(folder / "t", columns=[column], specs=[spec], partition=[(1000, "p", kind)])
    for values in manifests:
        add_manifest(table, transform, type_, values)
    table.commit()
    return table


OPERATORS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_OR_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_OR_EQUAL: ge,
}
LONG, STRING, DATE = PrimitiveType.LONG, PrimitiveType.STRING, PrimitiveType.DATE
DOUBLE, TIMESTAMP = PrimitiveType.DOUBLE, PrimitiveType.TIMESTAMP
TABLES: list[tuple[str, str, Any, list[list[Any]]]] = [
    ("identity", "long", LONG, [[1, 5], [5, 9], [None, 20], [None], [30]]),
    ("truncate[10]", "long", LONG, [[1, 25], [-5], [None, 31], [2**62]]),
    ("truncate[10]", "long", LONG, [[-(2**63), 25], [-5, 2**63 - 9], [None, 31], [5]]),
    ("truncate[10]", "int", PrimitiveType.INTEGER, [[-(2**31), 25], [-5], [2**31 - 20], [2**31 - 9]]),
    ("bucket[4]", "long", LONG, [[0], [1], [2], [5], [None], [7, 8]]),
    ("bucket[16]", "string", STRING, [[b""], [b"iceberg"], [b"x", b"y"], [None]]),
    ("identity", "string", STRING, [[b"a", b"m"], [b"", None], [b"zz"], ["é".encode()]]),
    ("truncate[1]", "string", STRING, [[b"ab"], [b"b", b"c"], [None], [b"z" * 40]]),
    ("identity", "double", DOUBLE, [[1.0, 2.0], [NAN], [NAN, 5.0], [-0.0], [float("inf")], [None]]),
    ("identity", "date", DATE, [[-1], [0, 3], [None]]),
    ("month", "date", DATE, [[-1], [0, 31], [59], [None]]),
    ("day", "timestamptz", TIMESTAMP, [[-1], [0], [DAY_US - 1, DAY_US], [None], [9 * DAY_US]]),
    ("year", "timestamptz", TIMESTAMP, [[-1], [0, 400 * DAY_US], [900 * DAY_US], [None]]),
]


@pytest.mark.parametrize(("transform", "type_name", "sql_type", "manifests"), TABLES)
def test_pruned_manifests_have_no_matching_row(
    tmp_path: Path, transform: str, type_name: str, sql_type: Any, manifests: list[list[Any]]
) -> None:
    """Files with one value each that satisfy a condition remain."""
    table = partitioned(tmp_path, transform, type_name, manifests)
    whole = load(table.folder)
    paths = whole.files["path"].to_pylist()
    in_files = [value for each in manifests for value in each]
    values = sorted({value for value in in_files if value is not None and value == value})
    near = [value + step for value in values for step in (0, 1)] if sql_type is not STRING else [*values, b"n"]
    near += [NAN] if sql_type is DOUBLE else []
    narrowed = 0
    for given, (operator, holds) in product(near, OPERATORS.items()):
        literal = Literal(given.decode() if isinstance(given, bytes) else given, sql_type)
        matching = {
            path
            for path, value in zip(paths, in_files, strict=True)
            if value is not None and holds(ordered(value), ordered(given))
        }
        found = replace(whole).narrow(Compare(operator, Column(("c",)), literal))
        assert matching <= set(found.files["path"].to_pylist()), (operator, given)
        narrowed += found.num_files < len(paths)
    assert narrowed, "no condition leaves a manifest out"
    nulls = {path for path, value in zip(paths, in_files, strict=True) if value is None}
    assert nulls <= set(replace(whole).narrow(IsNull(Column(("c",)))).files["path"].to_pylist())
    assert replace(whole).narrow(IsNotNull(Column(("c",)))).num_files == len(paths)


def ordered(value: Any) -> Any:
    """NaN is greater than every number."""
    return (1, 0) if value != value else (0, value)


def equal(value: int) -> Predicate:
    return Compare(Operator.EQUAL, Column(("c",)), Literal(value, LONG))


TEN = [[each] for each in range(10)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (equal(3), [3]),
        (Or((equal(3), equal(7))), [3, 7]),
        (equal(99), []),
        (Compare(Operator.GREATER, Column(("c",)), Literal(2, LONG)), range(10)),  # more than half: all remain
        (ALWAYS, range(10)),
    ],
)
def test_manifests_are_decoded_if_they_are_needed(
    tmp_path: Path, decoded: list[str], condition: Predicate, expected: list[int]
) -> None:
    table = partitioned(tmp_path, "identity", "long", TEN)
    snapshot = load(table.folder)
    found = snapshot.narrow(condition)
    found.scan("t", "t")
    assert decoded == [table.listed[at]["manifest_path"].rpartition("/")[2] for at in expected]
    assert found.num_files + found.left_out[0] == 10
    assert (found.stamp != snapshot.stamp) == (len(decoded) < 10)
    assert found.narrow(equal(99)) is found, "its files are known"


def test_deletes_are_always_read(tmp_path: Path, decoded: list[str]) -> None:
    table = partitioned(tmp_path, "identity", "long", TEN)
    deletes = table.positions([f"{table.location}/data/3-0.parquet"], [1], partition={"p": 3})
    table.listed.append(table.manifest([deletes], 1, 99, 1002, 0))
    table.commit()
    snapshot = load(table.folder)
    assert snapshot.narrow(ALWAYS) is snapshot
    found = snapshot.narrow(equal(3))
    cardinalities = [vector["cardinality"] for vector in found.files["deletion_vector"].to_pylist()]
    assert (len(decoded), cardinalities) == (2, [1])


@pytest.mark.parametrize(
    "listed",
    [
        {"partitions": None},
        {"partitions": []},
        {"partitions": [{"contains_null": False, "contains_nan": None, "lower_bound": b"\1", "upper_bound": b""}]},
        {"partition_spec_id": 7},
    ],
    ids=["none", "empty", "no numbers", "unknown spec"],
)
def test_manifest_list_without_bounds_prunes_nothing(tmp_path: Path, listed: dict[str, Any]) -> None:
    table = partitioned(tmp_path, "identity", "long", TEN)
    add_manifest(table, "identity", parse_type("long", ""), [99], **listed)
    table.commit()
    needed = load(table.folder).narrow(equal(3)).needed if "partition_spec_id" not in listed else None
    manifests = [needed] if needed is None else [each.path for each in needed]
    expected = [table.listed[at]["manifest_path"] for at in (3, 10)]
    assert manifests == ([None] if needed is None else expected)


def test_bounds_of_promoted_columns(tmp_path: Path) -> None:
    """They are as narrow as the column was."""
    table = partitioned(tmp_path, "identity", "long", TEN)
    summary = {"contains_null": False, "contains_nan": None, "lower_bound": None, "upper_bound": None}
    for at, each in enumerate(table.listed):
        each["partitions"] = [{**summary, "lower_bound": struct.pack("<i", at), "upper_bound": struct.pack("<i", at)}]
    table.commit()
    found = load(table.folder).narrow(equal(4))
    assert found.files["path"].to_pylist() == ["data/4-0.parquet"]
