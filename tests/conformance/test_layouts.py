"""Layouts of a table's files and log, one small hand-made table each.

Expected values are from the protocol and from Spark. Peers (DuckDB's kernel, deltalake) must agree if they support the
feature. DuckDB reads by name if columns are mapped by id, and loses mapped columns' partition values.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import table
from tests.engine.peer_readers import PEERS, comparable
from tests.handmade import LEGACY, Part, column, mapped, protocol, struct, write_table

pytestmark = pytest.mark.spark

D, NTZ = Decimal, dt.datetime


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[arg-type,misc]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    columns: Sequence[dict[str, Any]]
    parts: Sequence[Part]
    rows: list[tuple[Any, ...]]
    peers: tuple[str, ...] = ("deltalake", "duckdb")
    # Further arguments for `write_table`.
    more: dict[str, Any] = field(default_factory=dict)


def part(name: str = "a.parquet", **columns: pa.Array) -> Part:
    return Part(name=name, rows=pa.table(columns))


def widened(first: str, now: str, values: pa.Array) -> Case:
    """Returns a file from before column `v` changed its type. Reads return the same value in the new type."""
    change = {"fromType": first, "toType": now}
    shown = [dt.datetime(v.year, v.month, v.day) if isinstance(v, dt.date) else v for v in values.to_pylist()]
    return Case(
        columns=[column("id", "integer"), column("v", now, delta_typeChanges=[change])],
        parts=[part(id=pa.array(range(len(values)), pa.int32()), v=values)],
        rows=list(enumerate(shown)),
        peers=("duckdb",),
        more={"table_protocol": protocol("typeWidening", "timestampNtz")},
    )


_DAYS = [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31), None]
_WIDENED = {
    "byte to short": widened("byte", "short", pa.array([-128, 127, None], pa.int8())),
    "byte to integer": widened("byte", "integer", pa.array([-128, 127], pa.int8())),
    "byte to long": widened("byte", "long", pa.array([-128, 127], pa.int8())),
    "short to integer": widened("short", "integer", pa.array([-32768, 32767], pa.int16())),
    "short to long": widened("short", "long", pa.array([-32768, 32767], pa.int16())),
    "integer to long": widened("integer", "long", pa.array([-(2**31), 2**31 - 1], pa.int32())),
    "byte to double": widened("byte", "double", pa.array([-128, None], pa.int8())),
    "short to double": widened("short", "double", pa.array([-32768], pa.int16())),
    "integer to double": widened("integer", "double", pa.array([2**31 - 1], pa.int32())),
    "float to double": widened("float", "double", pa.array([0.1, -math.inf], pa.float32())),
    "date to timestamp_ntz": widened("date", "timestamp_ntz", pa.array(_DAYS)),
    "byte to decimal": widened("byte", "decimal(10,0)", pa.array([-128], pa.int8())),
    "short to decimal": widened("short", "decimal(12,2)", pa.array([-32768], pa.int16())),
    "integer to decimal": widened("integer", "decimal(10,0)", pa.array([-(2**31)], pa.int32())),
    "integer to wide decimal": widened("integer", "decimal(30,7)", pa.array([2**31 - 1], pa.int32())),
    "long to decimal": widened("long", "decimal(20,0)", pa.array([-(2**63)], pa.int64())),
    "long to wide decimal": widened("long", "decimal(38,10)", pa.array([2**63 - 1], pa.int64())),
    "decimal to more digits": widened("decimal(5,2)", "decimal(9,2)", pa.array([D("-999.99")], pa.decimal128(5, 2))),
    "decimal to a larger scale": widened(
        "decimal(9,2)", "decimal(18,4)", pa.array([D("-9999999.99"), None], pa.decimal128(9, 2))
    ),
    "decimal to the widest": widened("decimal(18,3)", "decimal(38,10)", pa.array([D("1.001")], pa.decimal128(18, 3))),
}

_IDS = pa.array([1, 2], pa.int64())
_THREE = pa.array([1, 2, 3], pa.int32())
_LIST = pa.array([[1, None], []], pa.list_(pa.int32()))
_LEGACY_DAYS = [dt.date(1500, 1, 10), dt.date(1582, 10, 15)]
_SPARK_2 = {"org.apache.spark.version": "2.4.5"}
_MOMENTS = [utc(2024, 2, 29, 23, 59, 59, 999999), utc(1900, 1, 1), utc(1970, 1, 1, 0, 0, 0, 1)]
_TREE = struct(column("a", "integer"), column("b", struct(column("c", "string"))))
_FEATURES = {
    "void columns": Case(
        columns=[
            column("id", "long"),
            column("nothing", "void"),
            column("s", struct(column("a", "long"), column("b", "void"))),
        ],
        parts=[part(id=_IDS, s=pa.array([{"a": 1}, None], pa.struct([("a", pa.int64())])))],
        rows=[(1, None, {"a": 1, "b": None}), (2, None, None)],
        peers=(),
    ),
    "columns that are missing at every depth": Case(
        columns=[
            column("id", "long"),
            column("t", _TREE),
            column("l", {"type": "array", "elementType": _TREE, "containsNull": True}),
            column(
                "m", {"type": "map", "keyType": "string", "valueType": _TREE, "valueContainsNull": True}
            ),
        ],
        parts=[
            Part(
                name="a.parquet",
                rows=pa.table(
                    {
                        "id": _IDS,
                        "t": pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())])),
                        "l": pa.array([[{"a": 2}, None], None], pa.list_(pa.struct([("a", pa.int32())]))),
                        "m": pa.array(
                            [[("k", {"a": 3})], []], pa.map_(pa.string(), pa.struct([("a", pa.int32())]))
                        ),
                    }
                ),
            ),
            part("b.parquet", id=pa.array([3], pa.int64())),
        ],
        rows=[
            (1, {"a": 1, "b": None}, [{"a": 2, "b": None}, None], [("k", {"a": 3, "b": None})]),
            (2, None, None, []),
            (3, None, None, None),
        ],
        peers=("duckdb",),
    ),
    "int96 timestamps": Case(
        columns=[column("id", "integer"), column("ts", "timestamp")],
        parts=[
            Part(
                name="a.parquet",
                rows=pa.table({"id": _THREE, "ts": pa.array(_MOMENTS, pa.timestamp("us", "UTC"))}),
                options={"use_deprecated_int96_timestamps": True},
            )
        ],
        rows=list(enumerate(_MOMENTS, 1)),
    ),
    "timestamps in milliseconds": Case(
        columns=[column("id", "long"), column("ts", "timestamp"), column("ntz", "timestamp_ntz")],
        parts=[
            part(
                id=_IDS,
                ts=pa.array([utc(2024, 1, 1, 0, 0, 0, 5000), utc(1, 1, 1)], pa.timestamp("ms", "UTC")),
                ntz=pa.array([NTZ(2024, 1, 1, 0, 0, 0, 5000), NTZ(1, 1, 1)], pa.timestamp("ms")),
            )
        ],
        rows=[
            (1, utc(2024, 1, 1, 0, 0, 0, 5000), NTZ(2024, 1, 1, 0, 0, 0, 5000)),
            (2, utc(1, 1, 1), NTZ(1, 1, 1)),
        ],
        more={"table_protocol": protocol("timestampNtz")},
    ),
    "dates of the Julian calendar": Case(
        columns=[column("id", "long"), column("day", "date")],
        parts=[
            Part(name="a.parquet", rows=pa.table({"id": _IDS, "day": _LEGACY_DAYS}).replace_schema_metadata(_SPARK_2)),
            part("b.parquet", id=pa.array([3, 4]), day=pa.array(_LEGACY_DAYS)),
        ],
        rows=[(1, dt.date(1500, 1, 1)), (2, dt.date(1582, 10, 15)), *zip((3, 4), _LEGACY_DAYS, strict=True)],
        peers=(),
    ),
    "decimals as integers": Case(
        columns=[column("id", "long"), column("d", "decimal(9,2)"), column("e", "decimal(18,4)")],
        parts=[
            Part(
                name="a.parquet",
                rows=pa.table(
                    {
                        "id": _IDS,
                        "d": pa.array([D("-1234567.89"), None], pa.decimal128(9, 2)),
                        "e": pa.array([D("99999999999999.9999"), D("0")], pa.decimal128(18, 4)),
                    }
                ),
                options={"store_decimal_as_integer": True},
            )
        ],
        rows=[(1, D("-1234567.89"), D("99999999999999.9999")), (2, None, D("0.0000"))],
    ),
    "decimals as bytes of a fixed length": Case(
        columns=[column("id", "long"), column("d", "decimal(9,2)")],
        parts=[part(id=_IDS, d=pa.array([D("-1234567.89"), None], pa.decimal128(9, 2)))],
        rows=[(1, D("-1234567.89")), (2, None)],
    ),
    "lists whose elements have another name": Case(
        columns=[column("id", "long"), column("l", {"type": "array", "elementType": "integer", "containsNull": True})],
        parts=[
            Part(
                name="a.parquet",
                rows=pa.table({"id": _IDS, "l": _LIST}),
                options={"use_compliant_nested_type": False},
            )
        ],
        rows=[(1, [1, None]), (2, [])],
    ),
    "pages and encodings of version 2": Case(
        columns=[column("id", "long"), column("t", "string")],
        parts=[
            Part(
                name="a.parquet",
                rows=pa.table({"id": _IDS, "t": ["prefix one", "prefix two"]}),
                options={
                    "data_page_version": "2.0",
                    "use_dictionary": False,
                    "column_encoding": {"id": "DELTA_BINARY_PACKED", "t": "DELTA_BYTE_ARRAY"},
                    "compression": "zstd",
                },
            )
        ],
        rows=[(1, "prefix one"), (2, "prefix two")],
    ),
    "char and varchar": Case(
        columns=[
            column("id", "long"),
            {**column("c", "string"), "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}},
            {**column("v", "string"), "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}},
        ],
        parts=[part(id=_IDS, c=pa.array(["ab", "abcde"]), v=pa.array(["ab", None]))],
        rows=[(1, "ab   ", "ab"), (2, "abcde", None)],
        peers=(),
    ),
    "collations are not applied": Case(
        columns=[
            column("id", "long"),
            {**column("t", "string"), "metadata": {"__COLLATIONS": {"t": "spark.UTF8_LCASE"}}},
        ],
        parts=[part(id=_IDS, t=pa.array(["A", "a"]))],
        rows=[(1, "A"), (2, "a")],
        peers=(),
        more={"table_protocol": protocol(writer=("collations", "domainMetadata"))},
    ),
    "defaults are no values of old files": Case(
        columns=[
            column("id", "long"),
            {**column("n", "long"), "metadata": {"CURRENT_DEFAULT": "7", "EXISTS_DEFAULT": "7"}},
        ],
        parts=[part(id=_IDS)],
        rows=[(1, None), (2, None)],
        peers=("duckdb",),
        more={"table_protocol": protocol(writer=("allowColumnDefaults",))},
    ),
    "columns of files that the table does not have": Case(
        columns=[column("id", "long")],
        parts=[part(id=_IDS, _change_type=pa.array(["insert", "insert"]), gone=pa.array([1, 2]))],
        rows=[(1,), (2,)],
    ),
}  # fmt: skip

_BY_ID = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "9"}
_BY_NAME = {**_BY_ID, "delta.columnMapping.mode": "name"}


def _field(name: str, number: int | None, data_type: pa.DataType) -> pa.Field:
    return pa.field(name, data_type, metadata=None if number is None else {"PARQUET:field_id": str(number)})


def _rows(*fields: pa.Field, values: Sequence[Sequence[Any]]) -> pa.Table:
    schema = pa.schema(fields)
    arrays = [pa.array(column, item.type) for column, item in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


_MAPPED = {
    "by id, whatever the names": Case(
        columns=[mapped("id", "long", 1, "c1"), mapped("a", "string", 2, "c2"), mapped("b", "string", 3, "c3")],
        parts=[
            Part(
                name="a.parquet",
                rows=_rows(
                    _field("c3", 2, pa.string()),
                    _field("anything", 1, pa.int64()),
                    _field("c2", 3, pa.string()),
                    values=[["is a"], [1], ["is b"]],
                ),
            )
        ],
        rows=[(1, "is a", "is b")],
        peers=(),
        more={"configuration": _BY_ID, "table_protocol": protocol("columnMapping")},
    ),
    "by id, missing ids are null": Case(
        columns=[mapped("id", "long", 1, "c1"), mapped("a", "string", 2, "c2")],
        parts=[
            Part(
                name="a.parquet",
                rows=_rows(_field("c1", 1, pa.int64()), _field("c2", 7, pa.string()), values=[[1], ["another"]]),
            )
        ],
        rows=[(1, None)],
        peers=(),
        more={"configuration": _BY_ID, "table_protocol": protocol("columnMapping")},
    ),
    "by id, nested": Case(
        columns=[
            mapped("id", "long", 1, "c1"),
            mapped("s", struct(mapped("new", "integer", 3, "x"), mapped("added", "integer", 5, "z")), 2, "c2"),
        ],
        parts=[
            Part(
                name="a.parquet",
                rows=_rows(
                    _field("c1", 1, pa.int64()),
                    _field(
                        "c2", 2, pa.struct([_field("dropped", 4, pa.int32()), _field("old", 3, pa.int32())])
                    ),
                    values=[[1], [{"dropped": 8, "old": 9}]],
                ),
            )
        ],
        rows=[(1, {"new": 9, "added": None})],
        peers=(),
        more={"configuration": _BY_ID, "table_protocol": protocol("columnMapping")},
    ),
    "by name, renamed and dropped at every depth": Case(
        columns=[
            mapped("id", "long", 1, "c1"),
            mapped("it's, here", struct(mapped("new", "integer", 3, "x"), mapped("y", "string", 5, "z")), 2, "c2"),
        ],
        parts=[
            Part(
                name="a.parquet",
                rows=_rows(
                    _field("c1", None, pa.int64()),
                    _field("c2", None, pa.struct([("y", pa.int32()), ("x", pa.int32())])),
                    _field("it's, here", None, pa.string()),
                    values=[[1], [{"y": 8, "x": 9}], ["not this one"]],
                ),
            )
        ],
        rows=[(1, {"new": 9, "y": None})],
        peers=("duckdb",),
        more={"configuration": _BY_NAME, "table_protocol": protocol("columnMapping")},
    ),
    "by name, names that swapped": Case(
        columns=[mapped("id", "long", 1, "id"), mapped("a", "string", 2, "b"), mapped("b", "string", 3, "a")],
        parts=[part(id=_IDS, a=pa.array(["is b", "is b"]), b=pa.array(["is a", "is a"]))],
        rows=[(1, "is a", "is b"), (2, "is a", "is b")],
        peers=("duckdb",),
        more={
            "configuration": _BY_NAME,
            "table_protocol": {"minReaderVersion": 2, "minWriterVersion": 5},
        },
    ),
    "keys without the feature mean nothing": Case(
        columns=[mapped("id", "long", 1, "c1")],
        parts=[part(id=_IDS, c1=pa.array([8, 9]))],
        rows=[(1,), (2,)],
        peers=(),
        more={"configuration": _BY_NAME, "table_protocol": LEGACY},
    ),
    "partition values by physical name": Case(
        columns=[mapped("id", "long", 1, "c1"), mapped("p", "string", 2, "c2")],
        parts=[
            Part(name="a.parquet", rows=pa.table({"c1": _IDS}), values={"c2": "right"}),
            Part(name="b.parquet", rows=pa.table({"c1": pa.array([3], pa.int64())}), values={"c2": None}),
        ],
        rows=[(1, "right"), (2, "right"), (3, None)],
        peers=("deltalake",),
        more={
            "configuration": _BY_NAME,
            "table_protocol": protocol("columnMapping"),
            "partition_columns": ["p"],
        },
    ),
}  # fmt: skip

_WIDENED_PARTITIONS = {
    f"partition values, {first} to {now}": Case(
        columns=[column("id", "long"), column("p", now, delta_typeChanges=[{"fromType": first, "toType": now}])],
        parts=[
            Part(name="a.parquet", rows=pa.table({"id": _IDS}), values={"p": text}),
            Part(name="b.parquet", rows=pa.table({"id": pa.array([3], pa.int64())}), values={"p": None}),
        ],
        rows=[(1, value), (2, value), (3, None)],
        peers=(),
        more={"table_protocol": protocol("typeWidening", "timestampNtz"), "partition_columns": ["p"]},
    )
    for first, now, text, value in (
        ("integer", "long", "-7", -7),
        ("byte", "double", "-7", -7.0),
        ("float", "double", "0.1", 0.1),
        ("integer", "decimal(12,2)", "-7", D("-7.00")),
        ("decimal(5,2)", "decimal(9,4)", "-1.50", D("-1.5000")),
        ("date", "timestamp_ntz", "0001-01-01", dt.datetime(1, 1, 1)),
    )
}

CASES = {**_WIDENED_PARTITIONS, **_WIDENED, **_FEATURES, **_MAPPED}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("layouts")
    for position, case in enumerate(CASES.values()):
        write_table(root / f"t{position}", case.columns, case.parts, **case.more)
    return root


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("name", CASES)
def test_a_table_holds_what_it_should(session: LakeSession, lake: Path, name: str) -> None:
    case, folder = CASES[name], f"t{list(CASES).index(name)}"
    found = table(session, f"SELECT * FROM {folder}")
    columns = [
        pa.array(values, item.type) for values, item in zip(zip(*case.rows, strict=True), found.schema, strict=True)
    ]
    expected = comparable(pa.Table.from_arrays(columns, schema=found.schema))
    assert comparable(found) == expected
    for peer in case.peers:
        assert PEERS[peer](lake / folder, found.column_names) == expected, peer
