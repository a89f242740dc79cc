"""CLONE: the same rows under another name, independent from later changes in either table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table
from tests.engine.peer_readers import PEERS

pytestmark = pytest.mark.spark

VECTORS = "'delta.enableDeletionVectors' = 'true'"
SOURCES = {
    # clauses, properties, the peers that read its clones
    "mapped, tracked vectors": (
        "PARTITIONED BY (p)",
        f"{VECTORS}, 'delta.columnMapping.mode' = 'name', 'delta.enableRowTracking' = 'true'",
        (),
    ),
    "clustered, with times": ("CLUSTER BY (k)", "'delta.enableInCommitTimestamps' = 'true'", ("duckdb",)),
}
ROWS = [(k, f"{k}%20 é" if k % 3 else None, (0, 1, None)[k % 3]) for k in range(12)]


@pytest.fixture(params=SOURCES)
def source(session: LakeSession, request: pytest.FixtureRequest) -> str:
    """Creates a table `s` with two or more files, from which rows were deleted."""
    clauses, properties, _ = SOURCES[request.param]
    for name in ("s", "c"):
        run(session, f"DROP TABLE IF EXISTS {name}")
    run(session, f"CREATE TABLE s (k INT, v STRING, p INT) {clauses} TBLPROPERTIES ({properties}) COMMENT 'about'")
    for first in (0, 6):
        values = ", ".join(str(row).replace("None", "NULL") for row in ROWS[first : first + 6])
        run(session, f"INSERT INTO s SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    run(session, "DELETE FROM s WHERE k = 4")
    return str(request.param)


def rows_of(session: LakeSession, name: str) -> list[tuple[object, ...]]:
    return sorted(rows(session, f"SELECT * FROM {name}"), key=repr)


@pytest.mark.parametrize("kind", ["SHALLOW", "DEEP"])
def test_a_clone_has_the_rows_and_the_definition(session: LakeSession, lake: Path, source: str, kind: str) -> None:
    expected = rows_of(session, "s")
    answer = table(session, f"CREATE TABLE c {kind} CLONE s TBLPROPERTIES ('x' = 'y')").to_pylist()
    assert rows_of(session, "c") == expected
    for peer in SOURCES[source][2]:
        if (peer, kind) == ("duckdb", "SHALLOW"):
            continue  # it takes absolute paths for names below the table's folder
        assert len(PEERS[peer](lake / "default" / "c", ["k", "v", "p"])) == len(expected)
    described = json.loads(json.dumps(table(session, "DESCRIBE DETAIL c").to_pylist()[0], default=str))
    of_source = json.loads(json.dumps(table(session, "DESCRIBE DETAIL s").to_pylist()[0], default=str))
    assert (
        described["numFiles"] == of_source["numFiles"]
        and described["partitionColumns"] == of_source["partitionColumns"]
    )
    assert described["clusteringColumns"] == of_source["clusteringColumns"] and described["description"] == "about"
    assert dict(described["properties"])["x"] == "y" and described["id"] != of_source["id"]
    info = actions(lake, "c", 0)[0]["commitInfo"]
    assert info["operation"] == "CLONE"
    assert info["operationParameters"]["sourceVersion"] == "3"
    copied = 0 if kind == "SHALLOW" else of_source["numFiles"]
    assert answer == [
        {
            "source_table_size": of_source["sizeInBytes"],
            "source_num_of_files": of_source["numFiles"],
            "num_removed_files": 0,
            "num_copied_files": copied,
            "removed_files_size": 0,
            "copied_files_size": of_source["sizeInBytes"] if copied else 0,
        }
    ]
    run(session, "INSERT INTO c VALUES (100, 'new', 1)")
    run(session, "DELETE FROM c WHERE k = 7")
    assert rows_of(session, "s") == expected
    remaining = [row for row in expected if row[0] != 7]
    assert rows_of(session, "c") == sorted([*remaining, (100, "new", 1)], key=repr)
    run(session, "DELETE FROM s")
    assert len(rows_of(session, "c")) == len(expected)


@pytest.mark.parametrize("source", ["mapped, tracked vectors"], indirect=True)
def test_a_deep_clone_is_brought_up_to_date_with_what_is_new(session: LakeSession, source: str) -> None:
    run(session, "CREATE TABLE c DEEP CLONE s")
    run(session, "INSERT INTO s SELECT /*+ COALESCE(1) */ 50, 'later', 1")
    answer = table(session, "CREATE OR REPLACE TABLE c DEEP CLONE s").to_pylist()[0]
    assert (answer["num_copied_files"], answer["num_removed_files"]) == (1, 0)
    assert rows_of(session, "c") == rows_of(session, "s")
    run(session, "DELETE FROM c WHERE k = 0")  # rows that the clone lost are back
    run(session, "DELETE FROM s WHERE k = 8")
    run(session, "CREATE OR REPLACE TABLE c DEEP CLONE s")
    assert rows_of(session, "c") == rows_of(session, "s")
    answer = table(session, "CREATE OR REPLACE TABLE c DEEP CLONE s").to_pylist()[0]
    assert (answer["num_copied_files"], answer["num_removed_files"]) == (0, 0)
    run(session, "CREATE OR REPLACE TABLE c DEEP CLONE s VERSION AS OF 1")
    assert rows_of(session, "c") == rows_of(session, "s VERSION AS OF 1")


@pytest.mark.parametrize("source", ["mapped, tracked vectors"], indirect=True)
def test_a_shallow_clone_is_brought_up_to_date(session: LakeSession, lake: Path, source: str) -> None:
    """Files that it already references stay unchanged, with their row ids."""
    run(session, "CREATE TABLE again SHALLOW CLONE s TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    with_ids = "SELECT k, _metadata.row_id FROM again WHERE k <> 2 ORDER BY ALL"
    ids = rows(session, with_ids)
    for text, num_removed in (
        ("SELECT 1", 0),
        ("INSERT INTO s VALUES (99, 'x', 0)", 0),
        ("DELETE FROM s WHERE k = 2", 1),
    ):
        run(session, text)
        answer = table(session, "CREATE OR REPLACE TABLE again SHALLOW CLONE s").to_pylist()[0]
        assert answer["num_removed_files"] == num_removed
        assert rows_of(session, "again") == rows_of(session, "s")
        assert set(ids) <= set(rows(session, with_ids)) or num_removed
    run(session, "DELETE FROM again WHERE k = 3")
    run(session, "CREATE OR REPLACE TABLE again SHALLOW CLONE s VERSION AS OF 1")
    assert rows_of(session, "again") == rows_of(session, "s VERSION AS OF 1")


def test_a_clone_takes_the_place_of_another_table(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE OR REPLACE TABLE plain AS SELECT 1 AS a, 'x' AS b")
    run(session, "CREATE OR REPLACE TABLE other TBLPROPERTIES ('delta.columnMapping.mode' = 'name') AS SELECT 2 AS z")
    for kind in ("SHALLOW", "DEEP", ""):
        run(session, f"CREATE OR REPLACE TABLE other {kind} CLONE plain")
        assert rows(session, "SELECT * FROM other") == [(1, "x")]
    assert rows(session, "SELECT * FROM other VERSION AS OF 0") == [(2,)]
    (when,) = table(session, "DESCRIBE HISTORY plain")["timestamp"].to_pylist()
    run(session, f"REPLACE TABLE other SHALLOW CLONE plain TIMESTAMP AS OF '{when.isoformat()}'")
    assert actions(lake, "other", 4)[0]["commitInfo"]["operation"] == "CLONE"


REFUSED = [
    ("CREATE TABLE r SHALLOW CLONE missing", "TABLE_OR_VIEW_NOT_FOUND"),
    ("CREATE TABLE r SHALLOW CLONE a_view", "DELTA_CLONE_UNSUPPORTED_SOURCE"),
    ("CREATE TABLE base SHALLOW CLONE base", "TABLE_OR_VIEW_ALREADY_EXISTS"),
    ("CREATE OR REPLACE TABLE base DEEP CLONE base VERSION AS OF 0", "DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE"),
    ("REPLACE TABLE r SHALLOW CLONE base", "DELTA_CANNOT_REPLACE_MISSING_TABLE"),
    ("CREATE TABLE r SHALLOW CLONE base VERSION AS OF 9", "DELTA_VERSION_NOT_FOUND"),
    ("CREATE TABLE r SHALLOW CLONE base@v0 VERSION AS OF 0", "MULTIPLE_TIME_TRAVEL_SPEC"),
    ("CREATE TABLE r CLONE base LOCATION '/somewhere'", "PATH_NOT_ALLOWED"),
    ("CREATE TABLE r CLONE base PARTITIONED BY (a)", "UNSUPPORTED_CLAUSE"),
    ("CREATE TABLE r DEEP CLONE parquet.`/x`", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY"),
    ("CREATE TABLE r CLONE base TBLPROPERTIES ('delta.columnMapping.mode' = 'id')", None),
    ("CREATE OR REPLACE TABLE kept SHALLOW CLONE base", "DELTA_CANNOT_MODIFY_APPEND_ONLY"),
    ("CREATE TABLE r SHALLOW CLONE base VERSION AS OF 1", "CLONE_FILE_NOT_FOUND"),
]


def test_impossible_clone_is_rejected_and_leaves_nothing(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE OR REPLACE TABLE base AS SELECT 1 AS a")
    run(session, "INSERT INTO base VALUES (2)")
    run(session, "INSERT OVERWRITE base VALUES (3)")
    run(session, "CREATE OR REPLACE VIEW a_view AS SELECT * FROM base")
    run(session, "CREATE OR REPLACE TABLE kept TBLPROPERTIES ('delta.appendOnly' = 'true') AS SELECT 1 AS a")
    added = actions(lake, "base", 1)[-1]["add"]["path"]
    (lake / "default" / "base" / added).unlink()
    for text, condition in REFUSED:
        error = refuse(session, text)
        assert condition is None or error.condition == condition, text
        assert not (lake / "default" / "r" / "_delta_log").exists(), text
    run(session, "CREATE TABLE IF NOT EXISTS kept SHALLOW CLONE base")
    assert rows(session, "SELECT * FROM kept") == [(1,)]


def test_the_vectors_of_a_shallow_clone_lie_with_its_table(session: LakeSession) -> None:
    """Paths in the log are encoded, and the lake's folder has a blank."""
    run(session, f"CREATE OR REPLACE TABLE marked (k INT, v INT) TBLPROPERTIES ({VECTORS})")
    for first in (0, 10):
        run(session, f"INSERT INTO marked SELECT /*+ COALESCE(1) */ id, 0 FROM range({first}, {first + 10})")
    run(session, "DELETE FROM marked WHERE k % 10 = 3")
    off = f"ALTER TABLE borrowed SET TBLPROPERTIES ({VECTORS.replace('true', 'false')})"
    for change, changed in (
        (("ALTER TABLE borrowed DROP FEATURE deletionVectors",), 0),
        (("OPTIMIZE borrowed",), 0),
        (("REORG TABLE borrowed APPLY (PURGE)",), 0),
        ((off, "UPDATE borrowed SET v = 1 WHERE k = 4"), 1),
        (("MERGE INTO borrowed t USING borrowed s ON t.k = s.k AND s.k = 5 WHEN MATCHED THEN UPDATE SET v = 2",), 2),
        (("UPDATE borrowed SET v = 1 WHERE k = 4",), 1),
    ):
        run(session, "CREATE OR REPLACE TABLE borrowed SHALLOW CLONE marked")
        for text in change:
            run(session, text)
        assert rows(session, "SELECT count(*), sum(v), count_if(k % 10 = 3) FROM borrowed") == [(18, changed, 0)]


def test_a_clone_of_a_folder_with_a_per_cent_sign_is_merged(session: LakeSession, lake: Path) -> None:
    """Matched rows in its files are deleted in addition to rows in that folder's deletion vectors."""
    run(session, f"CREATE TABLE delta.`{lake}/a%41` (k INT, v INT) TBLPROPERTIES ({VECTORS})")
    run(session, f"INSERT INTO delta.`{lake}/a%41` SELECT /*+ COALESCE(1) */ id, 0 FROM range(10)")
    run(session, f"DELETE FROM delta.`{lake}/a%41` WHERE k = 3")
    run(session, f"CREATE OR REPLACE TABLE borrowed SHALLOW CLONE delta.`{lake}/a%41`")
    run(session, "CREATE OR REPLACE TABLE merged (k INT, v INT)")
    run(session, "INSERT INTO merged VALUES (1, 1)")
    assert run(session, "MERGE INTO merged t USING borrowed s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *") == 8
    assert rows(session, "SELECT count(*), sum(k), sum(v) FROM merged") == [(9, 42, 1)]


def test_table_type_of_a_shallow_clone_is_databricks_one(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE SCHEMA typed")
    run(session, "CREATE TABLE typed.source AS SELECT 1 AS k")
    run(session, "CREATE TABLE typed.shallow SHALLOW CLONE typed.source")
    run(session, "CREATE TABLE typed.deep DEEP CLONE typed.source")
    run(session, f"CREATE TABLE typed.outside SHALLOW CLONE typed.source LOCATION '{lake / 'outside_clone'}'")
    expected = {
        "source": "MANAGED",
        "shallow": "MANAGED_SHALLOW_CLONE",
        "deep": "MANAGED",
        "outside": "EXTERNAL_SHALLOW_CLONE",
    }
    found = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'typed'"
    assert dict(rows(session, found)) == expected
    for name, kind in expected.items():
        assert ("Type", kind, "") in rows(session, f"DESCRIBE EXTENDED typed.{name}")
    run(session, "DROP TABLE typed.shallow")
    run(session, "CREATE TABLE typed.shallow AS SELECT 1 AS k")
    assert dict(rows(session, found)) == expected | {"shallow": "MANAGED"}
    run(session, "DROP SCHEMA typed CASCADE")
