"""Kinds of staged commits, and the isolation level that follows from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from engine.delta.commit.read_set import ReadSet
from engine.delta.commit.staged_commit import ROW_TRACKING_DOMAIN, IsolationLevel, StagedCommit, adds_of, remove_rows
from engine.delta.log.file_table import TOMBSTONES_SCHEMA
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import AddCdcFile, DomainMetadata, Protocol, SetTransaction
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import add, append, create, describe, metadata
from tests.interleave.storages import DictStorage

NOTHING: dict[str, Any] = {}
ADDED = {"adds": adds_of((add("a"),))}
MOVED = {"adds": adds_of((add("a", data_change=False),))}
DOMAIN = DomainMetadata(domain="mine", configuration="{}")
TRACKING = DomainMetadata(domain=ROW_TRACKING_DOMAIN, configuration="{}")
CHANGES = {
    "cdc_files": (AddCdcFile(path="c", size=1, partition_values={}),),
    "protocol": Protocol(min_reader_version=1, min_writer_version=2),
    "metadata": metadata(),
    "set_transactions": (SetTransaction(app_id="a", version=1),),
    "domain_metadata": (DOMAIN,),
}


def tombstones(*data_changes: bool) -> pa.RecordBatch:
    columns = [
        pa.array(data_changes, field.type) if field.name == "data_change" else pa.nulls(len(data_changes), field.type)
        for field in TOMBSTONES_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TOMBSTONES_SCHEMA)


def staged(**fields: Any) -> StagedCommit:
    defaults = {
        "description": describe(TableOperation.APPEND),
        "read_set": ReadSet(),
        "txn_id": "x",
        "read_version": 0,
        "adds": adds_of(()),
        "removes": tombstones(),
    }
    return StagedCommit(**(defaults | fields))


@pytest.mark.parametrize(
    ("fields", "is_empty", "is_blind", "is_compaction"),
    [
        (NOTHING, True, True, True),
        (NOTHING | {"read_set": ReadSet(whole_table=True)}, False, False, True),
        (NOTHING | {"read_set": ReadSet(predicates=(pa.array,))}, False, False, True),
        (NOTHING | {"read_set": ReadSet(files=(pa.array(["a"]),))}, False, False, True),
        (ADDED, False, True, False),
        (MOVED, False, True, True),
        ({"removes": tombstones(True)}, False, False, False),
        ({"removes": tombstones(False)}, False, False, True),
        (MOVED | {"removes": tombstones(False, True)}, False, False, False),
        ({"domain_metadata": (TRACKING,)}, False, True, True),
        *[({name: value}, False, name != "cdc_files", False) for name, value in CHANGES.items()],
        *[(MOVED | {name: value}, False, name != "cdc_files", False) for name, value in CHANGES.items()],
        (ADDED | {"read_set": ReadSet(whole_table=True)}, False, False, False),
        (ADDED | {"read_set": ReadSet(app_ids=frozenset({"a"}))}, False, True, False),
    ],
)
def test_kind_of_commit_follows_from_its_actions(
    fields: dict[str, Any], is_empty: bool, is_blind: bool, is_compaction: bool
) -> None:
    commit = staged(**fields)
    assert (commit.is_empty, commit.is_blind_append, commit.is_compaction) == (is_empty, is_blind, is_compaction)


def test_removes_of_live_files_change_data_unless_declared_otherwise() -> None:
    storage = DictStorage()
    create(storage)
    append(storage, "a")
    [files] = Snapshot.load(storage).files.to_batches()
    for removes, changes_data in ((remove_rows(files, 5), True), (remove_rows(files, 5, data_change=False), False)):
        [found] = removes.select(
            ["log_path", "data_change", "extended_file_metadata", "deletion_timestamp"]
        ).to_pylist()
        assert list(found.values()) == ["a", changes_data, True, 5]


SERIALIZABLE, WRITES, SNAPSHOT = (
    IsolationLevel.SERIALIZABLE,
    IsolationLevel.WRITE_SERIALIZABLE,
    IsolationLevel.SNAPSHOT_ISOLATION,
)


@pytest.mark.parametrize(
    ("fields", "changes_data", "level", "expected"),
    [
        (ADDED, True, SERIALIZABLE, SERIALIZABLE),
        (ADDED, False, WRITES, WRITES),
        (MOVED, True, SERIALIZABLE, SERIALIZABLE),
        (NOTHING, True, SERIALIZABLE, SERIALIZABLE),
        (MOVED, False, SERIALIZABLE, SNAPSHOT),
        (MOVED, True, WRITES, WRITES),
        (MOVED, False, WRITES, SNAPSHOT),
        (MOVED, True, SNAPSHOT, SNAPSHOT),
    ],
)
def test_compaction_does_not_conflict_with_appends(
    fields: dict[str, Any], changes_data: bool, level: IsolationLevel, expected: IsolationLevel
) -> None:
    commit = staged(**fields)
    commit = replace(commit, description=replace(commit.description, changes_data=changes_data))
    assert commit.isolation_level(level) is expected
