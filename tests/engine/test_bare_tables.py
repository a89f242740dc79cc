"""Tables without columns, and odd names of tables and properties in foreign logs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from engine.main import LakeSession
from tests.engine.foreign_tables import column, write_table
from tests.engine.lake_sessions import actions, refuse, rows, run, table

BARE = {
    "created": "CREATE TABLE {}",
    "with a list": "CREATE TABLE {} () USING delta",
    "with properties": "CREATE TABLE {} TBLPROPERTIES ('mine' = '1') COMMENT 'empty'",
    "replacing": "CREATE OR REPLACE TABLE {}",
}


@pytest.mark.parametrize("how", BARE)
def test_a_table_begins_without_columns(session: LakeSession, lake: Path, how: str) -> None:
    name = f"bare_{how.replace(' ', '_')}"
    run(session, BARE[how].format(name))
    assert rows(session, f"DESCRIBE {name}") == []
    for query in (f"SELECT * FROM {name}", f"SELECT count(*) FROM {name}", f"SELECT 1 FROM {name}"):
        assert refuse(session, query).condition == "DELTA_READ_TABLE_WITHOUT_COLUMNS"
    assert refuse(session, f"INSERT INTO {name} VALUES (1)").condition == "DELTA_CANNOT_WRITE_EMPTY_SCHEMA"
    ((shown,),) = rows(session, f"SHOW CREATE TABLE {name}")
    run(session, f"DROP TABLE {name}")
    run(session, shown)
    run(session, f"INSERT WITH SCHEMA EVOLUTION INTO {name} SELECT 1 AS a, 'x' AS b")
    assert rows(session, f"SELECT * FROM {name}") == [(1, "x")]
    assert refuse(session, f"CREATE OR REPLACE TABLE {name}").condition == "DELTA_SCHEMA_NOT_PROVIDED"
    run(session, f"DROP TABLE {name}")
    run(session, BARE[how].format(name))
    run(session, f"ALTER TABLE {name} ADD COLUMN c INT")
    run(session, f"INSERT INTO {name} VALUES (3)")
    assert rows(session, f"SELECT c FROM {name}") == [(3,)]


def test_a_view_over_a_table_without_columns_is_defined_and_described(session: LakeSession) -> None:
    """Replays SQLAlchemy's compliance suite with databricks-sqlalchemy (TableNoColumnsTest)."""
    run(session, "CREATE TABLE bare")
    run(session, "CREATE VIEW bare_v AS SELECT * FROM bare")
    run(session, "CREATE VIEW bare_count AS SELECT count(*) AS n FROM bare")
    assert rows(session, "DESCRIBE bare_v") == [] and rows(session, "DESCRIBE bare_count") == [("n", "bigint", None)]
    for view in ("bare_v", "bare_count"):
        assert refuse(session, f"SELECT * FROM {view}").condition == "DELTA_READ_TABLE_WITHOUT_COLUMNS"
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO bare SELECT 1 AS a")
    assert rows(session, "SELECT * FROM bare_count") == [(1,)]
    run(session, "ALTER VIEW bare_v AS SELECT * FROM bare")
    assert rows(session, "SELECT * FROM bare_v") == [(1,)]


def test_the_name_in_the_log_is_shown(session: LakeSession, lake: Path) -> None:
    rows_of = pa.table({"a": pa.array([1], pa.int32())})
    write_table(lake / "default" / "called", [column("a")], rows_of, name="a name")
    (by_path,) = table(session, f"DESCRIBE DETAIL delta.`{lake}/default/called`").to_pylist()
    assert by_path["name"] == "a name"
    extended = {row[0]: row[1] for row in rows(session, "DESCRIBE EXTENDED called")}
    assert extended["Name in the Log"] == "a name"


def test_an_early_name_of_a_property_counts(session: LakeSession, lake: Path) -> None:
    rows_of = pa.table({"a": pa.array([1], pa.int32())})
    write_table(lake / "default" / "early", [column("a")], rows_of, configuration={"appendOnly": "true"})
    run(session, "INSERT INTO early VALUES (2)")
    for statement in (
        "INSERT OVERWRITE early VALUES (3)",
        "TRUNCATE TABLE early",
        "CREATE OR REPLACE TABLE early (b INT)",
    ):
        assert refuse(session, statement).condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    run(session, "ALTER TABLE early SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    run(session, "INSERT OVERWRITE early VALUES (3)")
    run(session, "ALTER TABLE early SET TBLPROPERTIES ('appendOnly' = 'true')")
    (metadata,) = [each["metaData"] for each in actions(lake, "early", 4) if "metaData" in each]
    assert metadata["configuration"]["delta.appendOnly"] == "true"
    assert refuse(session, "INSERT OVERWRITE early VALUES (4)").condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    run(session, "ALTER TABLE early UNSET TBLPROPERTIES ('delta.appendOnly')")
    run(session, "INSERT OVERWRITE early VALUES (5)")
    assert rows(session, "SELECT a FROM early") == [(5,)]


def test_a_file_is_read_to_its_end_whatever_size_the_log_says(session: LakeSession, lake: Path) -> None:
    """Spark's splits end at the logged size, so a row group may fall into none."""
    folder = lake / "default" / "short"
    write_table(folder, [column("a", "long")], pa.table({"a": range(10_000)}))
    log = folder / f"_delta_log/{0:020}.json"
    size = (folder / "part-0.parquet").stat().st_size
    for said in (size // 3, 100, 3 * size):
        log.write_text(log.read_text().replace(f'"size": {size}', f'"size": {said}'))
        path = shutil.copytree(folder, lake / "default" / f"short_{said}")
        log.write_text(log.read_text().replace(f'"size": {said}', f'"size": {size}'))
        assert rows(session, f"SELECT count(a), sum(a) FROM {path.name}") == [(10_000, 49_995_000)]
