"""DDL and INSERT on the real engine: another reader sees what was written, and what is refused leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from catalog.errors import SqlError
from engine.context import StatementContext
from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session("ann", settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def run(session: LakeSession, text: str, context: StatementContext | None = None) -> int | None:
    """Execute; the number of rows that the statement changed."""
    result = session.execute(text, context or StatementContext(principal="ann"))
    result.close()
    return result.rows_modified


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementContext(principal="ann"))
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def refuse(session: LakeSession, text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        run(session, text)
    return caught.value


# --- CREATE TABLE, DROP TABLE ----------------------------------------------------------------------------------------


def test_a_created_table_is_one_for_other_readers(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE people (id BIGINT NOT NULL COMMENT 'key', name VARCHAR(10), `at` TIMESTAMP, tags ARRAY<STRING>, "
        "pos STRUCT<x: DOUBLE, y: DECIMAL(10, 2) NOT NULL>, day DATE, CONSTRAINT positive CHECK (id > 0)) "
        "USING delta PARTITIONED BY (DAY) COMMENT 'who' TBLPROPERTIES ('delta.appendOnly' = true, owner = 'me')",
    )
    table = DeltaTable(lake / "default" / "people")
    assert table.version() == 0
    assert [field.name for field in table.schema().fields] == ["id", "name", "at", "tags", "pos", "day"]
    assert table.metadata().partition_columns == ["day"]
    assert table.metadata().description == "who"
    assert table.metadata().configuration == {
        "delta.appendOnly": "true",
        "owner": "me",
        "delta.constraints.positive": "id > 0",
    }
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (1, 3)
    assert table.history()[0]["operation"] == "CREATE TABLE"
    assert [row[:2] for row in rows(session, "DESCRIBE people")][:3] == [
        ("id", "bigint"),
        ("name", "varchar(10)"),
        ("at", "timestamp"),
    ]
    assert rows(session, "SELECT count(*) FROM people") == [(0,)]


def test_show_create_table_answers_what_makes_the_same_table(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE first (a INT NOT NULL COMMENT 'it''s', b INT GENERATED ALWAYS AS (a + 1), c STRING DEFAULT 'x', "
        "p DATE, CHECK (a > 0)) PARTITIONED BY (p) COMMENT 'c' TBLPROPERTIES ('k' = 'v')",
    )
    ((text,),) = rows(session, "SHOW CREATE TABLE first")
    run(session, text.replace("`first`", "`second`", 1))
    ((again,),) = rows(session, "SHOW CREATE TABLE second")
    assert again == text.replace("`first`", "`second`", 1)
    logs = [(lake / "default" / name / "_delta_log" / f"{0:020}.json").read_text() for name in ("first", "second")]
    first, second = ([json.loads(line) for line in log.splitlines()] for log in logs)
    assert [action["protocol"] for action in first if "protocol" in action] == [
        action["protocol"] for action in second if "protocol" in action
    ]


def test_if_not_exists_leaves_what_is_there(session: LakeSession) -> None:
    run(session, "CREATE TABLE IF NOT EXISTS once (a INT)")
    run(session, "CREATE TABLE IF NOT EXISTS once (a INT, b INT)")
    assert [row[0] for row in rows(session, "DESCRIBE once")] == ["a"]
    assert refuse(session, "CREATE TABLE once (a INT)").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_an_existing_location_is_registered_as_it_is(session: LakeSession, lake: Path) -> None:
    run(session, f"CREATE TABLE here (a INT, b STRING) LOCATION '{lake}/elsewhere/here'")
    run(session, "DROP TABLE here")
    assert (lake / "elsewhere" / "here" / "_delta_log").is_dir(), "an external table's files stay"
    assert refuse(session, f"CREATE TABLE again (a INT) LOCATION '{lake}/elsewhere/here'").condition == (
        "DELTA_CREATE_TABLE_SCHEME_MISMATCH"
    )
    run(session, f"CREATE TABLE again LOCATION '{lake}/elsewhere/here'")
    assert [row[0] for row in rows(session, "DESCRIBE again")] == ["a", "b"]
    assert DeltaTable(lake / "elsewhere" / "here").version() == 0


def test_a_dropped_managed_table_leaves_nothing(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE gone (a INT)")
    run(session, "DROP TABLE gone")
    assert not (lake / "default" / "gone").exists()
    assert refuse(session, "DROP TABLE gone").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(session, "DROP TABLE IF EXISTS gone")
    run(session, "CREATE TABLE gone (b STRING)")
    assert [row[0] for row in rows(session, "DESCRIBE gone")] == ["b"]


DEFINITION_REFUSALS = [
    ("CREATE TABLE bad (a INT, A STRING)", "DELTA_DUPLICATE_COLUMNS_FOUND"),
    ("CREATE TABLE bad (`a b` INT)", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ("CREATE TABLE bad (a INTERVAL DAY)", "DELTA_UNSUPPORTED_DATA_TYPES"),
    ("CREATE TABLE bad (a INT, b INT) PARTITIONED BY (c)", "DELTA_PARTITION_COLUMN_NOT_FOUND"),
    ("CREATE TABLE bad (a INT) PARTITIONED BY (a)", "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION"),
    ("CREATE TABLE bad (a INT) TBLPROPERTIES ('delta.nope' = '1')", "DELTA_UNKNOWN_CONFIGURATION"),
    ("CREATE TABLE bad (a INT, CHECK (a + 1))", "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"),
    ("CREATE TABLE bad (a INT, CHECK (nope > 1))", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("CREATE TABLE bad (a INT, CHECK (reflect('java.lang.System', 'exit')))", "UNSUPPORTED_FUNCTION"),
    ("CREATE TABLE bad (a INT, CHECK (a > (SELECT 1)))", "UNSUPPORTED_CLAUSE"),
    ("CREATE TABLE bad (a INT, b STRING GENERATED ALWAYS AS (a + 1))", "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"),
    ("CREATE TABLE bad (a INT, b INT GENERATED ALWAYS AS (b + 1))", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    ("CREATE TABLE bad (a INT, b INT DEFAULT a)", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
    ("CREATE TABLE bad (a BIGINT GENERATED ALWAYS AS IDENTITY)", "UNSUPPORTED_FEATURE.STATEMENT"),
    ("CREATE TABLE bad (a INT) USING parquet", "DATA_SOURCE_NOT_SUPPORTED"),
    ("CREATE TABLE bad (a INT) LOCATION '/etc/bad'", "PATH_NOT_ALLOWED"),
    ("CREATE TABLE bad", "DELTA_SCHEMA_NOT_PROVIDED"),
    ("CREATE TABLE nope.bad (a INT)", "SCHEMA_NOT_FOUND"),
]


@pytest.mark.parametrize(("text", "condition"), DEFINITION_REFUSALS)
def test_what_no_table_can_be_is_refused(session: LakeSession, lake: Path, text: str, condition: str) -> None:
    assert refuse(session, text).condition == condition
    assert not (lake / "default" / "bad").exists()
    assert refuse(session, "SELECT * FROM bad").condition == "TABLE_OR_VIEW_NOT_FOUND"
