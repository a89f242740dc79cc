"""SQL functions: result types, and temporary functions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> LakeEngine:
    folder: Path = tmp_path_factory.mktemp("lake")
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def error(session: LakeSession, text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    return caught.value


INFERRED: list[tuple[str, str, str, Any]] = [
    ("(x INT) RETURN x + 1", "inferred(1)", "int", 2),
    ("(x INT) COMMENT 'c' DETERMINISTIC RETURN x + 2.5BD", "CAST(inferred(1) AS STRING)", "decimal(12,1)", "3.5"),
    ("(x INT) RETURN named_struct('a', x, 'b', 'y').b", "inferred(1)", "string", "y"),
    ("(x INT) RETURN array(x, 2L)", "inferred(1)", "array<bigint>", [1, 2]),
    ("() RETURN SELECT max(id) FROM VALUES (1L), (2L) AS v(id)", "inferred()", "bigint", 2),
    ("(x INT) RETURN NULL", "inferred(1)", "void", None),
]


@pytest.mark.parametrize(("function", "call", "sql_type", "value"), INFERRED, ids=[each[0] for each in INFERRED])
def test_type_without_returns_is_that_of_the_body(
    session: LakeSession, function: str, call: str, sql_type: str, value: Any
) -> None:
    rows(session, f"CREATE OR REPLACE FUNCTION inferred{function}")
    assert rows(session, f"SELECT {call}") == [(value,)]
    query = "SELECT data_type FROM information_schema.routines WHERE routine_name = 'inferred'"
    assert rows(session, query) == [(sql_type,)]


def test_inferred_type_stays_when_the_table_of_the_body_changes(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE TABLE source AS SELECT 1 AS n")
    rows(session, "CREATE OR REPLACE FUNCTION largest() RETURN SELECT max(n) FROM source")
    rows(session, "CREATE OR REPLACE TABLE source AS SELECT 5L AS n")
    assert rows(session, "SELECT largest(), typeof(largest())") == [(5, "int")]


def test_body_without_a_value_of_one_row_is_rejected_without_returns(session: LakeSession) -> None:
    assert error(session, "CREATE FUNCTION wrong(x INT) RETURN sum(x)").condition.startswith("MISSING_GROUP_BY")
    assert error(session, "CREATE FUNCTION wrong(x INT) RETURN y").condition == "INVALID_SQL_FUNCTION_BODY"
    assert error(session, "CREATE FUNCTION wrong(x INT) x + 1").condition == "PARSE_SYNTAX_ERROR"


def test_temporary_function_is_its_sessions_own(engine: LakeEngine, session: LakeSession) -> None:
    rows(session, "CREATE TEMPORARY FUNCTION own(x INT) COMMENT 'c' RETURN x + 1")
    for name in ("own", "OWN", "session.own", "system.session.own", "`System`.`Session`.`Own`"):
        assert rows(session, f"SELECT {name}(1)") == [(2,)], name
    other = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    assert error(other, "SELECT own(1)").condition == "UNRESOLVED_ROUTINE"
    other.close()
    assert error(session, "SELECT default.own(1)").condition == "UNRESOLVED_ROUTINE"
    assert error(session, "CREATE TEMP FUNCTION own() RETURN 1").condition == "ROUTINE_ALREADY_EXISTS"
    rows(session, "CREATE OR REPLACE TEMP FUNCTION session.own(x INT) RETURNS STRING RETURN x + 2")
    assert rows(session, "SELECT own(1)") == [("3",)]
    rows(session, "DROP TEMPORARY FUNCTION system.session.own")
    assert error(session, "SELECT own(1)").condition == "UNRESOLVED_ROUTINE"
    assert error(session, "DROP TEMPORARY FUNCTION own").condition == "ROUTINE_NOT_FOUND"
    assert rows(session, "DROP TEMPORARY FUNCTION IF EXISTS own") == []


def test_temporary_function_is_found_before_a_persistent_one(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE FUNCTION both() RETURN 'persistent'")
    rows(session, "CREATE OR REPLACE FUNCTION calling() RETURN both()")
    rows(session, "CREATE OR REPLACE VIEW viewing AS SELECT both() AS x")
    rows(session, "CREATE TEMPORARY FUNCTION both() RETURN 'temporary'")
    found = rows(session, "SELECT both(), default.both(), session.both(), calling(), (SELECT x FROM viewing)")
    assert found == [("temporary", "persistent", "temporary", "persistent", "persistent")]
    assert error(session, "DROP FUNCTION both").condition == "EXPECT_PERSISTENT_FUNCTION_NOT_TEMP"
    rows(session, "DROP FUNCTION default.calling")
    rows(session, "DROP TEMPORARY FUNCTION both")
    assert rows(session, "SELECT both()") == [("persistent",)]


def test_temporary_function_reads_what_the_session_reads(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE TABLE numbers AS SELECT 1 AS n UNION ALL SELECT 2")
    rows(session, "CREATE OR REPLACE TEMPORARY VIEW large AS SELECT n FROM numbers WHERE n > 1")
    rows(session, "CREATE TEMPORARY FUNCTION one() RETURN 1")
    rows(session, "CREATE TEMPORARY FUNCTION counted(x INT) RETURN (SELECT count(*) FROM large WHERE n = x) + one()")
    assert rows(session, "SELECT n, counted(n) FROM numbers ORDER BY n") == [(1, 1), (2, 2)]
    rows(session, "CREATE OR REPLACE TEMPORARY VIEW calling AS SELECT counted(2) AS x")
    assert rows(session, "SELECT x FROM calling") == [(2,)]
    rows(session, "UPDATE numbers SET n = n + one() WHERE n = one()")
    assert rows(session, "SELECT n FROM numbers") == [(2,), (2,)]
    rows(session, "DELETE FROM numbers WHERE counted(n) = 3")
    assert rows(session, "SELECT count(*) FROM numbers") == [(0,)]


def test_temporary_function_is_shown_and_described(session: LakeSession) -> None:
    rows(session, "CREATE TEMPORARY FUNCTION shown(x INT) COMMENT 'c' RETURN x + 1")
    for text in ("SHOW FUNCTIONS LIKE 'shown*'", "SHOW USER FUNCTIONS LIKE 'shown'"):
        assert ("shown",) in rows(session, text)
    assert rows(session, "SHOW SYSTEM FUNCTIONS LIKE 'shown'") == []
    assert rows(session, "DESCRIBE FUNCTION session.shown") == [
        ("Function:  shown",),
        ("Type:      SCALAR",),
        ("Input:     (x INT)",),
        ("Returns:   int",),
    ]
    assert ("Body:      x + 1",) in rows(session, "DESCRIBE FUNCTION EXTENDED shown")


PERSISTENT = (
    "CREATE VIEW kept AS SELECT fleeting(1) AS x",
    "CREATE VIEW kept AS SELECT session.fleeting(1) AS x",
    "CREATE FUNCTION kept() RETURN fleeting(1)",
    "CREATE FUNCTION kept() RETURN (SELECT max(x) FROM fleeting_view)",
    "CREATE VIEW kept AS SELECT * FROM fleeting_view",
)


@pytest.mark.parametrize("text", PERSISTENT)
def test_persistent_object_cannot_refer_to_a_temporary_one(session: LakeSession, text: str) -> None:
    rows(session, "CREATE TEMPORARY FUNCTION fleeting(x INT) RETURN x")
    rows(session, "CREATE TEMPORARY VIEW fleeting_view AS SELECT fleeting(1) AS x")
    found = error(session, text)
    assert (found.condition, found.sqlstate) == ("INVALID_TEMP_OBJ_REFERENCE", "42K0F")
    assert "fleeting" in str(found) and "default" in str(found)
    words = text.split()
    rows(session, " ".join([words[0], "TEMPORARY", *words[1:]]))  # the same is fine for the session


REJECTED: list[tuple[str, str, str]] = [
    ("CREATE TEMPORARY FUNCTION IF NOT EXISTS f() RETURN 1", "UNSUPPORTED_CLAUSE", "Use OR REPLACE"),
    ("CREATE TEMPORARY FUNCTION default.f() RETURN 1", "INVALID_TEMP_OBJ_QUALIFIER", "default"),
    ("DROP TEMPORARY FUNCTION default.f", "INVALID_TEMP_OBJ_QUALIFIER", "default"),
    ("CREATE TEMPORARY FUNCTION abs(x INT) RETURN 1", "UNSUPPORTED_CLAUSE", "choose another"),
    ("CREATE TEMPORARY FUNCTION f AS 'a.B' USING JAR 'b.jar'", "UNSUPPORTED_STATEMENT", "use an SQL function"),
    ("CREATE FUNCTION f AS 'a.B'", "UNSUPPORTED_STATEMENT", "use an SQL function"),
    ("CREATE OR REPLACE TEMPORARY FUNCTION f() RETURN f()", "FUNCTION_TOO_DEEP", "f"),
]


@pytest.mark.parametrize(("text", "condition", "part"), REJECTED, ids=[text for text, *_ in REJECTED])
def test_rejected_definition_names_what_to_do(session: LakeSession, text: str, condition: str, part: str) -> None:
    rows(session, "CREATE TEMPORARY FUNCTION f() RETURN 1")
    found = error(session, text)
    assert found.condition == condition and part in str(found)


def test_default_of_a_variable_calls_functions(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE FUNCTION next_of(x INT) RETURNS INT RETURN x + 1")
    rows(session, "CREATE OR REPLACE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN 2 * next_of(x)")
    rows(session, "DECLARE OR REPLACE v INT DEFAULT next_of(next_of(1))")
    rows(session, "DECLARE OR REPLACE VARIABLE w, u BIGINT = twice(v) + 1")
    assert rows(session, "SELECT v, w, u") == [(3, 9, 9)]
    rows(session, "SET VAR v = next_of(v)")
    assert rows(session, "SELECT v") == [(4,)]
    rows(session, "CREATE OR REPLACE FUNCTION next_of(x INT) RETURNS INT RETURN x + 100")
    rows(session, "SET VAR v = DEFAULT")
    assert rows(session, "SELECT v") == [(3,)]  # the default is as it was declared
    script = "BEGIN DECLARE x INT DEFAULT next_of(1); DECLARE y INT DEFAULT twice(x); SELECT x, y; END"
    assert rows(session, script) == [(101, 402)]


def test_default_of_a_variable_rejects_functions_with_a_query_or_other_settings(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE FUNCTION queried() RETURNS INT RETURN (SELECT max(n) FROM VALUES (4) AS v(n))")
    rows(session, "SET spark.sql.ansi.enabled = false")
    rows(session, "CREATE OR REPLACE FUNCTION lenient(s STRING) RETURNS INT RETURN CAST(s AS INT)")
    rows(session, "RESET spark.sql.ansi.enabled")
    for call in ("queried()", "1 + queried()", "lenient('x')"):
        refused = error(session, f"DECLARE OR REPLACE v INT DEFAULT {call}")
        assert (refused.condition, refused.sqlstate) == ("UNSUPPORTED_SQL_UDF_USAGE", "0A000")
        rows(session, "DECLARE OR REPLACE v INT")
        rows(session, f"SET VAR v = {call}")
    assert rows(session, "SELECT v") == [(None,)]
