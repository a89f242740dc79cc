"""CREATE EXTERNAL TABLE and the option `path`, which name a table's folder as LOCATION does."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE EXTERNAL TABLE {name} (id INT) LOCATION '{folder}'",
        "CREATE EXTERNAL TABLE IF NOT EXISTS {name} (id INT) USING delta LOCATION '{folder}'",
        "CREATE EXTERNAL TABLE {name} (id INT) USING delta OPTIONS (path '{folder}')",
        "CREATE TABLE {name} (id INT) USING delta OPTIONS ('PATH' = '{folder}')",
        "CREATE TABLE {name} USING delta OPTIONS (path '{folder}') AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE {name} (id INT) OPTIONS (path '{folder}')",
    ],
)
def test_a_table_with_a_place_is_external_and_keeps_its_files(
    session: LakeSession, lake: Path, tmp_path: Path, statement: str
) -> None:
    name = tmp_path.name
    folder = lake / "elsewhere" / name
    run(session, statement.format(name=name, folder=folder))
    run(session, f"INSERT INTO {name} VALUES (7)")
    assert (7,) in rows(session, f"SELECT id FROM delta.`{folder}`")
    where = f"FROM information_schema.tables WHERE table_schema = 'default' AND table_name = '{name}'"
    assert rows(session, f"SELECT table_type, storage_path {where}") == [("EXTERNAL", str(folder))]
    run(session, f"DROP TABLE {name}")
    assert (folder / "_delta_log").is_dir()


@pytest.mark.parametrize(
    ("statement", "condition", "words"),
    [
        ("CREATE EXTERNAL TABLE t (id INT)", "UNSUPPORTED_CLAUSE", "without LOCATION"),
        ("CREATE EXTERNAL TABLE t LIKE u", "UNSUPPORTED_CLAUSE", "without LOCATION"),
        (
            "CREATE TABLE t (id INT) OPTIONS (path '/a') LOCATION '/b'",
            "UNSUPPORTED_CLAUSE",
            "folder once",
        ),
        ("CREATE TABLE t (id INT) OPTIONS (path '{lake}/a', x 1)", "UNSUPPORTED_CLAUSE", "Use TBLPROPERTIES"),
        ("CREATE TABLE t (id INT) OPTIONS (path '/etc/outside')", "PATH_NOT_ALLOWED", "/etc/outside"),
        (
            "CREATE TABLE t USING delta LOCATION '{lake}/misspelled'",
            "DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_SCHEMA",
            "/misspelled contains no table",
        ),
        (
            "CREATE TABLE t USING iceberg LOCATION '{lake}/misspelled'",
            "ICEBERG_CREATE_EXTERNAL_TABLE_WITHOUT_SCHEMA",
            "/misspelled contains no table",
        ),
        ("CREATE EXTERNAL TABLE t (id INT) LOCATION '/etc/outside'", "PATH_NOT_ALLOWED", "/etc/outside"),
    ],
)
def test_places_that_are_refused(session: LakeSession, lake: Path, statement: str, condition: str, words: str) -> None:
    error = refuse(session, statement.format(lake=lake))
    assert error.condition == condition and words in error.full_message
