"""The change data feed in the log: files, their rows, and errors."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest

from catalog.conditions import DeltaError
from engine.delta.feed.change_feed import ChangeFeed, load_change_feed
from engine.delta.snapshot.commit_times import load_commit_times
from engine.delta.snapshot.row_files import load_deleted_rows
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, Add, DeletionVectorDescriptor, Metadata, Protocol, Remove
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.delta.spec.paths import commit_name
from engine.storage.storage import Storage
from tests.engine.delta.log_builder import SCHEMA_STRING, LogBuilder, add, remove

ROW_COUNT = 6
FEED = {"delta.enableChangeDataFeed": "true"}
FEATURES = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors", "changeDataFeed"),
)
METADATA = Metadata(id="table", schema_string=SCHEMA_STRING, partition_columns=("day",), configuration=FEED)


def feed_log(metadata: Metadata = METADATA) -> LogBuilder:
    log = LogBuilder()
    log.commit(FEATURES, metadata)
    return log


def load(log: LogBuilder, first: int, last: int | None = None) -> ChangeFeed:
    table = Snapshot.load(log.storage)
    versions = range(first, (table.version if last is None else last) + 1)
    return load_change_feed(
        table, load_commit_times(table), versions, lambda version: Snapshot.load(log.storage, version)
    )


def rows_of(storage: Storage, file: dict[str, Any]) -> list[int]:
    """Returns the rows that a scan over `file` reads."""

    def rows(vector: dict[str, Any]) -> list[int]:
        descriptor = DeletionVectorDescriptor(**vector)
        found: list[int] = load_deleted_rows(storage, descriptor).tolist()
        return found

    selected = range(ROW_COUNT) if file["selected_rows"] is None else rows(file["selected_rows"])
    left_out = set() if file["deletion_vector"] is None else set(rows(file["deletion_vector"]))
    return [row for row in selected if row not in left_out]


class Model:
    """Files with each one's deleted rows; a commit changes some at random."""

    def __init__(self, random: Random) -> None:
        self.random, self.live, self.made = random, dict[str, frozenset[int]](), 0

    def commit(self) -> tuple[list[Action], set[tuple[str, int, str]]]:
        """Its actions, and the rows that it changed, by file and number."""
        actions: list[Action] = []
        before = dict(self.live)
        for path in self.random.sample(sorted(before), self.random.randint(0, len(before))):
            actions.append(remove(path, size=10, partition_values={"day": "1"}, deletion_vector=vector(before[path])))
            del self.live[path]
            if self.random.random() < 0.7:
                actions.append(self._add(path))
        for _ in range(self.random.randint(0, 2)):
            self.made += 1
            actions.append(self._add(f"f{self.made}"))
        self.random.shuffle(actions)
        gone, came = rows_in(before) - rows_in(self.live), rows_in(self.live) - rows_in(before)
        return actions, {(*row, "delete") for row in gone} | {(*row, "insert") for row in came}

    def _add(self, path: str) -> Add:
        count = self.random.choice((0, 1, 3, ROW_COUNT))
        self.live[path] = frozenset(self.random.sample(range(ROW_COUNT), count))
        return add(path, deletion_vector=vector(self.live[path]))


def vector(rows: frozenset[int]) -> DeletionVectorDescriptor | None:
    return inline_deletion_vector(np.array(sorted(rows), np.int64)) if rows else None


def rows_in(live: dict[str, frozenset[int]]) -> set[tuple[str, int]]:
    return {(path, row) for path, deleted in live.items() for row in range(ROW_COUNT) if row not in deleted}


@pytest.mark.parametrize("seed", range(20))
def test_every_commit_tells_just_the_rows_that_it_changed(seed: int) -> None:
    random = Random(seed)
    log, model = feed_log(), Model(random)
    expected: list[tuple[int, str, int, str]] = []
    for version in range(1, 12):
        actions, changed = model.commit()
        log.commit(*actions)
        expected += [(version, *row) for row in changed]
    feed = load(log, 0)
    found = [
        (int(values["_commit_version"]), file["path"], row, values["_change_type"])
        for file in feed.data_files.to_pylist()
        for values in (dict(file["partition_values"]),)
        for row in rows_of(log.storage, file)
    ]
    assert sorted(found) == sorted(expected)
    assert len(feed.change_files) == 0


def test_file_constants_come_from_the_log() -> None:
    log = feed_log()
    log.commit(add("a%20b", size=7, partition_values={"day": "x"}, stats='{"numRecords":1}'))
    log.commit(remove("a%20b", size=7, partition_values={"day": "x"}))
    first, second = load(log, 0).data_files.to_pylist()
    assert (first["path"], first["size"], first["stats"]) == ("a b", 7, '{"numRecords":1}')
    assert [name for name, _ in first["partition_values"]] == [
        "day",
        "_commit_version",
        "_commit_timestamp",
        "_change_type",
    ]
    assert dict(second["partition_values"]) | {"_commit_timestamp": ""} == {
        "day": "x",
        "_commit_version": "2",
        "_commit_timestamp": "",
        "_change_type": "delete",
    }


def test_a_missing_size_is_the_file_s() -> None:
    log = feed_log(Metadata(id="t", schema_string=SCHEMA_STRING, configuration=FEED))
    log.storage.write("a", b"12345")
    log.commit(Remove(path="a"))
    assert load(log, 1).data_files["size"].to_pylist() == [5]


def _removed_file_is_gone(log: LogBuilder) -> None:
    log.commit(Metadata(id="t", schema_string=SCHEMA_STRING, configuration=FEED))
    log.commit(Remove(path="a"))


def _column_has_a_name_of_the_feed(log: LogBuilder) -> None:
    field = {"name": "_Change_Type", "type": "string", "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    log.commit(Metadata(id="t", schema_string=schema, configuration=FEED))
    log.commit()


def _feature_came_and_went(log: LogBuilder) -> None:
    unknown = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("futureFeature",),
        writer_features=("futureFeature",),
    )
    log.commit(add("a"))
    log.commit(unknown, add("b"))
    log.commit(FEATURES)


def _log_was_cleaned_up(log: LogBuilder) -> None:
    log.commit(add("a"))
    log.commit(add("b"))
    log.checkpoint(2, [FEATURES, METADATA, add("a"), add("b")])
    log.drop(commit_name(0), commit_name(1))


def _redefined(log: LogBuilder, *types: tuple[str, str]) -> None:
    """Adds a file; the next version replaces the columns and adds another file."""
    log.commit(add("a", partition_values={"day": "1"}))
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = Metadata(id="t", schema_string=schema, partition_columns=("day",), configuration=FEED)
    log.commit(metadata, remove("a", size=5, partition_values={"day": "1"}), add("b", partition_values={"day": "1"}))


def _types_are_replaced(log: LogBuilder) -> None:
    _redefined(log, ("id", "string"), ("day", "string"))


REFUSED = (
    (_types_are_replaced, 2, "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"),
    (_removed_file_is_gone, 2, "DELTA_FILE_NOT_FOUND"),
    (_column_has_a_name_of_the_feed, 1, "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"),
    (_feature_came_and_went, 1, "DELTA_UNSUPPORTED_FEATURES_FOR_READ"),
    (_log_was_cleaned_up, 1, "DELTA_VERSION_NOT_FOUND"),
)


@pytest.mark.parametrize(("history", "first", "condition"), REFUSED, ids=[case[0].__name__ for case in REFUSED])
def test_unreadable_changes_are_rejected(history: Any, first: int, condition: str) -> None:
    log = feed_log()
    history(log)
    with pytest.raises(DeltaError) as caught:
        load(log, first)
    assert caught.value.condition == condition


def test_deleted_rows_lack_dropped_columns_in_change_feed() -> None:
    log = feed_log()
    _redefined(log, ("day", "string"))
    found = load(log, 2)
    assert found.table_columns.names == ("day",) and sorted(found.data_files["path"].to_pylist()) == ["a", "b"]


def test_files_that_are_rewritten_for_other_columns_tell_nothing() -> None:
    log = feed_log()
    log.commit(add("a", partition_values={"day": "1"}))
    fields: list[dict[str, Any]] = [
        {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("id", "day")
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = Metadata(id="t", schema_string=schema, partition_columns=("day",), configuration=FEED)
    log.commit(metadata, remove("a", data_change=False), add("b", data_change=False))
    assert not len(load(log, 2).data_files)


def test_changes_after_rejected_range_are_readable() -> None:
    log = feed_log()
    _feature_came_and_went(log)
    log.commit(add("c"))
    assert load(log, 4).data_files["path"].to_pylist() == ["c"]
    assert load(log, 1, 1).data_files["path"].to_pylist() == ["a"]
