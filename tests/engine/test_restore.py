"""RESTORE: the next version equals an older one in files and definition, or the statement reports the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deltalake import DeltaTable

from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.actions import Add
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.tables.operations import TableOperation
from tests.engine.bare_lake import BareLake
from tests.engine.delta.committing import describe


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BareLake]:
    opened = BareLake(tmp_path / "a lake")
    yield opened
    opened.sources.close()


@pytest.fixture
def back(lake: BareLake) -> Path:
    """Creates versions 0 and 1, which add rows, and 2, which deletes a row in each file."""
    lake.append("back", {"k": [1, 2, 3], "s": ["a", "b", "c"]})
    lake.append("back", {"k": [4, 5, 6], "s": ["d", "e", "f"]})
    DeltaTable(lake.path("back")).delete("k = 1 OR k = 4")
    return lake.path("back")


def keys(lake: BareLake) -> list[int]:
    return sorted(lake.table("back").column("k").to_pylist())


def test_restore_returns_and_records_its_metrics(lake: BareLake, back: Path) -> None:
    older, newer = (load_snapshot(str(back), version) for version in (1, 2))
    answer = lake.answer(f"RESTORE '{back}' TO VERSION AS OF 1")
    assert answer.to_pylist() == [
        {
            "table_size_after_restore": older.size_bytes,
            "num_of_files_after_restore": 2,
            "num_removed_files": newer.num_files,
            "num_restored_files": 2,
            "removed_files_size": newer.size_bytes,
            "restored_files_size": older.size_bytes,
        }
    ]
    operation, parameters, metrics = lake.operations("back")[-1]
    assert (operation, parameters) == ("RESTORE", {"version": "1", "timestamp": None})
    assert metrics["numRestoredFiles"] == "2" and metrics["tableSizeAfterRestore"] == str(older.size_bytes)
    assert keys(lake) == [1, 2, 3, 4, 5, 6]
    added, actions = load_snapshot(str(back)).files, load_snapshot(str(back)).commit_info
    assert added.column("data_change").to_pylist() == [True, True]
    assert actions is not None and actions.is_blind_append is False
    lake.answer("RESTORE TABLE back VERSION AS OF 2")
    assert keys(lake) == [2, 3, 5, 6]
    lake.answer("RESTORE TABLE back TO VERSION AS OF 0")
    assert keys(lake) == [1, 2, 3]


def test_the_definition_comes_back_and_the_protocol_stays(lake: BareLake, back: Path) -> None:
    lake.answer("ALTER TABLE back SET TBLPROPERTIES ('x' = '1')")
    for change in (
        "SET TBLPROPERTIES ('x' = '2', 'delta.columnMapping.mode' = 'name')",
        "RENAME COLUMN s TO renamed",
        "DROP COLUMN renamed",
        "ADD COLUMN added DATE",
    ):
        lake.answer(f"ALTER TABLE back {change}")
    mapped = load_snapshot(str(back))
    lake.answer("RESTORE TABLE back TO VERSION AS OF 3")
    restored = load_snapshot(str(back))
    assert restored.schema.names == ("k", "s") and restored.metadata.configuration == {"x": "1"}
    assert restored.protocol == mapped.protocol and restored.metadata.id == mapped.metadata.id
    lake.answer(f"RESTORE TABLE back TO VERSION AS OF {mapped.version}")
    again = load_snapshot(str(back))
    assert (again.metadata, again.protocol) == (mapped.metadata, mapped.protocol)
    lake.answer("ALTER TABLE back ADD COLUMN more STRING")
    highest = load_snapshot(str(back)).metadata.configuration["delta.columnMapping.maxColumnId"]
    lake.answer(f"RESTORE TABLE back TO VERSION AS OF {mapped.version}")
    assert load_snapshot(str(back)).metadata.configuration["delta.columnMapping.maxColumnId"] == highest == "4"


def test_clustering_columns_come_back(lake: BareLake) -> None:
    lake.answer("CREATE TABLE back (k INT, s STRING) CLUSTER BY (k)")
    lake.answer("ALTER TABLE back CLUSTER BY (s)")
    for version, columns in ((0, ["k"]), (1, ["s"])):
        lake.answer(f"RESTORE TABLE back TO VERSION AS OF {version}")
        assert lake.answer("DESCRIBE DETAIL back").column("clusteringColumns").to_pylist() == [columns]


def test_restore_keeps_the_history(lake: BareLake, back: Path) -> None:
    lake.answer("ALTER TABLE back SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.answer("ALTER TABLE back DROP FEATURE deletionVectors")
    lake.answer("ALTER TABLE back SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    timed = load_snapshot(str(back))
    lake.answer("RESTORE TABLE back TO VERSION AS OF 3")
    restored = load_snapshot(str(back))
    assert restored.metadata.configuration == {
        "delta.enableDeletionVectors": "true",
        "delta.requireCheckpointProtectionBeforeVersion": "4",
    }
    assert {"deletionVectors", "checkpointProtection"} <= restored.config.features
    lake.answer(f"RESTORE TABLE back TO VERSION AS OF {timed.version}")
    again = load_snapshot(str(back))
    key = "delta.inCommitTimestampEnablementVersion"
    assert timed.metadata.configuration[key] == "5" and again.metadata.configuration[key] == str(again.version)
    assert again.timestamp_ms >= timed.timestamp_ms


REFUSALS = {
    "TO VERSION AS OF 2": "DELTA_CANNOT_RESTORE_TABLE_VERSION",
    "TO VERSION AS OF 17": "DELTA_CANNOT_RESTORE_TABLE_VERSION",
    "TO VERSION AS OF x": "INVALID_TIME_TRAVEL_SPEC",
    "TO 3": "PARSE_SYNTAX_ERROR",
    "": "PARSE_SYNTAX_ERROR",
}


def test_refusals(lake: BareLake, back: Path) -> None:
    for clauses, condition in REFUSALS.items():
        assert lake.refuse(f"RESTORE TABLE back {clauses}").condition == condition, clauses
    (gone, _) = load_snapshot(str(back), 1).files.column("path").to_pylist()
    os.unlink(back / gone)
    missing = lake.refuse("RESTORE TABLE back TO VERSION AS OF 1")
    assert missing.condition == "RESTORE_FILES_MISSING" and gone in missing.full_message
    lake.answer("ALTER TABLE back SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    assert lake.refuse("RESTORE TABLE back TO VERSION AS OF 1").condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert DeltaTable(back).version() == 3


@pytest.mark.parametrize(("others", "expected"), [(1, [1, 2, 3, 4, 5, 6]), (9, [2, 3, 5, 6, 8, 8])])
def test_another_commit_in_between_is_a_reason_to_begin_again(
    lake: BareLake, back: Path, monkeypatch: pytest.MonkeyPatch, others: int, expected: list[int]
) -> None:
    """Until the retry policy allows no more."""
    monkeypatch.setattr("engine.spark.execution_context.RetryPolicy", partial(RetryPolicy, runs_max=2))
    commit, left = Transaction.commit, [others]

    def late(self: Transaction, *args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            lake.append("back", {"k": [8], "s": ["x"]})
        return commit(self, *args, **options)

    monkeypatch.setattr(Transaction, "commit", late)
    if others == 1:
        lake.answer("RESTORE TABLE back TO VERSION AS OF 1")
    else:
        error = lake.refuse("RESTORE TABLE back TO VERSION AS OF 1")
        assert error.condition == "DELTA_CONCURRENT_WRITE" and "version 4" in error.full_message
    assert keys(lake) == expected


def test_files_are_known_by_their_vectors_and_keep_their_ids(lake: BareLake, back: Path) -> None:
    """One file that has no vector, then one, then another."""
    lake.answer("ALTER TABLE back SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    lake.answer("ALTER TABLE back SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for deleted in ([0], [0, 1]):
        snapshot = load_snapshot(str(back))
        (old,) = (add for add in snapshot.files.slice(0, 1).to_pylist())
        vector = inline_deletion_vector(np.array(deleted))
        transaction = Transaction.on(snapshot, describe(TableOperation.DML, "DELETE"))
        transaction.stage_removes(snapshot.files.slice(0, 1))
        remaining = {name: old[name] for name in ("size", "modification_time", "stats", "base_row_id")}
        transaction.stage(Add(path=old["log_path"], partition_values={}, deletion_vector=vector, **remaining))
        transaction.commit()
    newest = load_snapshot(str(back)).version
    for version in (newest - 1, newest - 2, newest):
        older = load_snapshot(str(back), version)
        lake.answer(f"RESTORE TABLE back TO VERSION AS OF {version}")
        restored = load_snapshot(str(back))
        materialized_columns = ["path", "deletion_vector", "base_row_id", "stats"]
        assert restored.files.select(materialized_columns).sort_by("path") == older.files.select(
            materialized_columns
        ).sort_by("path")
        assert restored.domain_metadata == load_snapshot(str(back), newest).domain_metadata
