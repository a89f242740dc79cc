"""Metadata-only answers: exact, or none with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, DeletionVectorDescriptor, Metadata, Protocol
from engine.pruning.metadata_answers import Answer, NoAnswer, count_by_partition, count_rows, exact_selection, extreme
from engine.pruning.predicates import Column, IsNotNull, Predicate, compare
from tests.engine.delta.log_builder import LogBuilder, add

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in [
                ("id", "long"), ("day", "date"), ("n", "integer"), ("born", "date"), ("s", "string"), ("x", "double"),
                ("m", "decimal(10,2)"), ("w", "decimal(30,2)"), ("ts", "timestamp"), ("ok", "boolean"),
            ]
        ],
    }
)  # fmt: skip
VECTOR = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="x" * 20, size_in_bytes=40, cardinality=3)


def snapshot(*files: Action) -> Snapshot:
    log = LogBuilder()
    metadata = Metadata(id="t", schema_string=SCHEMA, partition_columns=("day", "n"))
    protocol = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("deletionVectors",),
        writer_features=("deletionVectors",),
    )
    log.commit(protocol, metadata, *files)
    return Snapshot.load(log.storage)


def file(path: str, rows: int | None = 10, low: Any = 1, high: Any = 9, nulls: int = 0, **more: Any) -> Action:
    """Returns a file with the same bounds for all data columns; `column` names one alone."""
    column = more.pop("column", "id")
    stats: dict[str, Any] = {"minValues": {column: low}, "maxValues": {column: high}, "nullCount": {column: nulls}}
    stats |= {} if rows is None else {"numRecords": rows}
    stats |= more.pop("stats", {})
    partition = {"day": more.pop("day", "2024-01-01"), "n": more.pop("n", "1")}
    return add(path, stats=json.dumps(stats), partition_values=partition, **more)


def count(table: Snapshot, predicate: Predicate | None = None) -> Answer[int] | NoAnswer:
    selected = np.ones(table.num_files, bool)
    if predicate is not None:
        selection = exact_selection(table.pruning(), predicate)
        if isinstance(selection, NoAnswer):
            return selection
        selected = selection.value
    return count_rows(table.counted_files(), selected)


THREE = (file("a", 10, 1, 9), file("b", 20, 10, 19, n="2"), file("c", 5, deletion_vector=VECTOR, day=None))


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (None, 32),
        (compare("n", "=", 2), 20),
        (compare("n", "<", 5), 32),
        (compare("n", "<=>", None), 0),
        (compare("id", "<", 10), 12),
        (compare("id", "<", 100), 32),
        (compare("id", ">", 100), 0),
        (IsNotNull(Column(("id",))), 32),
    ],
)
def test_counts_that_the_log_knows(predicate: Predicate | None, rows: int) -> None:
    assert count(snapshot(*THREE), predicate) == Answer(rows)


@pytest.mark.parametrize(
    ("files", "predicate", "reason"),
    [
        (THREE, compare("id", "<", 5), "some rows only in 2 of 3 files"),
        ((file("a", None), *THREE[1:]), None, "1 of 3 files have no count"),
        ((add("a"), THREE[1]), None, "1 of 2 files have no count"),
        ((file("a", 2, deletion_vector=VECTOR),), None, "1 of 1 files have no count"),
    ],
)
def test_counts_that_it_does_not_know(files: tuple[Action, ...], predicate: Predicate | None, reason: str) -> None:
    found = count(snapshot(*files), predicate)
    assert isinstance(found, NoAnswer)
    assert reason in found.reason


def find(table: Snapshot, name: str, *, highest: bool) -> Any:
    column = table.columns().resolve((name,))
    assert column is not None
    found = extreme(table.counted_files([name]), np.ones(table.num_files, bool), column, highest=highest)
    return found.value.value if isinstance(found, Answer) else found


@pytest.mark.parametrize(
    ("column", "low", "high", "lowest", "highest"),
    [
        ("id", -3, 7, -3, 7),
        ("born", "1970-01-02", "1970-01-11", 1, 10),
        ("ok", False, True, False, True),
        ("m", 1.25, 3.5, "1.25", "3.50"),
    ],
)
def test_min_max_of_exact_types(column: str, low: Any, high: Any, lowest: Any, highest: Any) -> None:
    table = snapshot(
        file("a", 10, low, low, column=column),
        file("b", 10, high, high, nulls=9, column=column),
        file("c", 4, None, None, nulls=4, column=column),
    )
    for wanted, found in ((lowest, find(table, column, highest=False)), (highest, find(table, column, highest=True))):
        assert (str(found) if isinstance(wanted, str) else found) == wanted


def test_min_max_of_no_rows_are_null() -> None:
    assert find(snapshot(), "id", highest=True) is None
    assert find(snapshot(file("c", 4, None, None, nulls=4)), "id", highest=False) is None


@pytest.mark.parametrize(
    ("files", "column", "reason"),
    [
        ((file("a", column="s", low="a", high="b"),), "s", "need not be among them"),
        ((file("a", column="x"),), "x", "need not be among them"),
        ((file("a", column="w"),), "w", "need not be among them"),
        ((file("a", column="ts"),), "ts", "need not be among them"),
        ((file("a", column="s"),), "id", "1 files have no bound"),
        ((file("a", None),), "day", "no statistics of this column"),
        ((file("a"), file("b", deletion_vector=VECTOR)), "id", "1 files have deletion vectors"),
        ((file("a"), file("b", stats={"tightBounds": False})), "id", "1 files have deletion vectors or bounds"),
        ((file("a"), add("b")), "id", "1 files have no bound"),
    ],
)
def test_min_max_unknown_to_log(files: tuple[Action, ...], column: str, reason: str) -> None:
    found = find(snapshot(*files), column, highest=True)
    assert isinstance(found, NoAnswer)
    assert reason in found.reason


def test_bounds_are_parsed_only_on_request() -> None:
    table = snapshot(*THREE)
    for columns in ([], ["day"], ["n", "day"]):
        counted = table.counted_files(columns)
        assert counted.statistics.schema.names == ["num_records"]
        assert counted.live_rows().tolist() == [10, 20, 2]
    counted = table.counted_files(["day", "id"])
    assert counted.statistics.equals(table.stats()) and counted.is_tight().tolist() == [True, True, False]


def test_rows_of_each_partition_value() -> None:
    table = snapshot(*THREE, file("d", 0, n="3"), file("e", 7, n="2"))
    counted, pruning = table.counted_files(), table.pruning()
    column = pruning.partition_column(("n",))
    assert column is not None
    found = count_by_partition(counted, np.ones(table.num_files, bool), column)
    assert isinstance(found, Answer)
    assert sorted(found.value.to_pydict()["value"]) == [1, 2]
    assert dict(zip(*found.value.to_pydict().values(), strict=True)) == {1: 12, 2: 27}
    day = pruning.partition_column(("day",))
    assert day is not None
    by_day = count_by_partition(counted, pruning.prune(compare("n", "=", 1)), day)
    assert isinstance(by_day, Answer)
    assert {str(value): rows for value, rows in zip(*by_day.value.to_pydict().values(), strict=True)} == {
        "2024-01-01": 10,
        "None": 2,
    }


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ((file("a"), file("b", n="01")), "cannot be told apart"),
        ((file("a", None),), "1 of 1 files have no count"),
    ],
)
def test_row_counts_of_unparsable_partition_values(files: tuple[Action, ...], reason: str) -> None:
    table = snapshot(*files)
    column = table.pruning().partition_column(("n",))
    assert column is not None
    found = count_by_partition(table.counted_files(), np.ones(table.num_files, bool), column)
    assert isinstance(found, NoAnswer)
    assert reason in found.reason


@pytest.mark.parametrize("missing", ["min_values", "max_values", "null_count"])
def test_minimum_and_maximum_require_bounds_and_null_counts(missing: str) -> None:
    table = snapshot(*THREE[:2])
    column = table.pruning().columns.resolve(("id",))
    assert column is not None
    counted = table.counted_files(["id"])
    selected = np.ones(len(counted), bool)
    without = replace(counted, statistics=counted.statistics.drop_columns([missing]))
    for highest, bounds in ((True, "max_values"), (False, "min_values")):
        answer = extreme(without, selected, column, highest=highest)
        assert isinstance(answer, NoAnswer) is (missing in (bounds, "null_count"))
