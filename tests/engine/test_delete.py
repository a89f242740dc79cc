"""DELETE: the rows for which the condition is true are gone, all others are there as they were, in one version."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from catalog.conditions import LogWriteFailed
from engine.delta.commit.transaction import Transaction
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import actions, refuse, rows, run, version_of
from tests.engine.peer_readers import PEERS

pytestmark = pytest.mark.spark

Row: TypeAlias = tuple[int, str | None, int | None]
ROWS: list[Row] = [(k, None if k % 7 == 0 else str(k), (0, 1, None)[k % 3]) for k in range(20)]
COLUMNS = ["k", "s", "p"]
VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED, TRACKED = "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'"
MAPPED = "'delta.columnMapping.mode' = 'name'"

# deltalake has no column mapping; DuckDB finds no partition values under physical names.
LAYOUTS = {
    # the table's clauses, its properties, the peers that read it
    "plain": ("", (), ("deltalake", "duckdb")),
    "partitioned": ("PARTITIONED BY (p)", (), ("deltalake", "duckdb")),
    "by name": ("", (MAPPED,), ("duckdb",)),
    "feed": ("", (FEED,), ("deltalake", "duckdb")),
    "feed, partitioned by name": ("PARTITIONED BY (p)", (FEED, MAPPED), ()),
    "tracked": ("", (TRACKED,), ("deltalake", "duckdb")),
    "tracked feed by name, partitioned": ("PARTITIONED BY (p)", (TRACKED, FEED, MAPPED), ()),
    "vectors": ("", (VECTORS,), ("deltalake", "duckdb")),
    "vectors, partitioned": ("PARTITIONED BY (p)", (VECTORS,), ("deltalake", "duckdb")),
    "vectors by name": ("", (VECTORS, MAPPED), ("duckdb",)),
    "vectors, feed, tracked": ("", (VECTORS, FEED, TRACKED), ("deltalake", "duckdb")),
}

DELETES: list[tuple[str, Callable[[Row], bool | None]]] = [
    ("WHERE k = 3", lambda row: row[0] == 3),
    ("WHERE s IS NULL AND k > 0", lambda row: row[1] is None and row[0] > 0),
    ("WHERE k > 100", lambda row: False),
    ("WHERE s > '5' AND s < '9'", lambda row: row[1] is not None and "5" < row[1] < "9"),
    ("WHERE CAST(NULL AS BOOLEAN) OR s <> s", lambda row: False),
    ("AS a WHERE a.k IN (4, 15)", lambda row: row[0] in (4, 15)),
    ("old WHERE old.s = '5' -- a comment", lambda row: row[1] == "5"),
    ("WHERE things.p = 1 AND default.things.k < 10", lambda row: row[2] == 1 and row[0] < 10),
    ("WHERE p IS NULL", lambda row: row[2] is None),
    ("WHERE p IS NULL", lambda row: False),
    ("WHERE k < 10", lambda row: row[0] < 10),
    ("", lambda row: True),
    ("", lambda row: False),
]


# Their features are in other layouts too.
SLOW = {"by name", "feed", "partitioned", "tracked", "feed, partitioned by name", "vectors"}


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in LAYOUTS])
def layout(session: LakeSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Two files at least, or two in each partition."""
    clauses, properties, _ = LAYOUTS[request.param]
    _made(session, clauses, properties)
    yield request.param


def _made(session: LakeSession, clauses: str, properties: tuple[str, ...]) -> None:
    run(session, "DROP TABLE IF EXISTS things")
    listed = ", ".join(("'a' = 'b'", *properties))
    run(session, f"CREATE TABLE things (k INT, s STRING, p INT) {clauses} TBLPROPERTIES ({listed})")
    for first in (0, 10):
        values = ", ".join(str(row).replace("None", "NULL") for row in ROWS[first : first + 10])
        run(session, f"INSERT INTO things SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def _ids(session: LakeSession) -> set[tuple[Any, ...]]:
    return set(rows(session, "SELECT k, _metadata.row_id, _metadata.row_commit_version FROM things"))


def _ordered(found: Any) -> list[Any]:
    return sorted(found, key=repr)


def test_the_rows_of_the_condition_go(session: LakeSession, lake: Path, layout: str) -> None:
    _, properties, peers = LAYOUTS[layout]
    left, folder = list(ROWS), lake / "default" / "things"
    ids = _ids(session) if TRACKED in properties else set()
    for text, is_selected in DELETES:
        before = version_of(lake, "things")
        gone = [row for row in left if is_selected(row)]
        left = [row for row in left if row not in gone]
        assert run(session, f"DELETE FROM things {text}") == len(gone), text
        assert version_of(lake, "things") == before + bool(gone), text
        assert _ordered(rows(session, "SELECT * FROM things")) == _ordered(left), text
        assert rows(session, "SELECT count(*), max(k) FROM things") == [(len(left), max(left)[0] if left else None)]
        for peer in peers:
            assert PEERS[peer](folder, COLUMNS) == _ordered(left), (text, peer)
        if gone:
            _ensure_reported(lake, before + 1, text, len(gone))
        if gone and FEED in properties:
            _ensure_in_feed(session, folder, before + 1, gone)
        if TRACKED in properties:
            ids = {row for row in ids if row[0] in {k for k, _, _ in left}}
            assert _ids(session) == ids, text


def _ensure_reported(lake: Path, version: int, text: str, num_deleted: int) -> None:
    (info,) = [action["commitInfo"] for action in actions(lake, "things", version) if "commitInfo" in action]
    log = actions(lake, "things", version)
    adds = {action["add"]["path"]: action["add"] for action in log if "add" in action}
    removes = {action["remove"]["path"]: action["remove"] for action in log if "remove" in action}
    metrics = {name: int(value) for name, value in info["operationMetrics"].items()}
    assert info["operation"] == "DELETE" and not info["isBlindAppend"]
    (predicate,) = json.loads(info["operationParameters"]["predicate"])
    assert predicate == "true" if not text else predicate.startswith("(")
    assert metrics["numDeletedRows"] == num_deleted
    assert metrics["numRemovedFiles"] == len(removes.keys() - adds.keys())
    assert metrics["numAddedFiles"] == len(adds.keys() - removes.keys())
    assert metrics["numAddedChangeFiles"] == sum("cdc" in action for action in log)
    assert metrics["numDeletionVectorsAdded"] == sum("deletionVector" in add for add in adds.values())
    assert metrics["numDeletionVectorsRemoved"] == sum("deletionVector" in remove for remove in removes.values())
    copied = sum(json.loads(add["stats"])["numRecords"] for path, add in adds.items() if path not in removes)
    assert metrics["numCopiedRows"] == copied


def _ensure_in_feed(session: LakeSession, folder: Path, version: int, gone: list[Row]) -> None:
    expected = _ordered((*row, "delete", version) for row in gone)
    query = f"SELECT k, s, p, _change_type, _commit_version FROM table_changes('things', {version}, {version})"
    assert _ordered(rows(session, query)) == expected
    if "delta.columnMapping.mode" not in DeltaTable(folder).metadata().configuration:
        reported = pa.table(DeltaTable(folder).load_cdf(version, version).read_all()).to_pylist()
        names = (*COLUMNS, "_change_type", "_commit_version")
        assert _ordered(tuple(row[name] for name in names) for row in reported) == expected


REFUSED = [
    ("WHERE nothing = 1", "UNRESOLVED_COLUMN"),
    ("AS a WHERE things.k = 1", "UNRESOLVED_COLUMN"),
    ("WHERE k", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    ("WHERE k IN (SELECT nothing FROM things)", "UNRESOLVED_COLUMN"),
    ("WHERE k = (SELECT k FROM things)", "SCALAR_SUBQUERY_TOO_MANY_ROWS"),
    ("WHERE k IN (SELECT k FROM no_table)", "TABLE_OR_VIEW_NOT_FOUND"),
    ("WHERE max(k) = 1", "DELTA_AGGREGATION_NOT_SUPPORTED"),
    ("WHERE rand() < 0.5", "DELTA_NON_DETERMINISTIC"),
    ("WHERE _metadata.row_index = 1", "UNRESOLVED_COLUMN"),
    ("WHERE raise_error('no') IS NULL", "USER_RAISED_EXCEPTION"),
    ("WHERE k / 0 = 1", "DIVIDE_BY_ZERO"),
]


def test_failed_delete_changes_nothing(session: LakeSession, lake: Path) -> None:
    _made(session, "", (FEED,))
    folder = lake / "default" / "things"
    before = version_of(lake, "things"), _files(folder)
    for text, condition in REFUSED:
        error = refuse(session, f"DELETE FROM things {text}")
        assert (error.condition or "").startswith(condition), (text, error)
        assert (version_of(lake, "things"), _files(folder)) == before
    assert _ordered(rows(session, "SELECT * FROM things")) == _ordered(ROWS)


def _files(folder: Path) -> set[str]:
    """Returns all files except those that log maintenance writes."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*.*") if "_delta_log" not in path.parts}


@pytest.mark.parametrize("properties", [(FEED,), (FEED, VECTORS)], ids=["rewriting", "vectors"])
def test_a_commit_that_fails_leaves_no_file(
    session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch, properties: tuple[str, ...]
) -> None:
    _made(session, "", properties)
    before = _files(lake / "default" / "things")

    def stop(*_: Any) -> None:
        assert _files(lake / "default" / "things") > before
        raise LogWriteFailed("things", 1, "a fault")

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "commit", stop)
        refuse(session, "DELETE FROM things WHERE k = 3")
    assert _files(lake / "default" / "things") == before
    assert run(session, "DELETE FROM things WHERE k = 3") == 1


def test_vectors_leave_the_files_where_they_are(session: LakeSession, lake: Path) -> None:
    """Vectors grow, statistics are no longer tight, and a commit's vectors share one file."""
    _made(session, "PARTITIONED BY (p)", (VECTORS, TRACKED))
    folder, seen = lake / "default" / "things", []
    for condition in ("k % 2 = 0 AND p >= 0", "k % 4 = 1 AND p >= 0"):
        before = _files(folder)
        run(session, f"DELETE FROM things WHERE {condition}")
        (made,) = _files(folder) - before
        assert made.startswith("deletion_vector_") and made.endswith(".bin")
        log = actions(lake, "things", version_of(lake, "things"))
        adds = {action["add"]["path"]: action["add"] for action in log if "add" in action}
        removes = {action["remove"]["path"]: action["remove"] for action in log if "remove" in action}
        assert adds and adds.keys() <= removes.keys()
        for path, add in adds.items():
            vector, stats = add["deletionVector"], json.loads(add["stats"])
            assert vector["storageType"] == "u" and add["dataChange"] and stats["tightBounds"] is False
            assert 0 < vector["cardinality"] < stats["numRecords"]
            assert add["baseRowId"] == removes[path]["baseRowId"]
            assert add["defaultRowCommitVersion"] == removes[path]["defaultRowCommitVersion"]
        seen.append({path: add["deletionVector"]["cardinality"] for path, add in adds.items()})
    first, second = seen
    assert first.keys() & second.keys() and all(second[path] > first[path] for path in first.keys() & second.keys())


def test_rows_of_large_files_are_found_by_their_place(session: LakeSession, lake: Path) -> None:
    """More rows than a Spark bitmap has, and than a deletion vector's container."""
    run(session, "DROP TABLE IF EXISTS large")
    run(session, f"CREATE TABLE large (k INT) TBLPROPERTIES ({VECTORS})")
    run(session, "INSERT INTO large SELECT id FROM range(0, 200000, 1, 1)")
    left = set(range(200000))
    for condition, gone in (
        ("k IN (0, 32767, 32768, 65535, 65536, 98304, 199999)", {0, 32767, 32768, 65535, 65536, 98304, 199999}),
        ("k % 1000 = 7 OR k BETWEEN 131000 AND 140000", {k for k in left if k % 1000 == 7 or 131000 <= k <= 140000}),
        ("k < 100000 AND k % 2 = 0", set(range(0, 100000, 2))),
    ):
        assert run(session, f"DELETE FROM large WHERE {condition}") == len(gone & left)
        left -= gone
        assert {row[0] for row in rows(session, "SELECT k FROM large")} == left
        for peer in ("deltalake", "duckdb"):
            assert {row[0] for row in PEERS[peer](lake / "default" / "large", ["k"])} == left
    assert len(list((lake / "default" / "large").glob("*.parquet"))) == 1


def test_files_without_counts_are_rewritten_and_no_column_hides_places(session: LakeSession, lake: Path) -> None:
    _made(session, "", (VECTORS,))
    ignored = shutil.ignore_patterns("*.tmp")  # log cleanup after a commit may still run
    shutil.copytree(lake / "default" / "things", lake / "default" / "bare", ignore=ignored)
    for commit in (lake / "default" / "bare" / "_delta_log").iterdir():
        commit.unlink() if commit.suffix != ".json" else commit.write_text(_without_stats(commit.read_text()))
    run(session, "DROP TABLE IF EXISTS hiding")
    run(session, f"CREATE TABLE hiding (k INT, _metadata INT) TBLPROPERTIES ({VECTORS})")
    run(session, "INSERT INTO hiding SELECT id, id FROM range(0, 20, 1, 1)")
    for name in ("bare", "hiding"):
        assert run(session, f"DELETE FROM {name} WHERE k IN (3, 4)") == 2
        assert bool(list((lake / "default" / name).glob("deletion_vector_*"))) == (name == "hiding")
        assert {row[0] for row in rows(session, f"SELECT k FROM {name}")} == set(range(20)) - {3, 4}
        assert run(session, f"DELETE FROM {name}") == 18
        assert rows(session, f"SELECT count(*) FROM {name}") == [(0,)]


def _without_stats(commit: str) -> str:
    lines = [json.loads(line) for line in commit.splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_an_append_only_table_keeps_its_rows(session: LakeSession, lake: Path) -> None:
    _made(session, "", ("'delta.appendOnly' = 'true'",))
    for text in ("", "WHERE k = 1", "WHERE k = 100"):
        assert refuse(session, f"DELETE FROM things {text}").condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert version_of(lake, "things") == 2


def test_parameters_and_variables_in_the_condition(session: LakeSession) -> None:
    _made(session, "PARTITIONED BY (p)", (FEED,))
    for text, given, affected in (
        ("DELETE FROM things WHERE k = ? OR s = ?", (("3", "int", None), ("4", "string", None)), 2),
        ("DELETE FROM things t WHERE t.k < :most AND k > :least", (("9", "int", "most"), ("6", "int", "least")), 2),
        ("DELETE FROM things WHERE p = :p", (("1", "int", "p"),), 5),
    ):
        parameters = [Parameter(value=value, sql_type=kind, name=name) for value, kind, name in given]
        result = session.execute(text, StatementRequest(identity=Identity("ann")), parameters)
        result.close()
        assert result.rows_modified == affected, text
    run(session, "DECLARE OR REPLACE VARIABLE edge INT DEFAULT 18")
    assert run(session, "DELETE FROM things WHERE k >= edge") == 1
    run(session, "BEGIN FOR r AS SELECT 0 AS k UNION ALL SELECT 2 DO DELETE FROM things WHERE k = r.k; END FOR; END")
    assert {row[0] for row in rows(session, "SELECT k FROM things")} == {5, 6, 9, 11, 12, 14, 15, 17}


def test_a_number_of_an_application_counts_once(session: LakeSession, lake: Path) -> None:
    _made(session, "", ())
    run(session, "SET spark.databricks.delta.write.txnAppId = app")
    run(session, "SET spark.databricks.delta.write.txnVersion = 1")
    assert run(session, "DELETE FROM things WHERE k < 5") == 5
    assert run(session, "DELETE FROM things WHERE k < 10") == 0
    assert version_of(lake, "things") == 3
