"""Data file metrics: from footers, truncated by the table's properties."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.iceberg.manifests.metrics import METRICS, pairs
from engine.iceberg.spec.json_values import JsonObject
from engine.iceberg.spec.partitions import PartitionSpec, read_spec_fields
from engine.iceberg.spec.single_values import to_bytes, truncated_above, truncated_below
from engine.iceberg.spec.types import IcebergSchema, parse_type, read_schema
from engine.iceberg.writing.metrics_modes import COUNTS, FULL, NONE, TRUNCATED, metrics_modes
from engine.iceberg.writing.new_files import FileSchema, IcebergNewFiles, describe_files
from engine.storage.storage import LocalStorage
from engine.tables.transaction import DataFile

UNPARTITIONED = PartitionSpec(spec_id=0, fields=())
NAN = float("nan")

TRUNCATIONS = [
    ("string", "a" * 17, "a" * 16, "a" * 15 + "b"),
    ("string", "a" * 16, "a" * 16, "a" * 16),
    ("string", "😀" * 20, "😀" * 16, "😀" * 15 + "\U0001f601"),
    ("string", "a" * 15 + "\U0010ffff" + "z", "a" * 15 + "\U0010ffff", "a" * 14 + "b"),
    ("string", "\U0010ffff" * 17, "\U0010ffff" * 16, None),
    ("string", "a" * 15 + "\ud7ff" + "z", "a" * 15 + "\ud7ff", "a" * 15 + "\ue000"),
    ("binary", b"\xff" * 17, b"\xff" * 16, None),
    ("binary", b"a" * 15 + b"\xff\xff", b"a" * 15 + b"\xff", b"a" * 14 + b"b"),
    ("fixed[20]", b"a" * 20, b"a" * 16, b"a" * 15 + b"b"),
]


def _encoded(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize(("type_", "value", "below", "above"), TRUNCATIONS)
def test_bounds_are_truncated(type_: str, value: str | bytes, below: str | bytes, above: str | bytes | None) -> None:
    simple, data = parse_type(type_, "a test"), _encoded(value)
    assert data is not None
    assert truncated_below(simple, data, 16) == _encoded(below)
    assert truncated_above(simple, data, 16) == _encoded(above)
    assert truncated_above(simple, data, None) == data


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        ("boolean", True, "01"),
        ("int", -2, "feffffff"),
        ("long", 1, "0100000000000000"),
        ("double", 1.0, "000000000000f03f"),
        ("decimal(9,2)", 1420, "058c"),
        ("decimal(9,2)", -1, "ff"),
        ("decimal(9,2)", 128, "0080"),
        ("date", 17486, "4e440000"),
    ],
)
def test_values_are_serialized(type_: str, value: Any, data: str) -> None:
    assert to_bytes(parse_type(type_, "a test"), value).hex() == data


def test_a_value_that_a_type_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="2147483648 is no int"):
        to_bytes(parse_type("int", "a test"), 2**31)


def _field(number: int, name: str, type_: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "required": False, "type": type_}


_LIST = {"type": "list", "element-id": 9, "element": "int", "element-required": False}
_MAP = {"type": "map", "key-id": 11, "key": "string", "value-id": 12, "value": "int", "value-required": False}
_STRUCT = {"type": "struct", "fields": [_field(7, "a", "long"), _field(8, "l", _LIST)]}


def _schema(*fields: dict[str, Any]) -> IcebergSchema:
    return read_schema(JsonObject({"type": "struct", "schema-id": 0, "fields": list(fields)}, "a schema", "a"), "a")


SCHEMA = _schema(
    _field(1, "d", "decimal(9,2)"),
    _field(2, "s", "string"),
    _field(3, "t", "timestamp"),
    _field(5, "f", "double"),
    _field(6, "st", _STRUCT),
    _field(10, "m", _MAP),
    _field(13, "u", "uuid"),
    _field(14, "n", "int"),
)


def _described(folder: Path, table: pa.Table, **properties: str) -> dict[str, Any]:
    pq.write_table(table, folder / "a.parquet", row_group_size=2)
    size = (folder / "a.parquet").stat().st_size
    file = DataFile(path="a.parquet", size=size, modification_time=0, partition_values={})
    schema = FileSchema(location="file:///t", schema=SCHEMA, spec=UNPARTITIONED, properties=properties)
    entries = describe_files(LocalStorage(str(folder)), schema, [file]).entries
    (entry,) = entries.to_pylist()
    metrics = {name: dict(pair.values() for pair in pairs(entries, name)[0].as_py()) for name in METRICS}
    return {**entry, **metrics}


ROWS = pa.table(
    {
        "d": pa.array([Decimal("1.23"), Decimal("-4.5"), None], pa.decimal128(9, 2)),
        "s": ["a" * 20, "é" * 20, None],
        "t": pa.array([1, 2, None], pa.timestamp("us")),
        "f": [1.0, NAN, 2.0],
        "st": pa.array(
            [{"a": 1, "l": [1, 2]}, None, {"a": 5, "l": None}],
            pa.struct([("a", pa.int64()), ("l", pa.list_(pa.int32()))]),
        ),
        "m": pa.array([[("a", 1)], None, None], pa.map_(pa.string(), pa.int32())),
        "u": pa.array([b"a" * 16] * 3, pa.binary(16)),
        "n": pa.array([None, None, None], pa.int32()),
        "unknown": [1, 2, 3],
    }
)


def test_metrics_are_those_of_the_footer(tmp_path: Path) -> None:
    entry = _described(tmp_path, ROWS)
    assert (entry["record_count"], entry["file_path"]) == (3, "file:///t/a.parquet")
    assert entry["value_counts"] == {1: 3, 2: 3, 3: 3, 5: 3, 7: 3, 9: 4, 11: 3, 12: 3, 13: 3, 14: 3}
    assert entry["null_value_counts"] == {1: 1, 2: 1, 3: 1, 5: 0, 7: 1, 9: 2, 11: 2, 12: 2, 13: 0, 14: 3}
    assert {1, 2, 9, 12} <= entry["column_sizes"].keys()
    assert entry["lower_bounds"] == {
        1: bytes.fromhex("fe3e"),
        2: b"a" * 16,
        3: bytes.fromhex("0100000000000000"),
        5: bytes.fromhex("000000000000f03f"),
        7: bytes.fromhex("0100000000000000"),
        13: b"a" * 16,
    }
    assert entry["upper_bounds"][2] == ("é" * 15 + "ê").encode()
    assert entry["upper_bounds"][1] == b"{"
    footer = pq.read_metadata(tmp_path / "a.parquet")
    starts = [footer.row_group(group).column(0).dictionary_page_offset for group in range(2)]
    assert entry["split_offsets"] == starts
    assert entry["nan_value_counts"] == {}


def test_metrics_follow_the_properties(tmp_path: Path) -> None:
    entry = _described(
        tmp_path,
        ROWS,
        **{
            "write.metadata.metrics.default": "counts",
            "write.metadata.metrics.column.s": "truncate(2)",
            "write.metadata.metrics.column.st.a": "none",
            "write.metadata.metrics.column.d": "full",
        },
    )
    assert entry["lower_bounds"] == {1: bytes.fromhex("fe3e"), 2: b"aa"}
    assert entry["upper_bounds"] == {1: b"{", 2: "éê".encode()}
    assert 7 not in entry["value_counts"]
    assert 3 in entry["value_counts"]


def test_a_file_of_columns_in_another_unit_has_no_bounds_of_them(tmp_path: Path) -> None:
    rows = pa.table({"t": pa.array([1, 2], pa.timestamp("ms")), "d": pa.array([Decimal(1)] * 2, pa.decimal128(9, 0))})
    entry = _described(tmp_path, rows)
    assert entry["value_counts"] == {1: 2, 3: 2}
    assert entry["lower_bounds"] == {}


def test_columns_are_known_by_their_ids(tmp_path: Path) -> None:
    fields = [
        pa.field("s", pa.int32(), metadata={"PARQUET:field_id": "14"}),
        pa.field("n", pa.string(), metadata={"PARQUET:field_id": "2"}),
    ]
    entry = _described(tmp_path, pa.table([pa.array([7], pa.int32()), pa.array(["x"])], pa.schema(fields)))
    assert entry["lower_bounds"] == {14: bytes.fromhex("07000000"), 2: b"x"}


def test_wide_tables_have_metrics_of_their_first_columns_and_of_those_they_are_sorted_by() -> None:
    schema = _schema(*(_field(number, f"c{number}", "int") for number in range(1, 121)))
    modes = metrics_modes(schema, {}, sorted_ids=[110])
    assert [modes[number] for number in (1, 100, 101, 110)] == [TRUNCATED, TRUNCATED, NONE, TRUNCATED]
    modes = metrics_modes(schema, {"write.metadata.metrics.max-inferred-column-defaults": "2"})
    assert [modes[number] for number in (2, 3)] == [TRUNCATED, NONE]
    modes = metrics_modes(
        schema, {"write.metadata.metrics.default": "full", "write.metadata.metrics.column.c5": "COUNTS"}
    )
    assert [modes[number] for number in (5, 120)] == [COUNTS, FULL]
    assert metrics_modes(schema, {"write.metadata.metrics.default": "truncate(0)"})[1] == TRUNCATED


def test_partition_values_and_files_without_rows(tmp_path: Path) -> None:
    spec = PartitionSpec(
        spec_id=3,
        fields=read_spec_fields(
            [
                JsonObject({"source-id": id, "field-id": 1000 + id, "name": f"p{id}", "transform": transform}, "f", "f")
                for id, transform in ((2, "identity"), (1, "truncate[10]"), (3, "day"), (5, "identity"))
            ]
        ),
    )
    for name, count in (("a", 1), ("b", 0)):
        pq.write_table(ROWS.slice(0, count), tmp_path / f"{name}.parquet")
    values: dict[str, str | None] = {"p1002": "x", "p1001": "-4.50", "p1003": "-1"}
    files = [DataFile(path=f"{name}.parquet", size=1, modification_time=0, partition_values=values) for name in "ab"]
    schema = FileSchema(location="file:///t", schema=SCHEMA, spec=spec)
    found = describe_files(LocalStorage(str(tmp_path)), schema, files)
    (entry,) = found.entries.to_pylist()
    assert (entry["p1002"], entry["p1001"].hex(), entry["p1003"], entry["p1005"]) == (b"", "fe3e", -1, None)
    assert (found.empty, found.num_files, found.num_rows, found.num_bytes) == (("b.parquet",), 1, 1, 1)
    both: IcebergNewFiles = found.with_others(found)
    assert (both.num_files, both.files["path"].to_pylist(), both.empty) == (2, ["a.parquet"] * 2, ("b.parquet",) * 2)
    with pytest.raises(ValueError, match="'plain' is no partition value of the type string"):
        describe_files(
            LocalStorage(str(tmp_path)),
            schema,
            [DataFile(path="a.parquet", size=1, modification_time=0, partition_values={"p1002": "plain"})],
        )
