"""Sessions that another engine continues from their saved state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catalog.conditions import SchemaNotFound
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run, table

pytestmark = pytest.mark.spark

ANN = Identity("ann")
# Continues a session in another engine over the same lake and catalog.
Continued = Callable[[LakeSession], LakeSession]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


def engine_over(folder: Path, driver: SparkDriver) -> LakeEngine:
    return LakeEngine(
        open_sources(
            EngineOptions(lake_folder=str(folder), catalog_folder=f"{folder}/.catalog", allowed_roots=(str(folder),))
        ),
        driver,
    )


@pytest.fixture
def session(folder: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    opened = engine_over(folder, spark_driver).open_session(ANN, settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def continued(folder: Path, spark_driver: SparkDriver) -> Iterator[Continued]:
    made: list[LakeSession] = []

    def restore(session: LakeSession) -> LakeSession:
        saved = json.loads(json.dumps(session.saved_state()))
        made.append(engine_over(folder, spark_driver).restore_session(ANN, saved))
        return made[-1]

    yield restore
    for each in made:
        each.close()


VALUES = {
    "boolean": "true",
    "tinyint": "CAST(-128 AS TINYINT)",
    "smallint": "CAST(7 AS SMALLINT)",
    "int": "42",
    "bigint": "9223372036854775807",
    "float": "CAST('NaN' AS FLOAT)",
    "double": "-0.0D",
    "small decimal": "CAST(1.50 AS DECIMAL(10,2))",
    "large decimal": "CAST('-12345678901234567890123456789012345.678' AS DECIMAL(38,3))",
    "string": "'a ü \U0001f600 \\n'",
    "collated string": "'A' COLLATE UTF8_LCASE",
    "binary": "X'00ff10'",
    "date": "DATE'0044-03-15'",
    "time": "TIME'12:34:56.789012'",
    "timestamp": "TIMESTAMP'2026-03-29 02:30:00.123456'",
    "timestamp_ntz": "TIMESTAMP_NTZ'2026-03-29 02:30:00'",
    "year-month interval": "INTERVAL '-1-2' YEAR TO MONTH",
    "day-time interval": "INTERVAL '3 04:05:06.7' DAY TO SECOND",
    "calendar interval": "make_interval(1, 2, 0, 3, 4, 5, 6.5)",
    "array": "array(1, NULL, 3)",
    "map": "map('k', array(1.5BD), 'l', NULL)",
    "struct": "named_struct('p', 1, 'q', named_struct('r', DATE'2026-01-01'))",
    "variant": "parse_json('{\"a\": [1, null]}')",
    "untyped NULL": "NULL",
    "typed NULL": "CAST(NULL AS ARRAY<STRING>)",
}


def test_variables_of_each_type_have_the_same_types_and_values(session: LakeSession, continued: Continued) -> None:
    names = [f"v{number}" for number in range(len(VALUES))]
    run(session, "SET TIME ZONE 'America/New_York'")
    for name, value in zip(names, VALUES.values(), strict=True):
        run(session, f"DECLARE {name} DEFAULT {value}")
    query = f"SELECT {', '.join(f'{name}, typeof({name}) AS t_{name}' for name in names)}"
    before, after = table(session, query), table(continued(session), query)
    assert repr(after.to_pylist()) == repr(before.to_pylist())  # NaN is not equal to itself
    assert after.schema.equals(before.schema, check_metadata=True)


def test_changed_variables_keep_their_values_and_their_defaults(session: LakeSession, continued: Continued) -> None:
    run(session, "DECLARE a, b INT DEFAULT 5")
    run(session, "SET VAR (a, b) = (SELECT 8, 9)")
    other = continued(session)
    assert rows(other, "SELECT a, b, session.a") == [(8, 9, 8)]
    run(other, "SET VAR a = DEFAULT")
    assert rows(other, "SELECT a, b") == [(5, 9)]
    run(other, "DROP TEMPORARY VARIABLE b")
    assert rows(session, "SELECT b") == [(9,)]


def test_settings_and_names_have_their_effect_in_the_restored_session(
    session: LakeSession, continued: Continued
) -> None:
    run(session, "CREATE SCHEMA IF NOT EXISTS shop")
    run(session, "CREATE OR REPLACE TABLE shop.t AS SELECT 1 AS id")
    run(session, "SET spark.sql.ansi.enabled = false")
    run(session, "CREATE TEMPORARY VIEW lenient AS SELECT CAST('x' AS INT) AS n")
    run(session, "CREATE TEMPORARY FUNCTION twice(n INT DEFAULT 2) RETURN n * 2")
    run(session, "CREATE TEMPORARY FUNCTION ids() RETURNS TABLE (id INT) RETURN SELECT id FROM shop.t")
    for text in (
        "SET spark.sql.ansi.enabled = true",
        "SET TIME ZONE 'Asia/Tokyo'",
        "SET gateway.statement.timeout = 60",
        "SET hivevar:country = DE",
        "SET airflow.ctx.dag_id = daily",
        "USE shop",
    ):
        run(session, text)
    queries = (
        "SELECT id FROM t",
        "SELECT n FROM lenient",
        "SELECT twice(), twice(4), session.twice(5)",
        "SELECT * FROM ids()",
        "SELECT current_catalog(), current_schema(), current_timezone(), current_user()",
        "SELECT CAST(TIMESTAMP'2026-01-01 00:00:00' AS LONG)",
        "SELECT '${hivevar:country}'",
        "SET",
    )
    other = continued(session)
    answers = [rows(session, query) for query in queries]
    assert answers[:4] == [[(1,)], [(None,)], [(4, 8, 10)], [(1,)]]
    assert [rows(other, query) for query in queries] == answers
    assert (other.current_catalog, other.current_schema, other.statement_timeout_s) == ("spark_catalog", "shop", 60.0)
    assert other.saved_state() == session.saved_state()


def test_view_of_files_reads_them_in_the_restored_session(
    session: LakeSession, continued: Continued, folder: Path
) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "a.csv").write_text("n;t\n1;x\n2;y\n")
    options = f"path '{folder}/files', header 'true', sep ';'"
    run(session, f"CREATE TEMPORARY VIEW texts USING csv OPTIONS ({options})")
    run(session, f"CREATE TEMPORARY VIEW inferred USING csv OPTIONS ({options}, inferSchema 'true')")
    run(session, f"CREATE TEMPORARY VIEW declared (n BIGINT, t STRING) USING csv OPTIONS ({options})")
    other = continued(session)
    typed = [(1, "x"), (2, "y")]
    for name, expected in (("texts", [("1", "x"), ("2", "y")]), ("inferred", typed), ("declared", typed)):
        assert sorted(rows(session, f"SELECT * FROM {name}")) == expected
        assert sorted(rows(other, f"SELECT * FROM {name}")) == expected
        assert rows(other, f"SHOW CREATE TABLE {name}") == rows(session, f"SHOW CREATE TABLE {name}")


def test_session_at_a_dropped_schema_is_restored(session: LakeSession, continued: Continued) -> None:
    run(session, "CREATE SCHEMA gone")
    run(session, "USE gone")
    run(session, "DROP SCHEMA gone")
    other = continued(session)
    assert (other.current_schema, rows(other, "SELECT 1")) == ("gone", [(1,)])
    with pytest.raises(SchemaNotFound):
        run(other, "CREATE TABLE t (id INT)")


def test_mark_changes_exactly_with_the_saved_state(session: LakeSession) -> None:
    for text, is_change in (
        ("SELECT 1", False),
        ("SET spark.sql.ansi.enabled = true", True),
        ("SET", False),
        ("USE default", True),
        ("DECLARE m INT", True),
        ("SET VAR m = 4", True),
        ("CREATE TEMPORARY VIEW mv AS SELECT 1", True),
        ("DROP VIEW mv", True),
        ("CREATE TEMPORARY FUNCTION mf() RETURN 1", True),
        ("DROP TEMPORARY FUNCTION mf", True),
        ("RESET", True),
        ("CREATE TABLE IF NOT EXISTS marked (id INT)", False),
    ):
        mark = session.state_mark
        run(session, text)
        assert (session.state_mark is not mark) is is_change, text
