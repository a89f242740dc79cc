"""The IDENTIFIER clause: its value is the name, wherever a name is allowed, and nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import table

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    folder: Path = tmp_path_factory.mktemp("lake")
    (folder / "default").mkdir()
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    table(opened, "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    table(opened, "DECLARE named = 't'")
    yield opened
    opened.close()


def rows(session: LakeSession, text: str, *parameters: Parameter) -> Any:
    result = session.execute(text, StatementRequest(identity=Identity("ann")), parameters)
    return [
        row for batch in result.batches() for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


QUERIES = {
    "table": ("SELECT * FROM IDENTIFIER('t')", [(1, "x")]),
    "parts": ("SELECT IDENTIFIER('t.a'), IDENTIFIER('`b`') FROM IDENTIFIER('default.`t`') AS t", [(1, "x")]),
    "strings in a row": ("SELECT a FROM IDENTIFIER('de' 'fault.t')", [(1,)]),
    "function": ("SELECT IDENTIFIER('COALESCE')(NULL, 1), IDENTIFIER('ab' || 's')(-1)", [(1, 1)]),
    "table function": ("SELECT * FROM IDENTIFIER('ra' || 'nge')(0, 1)", [(0,)]),
    "alias": ("SELECT IDENTIFIER('x').y FROM VALUES (2) AS IDENTIFIER('x')(IDENTIFIER('y'))", [(2,)]),
    "variable": ("SELECT IDENTIFIER(named || '.a') FROM IDENTIFIER(named)", [(1,)]),
    "the same twice": ("SELECT IDENTIFIER(lower('A')), IDENTIFIER(lower('A')) AS z FROM t", [(1, 1)]),
    "common table expression": ("WITH IDENTIFIER('c')(z) AS (VALUES (3)) SELECT z FROM IDENTIFIER(lower('C'))", [(3,)]),
    "quoted word": ("SELECT `identifier` FROM VALUES (4) AS t(`identifier`)", [(4,)]),
    "plain word": ("SELECT identifier FROM VALUES (4) AS t(identifier)", [(4,)]),
    "immediate": ("EXECUTE IMMEDIATE 'SELECT a FROM IDENTIFIER(:s ''.'' :t)' USING 'default' AS s, 't' AS t", [(1,)]),
    "script": (
        "BEGIN DECLARE n = 'a'; FOR r AS SELECT a FROM IDENTIFIER('t') DO SELECT IDENTIFIER(n) + r.a FROM t; "
        "END FOR; END",
        [(2,)],
    ),
}


@pytest.mark.parametrize(("text", "expected"), QUERIES.values(), ids=QUERIES.keys())
def test_a_name_takes_its_place(session: LakeSession, text: str, expected: list[Any]) -> None:
    assert rows(session, text) == expected


def test_statements_of_tables(session: LakeSession) -> None:
    table(session, "CREATE TABLE IDENTIFIER('ma' || 'de') (IDENTIFIER('k') INT)")
    table(session, "INSERT INTO IDENTIFIER('made')(IDENTIFIER(lower('K'))) VALUES (7)")
    table(session, "ALTER TABLE IDENTIFIER('made') ADD COLUMN IDENTIFIER('l') INT")
    assert rows(session, "SELECT * FROM made") == [(7, None)]
    assert rows(session, "SHOW COLUMNS FROM IDENTIFIER('ma' || 'de')") == [("k",), ("l",)]
    table(session, "DROP TABLE IDENTIFIER('made')")


def test_parameters_stay_with_their_markers(session: LakeSession) -> None:
    given = [Parameter(value=text) for text in ("1", "a", "1", "2")]
    text = "SELECT ?, IDENTIFIER(lower(?)), IDENTIFIER('a') FROM t WHERE a = ? AND 2 = ?"
    assert rows(session, text, *given) == [("1", 1, 1)]
    named = [Parameter(name="c", value="a"), Parameter(name="v", value="1", sql_type="int")]
    assert rows(session, "SELECT IDENTIFIER(:c) FROM t WHERE IDENTIFIER(:c) = :v", *named) == [(1,)]


REFUSED = {
    "number": ("SELECT * FROM IDENTIFIER(1)", "NOT_A_CONSTANT_STRING.WRONG_TYPE"),
    "null": ("SELECT IDENTIFIER(CAST(NULL AS STRING)) FROM t", "NOT_A_CONSTANT_STRING.NULL"),
    "subquery": ("SELECT * FROM IDENTIFIER((SELECT 't'))", "NOT_A_CONSTANT_STRING.NOT_CONSTANT"),
    "column": ("SELECT IDENTIFIER(a) FROM t", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    "no name": ("SELECT IDENTIFIER('b c') FROM t", "INVALID_IDENTIFIER"),
    "empty": ("SELECT IDENTIFIER('') FROM t", "INVALID_IDENTIFIER"),
    "more than a name": ("SELECT * FROM IDENTIFIER(concat('t', ' WHERE false'))", "INVALID_IDENTIFIER"),
    "quotes": ("SELECT * FROM IDENTIFIER('t` WHERE `a')", "INVALID_IDENTIFIER"),
    "excluded function": ("SELECT IDENTIFIER('refl' || 'ect')('java.lang.System', 'getenv')", "UNSUPPORTED_FUNCTION"),
    "files": ("SELECT * FROM IDENTIFIER('parquet.`/t' || 'mp`')", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY"),
    "alias of parts": ("SELECT 1 AS IDENTIFIER('a.b')", "PARSE_SYNTAX_ERROR"),
    "function of the clause": ("SELECT IDENTIFIER(reflect('java.lang.System', 'getenv'))", "UNSUPPORTED_FUNCTION"),
    "parameter": ("SELECT :IDENTIFIER('a')", "PARSE_SYNTAX_ERROR"),
    "nested": ("SELECT IDENTIFIER(IDENTIFIER(named))", "UNSUPPORTED_CLAUSE"),
    "not closed": ("SELECT IDENTIFIER(named", "PARSE_SYNTAX_ERROR"),
    "nothing": ("SELECT IDENTIFIER()", "PARSE_SYNTAX_ERROR"),
}


@pytest.mark.parametrize(("text", "condition"), REFUSED.values(), ids=REFUSED.keys())
def test_refuses_what_is_no_name(session: LakeSession, text: str, condition: str) -> None:
    with pytest.raises(SqlError) as refused:
        rows(session, text)
    assert refused.value.condition == condition
