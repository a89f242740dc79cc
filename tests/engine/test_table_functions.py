"""SQL functions that return tables: their definition, and their calls in FROM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows

pytestmark = pytest.mark.spark

DEFINITIONS = (
    "CREATE TABLE source AS SELECT id, id % 3 AS k, 'v' || id AS v FROM range(10)",
    "CREATE TABLE target AS SELECT 1L AS id, 'old' AS v",
    "CREATE FUNCTION of_key(x INT COMMENT 'key') RETURNS TABLE (a INT, b STRING COMMENT 'text') COMMENT 'rows of a key'"
    " RETURN SELECT id, v FROM source WHERE k = x",
    "CREATE FUNCTION counted() RETURNS TABLE RETURN SELECT k, count(*) AS n FROM source GROUP BY k",
    "CREATE FUNCTION between_(low INT DEFAULT 2, high INT DEFAULT 4) RETURNS TABLE"
    " RETURN SELECT id FROM range(10) WHERE id BETWEEN low AND high",
    "CREATE FUNCTION nested(x INT) RETURNS TABLE RETURN"
    " WITH f AS (SELECT a FROM of_key(x)) SELECT a FROM f UNION ALL SELECT -a FROM f WHERE a > 4",
    "CREATE FUNCTION given() RETURNS TABLE (a INT, b INT) RETURN VALUES (1, 2), (3, 4)",
    "CREATE FUNCTION scalar(x INT, y INT DEFAULT 10) RETURNS INT RETURN x - y",
    "CREATE VIEW viewing AS SELECT a FROM nested(1)",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    folder: Path = tmp_path_factory.mktemp("lake")
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    for text in DEFINITIONS:
        rows(opened, text)
    yield opened
    opened.close()


def error(session: LakeSession, text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    return caught.value


CALLS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("SELECT * FROM of_key(1) ORDER BY a", [(1, "v1"), (4, "v4"), (7, "v7")]),
    ("SELECT of_key.a FROM default.of_key(1) WHERE of_key.a > 2 ORDER BY ALL", [(4,), (7,)]),
    ("SELECT q.z FROM spark_catalog.default.of_key(x => 1) AS q(z, y) WHERE z > 4", [(7,)]),
    ("SELECT a FROM of_key((SELECT max(k) FROM source)) ORDER BY a", [(2,), (5,), (8,)]),
    ("SELECT a FROM of_key('1') WHERE a < 2", [(1,)]),
    ("FROM of_key(1) |> WHERE a > 2 |> SELECT max(a)", [(7,)]),
    (
        "SELECT s.id, q.a FROM source AS s, LATERAL of_key(s.k + 1) AS q WHERE s.id < 2 ORDER BY ALL",
        [(0, 1), (0, 4), (0, 7), (1, 2), (1, 5), (1, 8)],
    ),
    ("SELECT count(*) FROM source AS s JOIN LATERAL default.of_key(s.k) ON of_key.a = s.id", [(10,)]),
    (
        "SELECT k, a FROM VALUES (1), (9) AS t(k) LEFT JOIN LATERAL of_key(k) ON a > 4 ORDER BY ALL",
        [(1, 7), (9, None)],
    ),
    ("SELECT k, (SELECT max(a) FROM of_key(t.k)) AS m FROM VALUES (1), (9) AS t(k) ORDER BY ALL", [(1, 7), (9, None)]),
    ("SELECT count(*) FROM of_key(0) AS l JOIN of_key(1) AS r ON l.a < r.a", [(6,)]),
    ("WITH c AS (SELECT * FROM of_key(1)) SELECT count(*) FROM c AS l, c AS r", [(9,)]),
    ("SELECT n FROM counted() WHERE k = 0", [(4,)]),
    ("SELECT * FROM between_() ORDER BY id", [(2,), (3,), (4,)]),
    ("SELECT * FROM between_(4)", [(4,)]),
    ("SELECT * FROM between_(high => 2)", [(2,)]),
    ("SELECT * FROM between_(HIGH => 1, low => 1)", [(1,)]),
    ("SELECT a FROM nested(1) ORDER BY a", [(-7,), (1,), (4,), (7,)]),
    ("SELECT a FROM viewing ORDER BY a", [(-7,), (1,), (4,), (7,)]),
    ("SELECT a + b FROM given() ORDER BY 1", [(3,), (7,)]),
    ("SELECT scalar(y => 1, x => 3), scalar(x => 12)", [(2, 2)]),
    ("SELECT count(*) FROM source WHERE id IN (SELECT a FROM of_key(2))", [(3,)]),
]


@pytest.mark.parametrize(("text", "expected"), CALLS, ids=[text for text, _ in CALLS])
def test_call_in_from_gives_the_rows_of_the_body(
    session: LakeSession, text: str, expected: list[tuple[Any, ...]]
) -> None:
    assert rows(session, text) == expected


def test_changes_of_tables_may_read_calls(session: LakeSession) -> None:
    rows(session, "INSERT INTO target SELECT a, b FROM of_key(2)")
    rows(session, "MERGE INTO target USING of_key(2) AS s ON s.a = target.id WHEN MATCHED THEN UPDATE SET v = 'merged'")
    rows(session, "DELETE FROM target WHERE id IN (SELECT max(a) FROM of_key(2))")
    rows(session, "UPDATE target SET v = 'one' WHERE id = (SELECT min(a) FROM of_key(1))")
    assert rows(session, "SELECT * FROM target ORDER BY id") == [(1, "one"), (2, "merged"), (5, "merged")]


def test_body_is_evaluated_under_the_settings_of_its_creation(session: LakeSession) -> None:
    texts = "(SELECT '1' AS t UNION ALL SELECT 'x')"
    rows(session, f"CREATE FUNCTION strict() RETURNS TABLE RETURN SELECT CAST(t AS INT) AS n FROM {texts}")
    rows(session, "SET spark.sql.ansi.enabled = false")
    try:
        rows(session, f"CREATE FUNCTION lenient() RETURNS TABLE RETURN SELECT CAST(t AS INT) AS n FROM {texts}")
        assert error(session, "SELECT * FROM strict()").condition == "CAST_INVALID_INPUT"
    finally:
        rows(session, "RESET spark.sql.ansi.enabled")
    assert rows(session, "SELECT n FROM lenient() ORDER BY n NULLS LAST") == [(1,), (None,)]
    assert error(session, "SELECT * FROM strict()").condition == "CAST_INVALID_INPUT"


def test_table_function_is_listed_and_described(session: LakeSession) -> None:
    assert ("spark_catalog.default.of_key",) in rows(session, "SHOW USER FUNCTIONS LIKE 'of*'")
    described = [
        ("Function:  spark_catalog.default.of_key",),
        ("Type:      TABLE",),
        ("Input:     (x INT)",),
        ("Returns:   a INT",),
        ("           b STRING",),
    ]
    assert rows(session, "DESCRIBE FUNCTION of_key") == described
    extended = rows(session, "DESCRIBE FUNCTION EXTENDED of_key")
    assert extended[:5] == described and ("Comment:   rows of a key",) in extended
    query = "SELECT data_type FROM information_schema.routines WHERE routine_name = 'of_key'"
    assert rows(session, query) == [("TABLE",)]
    columns = "column_name, ordinal_position, full_data_type, data_type, numeric_precision, comment"
    query = f"SELECT {columns} FROM information_schema.routine_columns WHERE specific_name = '{{}}' ORDER BY 2"
    assert rows(session, query.format("of_key")) == [
        ("a", 1, "INT", "INT", 10, None),
        ("b", 2, "STRING", "STRING", None, "text"),
    ]
    assert rows(session, query.format("scalar")) == []
    columns = "parameter_name, ordinal_position, parameter_mode, is_result, data_type, parameter_default, comment"
    query = f"SELECT {columns} FROM information_schema.parameters WHERE specific_name = '{{}}' ORDER BY 2"
    assert rows(session, query.format("of_key")) == [("x", 1, "IN", "NO", "INT", None, "key")]
    assert rows(session, query.format("scalar")) == [
        ("x", 1, "IN", "NO", "INT", None, None),
        ("y", 2, "IN", "NO", "INT", "10", None),
    ]


def test_temporary_table_function_is_its_sessions_own(session: LakeSession) -> None:
    rows(session, "CREATE TEMPORARY VIEW few AS SELECT * FROM source WHERE id < 5")
    rows(
        session, "CREATE TEMPORARY FUNCTION own(x INT) RETURNS TABLE RETURN SELECT id, x AS given FROM few WHERE k = x"
    )
    assert rows(session, "SELECT * FROM own(1) ORDER BY id") == [(1, 1), (4, 1)]
    assert rows(session, "SELECT id FROM session.own(x => 2)") == [(2,)]
    persistent = error(session, "CREATE FUNCTION kept() RETURNS TABLE RETURN SELECT * FROM own(1)")
    assert persistent.condition == "INVALID_TEMP_OBJ_REFERENCE"
    rows(session, "DROP TEMPORARY FUNCTION own")
    assert error(session, "SELECT * FROM own(1)").condition == "UNRESOLVED_ROUTINE"


def test_columns_stay_those_of_the_definition(session: LakeSession) -> None:
    rows(session, "CREATE TABLE wide AS SELECT 1 AS a")
    rows(session, "CREATE FUNCTION of_wide() RETURNS TABLE RETURN SELECT a FROM wide")
    rows(session, "ALTER TABLE wide ADD COLUMN b INT")
    assert rows(session, "SELECT * FROM of_wide()") == [(1,)]
    rows(session, "CREATE OR REPLACE TABLE wide AS SELECT 5L AS a")
    assert rows(session, "SELECT a, typeof(a) FROM of_wide()") == [(5, "int")]
    rows(session, "CREATE OR REPLACE TABLE wide AS SELECT 5L AS other")
    assert error(session, "SELECT * FROM of_wide()").condition == "INVALID_SQL_FUNCTION_BODY"


WITH_DELETES = [
    ("SELECT less(?, ?)", 9),
    ("SELECT less(y => ?, x => ?)", -9),
    ("SELECT less(?, ?) + 0 * ?", 9),
    ("SELECT d FROM less_table(?, ?)", 9),
    ("SELECT d FROM less_table(y => ?, x => ?)", -9),
    ("SELECT ? * 0 + d FROM less_table(?, ?)", 90),
    ("SELECT less(less(?, ?), 0) FROM (SELECT 1) WHERE ? = 100", -9),
]


@pytest.mark.parametrize(("text", "expected"), WITH_DELETES, ids=[text for text, _ in WITH_DELETES])
def test_markers_take_values_in_the_order_of_the_text(session: LakeSession, text: str, expected: int) -> None:
    rows(session, "CREATE OR REPLACE FUNCTION less(x INT, y INT) RETURNS INT RETURN y - x")
    rows(session, "CREATE OR REPLACE FUNCTION less_table(x INT, y INT) RETURNS TABLE RETURN SELECT y - x AS d")
    given = [Parameter(value=value, sql_type="INT") for value in ("1", "10", "100")][: text.count("?")]
    result = session.execute(text, StatementRequest(identity=Identity("ann")), given)
    assert pa.Table.from_batches(result.batches(), result.schema).column(0).to_pylist() == [expected]


REJECTED: list[tuple[str, str, str]] = [
    ("SELECT * FROM of_key(1, 2)", "WRONG_NUM_ARGS", "of_key"),
    ("SELECT * FROM of_key()", "WRONG_NUM_ARGS", "of_key"),
    ("SELECT * FROM of_key(y => 1)", "UNRECOGNIZED_PARAMETER_NAME", "x"),
    ("SELECT * FROM of_key(1, x => 1)", "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE", "x"),
    ("SELECT * FROM between_(low => 1, 2)", "UNEXPECTED_POSITIONAL_ARGUMENT", "low"),
    ("SELECT scalar(y => 1)", "REQUIRED_PARAMETER_NOT_FOUND", "x"),
    ("SELECT of_key(1)", "NOT_A_SCALAR_FUNCTION", "FROM"),
    ("SELECT * FROM scalar(1)", "NOT_A_TABLE_FUNCTION", "expression"),
    ("SELECT * FROM source AS s, of_key(s.k)", "UNRESOLVED_COLUMN", "s"),
    ("SELECT * FROM nosuch(1)", "UNRESOLVED_ROUTINE", "nosuch"),
    ("CREATE FUNCTION wrong() RETURNS TABLE RETURN SELECT * FROM wrong()", "UNRESOLVED_ROUTINE", "wrong"),
    ("CREATE OR REPLACE FUNCTION counted() RETURNS TABLE RETURN FROM counted()", "FUNCTION_TOO_DEEP", "counted"),
    ("CREATE OR REPLACE FUNCTION of_key(x INT) RETURNS TABLE RETURN FROM nested(x)", "FUNCTION_TOO_DEEP", "of_key"),
    ("CREATE FUNCTION wrong() RETURNS TABLE RETURN SELECT 1 AS a, 2 AS A", "DUPLICATE_ROUTINE_RETURNS_COLUMNS", "a"),
    ("CREATE FUNCTION wrong() RETURNS TABLE (a INT, A INT) RETURN SELECT 1, 2", "PARSE_SYNTAX_ERROR", "A"),
    ("CREATE FUNCTION wrong() RETURNS TABLE (a INT) RETURN SELECT 1, 2", "ASSIGNMENT_ARITY_MISMATCH", "2"),
    ("CREATE FUNCTION wrong() RETURNS TABLE (a INT) RETURN SELECT array(1)", "DATATYPE_MISMATCH", "INT"),
    ("CREATE FUNCTION wrong() RETURNS TABLE (a INT) RETURN 1 + 1", "PARSE_SYNTAX_ERROR", "query"),
    ("CREATE FUNCTION wrong(x INT) RETURNS TABLE RETURN SELECT y FROM source", "UNRESOLVED_COLUMN", "y"),
    ("CREATE FUNCTION wrong() RETURNS TABLE RETURN SELECT :x AS a", "INVALID_SQL_FUNCTION_BODY", "parameter"),
]


@pytest.mark.parametrize(("text", "condition", "part"), REJECTED, ids=[text for text, *_ in REJECTED])
def test_rejected_call_or_definition_says_why(session: LakeSession, text: str, condition: str, part: str) -> None:
    found = error(session, text)
    assert found.condition.startswith(condition) and part in found.full_message, found
