"""Pruning over tables from deltalake, compared with the rows in their files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from engine.delta import load_snapshot
from engine.delta.snapshot.row_files import file_predicate
from engine.delta.snapshot.snapshot import Snapshot
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
    Value,
    compare,
)
from engine.types.schema import PrimitiveType
from tests.engine.delta.row_evaluation import Row, Types, evaluate_row

NAN = float("nan")
ROWS = [
    # day, kind, id, x, s, ts, m, w
    ("2024-01-01", "a", 1, 1.0, "apple", "2024-01-01 00:00:00.000001", "1.25", "12345678901234567890.12"),
    ("2024-01-01", "a", 2, NAN, "apricot" * 20, "2024-01-01 00:00:00.000999", "1.50", "12345678901234567890.13"),
    ("2024-01-01", "b b", 3, -0.0, None, "2024-01-01 12:00:00.123456", None, None),
    ("2024-01-02", "a", 4, None, "\U0001f600" * 40, "2024-01-02 00:00:00.5", "-1.00", "-99999999999999999999.99"),
    ("2024-01-02", None, None, 5.5, "", None, "99.99", "0.01"),
    ("2024-01-03", "c/%20", 2**62, NAN, "z", "1880-06-01 00:00:00.000001", "0.00", None),
    (None, "a", -7, float("inf"), "apple\x01", "2024-03-01 00:00:00", "7.77", "7.00"),
]
NAMES = ("day", "kind", "id", "x", "s", "ts", "m", "w")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("lake") / "table")
    columns = dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))
    data = pa.table(
        {
            "day": pa.array(columns["day"]).cast(pa.date32()),
            "kind": pa.array(columns["kind"]),
            "id": pa.array(columns["id"], pa.int64()),
            "x": pa.array(columns["x"], pa.float64()),
            "s": pa.array(columns["s"]),
            "ts": pa.array(columns["ts"]).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
            "m": pa.array(columns["m"]).cast(pa.decimal128(10, 2)),
            "w": pa.array(columns["w"]).cast(pa.decimal128(30, 2)),
        }
    )
    write_deltalake(path, data, partition_by=["day", "kind"])
    write_deltalake(path, data.slice(0, 4), mode="append")
    return path


def rows_of_files(snapshot: Snapshot) -> Iterator[list[Row]]:
    """Yields each data file's rows, with the partition values that deltalake reads."""
    theirs = pa.table(DeltaTable(snapshot.table_root).get_add_actions(flatten=True)).to_pylist()
    partitions = {str(row["path"]): (row["partition.day"], row["partition.kind"]) for row in theirs}
    for path in snapshot.files["path"].to_pylist():
        day, kind = next(value for key, value in partitions.items() if Path(key).name == Path(path).name)
        data = pq.ParquetFile(Path(snapshot.table_root) / path).read().to_pylist()
        yield [
            {
                **{(name,): _value(value) for name, value in row.items()},
                ("day",): _value(day),
                ("kind",): kind,
            }
            for row in data
        ]


def _value(value: Any) -> Any:
    return Literal.of(value).value if isinstance(value, date) else value


TYPES: Types = {
    ("day",): PrimitiveType.DATE,
    ("ts",): PrimitiveType.TIMESTAMP,
    ("id",): PrimitiveType.LONG,
}


def predicates() -> Iterator[Predicate]:
    literals: dict[str, list[Value | date | datetime]] = {
        "day": [date(2024, 1, 1), date(2024, 1, 2), date(2025, 1, 1)],
        "kind": ["a", "b b", "c/%20", ""],
        "id": [1, 4, -7, 2**62, 100],
        "x": [1.0, 0.0, 5.5, NAN, 1e9],
        "s": ["apple", "apricot" * 20, "", "zz", "\U0001f600" * 40],
        "ts": [
            datetime(2024, 1, 1, 0, 0, 0, 999, tzinfo=UTC),
            datetime(1880, 6, 1, 0, 0, 0, 1, tzinfo=UTC),
            datetime(2024, 2, 1, tzinfo=UTC),
        ],
        "m": [Decimal("1.25"), Decimal("1.251"), Decimal("99.99")],
        "w": [Decimal("12345678901234567890.12"), Decimal("12345678901234567890.13"), Decimal("0.01")],
    }
    for name, values in literals.items():
        for value, operator in itertools.product(values, Operator):
            yield compare(name, operator.value, value)
        column = Column((name,))
        yield from (IsNull(column), IsNotNull(column), In(column, tuple(map(Literal.of, values))))
        yield Not(In(column, tuple(map(Literal.of, [values[0], None]))))
    yield StartsWith(Column(("s",)), "apr")
    yield Not(StartsWith(Column(("s",)), "a"))
    yield Compare(Operator.EQUAL, Cast(Column(("ts",)), PrimitiveType.DATE), Literal.of(date(2024, 1, 1)))
    yield And((compare("kind", "=", "a"), Or((compare("id", ">", 2), compare("x", ">", 1e9)))))
    yield Not(And((compare("day", ">", date(2024, 1, 1)), compare("s", "<", "b"))))


def test_no_matching_row_is_lost_and_partition_masks_are_exact(table: str) -> None:
    snapshot = load_snapshot(table)
    pruning, files = snapshot.pruning(), list(rows_of_files(snapshot))
    assert sum(map(len, files)) == len(ROWS) + 4
    pruned = 0
    for predicate in predicates():
        truths = [{evaluate_row(predicate, row, TYPES) for row in rows} for rows in files]
        remaining, whole = pruning.prune(predicate), pruning.matches_all(predicate)
        pruned += int(np.count_nonzero(~remaining))
        for index, found in enumerate(truths):
            assert remaining[index] or True not in found, predicate
            assert not whole[index] or found == {True}, predicate
        if pruning.columns.is_on_partitions(predicate):
            mask, is_exact = pruning.partition_mask(predicate)
            assert is_exact
            assert mask.tolist() == [True in found for found in truths], predicate
    assert pruned > 500


def test_predicates_of_transactions_judge_batches_of_files_alike(table: str) -> None:
    snapshot = load_snapshot(table)
    pruning, columns = snapshot.pruning(), snapshot.columns()
    for predicate in itertools.islice(predicates(), 0, None, 7):
        masks = [file_predicate(predicate, columns)(batch) for batch in snapshot.files.to_batches()]
        assert pa.chunked_array(masks).to_pylist() == pruning.prune(predicate).tolist()


def test_partition_values_and_statistics_follow_new_versions(table: str, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    write_deltalake(path, pa.table({"p": ["x", "y"], "v": [1, 2]}), partition_by=["p"])
    first = load_snapshot(path)
    assert first.pruning().prune(compare("p", "=", "x")).sum() == 1
    before = first.partition_texts()
    write_deltalake(path, pa.table({"p": ["x", "z"], "v": [3, 4]}), mode="append")
    second = first.advance()
    assert second.pruning().prune(compare("p", "=", "x")).sum() == 2
    assert second.pruning().prune(And((compare("p", "=", "x"), compare("v", ">", 2)))).sum() == 1
    assert first.pruning().prune(compare("p", "=", "x")).sum() == 1
    shared = {chunk.dictionary.buffers()[-1].address for chunk in before["p"].chunks}
    assert shared <= {chunk.dictionary.buffers()[-1].address for chunk in second.partition_texts()["p"].chunks}
    assert pc.sum(pc.is_valid(second.stats()["num_records"])).as_py() == 4
