"""DROP FEATURE when files use it: the same rows in files that do not, with concurrent writers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table
from tests.engine.peer_readers import PEERS, Rows, comparable
from tests.engine.stats_truth import deserved, logged
from tests.samples import some

pytestmark = pytest.mark.spark

VECTORS = "'delta.enableDeletionVectors' = 'true'"
WIDENING = "'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`steps` make the table `freed` and leave files that need `feature`."""

    feature: str
    definition: str
    steps: tuple[str, ...]
    # Number of files that use the feature.
    rewritten: int
    # Who reads the table afterwards.
    peers: tuple[str, ...] = ("deltalake", "duckdb")


def deleting(definition: str, *peers: str) -> Case:
    """Deletes some rows in the first insert's files, and all rows in one file."""
    return Case(
        feature="deletionVectors",
        definition=definition,
        steps=(
            "INSERT INTO freed (k, p) VALUES (1, 1), (2, 1), (3, 1)",
            "DELETED 0 2",
            "INSERT INTO freed (k, p) VALUES (7, 2)",
            "DELETED 0",
            "INSERT INTO freed (k, p) VALUES (8, 2), (NULL, NULL)",
        ),
        rewritten=2,
        peers=peers or ("deltalake", "duckdb"),
    )


def widening(definition: str, values: str, *changes: str, properties: str = "", **more: Any) -> Case:
    return Case(
        feature="typeWidening",
        definition=f"({definition}) TBLPROPERTIES ({WIDENING}{properties})",
        steps=(
            f"INSERT INTO freed VALUES ({values})",
            *(f"ALTER TABLE freed ALTER COLUMN {change}" for change in changes),
            "INSERT INTO freed SELECT * FROM freed",
        ),
        rewritten=1,
        **more,
    )


CASES = {
    "vectors": deleting(f"(k INT, p INT) TBLPROPERTIES ({VECTORS})"),
    "vectors in partitions": deleting(f"(p INT, k INT) PARTITIONED BY (p) TBLPROPERTIES ({VECTORS})"),
    "vectors of mapped columns": deleting(
        f"(k INT, p INT) TBLPROPERTIES ({VECTORS}, 'delta.columnMapping.mode' = 'name')"
    ),
    "vectors of columns mapped by id": deleting(
        f"(k INT, p INT) TBLPROPERTIES ({VECTORS}, 'delta.columnMapping.mode' = 'id')"
    ),
    "vectors of a table that only grows": deleting(
        f"(k INT, p INT) TBLPROPERTIES ({VECTORS}, 'delta.appendOnly' = 'true')"
    ),
    "vectors, with values of rules": deleting(
        "(k INT, p INT, g INT GENERATED ALWAYS AS (k + p), c INT, CONSTRAINT kept CHECK (k IS NULL OR k > 0)) "
        f"TBLPROPERTIES ({VECTORS})"
    ),
    "vectors of a clustered table": deleting(f"(k INT, p INT) CLUSTER BY (k) TBLPROPERTIES ({VECTORS})"),
    "numbers": widening(
        "a TINYINT, b SMALLINT, c INT, f FLOAT, d DECIMAL(5, 2), kept INT",
        "-1, 300, 70000, 0.1, 123.45, 5",
        "a TYPE SMALLINT",
        "b TYPE DOUBLE",
        "c TYPE DECIMAL(12, 1)",
        "f TYPE DOUBLE",
        "d TYPE DECIMAL(12, 4)",
    ),
    "dates": widening("d DATE, n INT", "DATE'1500-01-01', 1", "d TYPE TIMESTAMP_NTZ"),
    "inner fields": widening(
        "s STRUCT<a: INT, t: STRUCT<b: SMALLINT>>, l ARRAY<TINYINT>, m MAP<SMALLINT, STRUCT<f: FLOAT>>",
        "named_struct('a', 1, 't', named_struct('b', 2S)), array(3Y, NULL), map(4S, named_struct('f', 0.1F))",
        "s.a TYPE BIGINT",
        "s.t.b TYPE INT",
        "l.element TYPE INT",
        "m.key TYPE INT",
        "m.value.f TYPE DOUBLE",
    ),
    "mapped columns": widening(
        "`a b` INT, s STRUCT<`x y`: INT>",
        "1, named_struct('x y', 2)",
        "`a b` TYPE BIGINT",
        "s.`x y` TYPE BIGINT",
        properties=", 'delta.columnMapping.mode' = 'name'",
    ),
    "widened and not written since": widening("n INT", "1", "n TYPE BIGINT"),
}


def delete_rows(folder: Path, deleted: list[int]) -> None:
    """Deletes rows in the newest file as another writer, by a deletion vector."""
    log = folder / "_delta_log"
    version = max(int(path.stem) for path in log.glob("*.json"))
    lines = [json.loads(line) for line in (log / f"{version:020}.json").read_text().splitlines()]
    (add,) = [line["add"] for line in lines if "add" in line]
    vector = inline_deletion_vector(np.array(deleted, np.int64)).to_json()
    remove = {key: add[key] for key in ("path", "partitionValues", "size")}
    commit = [
        {"commitInfo": {"operation": "DELETE", "timestamp": 0}},
        {"remove": {**remove, "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": True}},
        {"add": {**add, "deletionVector": vector}},
    ]
    text = "".join(json.dumps(action) + "\n" for action in commit)
    (log / f"{version + 1:020}.json").write_text(text)


def make(session: LakeSession, folder: Path, case: Case) -> None:
    run(session, "DROP TABLE IF EXISTS freed")
    run(session, f"CREATE TABLE freed {case.definition}")
    for step in case.steps:
        if step.startswith("DELETED"):
            delete_rows(folder, [int(row) for row in step.split()[1:]])
        else:
            run(session, step)


@pytest.fixture
def folder(lake: Path) -> Path:
    return lake / "default" / "freed"


def features(folder: Path) -> frozenset[str]:
    return load_snapshot(str(folder)).config.features


def content(session: LakeSession) -> Rows:
    return comparable(table(session, "SELECT * FROM freed"))


_LAYOUTS = {
    f"vectors {more}" for more in ("of columns mapped by id", "of a clustered table", "of a table that only grows")
}


@pytest.mark.parametrize("name", some(CASES, CASES.keys() - _LAYOUTS))
def test_the_feature_goes_and_the_rows_stay(session: LakeSession, folder: Path, lake: Path, name: str) -> None:
    case = CASES[name]
    make(session, folder, case)
    before, version = content(session), load_snapshot(str(folder)).version
    assert before and case.feature in features(folder)
    files = set(load_snapshot(str(folder)).files.column("path").to_pylist())
    run(session, f"ALTER TABLE freed DROP FEATURE {case.feature}")
    assert content(session) == before
    columns = table(session, "SELECT * FROM freed").column_names
    for peer in case.peers:
        assert PEERS[peer](folder, columns) == before, peer
    after = load_snapshot(str(folder))
    assert case.feature not in features(folder) and "delta.typeChanges" not in after.metadata.schema_string
    assert after.files.column("deletion_vector").null_count == after.num_files
    assert after.version == version + 2
    rewriting = actions(lake, "freed", version + 1)
    changed = [action[kind] for action in rewriting for kind in ("add", "remove") if kind in action]
    assert [action for action in changed if action["dataChange"]] == []
    assert len(files - set(after.files.column("path").to_pylist())) == case.rewritten
    history = table(session, "DESCRIBE HISTORY freed LIMIT 2").to_pylist()
    assert [row["operation"] for row in history] == ["DROP FEATURE", "REORG"]
    found = logged(folder)
    for action in rewriting:
        if "add" in action:
            path = action["add"]["path"]
            assert "/" in path or found[path] == deserved(folder / path)
    assert comparable(table(session, f"SELECT * FROM freed VERSION AS OF {version}")) == before


FEED = "'delta.enableChangeDataFeed' = 'true'"


def changes(session: LakeSession, first: int) -> Rows:
    query = f"SELECT k, _change_type, _commit_version FROM table_changes('freed', {first})"
    return comparable(table(session, query))


def test_rows_written_anew_are_no_changes(session: LakeSession, folder: Path) -> None:
    make(session, folder, deleting(f"(k INT, p INT) TBLPROPERTIES ({VECTORS}, {FEED})"))
    before, version = changes(session, 1), load_snapshot(str(folder)).version
    run(session, "ALTER TABLE freed DROP FEATURE deletionVectors")
    run(session, "INSERT INTO freed VALUES (9, 9)")
    assert changes(session, 1) == sorted([*before, (9, "insert", version + 3)], key=repr)


def test_rows_of_renamed_files_are_no_changes(session: LakeSession, folder: Path) -> None:
    """Changes from before cannot be read with columns that are not mapped, and are refused."""
    make(session, folder, deleting(f"(k INT, p INT) TBLPROPERTIES ({VECTORS}, {FEED}, {NAMED})"))
    version = load_snapshot(str(folder)).version
    run(session, "ALTER TABLE freed DROP FEATURE columnMapping")
    run(session, "INSERT INTO freed VALUES (9, 9)")
    assert changes(session, version + 1) == [(9, "insert", version + 2)]
    error = refuse(session, "SELECT * FROM table_changes('freed', 1)")
    assert error.condition == "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"


def test_unaffected_files_are_not_rewritten(session: LakeSession, folder: Path) -> None:
    make(session, folder, CASES["widened and not written since"])
    run(session, "INSERT OVERWRITE freed SELECT * FROM freed")
    files = load_snapshot(str(folder)).files
    run(session, "ALTER TABLE freed DROP FEATURE typeWidening")
    after = load_snapshot(str(folder))
    assert after.files.column("path") == files.column("path")
    (row,) = table(session, "DESCRIBE HISTORY freed LIMIT 1").to_pylist()
    assert row["operation"] == "DROP FEATURE" and row["version"] == after.version


# --- Column mapping: files and feature go at once ---------------------------------------------------------------------

NAMED, BY_ID = ("'delta.columnMapping.mode' = 'name'", "'delta.columnMapping.mode' = 'id'")
MAPPED = {
    "by name": (
        "(k INT, s STRUCT<x: INT, t: ARRAY<STRUCT<y: STRING>>>, m MAP<STRING, STRUCT<z: DATE>>) "
        f"TBLPROPERTIES ({NAMED})",
        "INSERT INTO freed VALUES (1, named_struct('x', 2, 't', array(named_struct('y', 'a'), NULL)), NULL), "
        "(NULL, NULL, map('k', named_struct('z', DATE'2024-01-01')))",
        "ALTER TABLE freed RENAME COLUMN s.x TO other",
        "ALTER TABLE freed RENAME COLUMN k TO s2",
        "ALTER TABLE freed DROP COLUMN m",
        "ALTER TABLE freed ADD COLUMN k STRING",
        "INSERT INTO freed VALUES (3, NULL, 'new')",
    ),
    "by id": (
        f"(k INT, `a b` INT) TBLPROPERTIES ({BY_ID})",
        "INSERT INTO freed VALUES (1, 2), (3, NULL)",
        "ALTER TABLE freed RENAME COLUMN `a b` TO ab",
        "INSERT INTO freed VALUES (4, 5)",
    ),
    "with partitions": (
        f"(k INT, `p q` STRING, d DATE) PARTITIONED BY (`p q`, d) TBLPROPERTIES ({NAMED})",
        "INSERT INTO freed VALUES (1, 'a/b', DATE'2024-01-01'), (2, NULL, NULL)",
        "ALTER TABLE freed RENAME COLUMN `p q` TO pq",
    ),
    "clustered": (
        f"(k INT, s STRUCT<x: INT>) CLUSTER BY (s.x, k) TBLPROPERTIES ({NAMED})",
        "INSERT INTO freed VALUES (1, named_struct('x', 2))",
        "ALTER TABLE freed RENAME COLUMN k TO n",
    ),
    "with vectors and wider types": (
        f"(k INT, n INT) TBLPROPERTIES ({NAMED}, {VECTORS}, {WIDENING})",
        "INSERT INTO freed VALUES (1, 1), (2, 2), (3, 3)",
        "DELETED 1",
        "ALTER TABLE freed ALTER COLUMN n TYPE BIGINT",
    ),
    "with rules": (
        "(k INT NOT NULL, g INT GENERATED ALWAYS AS (k * 2), id BIGINT GENERATED ALWAYS AS IDENTITY, "
        f"CONSTRAINT c CHECK (k > 0)) TBLPROPERTIES ({NAMED})",
        "INSERT INTO freed (k) VALUES (1), (2)",
    ),
    "without rows": (f"(k INT) TBLPROPERTIES ({NAMED})",),
}


def mapped(definition: str, *steps: str) -> Case:
    return Case(feature="columnMapping", definition=definition, steps=steps, rewritten=0)


@pytest.mark.parametrize("name", MAPPED)
def test_columns_are_stored_under_their_names(session: LakeSession, folder: Path, lake: Path, name: str) -> None:
    make(session, folder, mapped(*MAPPED[name]))
    before, old = content(session), load_snapshot(str(folder))
    run(session, "ALTER TABLE freed DROP FEATURE columnMapping")
    new = load_snapshot(str(folder))
    assert new.version == old.version + 1 and "columnMapping" not in new.config.features
    stored = (new.metadata.schema_string, *new.metadata.configuration, str(new.domain_metadata))
    assert not [text for text in stored if "delta.columnMapping" in text or "col-" in text]
    changed = [
        action[kind] for action in actions(lake, "freed", new.version) for kind in ("add", "remove") if kind in action
    ]
    assert [action for action in changed if action["dataChange"]] == []
    columns = table(session, "SELECT * FROM freed").column_names
    assert content(session) == before
    for peer in PEERS if "wider" not in name else ("duckdb",):
        assert PEERS[peer](folder, columns) == before, peer
    assert comparable(table(session, f"SELECT * FROM freed VERSION AS OF {old.version}")) == before
    if name == "with rules":
        run(session, "INSERT INTO freed (k) VALUES (7)")
        assert rows(session, "SELECT k, g, id FROM freed WHERE k = 7") == [(7, 14, 3)]
        assert refuse(session, "INSERT INTO freed (k) VALUES (0)").condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"


def test_names_with_special_characters_keep_mapping(session: LakeSession, folder: Path) -> None:
    make(
        session,
        folder,
        mapped(f"(k INT, s STRUCT<`a b`: INT>) TBLPROPERTIES ({NAMED})", "INSERT INTO freed VALUES (1, NULL)"),
    )
    files = set(folder.rglob("*.parquet"))
    error = refuse(session, "ALTER TABLE freed DROP FEATURE columnMapping")
    assert (
        error.condition == "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING" and "'s.a b'" in error.full_message
    )
    assert "columnMapping" in features(folder) and set(folder.rglob("*.parquet")) == files


def test_a_commit_beside_it_is_a_conflict_and_leaves_the_mapping(
    session: LakeSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, folder, mapped(*MAPPED["by id"]))
    before = content(session)
    interrupted(monkeypatch, lambda: run(session, "INSERT INTO freed VALUES (8, 9)"))
    assert refuse(session, "ALTER TABLE freed DROP FEATURE columnMapping").condition == "DELTA_CONCURRENT_WRITE"
    assert content(session) == sorted([*before, (8, 9)], key=repr) and "columnMapping" in features(folder)
    known = load_snapshot(str(folder)).files.column("path").to_pylist()
    assert sorted(path.name for path in folder.rglob("*.parquet")) == sorted(path.rpartition("/")[2] for path in known)
    run(session, "ALTER TABLE freed DROP FEATURE columnMapping")
    assert PEERS["deltalake"](folder, ["k", "ab"]) == content(session)


# --- Concurrent writers -----------------------------------------------------------------------------------------------


def interrupted(monkeypatch: pytest.MonkeyPatch, *others: Callable[[], object]) -> None:
    """Runs the first of `others` before the statement's first commit, and so on; their own commits do not count."""
    commit, pending = Transaction.commit, list(others)
    is_inside = [False]

    def commit_later(self: Transaction, *arguments: Any) -> Any:
        if pending and not is_inside[0]:
            is_inside[0] = True
            pending.pop(0)()
            is_inside[0] = False
        return commit(self, *arguments)

    monkeypatch.setattr(Transaction, "commit", commit_later)


@pytest.mark.parametrize("name", ["vectors", "numbers"])
def test_rows_that_others_insert_meanwhile_are_there(
    session: LakeSession, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    make(session, folder, case)
    before, inserted = content(session), case.steps[-1]
    copied = case.feature == "typeWidening"
    interrupted(monkeypatch, lambda: run(session, inserted), lambda: run(session, inserted))
    run(session, f"ALTER TABLE freed DROP FEATURE {case.feature}")
    assert case.feature not in features(folder)
    more = before * 3 if copied else [(8, 2), (None, None)] * 2
    assert content(session) == sorted([*before, *more], key=repr)
    assert PEERS["deltalake"](folder, table(session, "SELECT * FROM freed").column_names) == content(session)


def test_rows_deleted_concurrently_stay_deleted(
    session: LakeSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, folder, CASES["vectors in partitions"])
    interrupted(monkeypatch, lambda: run(session, "INSERT INTO freed REPLACE WHERE p = 1 VALUES (1, 100)"))
    run(session, "ALTER TABLE freed DROP FEATURE deletionVectors")
    assert "deletionVectors" not in features(folder)
    assert rows(session, "SELECT p, k FROM freed ORDER BY p, k") == [(None, None), (1, 100), (2, 8)]


def test_vectors_that_others_make_meanwhile_are_seen(
    session: LakeSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, folder, CASES["vectors"])

    def other() -> None:
        run(session, "INSERT INTO freed VALUES (100, 1), (101, 1)")
        delete_rows(folder, [0])

    interrupted(monkeypatch, other, other)
    run(session, "ALTER TABLE freed DROP FEATURE deletionVectors")
    assert "deletionVectors" not in features(folder)
    found = rows(session, "SELECT k FROM freed ORDER BY k NULLS FIRST")
    assert found == [(None,), (2,), (8,), (101,), (101,)]
    assert load_snapshot(str(folder)).files.column("deletion_vector").null_count == load_snapshot(str(folder)).num_files


@pytest.mark.parametrize("feature", ["deletionVectors", "columnMapping"])
def test_rows_keep_their_ids(session: LakeSession, folder: Path, feature: str) -> None:
    make(
        session,
        folder,
        deleting(f"(k INT, p INT) TBLPROPERTIES ({VECTORS}, {NAMED}, 'delta.enableRowTracking' = 'true')"),
    )
    query = "SELECT _metadata.row_id, _metadata.row_commit_version, k, p FROM freed"
    before = sorted(rows(session, query), key=str)
    run(session, f"ALTER TABLE freed DROP FEATURE {feature}")
    assert feature not in features(folder)
    assert sorted(rows(session, query), key=str) == before
