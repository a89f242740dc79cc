"""Each comparison with each kind of statistics: tables with files and their pruning."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from engine.delta.log.file_table import FILES_SCHEMA
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.snapshot.file_stats import batch_pruning, parse_stats, stats_schema
from engine.pruning.predicates import (
    And,
    Cast,
    Column,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    compare,
)
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType

UTC = datetime.UTC
X = Column(("x",))


def stats(low: Any = None, high: Any = None, nulls: int | None = 0, rows: int | None = 10, **more: Any) -> str:
    """Returns a file's statistics for column x; None omits a value."""
    wrapped = {
        "numRecords": rows,
        "minValues": None if low is None else {"x": low},
        "maxValues": None if high is None else {"x": high},
        "nullCount": None if nulls is None else {"x": nulls},
        **more,
    }
    return json.dumps({name: value for name, value in wrapped.items() if value is not None})


def pruning(files: Sequence[str | None], data_type: DataType, metadata: Mapping[str, Any] | None = None) -> FilePruning:
    """Returns the pruning of files in a table with one column x, by their statistics."""
    schema = StructType((StructField("x", data_type, metadata=metadata or {}),))
    batch = parse_stats(pa.array(files, pa.string()), stats_schema(schema))
    table = pa.Table.from_batches([batch])
    return FilePruning(
        TableColumns(schema=schema), len(files), None, lambda rows, _: table if rows is None else table.take(rows)
    )


def is_(operator: str, value: Any) -> Compare:
    return compare("x", operator, value)


# A range, one value, another range, only nulls, no bounds, nothing at all, no rows.
NUMBERS = [stats(1, 5), stats(5, 5), stats(6, 9), stats(nulls=10), stats(nulls=3), None, stats(1, 5, rows=0)]


@pytest.mark.parametrize(
    ("predicate", "remaining"),
    [
        (is_("=", 5), "##..##."),
        (is_("=", 0), "....##."),
        (is_("<=>", 5), "##..##."),
        (is_("!=", 5), "#.#.##."),
        (is_("<", 5), "#...##."),
        (is_("<", 6), "##..##."),
        (is_("<=", 5), "##..##."),
        (is_("<=", 0), "....##."),
        (is_(">", 5), "..#.##."),
        (is_(">", 4), "###.##."),
        (is_(">=", 6), "..#.##."),
        (is_(">=", 10), "....##."),
        (is_("<", 2**65), "###.##."),
        (is_(">", 2**65), "......."),
        (is_("=", Decimal("5.5")), "....##."),
        (is_("<", Decimal("5.5")), "##..##."),
        (is_(">=", Decimal("5.5")), "..#.##."),
        (is_("=", 5.5), "....##."),
        (is_(">", 5.5), "..#.##."),
        (In(X, (Literal.of("5"),)), "###.##."),
        (is_("=", "5"), "###.##."),  # other type: not supported, but null is still null
        (In(X, (Literal.of(0), Literal.of(5))), "##..##."),
        (In(X, tuple(Literal.of(value) for value in range(6, 40))), "..#.##."),
        (In(X, (Literal.of(0), Literal(None, PrimitiveType.LONG))), "....##."),
        (Not(In(X, (Literal.of(5),))), "#.#.##."),
        (Not(In(X, (Literal.of(5), Literal(None, PrimitiveType.LONG)))), "......."),
        (Not(In(X, tuple(Literal.of(value) for value in range(5, 40)))), "#.#.##."),
        (Not(In(X, tuple(Literal.of(value) for value in range(5, 400)))), "#.#.##."),
        (In(X, ()), "......."),
        (Not(In(X, ())), "######."),
        (In(X, (Literal(None, PrimitiveType.LONG),)), "......."),
        (Not(In(X, (Literal(None, PrimitiveType.LONG),))), "......."),
        (is_(">", 0), "###.##."),
        (IsNull(X), "...###."),
        (IsNotNull(X), "###.##."),
        (Not(IsNull(X)), "###.##."),
        (Not(is_("<=>", 5)), "#.####."),
        (compare("x", "<=>", None), "...###."),
        (compare("x", "=", None), "......."),
        (Not(compare("x", "=", None)), "......."),
        (And((is_(">", 1), is_("<", 5))), "#...##."),
        (And((is_(">", 5), is_("<", 5))), "....##."),
        (Or((is_(">", 8), is_("<", 2))), "#.#.##."),
        (Not(Or((is_("<", 6), is_(">", 9)))), "..#.##."),
        (And((is_("=", 0), Unknown())), "....##."),
        (Or((is_("=", 0), Unknown())), "######."),
        (compare("no_such_column", "=", 5), "######."),
    ],
    ids=str,
)
def test_operators(predicate: Predicate, remaining: str) -> None:
    mask = pruning(NUMBERS, PrimitiveType.LONG).prune(predicate)
    assert "".join("#" if keep else "." for keep in mask) == remaining


@pytest.mark.parametrize(
    ("predicate", "whole"),
    [
        (is_("=", 5), ".#....#"),
        (is_("<=", 5), "##....#"),
        (is_("!=", 5), "..#...#"),
        (is_(">", 0), "###...#"),
        (IsNull(X), "...#..#"),
        (IsNotNull(X), "###...#"),
        (Or((IsNull(X), is_(">", 0))), "####..#"),
        (Not(is_(">", 5)), "##....#"),
        (Unknown(), "......#"),
    ],
    ids=str,
)
def test_files_that_match_as_a_whole(predicate: Predicate, whole: str) -> None:
    mask = pruning(NUMBERS, PrimitiveType.LONG).matches_all(predicate)
    assert "".join("#" if match else "." for match in mask) == whole


_TS = "2024-05-01T00:00:00.123Z"
_MOMENT = datetime.datetime(2024, 5, 1, 0, 0, 0, 123_000, tzinfo=UTC)
_US = datetime.timedelta(microseconds=1)
_LONG_TEXT = "k" * 31
_BIG = Decimal("12345678901234567890.1234567890")


@pytest.mark.parametrize(
    ("data_type", "text", "predicate", "keeps"),
    [
        # Timestamps are cut to milliseconds.
        (PrimitiveType.TIMESTAMP, stats(_TS, _TS), is_("=", _MOMENT + 999 * _US), True),
        (PrimitiveType.TIMESTAMP, stats(_TS, _TS), is_(">", _MOMENT + 998 * _US), True),
        (PrimitiveType.TIMESTAMP, stats(_TS, _TS), is_(">", _MOMENT + 999 * _US), False),
        (PrimitiveType.TIMESTAMP, stats(_TS, _TS), is_("<", _MOMENT), False),
        (PrimitiveType.TIMESTAMP_NTZ, stats(_TS[:-1], _TS[:-1]), is_("=", (_MOMENT + 999 * _US).replace(tzinfo=None)),
         True),
        (PrimitiveType.TIMESTAMP_NTZ, stats(_TS[:-1], _TS[:-1]), is_("=", _MOMENT.replace(tzinfo=None) + 1000 * _US),
         False),
        (PrimitiveType.TIMESTAMP_NTZ, stats("1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999"),
         is_("=", datetime.datetime(1969, 12, 31, 23, 59, 59, 998_500)), True),
        (PrimitiveType.TIMESTAMP_NTZ, stats("1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999"),
         is_("=", datetime.datetime(1969, 12, 31, 23, 59, 59, 997_999)), False),
        # Offsets, whole and cut.
        (PrimitiveType.TIMESTAMP, stats("2024-05-01T09:00:00.000+09:00", "2024-05-01T09:00:00.000+09:00"),
         is_("=", datetime.datetime(2024, 5, 1, tzinfo=UTC)), True),
        (PrimitiveType.TIMESTAMP, stats("1880-01-01T00:53:28.000+00:53", "1880-01-01T00:53:28.000+00:53"),
         is_("=", datetime.datetime(1880, 1, 1, tzinfo=UTC)), True),
        (PrimitiveType.TIMESTAMP, stats("1880-01-01T00:53:28.000+00:53", "1880-01-01T00:53:28.000+00:53"),
         is_("<", datetime.datetime(1879, 12, 31, 23, 59, tzinfo=UTC)), False),
        (PrimitiveType.TIMESTAMP, stats("1960-01-01 00:00:00", "1960-01-01 00:00:00"),
         is_("=", datetime.datetime(1999, 1, 1, tzinfo=UTC)), True),
        # NaN is the greatest value, and writers leave it out.
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_(">", 3.0), True),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_("=", 3.0), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_("=", math.nan), True),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_(">", math.nan), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_("<", 1.0), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), And((is_(">", 3.0), is_("<", 4.0))), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), And((is_(">", 3.0), is_("<=", math.nan))), True),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), Not(Or((is_("<=", 3.0), is_(">=", 4.0)))), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), In(X, tuple(Literal.of(float(v)) for v in range(3, 30))), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), In(X, tuple(Literal.of(float(v)) for v in [*range(3, 30), "nan"])),
         True),
        (PrimitiveType.DOUBLE, stats(1.0, "NaN"), is_(">", 3.0), True),
        (PrimitiveType.DOUBLE, stats("NaN", "NaN"), is_("<", 3.0), True),
        (PrimitiveType.DOUBLE, stats(0.0, 0.0), is_("=", -0.0), True),
        (PrimitiveType.DOUBLE, stats(-0.0, -0.0), is_(">=", 0.0), True),
        (PrimitiveType.DOUBLE, stats(-0.0, -0.0), is_("<", 0.0), False),
        (PrimitiveType.DOUBLE, stats("-Infinity", 1.0), is_("<", -1e308), True),
        (PrimitiveType.FLOAT, stats(0.1, 0.1), is_("=", 0.10000000149011612), True),
        (PrimitiveType.FLOAT, stats(0.1, 0.1), is_("=", 0.1), False),
        # Decimals with other scales, and beyond a double's range.
        (DecimalType(10, 2), stats(1.25, 2.5), is_("=", Decimal("2.500")), True),
        (DecimalType(10, 2), stats(1.25, 2.5), is_(">", Decimal("2.5001")), False),
        (DecimalType(10, 2), stats(1.25, 1.25), is_("=", Decimal("1.251")), False),
        (DecimalType(10, 2), stats(1.25, 2.5), is_(">", 3), False),
        (DecimalType(10, 2), stats(1.25, 2.5), is_("<", 1.25), False),
        (DecimalType(38, 10), stats(float(_BIG), float(_BIG)), is_("=", _BIG), True),
        (DecimalType(38, 10), stats(float(_BIG), float(_BIG)), is_(">", _BIG), True),
        (DecimalType(38, 10), stats(float(_BIG), float(_BIG)), is_(">", _BIG + 100_000), False),
        # Strings: bytes, cut bounds.
        (PrimitiveType.STRING, stats("a", "b"), is_("=", "B"), False),
        (PrimitiveType.STRING, stats("\ue000", "\U0001f600"), is_("=", "\uffff"), True),
        (PrimitiveType.STRING, stats("a", _LONG_TEXT + "l\x7f"), is_("=", _LONG_TEXT + "lz"), True),
        (PrimitiveType.STRING, stats("a", _LONG_TEXT + "l"), is_("=", _LONG_TEXT + "lz"), True),
        (PrimitiveType.STRING, stats("a", _LONG_TEXT + "l"), is_(">", _LONG_TEXT + "l"), True),
        (PrimitiveType.STRING, stats("a", _LONG_TEXT + "l"), is_(">", _LONG_TEXT + "m"), False),
        (PrimitiveType.STRING, stats("a", _LONG_TEXT), is_("=", _LONG_TEXT + "l"), False),
        (PrimitiveType.STRING, stats("a", "z" * 40), In(X, tuple(Literal.of("z" * n) for n in range(50, 70))), True),
        (PrimitiveType.STRING, stats("a", "z"), In(X, tuple(Literal.of("z" * n) for n in range(2, 30))), False),
        (PrimitiveType.STRING, stats("a"), In(X, tuple(Literal.of("z" * n) for n in range(2, 30))), True),
        (PrimitiveType.STRING, stats("apple", "banana"), StartsWith(X, "b"), True),
        (PrimitiveType.STRING, stats("apple", "banana"), StartsWith(X, "bb"), False),
        (PrimitiveType.STRING, stats("apple", "banana"), StartsWith(X, "app"), True),
        (PrimitiveType.STRING, stats("apple", "banana"), StartsWith(X, "apo"), False),
        (PrimitiveType.STRING, stats("apple", "banana"), StartsWith(X, ""), True),
        (PrimitiveType.STRING, stats("apple", "banana"), StartsWith(X, None), False),
        (PrimitiveType.STRING, stats("apple", "application"), Not(StartsWith(X, "app")), False),
        (PrimitiveType.STRING, stats("apple", "banana"), Not(StartsWith(X, "app")), True),
        # Others.
        (PrimitiveType.DATE, stats("2024-05-01", "2024-05-03"), is_("=", datetime.date(2024, 5, 4)), False),
        (PrimitiveType.DATE, stats("2024-05-01", "2024-05-03"), is_(">=", datetime.date(2024, 5, 3)), True),
        (PrimitiveType.BOOLEAN, stats(True, True), is_("=", False), False),
        (PrimitiveType.BOOLEAN, stats(), is_("=", False), True),
        (PrimitiveType.BYTE, stats(1, 5), is_("=", 300), False),
        (PrimitiveType.BINARY, stats(nulls=10), is_("=", b"x"), False),
        (PrimitiveType.BINARY, stats("a", "b"), is_("=", b"x"), True),
        # Statistics that are incomplete, or without a type.
        (PrimitiveType.LONG, stats(1, 5, nulls=None, rows=None), is_("=", 9), False),
        (PrimitiveType.LONG, stats(1, None), is_(">", 9), True),
        (PrimitiveType.LONG, stats(1, None), is_("<", 1), False),
        (PrimitiveType.LONG, stats(None, 5), is_("<", 1), True),
        (PrimitiveType.LONG, stats(None, 5), is_(">", 5), False),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_("<", 2**53 + 1), True),
        (PrimitiveType.DOUBLE, stats(1.0, 2.0), is_("<", 1), False),
        (PrimitiveType.LONG, stats("one", "five"), is_("=", 9), True),
        (PrimitiveType.LONG, stats(nulls=10, rows=None), IsNotNull(X), True),
        (PrimitiveType.LONG, stats(1, 5, nulls=12), is_("=", 3), True),
        # With a deletion vector, a null count is meaningful only if it is none or all.
        (PrimitiveType.LONG, stats(1, 5, nulls=9, tightBounds=False), IsNull(X), True),
        (PrimitiveType.LONG, stats(1, 5, nulls=9, tightBounds=False), IsNotNull(X), True),
        (PrimitiveType.LONG, stats(1, 5, nulls=0, tightBounds=False), IsNull(X), False),
        (PrimitiveType.LONG, stats(1, 5, nulls=0, tightBounds=False), is_("=", 9), False),
    ],
    ids=str,
)  # fmt: skip
def test_kinds_of_values(data_type: DataType, text: str, predicate: Predicate, keeps: bool) -> None:
    assert pruning([text], data_type).prune(predicate).tolist() == [keeps]


def cast(target: DataType, operator: str, value: Any) -> Compare:
    return Compare(Operator(operator), Cast(X, target), Literal(value, target))


@pytest.mark.parametrize(
    ("data_type", "text", "predicate", "keeps"),
    [
        (PrimitiveType.LONG, stats(1, 5), cast(PrimitiveType.DOUBLE, ">", 5.0), False),
        (PrimitiveType.LONG, stats(2**53 + 1, 2**53 + 1), cast(PrimitiveType.DOUBLE, "=", 2.0**53), True),
        (PrimitiveType.LONG, stats(1, 5), cast(DecimalType(20, 0), ">", Decimal(5)), False),
        (PrimitiveType.LONG, stats(1, 5), cast(DecimalType(5, 0), ">", Decimal(5)), True),
        (PrimitiveType.INTEGER, stats(1, 5), cast(PrimitiveType.LONG, ">", 5), False),
        (PrimitiveType.LONG, stats(1, 5), cast(PrimitiveType.INTEGER, ">", 5), True),
        (PrimitiveType.LONG, stats(1, 5), cast(PrimitiveType.STRING, ">", "6"), True),
        (PrimitiveType.STRING, stats("1", "5"), cast(PrimitiveType.LONG, ">", 6), True),
        (PrimitiveType.DOUBLE, stats(1.0, 5.0), cast(PrimitiveType.LONG, "=", 6), True),
        (DecimalType(10, 2), stats(1.5, 2.5), cast(PrimitiveType.DOUBLE, "=", 1.4), False),
        (DecimalType(10, 2), stats(1.5, 2.5), cast(DecimalType(12, 4), "=", Decimal("1.4999")), False),
        (DecimalType(10, 2), stats(1.5, 2.5), cast(DecimalType(10, 1), "=", Decimal("9.9")), True),
        (PrimitiveType.TIMESTAMP_NTZ, stats("2024-05-01T10:00:00", "2024-05-02T10:00:00"),
         cast(PrimitiveType.DATE, "=", 19846), False),  # 2024-05-03
        (PrimitiveType.TIMESTAMP_NTZ, stats("2024-05-01T10:00:00", "2024-05-02T10:00:00"),
         cast(PrimitiveType.DATE, "=", 19845), True),
        # In some zone it is still 2 May, or already 3 May; nowhere 4 May.
        (PrimitiveType.TIMESTAMP, stats("2024-05-02T10:00:00Z", "2024-05-02T14:00:00Z"),
         cast(PrimitiveType.DATE, "=", 19846), True),
        (PrimitiveType.TIMESTAMP, stats("2024-05-02T10:00:00Z", "2024-05-02T14:00:00Z"),
         cast(PrimitiveType.DATE, "=", 19847), False),
        (PrimitiveType.TIMESTAMP, stats("2024-05-02T10:00:00Z", "2024-05-02T14:00:00Z"),
         cast(PrimitiveType.DATE, "=", 19844), True),
        (PrimitiveType.DATE, stats("2024-05-02", "2024-05-02"),
         cast(PrimitiveType.TIMESTAMP, "=", 19845 * 86_400_000_000 - 9 * 3_600_000_000), True),
        (PrimitiveType.DATE, stats("2024-05-02", "2024-05-02"),
         cast(PrimitiveType.TIMESTAMP, "=", 19844 * 86_400_000_000), False),
        (PrimitiveType.DATE, stats("2024-05-02", "2024-05-02"),
         cast(PrimitiveType.TIMESTAMP_NTZ, "=", 19845 * 86_400_000_000 + 1), False),
        (PrimitiveType.LONG, stats(nulls=10), cast(PrimitiveType.STRING, "=", "6"), True),
        (PrimitiveType.LONG, stats(nulls=10), cast(PrimitiveType.DOUBLE, "=", 6.0), False),
    ],
    ids=str,
)  # fmt: skip
def test_casts(data_type: DataType, text: str, predicate: Predicate, keeps: bool) -> None:
    assert pruning([text], data_type).prune(predicate).tolist() == [keeps]


@pytest.mark.parametrize(
    ("data_type", "metadata", "predicate", "keeps"),
    [
        (PrimitiveType.STRING, {}, is_("=", "abc  "), False),
        (PrimitiveType.STRING, {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}, is_("=", "abc  "), True),
        (PrimitiveType.STRING, {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}, is_("=", "abc  "), False),
        (PrimitiveType.STRING, {"__COLLATIONS": {"x": "ICU.UNICODE_CI"}}, is_("=", "ABC"), True),
        (PrimitiveType.STRING, {"__COLLATIONS": {"x": "ICU.UNICODE_CI"}}, IsNull(X), False),
    ],
)
def test_columns_that_do_not_compare_by_bytes(
    data_type: DataType, metadata: Mapping[str, Any], predicate: Predicate, keeps: bool
) -> None:
    assert pruning([stats("abc", "abc")], data_type, metadata).prune(predicate).tolist() == [keeps]


@pytest.mark.parametrize(
    ("changes", "keeps"),
    [
        ([{"toType": "double", "fromType": "float"}], True),
        ([{"toType": "double", "fromType": "integer"}], False),
        (["float"], False),
        (None, False),
    ],
)
def test_a_double_that_was_a_float_has_bounds_printed_as_float(changes: Any, keeps: bool) -> None:
    files = pruning([stats(0.1, 0.1)], PrimitiveType.DOUBLE, {"delta.typeChanges": changes} if changes else {})
    assert files.prune(And((is_("=", 0.10000000149011612),))).tolist() == [keeps]
    assert files.prune(is_("=", 0.1)).tolist() == [True]


SCHEMA = StructType(
    (
        StructField("day", PrimitiveType.DATE, metadata={"delta.columnMapping.physicalName": "col-1"}),
        StructField("at", PrimitiveType.TIMESTAMP),
        StructField("n", PrimitiveType.INTEGER, metadata={"delta.columnMapping.physicalName": "col-2"}),
        StructField(
            "a",
            StructType((StructField("b", PrimitiveType.LONG, metadata={"delta.columnMapping.physicalName": "q"}),)),
            metadata={"delta.columnMapping.physicalName": "col-3"},
        ),
    )
)
TABLE = TableColumns(
    schema=SCHEMA,
    partition_columns=("day", "at", "n"),
    physical_schema=physical_schema(SCHEMA, "name"),
    time_zone=ZoneInfo("America/New_York"),
)
PARTITIONS: list[dict[str, Any]] = [
    {"col-1": "2024-05-01", "at": "2024-05-01 00:00:00", "col-2": "1"},
    {"col-2": "2", "col-1": "2024-05-02", "at": "2024-05-01T04:00:00.000000Z"},
    {"col-1": "", "at": None, "col-2": None},
    {"col-1": "May", "at": "noon", "col-2": "x"},
    {"col-1": "2024-05-01"},
    {"col-1": "2024-05-02", "at": "2024-05-02 00:00:00.5", "col-2": "+7"},
]


def partitioned(values: list[dict[str, Any]] = PARTITIONS, b: Sequence[int | None] = ()) -> FilePruning:
    """Returns the pruning of TABLE's files by partition values and each file's single value in a.b."""
    files = FILES_SCHEMA.empty_table().to_pydict() | {
        "partition_values": [list(value.items()) for value in values],
        "stats": [
            json.dumps({"numRecords": 1, **{name: {"col-3": {"q": value}} for name in ("minValues", "maxValues")}})
            for value in b or [None] * len(values)
        ],
    }
    columns = [files[name] or [None] * len(values) for name in FILES_SCHEMA.names]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, FILES_SCHEMA, strict=True)],
        schema=FILES_SCHEMA,
    )
    return batch_pruning(batch, TABLE)


def date(operator: str, day: int) -> Compare:
    return compare("day", operator, datetime.date(2024, 5, day))


@pytest.mark.parametrize(
    ("predicate", "remaining", "is_exact"),
    [
        (date("=", 1), "#..##.", False),
        (date("!=", 1), ".#.#.#", False),
        (date("<=>", 1), "#..##.", False),
        (IsNull(Column(("day",))), "..##..", False),
        (IsNotNull(Column(("DAY",))), "##.###", False),
        (compare("n", "<", 5), "##.#..", False),
        (compare("n", ">", 5), "...#.#", False),
        (compare("n", "<=>", None), "..###.", False),
        (compare("at", "=", datetime.datetime(2024, 5, 1, 4, tzinfo=UTC)), "##.#..", False),
        (compare("at", ">", datetime.datetime(2024, 5, 2, 4, tzinfo=UTC)), "...#.#", False),
        (And((date("=", 1), compare("n", "=", 1))), "#..#..", False),
        (Or((date("=", 2), compare("n", "=", 1))), "##.#.#", False),
        (Not(Or((date("=", 2), compare("n", "=", 1)))), "...#..", False),
        (In(Column(("n",)), tuple(Literal.of(value) for value in range(2, 20))), ".#.#.#", False),
        (compare(("a", "b"), "=", 1), "######", False),
    ],
    ids=str,
)
def test_partition_values(predicate: Predicate, remaining: str, is_exact: bool) -> None:
    mask, exact = partitioned().partition_mask(predicate)
    assert "".join("#" if keep else "." for keep in mask) == remaining
    assert exact == is_exact
    assert partitioned().prune(predicate).tolist() == mask.tolist()


def test_partition_values_that_are_all_plain_give_exact_masks() -> None:
    values = [PARTITIONS[0], PARTITIONS[1], PARTITIONS[2], PARTITIONS[5]]
    mask, is_exact = partitioned(values).partition_mask(Or((date("=", 1), compare("n", ">", 5))))
    assert (mask.tolist(), is_exact) == ([True, False, False, True], True)


@pytest.mark.parametrize(
    ("predicate", "remaining"),
    [
        (compare(("a", "b"), "=", 3), "..##.."),
        (And((compare("n", ">=", 1), compare(("a", "b"), "<", 3))), "##.#.."),
        (Or((compare("n", "=", 7), compare(("a", "b"), "=", 1))), "#..#.#"),
        (Or((And((compare("n", "=", 7), compare(("a", "b"), "=", 1))), compare(("a", "b"), "=", 2))), ".#.#.."),
        (And((date("=", 2), compare(("a", "b"), "=", 6))), "...#.#"),
    ],
    ids=str,
)
def test_partition_values_and_statistics_together(predicate: Predicate, remaining: str) -> None:
    mask = partitioned(b=[1, 2, 3, None, 5, 6]).prune(predicate)
    assert "".join("#" if keep else "." for keep in mask) == remaining


def test_statistics_are_loaded_only_for_used_columns_and_files() -> None:
    query: list[int] = []
    rare = {"col-1": "2024-05-07", "at": None, "col-2": "42"}
    plain = partitioned([*PARTITIONS[:2] * 50, rare, rare], b=[*[1, 2] * 50, 3, 4])

    def statistics(rows: Any, columns: Any) -> pa.Table:
        query.append(len(plain) if rows is None else len(rows))
        assert plain._statistics is not None
        return plain._statistics(rows, columns)

    files = FilePruning(TABLE, len(plain), plain._partition_texts, statistics)
    in_b = compare(("a", "b"), ">=", 2)
    assert [int(files.prune(predicate).sum()) for predicate in (date("=", 1), compare("n", "=", 8))] == [50, 0]
    assert int(files.prune(And((compare("n", "=", 8), in_b))).sum()) == 0
    assert query == []
    assert int(files.prune(And((date("=", 7), in_b))).sum()) == 2
    assert int(files.prune(And((date("=", 2), in_b))).sum()) == 50
    assert int(files.prune(in_b).sum()) == 52
    assert query == [2, 102, 102]


@pytest.mark.parametrize(
    ("predicate", "partition", "data"),
    [
        (date("=", 1), date("=", 1), And(())),
        (And((date("=", 1), compare(("a", "b"), "=", 1))), date("=", 1), compare(("a", "b"), "=", 1)),
        (Or((date("=", 1), compare(("a", "b"), "=", 1))), And(()), Or((date("=", 1), compare(("a", "b"), "=", 1)))),
        (And((Unknown(), Unknown("f", frozenset([("N",)])))), Unknown("f", frozenset([("N",)])), Unknown()),
    ],
    ids=str,
)
def test_split(predicate: Predicate, partition: Predicate, data: Predicate) -> None:
    def parts(found: Predicate) -> tuple[Predicate, ...]:
        return found.children if isinstance(found, And) else () if str(found) == "Constant(value=True)" else (found,)

    found = TABLE.split(predicate)
    assert [parts(side) for side in found] == [parts(partition), parts(data)]
