"""Estimates for the remaining files, in tables whose log describes them in various ways."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.pruning.estimates import ColumnEstimate, DistinctCount, DistinctCounts, estimate_columns
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType

VECTOR = pa.struct([("cardinality", pa.int64())])
TYPES: dict[str, tuple[DataType, pa.DataType]] = {
    "n": (PrimitiveType.LONG, pa.int64()),
    "b": (PrimitiveType.BYTE, pa.int8()),
    "d": (PrimitiveType.DATE, pa.date32()),
    "t": (PrimitiveType.TIMESTAMP, pa.timestamp("us", tz="UTC")),
    "m": (DecimalType(9, 2), pa.decimal128(9, 2)),
    "s": (PrimitiveType.STRING, pa.string()),
    "f": (PrimitiveType.DOUBLE, pa.float64()),
}
SCHEMA = StructType(
    (
        *(StructField(name, data_type) for name, (data_type, _) in TYPES.items()),
        StructField("p", PrimitiveType.INTEGER),
    )
)


def _files(
    rows: list[int | None],
    stats: dict[str, tuple[list[Any], list[Any], list[int | None]]],
    deleted: list[int | None] | None = None,
    partitions: list[str | None] | None = None,
) -> tuple[CountedFiles, FilePruning]:
    """`stats`: each file's minimum, maximum and nulls by column."""
    count = len(rows)
    vectors = [None if each is None else {"cardinality": each} for each in deleted or [None] * count]
    names = list(stats)
    bounds = [
        pa.StructArray.from_arrays([pa.array(stats[name][at], TYPES[name][1]) for name in names], names)
        if names
        else pa.nulls(count, pa.struct([]))
        for at in (0, 1)
    ]
    nulls = (
        pa.StructArray.from_arrays([pa.array(stats[name][2], pa.int64()) for name in names], names)
        if names
        else pa.nulls(count, pa.struct([]))
    )
    statistics = pa.table(
        {
            "num_records": pa.array(rows, pa.int64()),
            "tight_bounds": pa.nulls(count, pa.bool_()),
            "min_values": bounds[0],
            "max_values": bounds[1],
            "null_count": nulls,
        }
    )
    texts = pa.chunked_array([pa.array(partitions or [None] * count, pa.string()).dictionary_encode()])
    pruning = FilePruning(
        TableColumns(schema=SCHEMA, partition_columns=("p",)), count, lambda name: texts, lambda rows, _: statistics
    )
    return CountedFiles(files=pa.table({"deletion_vector": pa.array(vectors, VECTOR)}), statistics=statistics), pruning


def _estimate(
    counted: CountedFiles, pruning: FilePruning, name: str, remaining: list[int] | None = None
) -> tuple[int | None, ColumnEstimate | None]:
    rows, columns = estimate_columns(
        counted, pruning, None if remaining is None else np.array(remaining, np.int64), [name]
    )
    return rows, columns.get(name)


NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)

COLUMNS: tuple[tuple[str, list[Any], list[Any], list[int | None], ColumnEstimate], ...] = (
    # a column in files with 10 and 20 rows: each one's minimum, maximum and nulls; the estimate
    ("n", [1, 5], [4, 9], [0, 3], ColumnEstimate(nulls=3, low=1, high=9, distinct=9)),
    ("n", [1, 5], [400, 9], [0, 0], ColumnEstimate(nulls=0, low=1, high=400, distinct=30)),
    ("n", [-(2**63), 5], [4, 2**63 - 1], [0, 0], ColumnEstimate(nulls=0, low=-(2**63), high=2**63 - 1, distinct=30)),
    ("n", [9, 5], [1, 2], [0, 0], ColumnEstimate(nulls=0, low=1, high=9, distinct=9)),  # the wrong way round
    ("n", [1, None], [4, None], [0, 20], ColumnEstimate(nulls=20, low=1, high=4, distinct=4)),  # a file with only nulls
    ("n", [1, None], [4, 9], [0, 0], ColumnEstimate(nulls=0)),
    ("n", [1, 5], [4, 9], [0, None], ColumnEstimate(nulls=None, low=1, high=9, distinct=9)),
    ("n", [1, 5], [4, 9], [99, 99], ColumnEstimate(nulls=30)),  # more than there are rows
    ("n", [1, 5], [4, 9], [-7, 0], ColumnEstimate(nulls=0, low=1, high=9, distinct=9)),
    ("n", [None, None], [None, None], [10, 20], ColumnEstimate(nulls=30)),
    ("b", [-3, 5], [4, 9], [0, 0], ColumnEstimate(nulls=0, low=-3, high=9, distinct=13)),
    ("d", [0, 31], [30, 40], [0, 0], ColumnEstimate(nulls=0, low=0, high=40, distinct=30)),
    (
        "t",
        [NOON, NOON],
        [NOON, NOON],
        [0, 0],
        ColumnEstimate(nulls=0, low=1_704_110_400_000_000, high=1_704_110_400_000_000, distinct=1),
    ),
    ("s", ["a", "b"], ["c", "d"], [1, 1], ColumnEstimate(nulls=2)),
    ("f", [1.0, float("nan")], [2.0, float("inf")], [0, 0], ColumnEstimate(nulls=0)),
)


@pytest.mark.parametrize(
    ("distinct", "rows", "among", "expected"),
    [
        (5, 100, 100, 5),
        (1, 1, 1, 1),
        (5, 100, 1000, 5),
        (5, 100, 1001, None),
        (5, 100, 10, 5),
        (5, 100, 9, None),
        (90, 100, 100, 90),
        (90, 100, 500, 450),
        (90, 100, 50, 45),
        (40, 100, 20, 20),
        (0, 0, 5, None),
        (5, 100, 0, None),
        (5, 100, -1, None),
    ],
)
def test_counts_of_another_time(distinct: int, rows: int, among: int, expected: int | None) -> None:
    assert DistinctCount(distinct, rows).among(among) == expected


def test_distinct_counts_and_bounds_limit_each_other() -> None:
    counted, pruning = _files(
        [10, 20], {"n": ([1, 5], [4, 9], [0, 0]), "s": (["a", "b"], ["c", "d"], [0, 0])}, partitions=["1", "2"]
    )
    known = DistinctCounts({"n": DistinctCount(12, 30), "s": DistinctCount(8, 30), "p": DistinctCount(30, 30)})
    _, found = estimate_columns(counted, pruning, None, ["n", "s", "p"], known)
    assert [found[name].distinct for name in ("n", "s", "p")] == [9, 8, 2]
    fewer = DistinctCounts({"n": DistinctCount(3, 30), "s": DistinctCount(29, 30)})
    rows, found = estimate_columns(counted, pruning, np.array([0], np.int64), ["n", "s", "p"], fewer)
    assert (rows, [found[name].distinct for name in ("n", "s", "p")]) == (10, [3, 10, 1])


@pytest.mark.parametrize(("others", "expected"), [(10, 2), (0, 2), (None, 4), (200, 4)])
def test_distinct_count_requires_the_row_count_of_all_files(others: int | None, expected: int) -> None:
    """Without it, or in a table that has grown too much, only the bounds of the remaining files limit the count."""
    counted, pruning = _files([10, others], {"n": ([1, 5], [4, 9], [0, 0])})
    known = DistinctCounts({"n": DistinctCount(2, 10)})
    rows, found = estimate_columns(counted, pruning, np.array([0], np.int64), ["n"], known)
    assert (rows, found["n"].distinct) == (10, expected)


@pytest.mark.parametrize(("name", "low", "high", "nulls", "expected"), COLUMNS)
def test_columns(name: str, low: list[Any], high: list[Any], nulls: list[int | None], expected: ColumnEstimate) -> None:
    if name == "d":
        low, high = (pa.array(days, pa.int32()).cast(pa.date32()).to_pylist() for days in (low, high))
    counted, pruning = _files([10, 20], {name: (low, high, nulls)})
    assert _estimate(counted, pruning, name) == (30, expected)


def test_decimals_are_text() -> None:
    counted, pruning = _files([10, 20], {"m": ([Decimal("1.00")] * 2, [Decimal("1.05")] * 2, [0, 0])})
    assert _estimate(counted, pruning, "m") == (30, ColumnEstimate(nulls=0, low="1.00", high="1.05", distinct=6))


def test_only_files_that_are_left_count() -> None:
    counted, pruning = _files(
        [10, 20, 40], {"n": ([1, 5, 100], [4, 9, 200], [0, 3, 1])}, [None, 15, None], ["1", "2", None]
    )
    assert _estimate(counted, pruning, "n", [0, 1]) == (15, ColumnEstimate(nulls=3, low=1, high=9, distinct=9))
    assert _estimate(counted, pruning, "p", [0, 1]) == (15, ColumnEstimate(nulls=0, low=1, high=2, distinct=2))
    assert _estimate(counted, pruning, "p", [2]) == (40, ColumnEstimate(nulls=40, distinct=0))
    assert _estimate(counted, pruning, "p", []) == (0, ColumnEstimate(nulls=0, distinct=0))
    assert _estimate(counted, pruning, "no such") == (55, None)


@pytest.mark.parametrize(
    ("rows", "deleted", "expected"),
    [
        ([10, None], [None, None], None),
        ([10, -5], [None, None], None),
        ([10, 5], [None, 9], None),  # more are deleted than there are
        ([2**62, 2**62], [None, None], 2**41),
        ([], None, 0),
    ],
)
def test_counts_of_rows_that_cannot_be(
    rows: list[int | None], deleted: list[int | None] | None, expected: int | None
) -> None:
    counted, pruning = _files(rows, {}, deleted)
    assert estimate_columns(counted, pruning, None, ["n"])[0] == expected
