"""OPTIMIZE and REORG TABLE: other files, the same rows, invisible to change data readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from catalog.conditions import StatementNotSupported
from engine.delta.commit.transaction import Transaction
from engine.formats.delta.writing import optimize
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of
from tests.engine.peer_readers import PEERS, comparable
from tests.samples import some

pytestmark = pytest.mark.spark

VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED, TRACKED = "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'"
MAPPED = "'delta.columnMapping.mode' = 'name'"
SMALL_FILES = "'delta.targetFileSize' = '6kb'"

Action: TypeAlias = dict[str, Any]

CONSTRAINTS = f"""(
  id BIGINT GENERATED ALWAYS AS IDENTITY, k INT NOT NULL, v VARCHAR(5), d DATE, y INT GENERATED ALWAYS AS (year(d)),
  n DECIMAL(9,2) DEFAULT 0, at TIMESTAMP, s STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING, DOUBLE>,
  CONSTRAINT small CHECK (k < 1000)
) TBLPROPERTIES ({FEED}, 'delta.feature.allowColumnDefaults' = 'supported')"""
CONSTRAINED_ROWS = """BY NAME
  SELECT CAST(id AS INT) AS k, CAST(id AS STRING) AS v, date_add('2024-12-28', CAST(id AS INT)) AS d,
  timestamp_seconds(id) AS at, IF(id % 3 = 0, NULL, named_struct('a', CAST(id AS INT), 'b', array('x', NULL))) AS s,
  map('k', id / 2) AS m FROM range({}, {})"""
PLAIN_ROWS = "SELECT CAST(id AS INT), 'x' || id, IF(id % 4 = 3, NULL, CAST(id % 4 AS INT)) FROM range({}, {})"

KINDS = {
    # columns and properties, rows, OPTIMIZE's other clauses, readers, ids
    "rules": (CONSTRAINTS, CONSTRAINED_ROWS, "", ("deltalake", "duckdb"), False),
    "partitioned": ("(k INT, s STRING, p INT) PARTITIONED BY (p)", PLAIN_ROWS, "", ("deltalake", "duckdb"), False),
    "tracked, vectors, feed, mapped, partitioned": (
        f"(k INT, s STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ({VECTORS}, {TRACKED}, {FEED}, {MAPPED})",
        PLAIN_ROWS,
        "",
        (),
        True,
    ),
    "sorted in partitions": (
        f"(k INT, s STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ({VECTORS}, {TRACKED}, {FEED})",
        PLAIN_ROWS,
        "ZORDER BY (k, s)",
        ("deltalake", "duckdb"),
        True,
    ),
    "clustered": (
        f"(k INT, s STRING, p INT) CLUSTER BY (p, k) TBLPROPERTIES ({VECTORS}, {TRACKED}, {FEED}, {MAPPED})",
        PLAIN_ROWS,
        "",
        ("duckdb",),
        True,
    ),
}


def _made(session: LakeSession, definition: str, source: str, times: int = 2, count: int = 10) -> None:
    run(session, "DROP TABLE IF EXISTS things")
    run(session, f"CREATE TABLE things {definition}")
    for first in range(0, times * count, count):
        run(session, f"INSERT INTO things {source.format(first, first + count)}")


def _read(session: LakeSession, text: str) -> list[Any]:
    return comparable(table(session, text))


def _optimized(session: LakeSession, text: str = "OPTIMIZE things") -> dict[str, Any]:
    """Returns the metrics that are answered."""
    ((path, metrics),) = rows(session, text)
    assert path.endswith("/things")
    return dict(metrics)


def _newest(lake: Path) -> tuple[Action, list[Action], list[Action]]:
    """Returns the newest version's commitInfo, adds and removes."""
    log = actions(lake, "things", version_of(lake, "things"))
    (info,) = [action["commitInfo"] for action in log if "commitInfo" in action]
    adds, removes = ([action[kind] for action in log if kind in action] for kind in ("add", "remove"))
    assert len(log) == 1 + len(adds) + len(removes) + sum("domainMetadata" in action for action in log)
    return info, adds, removes


@pytest.mark.parametrize("kind", some(KINDS, KINDS.keys() - {"partitioned", "sorted in partitions"}))
def test_rows_stay_as_they_are(session: LakeSession, lake: Path, kind: str) -> None:
    definition, source, more, peers, has_ids = KINDS[kind]
    _made(session, definition, source, 3)
    run(session, "DELETE FROM things WHERE k IN (3, 14)")
    ids = ", _metadata.row_id, _metadata.row_commit_version" if has_ids else ""
    before, version = _read(session, f"SELECT *{ids} FROM things"), version_of(lake, "things")
    metrics = _optimized(session, f"OPTIMIZE things {more}")
    after, name = version_of(lake, "things"), ["*"]
    info, adds, removes = _newest(lake)
    assert (after, info["operation"], info["isBlindAppend"]) == (version + 1, "OPTIMIZE", False)
    assert info["isolationLevel"] == "SnapshotIsolation"
    assert not any(action["dataChange"] for action in adds + removes)
    assert not any("deletionVector" in add for add in adds)
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"]) == (len(adds), len(removes))
    assert len(adds) < len(removes)
    assert _read(session, f"SELECT *{ids} FROM things") == before
    assert _read(session, f"SELECT *{ids} FROM things VERSION AS OF {version}") == before
    name = [column for column, *_ in rows(session, "SHOW COLUMNS IN things")]
    plain = _read(session, "SELECT * FROM things")
    for peer in peers:
        assert PEERS[peer](lake / "default" / "things", name) == plain, peer
    if "enableChangeDataFeed" in definition:
        assert rows(session, f"SELECT count(*) FROM table_changes('things', {after}, {after})") == [(0,)]
    if has_ids:
        assert info["tags"] == {"delta.rowTracking.preserved": "true"}
    if not more:
        assert _optimized(session)["numFilesRemoved"] == 0
        assert version_of(lake, "things") == after
    run(session, f"INSERT INTO things {source.format(20, 22)}")  # the table goes on
    assert rows(session, "SELECT count(*) FROM things") == [(30,)]


def test_optimize_metrics_match_history(session: LakeSession, lake: Path) -> None:
    _made(session, f"(k INT, s STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ({VECTORS})", PLAIN_ROWS)
    run(session, "DELETE FROM things WHERE k = 4")
    metrics = _optimized(session, "OPTIMIZE things WHERE p >= 0 AND p <> 2")
    info, adds, removes = _newest(lake)
    assert info["operationParameters"] == {
        "predicate": '["(p >= 0 AND p <> 2)"]',
        "zOrderBy": "[]",
        "clusterBy": "[]",
        "auto": "false",
    }
    assert {add["partitionValues"]["p"] for add in adds} == {"0", "1"} and len(adds) == 2
    sizes, gone = sorted(add["size"] for add in adds), sorted(remove["size"] for remove in removes)
    reported = {name: int(value) for name, value in info["operationMetrics"].items()}
    assert (
        reported
        | {
            "numAddedFiles": 2,
            "numRemovedFiles": 4,
            "numAddedBytes": sum(sizes),
            "numRemovedBytes": sum(gone),
            "minFileSize": sizes[0],
            "maxFileSize": sizes[1],
            "numDeletionVectorsRemoved": 1,
            "numDeletionVectorRowsRemoved": 1,
        }
        == reported
    )
    assert metrics["filesAdded"] == {
        "min": sizes[0],
        "max": sizes[1],
        "avg": sum(sizes) / 2,
        "totalFiles": 2,
        "totalSize": sum(sizes),
    }
    assert metrics["filesRemoved"]["totalSize"] == sum(gone)
    assert (metrics["partitionsOptimized"], metrics["numBatches"]) == (2, 2)
    assert (metrics["totalConsideredFiles"], metrics["totalFilesSkipped"]) == (4, 0)
    assert metrics["deletionVectorStats"] == {"numDeletionVectorsRemoved": 1, "numDeletionVectorRowsRemoved": 1}
    assert metrics["zOrderStats"] is None and metrics["clusteringStats"] is None


def test_bins_become_files_of_their_size(session: LakeSession, lake: Path) -> None:
    """Nothing is shuffled; large files stay untouched."""
    _made(
        session,
        f"(k INT, s STRING, p INT) TBLPROPERTIES ({SMALL_FILES})",
        "SELECT /*+ COALESCE(1) */ * FROM (" + PLAIN_ROWS + ")",
        4,
        200,
    )
    run(session, "INSERT INTO things SELECT /*+ COALESCE(1) */ id, uuid(), 1 FROM range(1000)")
    before = _read(session, "SELECT * FROM things")
    _optimized(session)
    _, adds, removes = _newest(lake)
    assert len(removes) == 4 and 1 < len(adds) < 4
    assert _read(session, "SELECT * FROM things") == before


def _ranges(adds: list[Action], *columns: str) -> list[tuple[tuple[Any, Any], ...]]:
    stats = [json.loads(add["stats"]) for add in adds]
    return [tuple((each["minValues"][name], each["maxValues"][name]) for name in columns) for each in stats]


@pytest.mark.parametrize(
    ("clause", "more", "curve"), [("", "ZORDER BY (x, y)", "zorder"), ("CLUSTER BY (x, y)", "", "hilbert")]
)
def test_files_have_near_values_of_all_columns(
    session: LakeSession, lake: Path, clause: str, more: str, curve: str
) -> None:
    """Each file covers a part of either column's values; before, nearly all values of both."""
    run(session, "DROP TABLE IF EXISTS things")
    run(
        session,
        f"CREATE TABLE things (x INT, y STRING, t STRING) {clause} TBLPROPERTIES ('delta.targetFileSize' = '10kb')",
    )
    scattered = "SELECT CAST(id * 7919 % 10007 AS INT), format_string('%05d', id * 104729 % 10009), repeat('z', id % 9)"
    for first in (0, 5000):
        run(session, f"INSERT INTO things {scattered} FROM range({first}, {first + 5000})")
    before = _read(session, "SELECT * FROM things")
    metrics = _optimized(session, f"OPTIMIZE things {more}")
    info, adds, _ = _newest(lake)
    assert _read(session, "SELECT * FROM things") == before
    assert len(adds) >= 6
    areas = [(x1 - x0) * (int(y1) - int(y0)) / 1e8 for (x0, x1), (y0, y1) in _ranges(adds, "x", "y")]
    assert sum(areas) < len(adds) / 2
    sizes = [json.loads(add["stats"])["numRecords"] for add in adds]
    assert max(sizes) < 2 * min(sizes)
    reported = metrics["zOrderStats"] if more else metrics["clusteringStats"]
    assert reported["mergedFiles" if more else "inputOtherFiles"].values()
    if not clause:
        assert json.loads(info["operationParameters"]["zOrderBy"]) == ["x", "y"]
        return
    assert json.loads(info["operationParameters"]["clusterBy"]) == ["x", "y"]
    assert len({add["tags"]["ZCUBE_ID"] for add in adds}) == 1
    assert {(add["clusteringProvider"], add["tags"]["ZCUBE_ZORDER_CURVE"]) for add in adds} == {("liquid", curve)}
    assert _optimized(session)["numFilesRemoved"] == 0  # one cube
    run(session, f"INSERT INTO things {scattered} FROM range(3)")
    assert _optimized(session)["numFilesRemoved"] == len(adds) + 1  # which is small, and takes new rows
    run(session, "ALTER TABLE things CLUSTER BY (y)")
    assert _optimized(session)["numFilesRemoved"] == 0
    assert _optimized(session, "OPTIMIZE things FULL")["numFilesRemoved"] >= len(adds)
    assert _read(session, "SELECT DISTINCT * FROM things") == sorted(set(before), key=repr)


def test_values_that_come_often_fill_several_files(session: LakeSession, lake: Path) -> None:
    run(session, "DROP TABLE IF EXISTS things")
    run(
        session,
        "CREATE TABLE things (x DOUBLE, d DECIMAL(9,2), u STRING) TBLPROPERTIES ('delta.targetFileSize' = '60kb')",
    )
    run(session, "INSERT INTO things SELECT IF(id % 2 = 0, NULL, DOUBLE('NaN')), 1.5, uuid() FROM range(10000)")
    before = _read(session, "SELECT * FROM things")
    _optimized(session, "OPTIMIZE things ZORDER BY (x, d)")
    _, adds, _ = _newest(lake)
    counts = [json.loads(add["stats"])["numRecords"] for add in adds]
    assert len(counts) > 2 and max(counts) < 2 * min(counts)
    assert _read(session, "SELECT * FROM things") == before


def test_purging_takes_what_no_row_has_any_more(session: LakeSession, lake: Path) -> None:
    _made(session, f"(k INT, s STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ({VECTORS}, {MAPPED})", PLAIN_ROWS)
    run(session, "DELETE FROM things WHERE k = 4")
    metrics = _optimized(session, "REORG TABLE things APPLY (PURGE)")
    assert (metrics["numFilesRemoved"], metrics["numFilesAdded"]) == (1, 1)
    info, _, _ = _newest(lake)
    assert info["operation"] == "REORG"
    assert info["operationParameters"] == {"predicate": "[]", "applyPurge": "true"}
    run(session, "ALTER TABLE things DROP COLUMN s")
    before = _read(session, "SELECT * FROM things")
    metrics = _optimized(session, "REORG TABLE things WHERE p = 0 APPLY (PURGE)")
    assert (metrics["numFilesRemoved"], metrics["partitionsOptimized"]) == (2, 1)
    assert _optimized(session, "REORG TABLE things APPLY (PURGE)")["numFilesRemoved"] == 6
    assert _optimized(session, "REORG TABLE things APPLY (PURGE)")["numFilesRemoved"] == 0
    assert _read(session, "SELECT * FROM things") == before


def test_a_condition_without_columns_means_all_or_nothing(session: LakeSession) -> None:
    _made(session, "(k INT, s STRING, p INT)", PLAIN_ROWS)
    assert _optimized(session, "OPTIMIZE things WHERE 1 > 2")["totalConsideredFiles"] == 0
    assert _optimized(session, "OPTIMIZE things WHERE 1 < 2")["numFilesAdded"] == 1


def test_append_only_tables_can_be_compacted(session: LakeSession) -> None:
    _made(session, "(k INT, s STRING, p INT) TBLPROPERTIES ('delta.appendOnly' = 'true')", PLAIN_ROWS)
    assert _optimized(session)["numFilesAdded"] == 1


def test_progress_is_reported(session: LakeSession) -> None:
    _made(session, "(k INT, s STRING, p INT)", PLAIN_ROWS)
    request = StatementRequest(identity=Identity("ann"))
    session.execute("OPTIMIZE things", request).close()
    assert any("became 1" in line and "steps left: 0" in line for line in request.profile.lines)


REFUSED = [
    ("OPTIMIZE things WHERE k = 1", "DELTA_NON_PARTITION_COLUMN_REFERENCE"),
    ("OPTIMIZE things WHERE p = (SELECT 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
    ("OPTIMIZE things WHERE p", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    ("OPTIMIZE things FULL", "DELTA_OPTIMIZE_FULL_NOT_SUPPORTED"),
    ("OPTIMIZE things ZORDER BY (p)", "DELTA_ZORDERING_ON_PARTITION_COLUMN"),
    ("OPTIMIZE things ZORDER BY (k, nothing)", "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST"),
    ("OPTIMIZE things ZORDER BY (s)", "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS"),
    ("OPTIMIZE things ZORDER BY (a)", "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS"),
    ("OPTIMIZE clusters WHERE k = 1", "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE"),
    ("OPTIMIZE clusters ZORDER BY (k)", "DELTA_CLUSTERING_WITH_ZORDER_BY"),
    ("REORG TABLE things WHERE k = 1 APPLY (PURGE)", "DELTA_NON_PARTITION_COLUMN_REFERENCE"),
    ("OPTIMIZE nothing", "TABLE_OR_VIEW_NOT_FOUND"),
]


def test_invalid_optimize_is_rejected(session: LakeSession, lake: Path) -> None:
    run(session, "DROP TABLE IF EXISTS things")
    run(
        session,
        "CREATE TABLE things (k INT, a ARRAY<INT>, s STRING, p INT) PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'k,a')",
    )
    run(session, "CREATE TABLE clusters (k INT) CLUSTER BY (k)")
    for text, condition in REFUSED:
        error = refuse(session, text)
        assert error.condition == condition, (text, error)
    assert version_of(lake, "things") == 0
    assert _optimized(session)["numFilesAdded"] == 0  # no files
    assert version_of(lake, "things") == 0


# --- Concurrent statements --------------------------------------------------------------------------------------------

TWO_PARTITIONS = "(k INT, s STRING, p INT) PARTITIONED BY (p)"
CONCURRENT = [
    # table, the commits before OPTIMIZE's; see test_optimize_steps.py for cases without Spark
    (f"{TWO_PARTITIONS} TBLPROPERTIES ({VECTORS})", "DELETE FROM things WHERE k = 0"),
    (TWO_PARTITIONS, "ALTER TABLE things ADD COLUMN n INT"),
    (TWO_PARTITIONS, "OPTIMIZE things"),
]


@pytest.mark.parametrize(("definition", "text"), CONCURRENT, ids=[text for _, text in CONCURRENT])
def test_a_concurrent_statement_loses_nothing(
    session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch, definition: str, text: str
) -> None:
    """Another statement commits after OPTIMIZE's files are written and before its version is."""
    _made(session, definition, PLAIN_ROWS)
    commit, seen = Transaction.commit, list[Any]()

    def overtaken(transaction: Transaction, *args: Any) -> Any:
        if not seen:
            seen.append(None)
            run(session, text)
            seen[0] = _read(session, "SELECT * FROM things")
        return commit(transaction, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "commit", overtaken)
        _optimized(session)
    assert _read(session, "SELECT * FROM things") == seen[0]
    live = {Path(file).name for (file,) in rows(session, "SELECT DISTINCT _metadata.file_path FROM things")}
    removed = {
        Path(action["remove"]["path"]).name
        for version in range(version_of(lake, "things") + 1)
        for action in actions(lake, "things", version)
        if "remove" in action
    }
    there = {path.name for path in (lake / "default" / "things").glob("p=*/*.parquet")}
    assert there - removed == live - removed  # a lost attempt's files are removed


def test_optimize_of_dropped_table_reports_it(session: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    _made(session, TWO_PARTITIONS, PLAIN_ROWS)
    commit = Transaction.commit

    def dropped(transaction: Transaction, *args: Any) -> Any:
        run(session, "DROP TABLE IF EXISTS things")
        return commit(transaction, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "commit", dropped)
        assert refuse(session, "OPTIMIZE things").condition == "CONCURRENT_DROP"


# --- Automatic compaction and optimized writes -----------------------------------------------------------------------


def test_a_table_may_be_compacted_after_writes(
    session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimize, "AUTO_FILES_MIN", 3)
    _made(session, "(k INT, s STRING, p INT) TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')", PLAIN_ROWS)
    assert version_of(lake, "things") == 2  # two files are not many
    run(session, f"INSERT INTO things {PLAIN_ROWS.format(20, 30)}")
    info, adds, removes = _newest(lake)
    assert (info["operation"], info["operationParameters"]["auto"]) == ("OPTIMIZE", "true")
    assert (version_of(lake, "things"), len(adds), len(removes)) == (4, 1, 3)
    assert rows(session, "SELECT count(*), sum(k) FROM things") == [(30, 435)]
    run(session, f"INSERT INTO things {PLAIN_ROWS.format(0, 10)}")

    def fail(*_: Any, **__: Any) -> Any:
        raise StatementNotSupported("This")

    monkeypatch.setattr(optimize, "regrouped_rows", fail)
    assert run(session, f"INSERT INTO things {PLAIN_ROWS.format(0, 10)}") == 10
    assert version_of(lake, "things") == 6
