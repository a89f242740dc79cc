"""`readable_metrics` compared with pyiceberg's, and other metadata table values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.single_values import to_bytes
from engine.iceberg.spec.types import Kind, SimpleType
from engine.storage.storage import open_storage
from engine.tables.snapshot import MetadataTable
from tests.engine.iceberg.handmade import HandmadeTable, pairs

_UTC = dt.UTC
COLUMNS: dict[str, Any] = {
    "id": pa.array([1, -2]),
    "f": pa.array([1.1, float("nan")], pa.float32()),
    "g": pa.array([float("-inf"), 0.0]),
    "c": pa.array([Decimal("-1.25"), Decimal("300.00")], pa.decimal128(9, 2)),
    "s": pa.array(["a" * 30, "é"]),
    "x": pa.array([b"\0\1", b"\xfe"]),
    "d": pa.array([dt.date(1960, 1, 1), None]),
    "t": pa.array([dt.datetime(1960, 1, 1, 1, 1, 1, 5, _UTC), None], pa.timestamp("us", "UTC")),
    "n": pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("us")),
    "b": pa.array([True, False]),
    "tm": pa.array([dt.time(5), dt.time(22, 1, 2, 30)], pa.time64("us")),
    "all null": pa.nulls(2, pa.int32()),
}
NESTED: dict[str, Any] = {
    "st": pa.array(
        [{"a": 1, "q": {"z": "é"}}, None], pa.struct([("a", pa.int32()), ("q", pa.struct([("z", "string")]))])
    ),
    "l": pa.array([[1, 2], None]),
    "m": pa.array([[("k", 1.5)], []], pa.map_(pa.string(), pa.float64())),
}


def _table(folder: Path, name: str) -> MetadataTable:
    found = IcebergFormat(open_storage, 1 << 24).load(str(folder))
    assert isinstance(found, IcebergSnapshot)
    table = found.metadata_table(name)
    assert table is not None
    return table


def _comparable(value: Any) -> Any:
    """Returns a pyiceberg value in Spark's JSON form."""
    match value:
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
        case dt.date() | dt.time():
            text = value.isoformat()
            return text.rstrip("0") if "." in text else text
        case Decimal():
            return str(value)
        case bytes():
            return {b"\0\1": "AAE=", b"\xfe": "/g=="}[value]
        case float() if value == float("-inf"):
            return "-Infinity"
        case _:
            return value


def test_the_same_as_pyiceberg(tmp_path: Path) -> None:
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("d")
    rows = pa.table({**COLUMNS, **NESTED})
    table = catalog.create_table("d.t", rows.schema)
    table.append(rows)
    folder = Path(table.location().removeprefix("file://"))
    (theirs,) = table.inspect.files()["readable_metrics"].to_pylist()
    for name in ("files", "data_files", "all_files", "entries", "all_entries"):
        ours = _table(folder, name)
        (found,) = (row["readable_metrics"] for row in ours.rows)
        assert [field.name for field in ours.schema.fields][-1] == "readable_metrics"
        for column in COLUMNS:
            assert found[column] == {key: _comparable(value) for key, value in theirs[column].items()}
        assert list(found) == sorted({*COLUMNS, "st.a", "st.q.z", "l.element", "m.key", "m.value"})
        assert found["l.element"]["value_count"] == 3


def test_bounds_of_other_widths(tmp_path: Path) -> None:
    """Bounds in widened columns, and bytes that are not a value."""
    columns = [
        {"id": 1, "name": "l", "required": False, "type": "long"},
        {"id": 2, "name": "d", "required": False, "type": "double"},
        {"id": 3, "name": "s", "required": False, "type": "string"},
        {"id": 4, "name": "u", "required": False, "type": "uuid"},
    ]
    table = HandmadeTable(tmp_path / "t", columns=columns)
    low = {1: b"\xfe\xff\xff\xff", 2: b"\0\0\xc0\x3f", 3: b"\xff", 4: bytes(16)}
    high = {1: b"\1", 2: b"\0" * 8, 3: b"z", 4: b"\1"}
    table.commit(table.data({"l": [1]}, lower_bounds=pairs(low), upper_bounds=pairs(high)))
    (row,) = _table(table.folder, "files").rows
    bounds = {name: (each["lower_bound"], each["upper_bound"]) for name, each in dict(row["readable_metrics"]).items()}
    assert bounds == {
        "l": (-2, None),
        "d": (1.5, 0.0),
        "s": (None, "z"),
        "u": ("00000000-0000-0000-0000-000000000000", None),
    }


@pytest.mark.parametrize(
    ("transform", "kind", "value", "text"),
    [
        ("year", Kind.TIMESTAMP, 54, "2024"),
        ("month", Kind.DATE, -1, "1969-12"),
        ("hour", Kind.TIMESTAMPTZ, -14, "1969-12-31-10"),
        ("day", Kind.DATE, 0, "1970-01-01"),
        ("identity", Kind.DOUBLE, 1.5, "1.5"),
        ("identity", Kind.BOOLEAN, True, "true"),
        ("identity", Kind.TIME, 18_000_500_000, "05:00:00.5"),
        ("bucket[4]", Kind.STRING, 3, "3"),
    ],
)
def test_summaries_of_manifests(tmp_path: Path, transform: str, kind: Kind, value: Any, text: str) -> None:
    """The runtime shows time units in readable form."""
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": transform}]}
    columns = [{"id": 1, "name": "c", "required": False, "type": kind.value}]
    table = HandmadeTable(tmp_path / "t", columns=columns, specs=[spec])
    summary = {"contains_null": False, "contains_nan": None, "upper_bound": None}
    is_own = transform == "identity"
    stored = SimpleType(kind if is_own else Kind.INT)
    manifest = table.manifest([table.data({"c": pa.array([None])})], 0, 1, 1001, 0)
    table.listed.append({**manifest, "partitions": [{**summary, "lower_bound": to_bytes(stored, value)}]})
    table.commit()
    (row,) = _table(table.folder, "manifests").rows
    (found,) = row["partition_summaries"]
    assert (found["lower_bound"], found["upper_bound"]) == (text, None)


def test_removed_files_of_version_1(tmp_path: Path) -> None:
    """All their sequence numbers are 0, also those of removed files."""
    table = HandmadeTable(tmp_path / "t", version=1)
    table.commit(table.data({"id": [1]}), {**table.data({"id": [2]}), "_status": 2, "_snapshot_id": 1001})
    found = [
        (row["status"], row["sequence_number"], row["file_sequence_number"])
        for row in _table(table.folder, "entries").rows
    ]
    assert sorted(found) == [(1, 0, 0), (2, 0, 0)]
