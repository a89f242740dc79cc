"""DESCRIBE HISTORY's rows, whatever writers put into `commitInfo`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from catalog.conditions import NoCommitsFound
from engine.delta.snapshot.history import load_history
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import CommitInfo, Metadata
from engine.delta.spec.paths import commit_name
from engine.tables.operations import HISTORY_SCHEMA
from tests.engine.delta.log_builder import METADATA, PROTOCOL, SCHEMA_STRING, LogBuilder, NaiveTable, add
from tests.engine.delta.snapshot.test_commit_times import PROTOCOL_ICT, log_with_times


def row(info: CommitInfo) -> dict[str, Any]:
    log = LogBuilder()
    log.commit(info, PROTOCOL, METADATA)
    (found,) = load_history(Snapshot.load(log.storage)).to_pylist()
    result: dict[str, Any] = found
    return result


def test_history_has_all_columns() -> None:
    found = row(
        CommitInfo(
            timestamp=1,
            user_id="7",
            user_name="ada",
            operation="WRITE",
            operation_parameters={"mode": "Append", "partitionBy": "[]"},
            job={"jobId": "1", "other": "x"},
            notebook={"notebookId": 3},
            cluster_id="c",
            read_version=4,
            isolation_level="Serializable",
            is_blind_append=True,
            operation_metrics={"numFiles": "1", "numOutputRows": 2},
            user_metadata="note",
            engine_info="engine",
        )
    )
    assert found | {"timestamp": None} == {
        "version": 0,
        "timestamp": None,
        "userId": "7",
        "userName": "ada",
        "operation": "WRITE",
        "operationParameters": [("mode", "Append"), ("partitionBy", "[]")],
        "job": dict.fromkeys(("jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")) | {"jobId": "1"},
        "notebook": {"notebookId": "3"},
        "clusterId": "c",
        "readVersion": 4,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": [("numFiles", "1"), ("numOutputRows", "2")],
        "userMetadata": "note",
        "engineInfo": "engine",
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x", "x"),
        (3, "3"),
        (1.5, "1.5"),
        (True, "true"),
        (["a", None], '["a",null]'),
        ({"a": {}}, '{"a":{}}'),
        (None, None),
    ],
)
def test_parameters_of_any_type_are_shown(value: Any, shown: str | None) -> None:
    assert row(CommitInfo(operation_parameters={"p": value}))["operationParameters"] == [("p", shown)]


@pytest.mark.parametrize("value", ["text", [1], 3])
def test_parameters_that_are_no_object_are_not(value: Any) -> None:
    found = row(CommitInfo(operation_parameters=value, operation_metrics=value, job=value))
    assert found["operationParameters"] is found["operationMetrics"] is found["job"] is None


def test_the_newest_come_first_and_a_limit_cuts_the_rest() -> None:
    snapshot = Snapshot.load(log_with_times(1000, 900, 3000).storage)
    history = load_history(snapshot)
    assert history.schema == HISTORY_SCHEMA
    assert history["version"].to_pylist() == [2, 1, 0]
    assert history["timestamp"].to_pylist() == [datetime.fromtimestamp(at, UTC) for at in (3, 1.001, 1)]
    assert load_history(snapshot, 2)["version"].to_pylist() == [2, 1]
    assert load_history(snapshot, 0).num_rows == 0
    assert load_history(Snapshot.load(snapshot.storage, 1))["version"].to_pylist() == [1, 0]


def test_the_commits_own_time_is_shown() -> None:
    log = LogBuilder()
    metadata = Metadata(id="t", schema_string=SCHEMA_STRING, configuration={"delta.enableInCommitTimestamps": "true"})
    log.commit(CommitInfo(in_commit_timestamp=5000), PROTOCOL_ICT, metadata)
    assert load_history(Snapshot.load(log.storage))["timestamp"].to_pylist() == [datetime.fromtimestamp(5, UTC)]


def test_history_ends_at_cleaned_up_versions() -> None:
    log, table = LogBuilder(), NaiveTable()
    log.create(add("a"))
    log.commit(add("b"))
    table.apply([PROTOCOL, METADATA, add("a"), add("b")])
    log.checkpoint(1, table.actions())
    log.drop(commit_name(0))
    snapshot = Snapshot.load(log.storage)
    assert load_history(snapshot)["version"].to_pylist() == [1]
    log.drop(commit_name(1))
    for limit in (None, 1):
        with pytest.raises(NoCommitsFound):
            load_history(snapshot, limit)
