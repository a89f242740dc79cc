"""REPLACE TABLE and CREATE OR REPLACE TABLE: the same table's next version has a new definition, or nothing changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of
from tests.engine.peer_readers import PEERS, comparable

pytestmark = pytest.mark.spark


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A table made `before`, with rows, then replaced."""

    before: str
    inserted: str
    statement: str
    names: list[str]
    expected: list[tuple[Any, ...]]
    operation: str
    peers: tuple[str, ...] = ("deltalake", "duckdb")


REPLACEMENTS = {
    "with columns, empty": Replacement(
        before="(id INT, p STRING) PARTITIONED BY (p)",
        inserted="(1, 'a'), (2, 'b')",
        statement="REPLACE TABLE replaced (other DOUBLE, q DATE) PARTITIONED BY (q)",
        names=["other", "q"],
        expected=[],
        operation="REPLACE TABLE",
    ),
    "with a query over itself": Replacement(
        before="(id INT, CONSTRAINT c CHECK (id > 0)) TBLPROPERTIES ('mine' = '1')",
        inserted="(1), (2)",
        statement="CREATE OR REPLACE TABLE replaced AS SELECT -id AS id, string(id) AS s FROM replaced",
        names=["id", "s"],
        expected=[(-1, "1"), (-2, "2")],
        operation="CREATE OR REPLACE TABLE AS SELECT",
    ),
    "partitioned now": Replacement(
        before="(id INT)",
        inserted="(1)",
        statement="REPLACE TABLE replaced PARTITIONED BY (p) AS SELECT id, id % 2 AS p FROM range(3)",
        names=["id", "p"],
        expected=[(0, 0), (1, 1), (2, 0)],
        operation="REPLACE TABLE AS SELECT",
    ),
    "mapped before and after": Replacement(
        before="(`a b` INT, s STRUCT<x: INT>) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        inserted="(1, NULL)",
        statement="CREATE OR REPLACE TABLE replaced TBLPROPERTIES ('delta.columnMapping.mode' = 'name') "
        "AS SELECT 7 AS `a b`",
        names=["a b"],
        expected=[(7,)],
        operation="CREATE OR REPLACE TABLE AS SELECT",
    ),
    "mapped no longer": Replacement(
        before="(a INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        inserted="(1)",
        statement="CREATE OR REPLACE TABLE replaced AS SELECT 7 AS a",
        names=["a"],
        expected=[(7,)],
        operation="CREATE OR REPLACE TABLE AS SELECT",
    ),
    "with timestamps in commits since long": Replacement(
        before="(a INT) TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
        inserted="(1)",
        statement="CREATE OR REPLACE TABLE replaced TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true') "
        "AS SELECT 7 AS a",
        names=["a"],
        expected=[(7,)],
        operation="CREATE OR REPLACE TABLE AS SELECT",
        peers=("duckdb",),
    ),
    "rows with ids": Replacement(
        before="(a INT) TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        inserted="(1)",
        statement="CREATE OR REPLACE TABLE replaced TBLPROPERTIES ('delta.enableRowTracking' = 'true') "
        "AS SELECT 7 AS a",
        names=["a"],
        expected=[(7,)],
        operation="CREATE OR REPLACE TABLE AS SELECT",
        peers=("duckdb",),
    ),
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_replaced_table_is_another_in_its_next_version(session: LakeSession, lake: Path, name: str) -> None:
    case = REPLACEMENTS[name]
    run(session, "DROP TABLE IF EXISTS replaced")
    run(session, f"CREATE TABLE replaced {case.before}")
    run(session, f"INSERT INTO replaced VALUES {case.inserted}")
    before = comparable(table(session, "SELECT * FROM replaced"))
    identity = table_id(lake, 0)
    run(session, case.statement)
    found = table(session, "SELECT * FROM replaced")
    assert found.column_names == case.names and comparable(found) == sorted(case.expected, key=repr)
    for peer in case.peers:
        assert PEERS[peer](lake / "default" / "replaced", case.names) == comparable(found), peer
    assert comparable(table(session, "SELECT * FROM replaced VERSION AS OF 1")) == before
    (row,) = table(session, "DESCRIBE HISTORY replaced LIMIT 1").to_pylist()
    assert (row["version"], row["operation"]) == (2, case.operation)
    assert table_id(lake, 2) == identity
    again = case.statement.replace("FROM replaced", "FROM range(1)") if "FROM replaced" in case.statement else None
    run(session, again or case.statement)
    assert rows(session, "SELECT count(*) FROM replaced") == [(1 if again else len(case.expected),)]


def table_id(lake: Path, version: int) -> Any:
    """Returns the table id at a version."""
    found = [actions(lake, "replaced", number) for number in range(version + 1)]
    metadata = [action["metaData"] for commit in found for action in commit if "metaData" in action][-1]
    return metadata["id"], metadata["createdTime"]


def test_ids_of_columns_are_never_given_out_again(session: LakeSession, lake: Path) -> None:
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    run(session, f"CREATE TABLE numbered (a INT, b INT) {mapped}")
    run(session, f"REPLACE TABLE numbered (a INT) {mapped}")
    (metadata,) = [action["metaData"] for action in actions(lake, "numbered", 1) if "metaData" in action]
    assert '"delta.columnMapping.id":3' in metadata["schemaString"]
    assert metadata["configuration"]["delta.columnMapping.maxColumnId"] == "3"


def test_or_replace_makes_the_table_that_is_not_there(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE OR REPLACE TABLE fresh (id INT)")
    assert version_of(lake, "fresh") == 0
    assert DeltaTable(lake / "default" / "fresh").history()[0]["operation"] == "CREATE OR REPLACE TABLE"
    run(session, "CREATE OR REPLACE TABLE fresher AS SELECT 1 AS id")
    assert rows(session, "SELECT * FROM fresher") == [(1,)]
    assert DeltaTable(lake / "default" / "fresher").history()[0]["operation"] == "CREATE OR REPLACE TABLE AS SELECT"


REFUSED = [
    ("REPLACE TABLE missing (a INT)", "DELTA_CANNOT_REPLACE_MISSING_TABLE"),
    ("REPLACE TABLE missing AS SELECT 1 AS a", "DELTA_CANNOT_REPLACE_MISSING_TABLE"),
    ("REPLACE TABLE kept", "DELTA_SCHEMA_NOT_PROVIDED"),
    ("REPLACE TABLE kept (a INT, A INT)", "DELTA_DUPLICATE_COLUMNS_FOUND"),
    ("REPLACE TABLE kept (a INT, CHECK (nope > 1))", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
    ("REPLACE TABLE kept (a INT) TBLPROPERTIES ('delta.nope' = 1)", "DELTA_UNKNOWN_CONFIGURATION"),
    ("CREATE OR REPLACE TABLE kept AS SELECT 1 / (id - 1) AS x FROM kept", "DIVIDE_BY_ZERO"),
    ("CREATE OR REPLACE TABLE kept AS SELECT NULL AS x", "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"),
    ("CREATE OR REPLACE TABLE kept (x INT) AS SELECT 1 AS x", "_LEGACY_ERROR_TEMP_0035"),
    ("CREATE OR REPLACE TABLE kept PARTITIONED BY (y) AS SELECT 1 AS x", "DELTA_PARTITION_COLUMN_NOT_FOUND"),
    ("REPLACE TABLE kept (a INT) USING parquet", "DATA_SOURCE_NOT_FOUND"),
    ("REPLACE TABLE kept (a INT) LOCATION '{lake}/elsewhere'", "DELTA_TABLE_LOCATION_MISMATCH"),
    ("REPLACE TABLE only_more (a INT)", "DELTA_CANNOT_MODIFY_APPEND_ONLY"),
    ("CREATE OR REPLACE TABLE seen AS SELECT 1 AS a", "EXPECT_TABLE_NOT_VIEW"),
]


@pytest.fixture(scope="module")
def existing_table(engine: LakeEngine) -> None:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "CREATE TABLE kept AS SELECT 1 AS id")
    run(session, "CREATE TABLE only_more (id INT) TBLPROPERTIES ('delta.appendOnly' = 'true')")
    run(session, "CREATE VIEW seen AS SELECT 1 AS id")
    session.close()


@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_a_replacement_that_fails_leaves_the_table(
    session: LakeSession, lake: Path, existing_table: None, text: str, condition: str
) -> None:
    files = set((lake / "default").rglob("*.parquet"))
    assert refuse(session, text.replace("{lake}", str(lake))).condition == condition
    assert rows(session, "SELECT * FROM kept") == [(1,)] and version_of(lake, "kept") == 0
    assert set((lake / "default").rglob("*.parquet")) == files
