"""SQL functions: the types of their results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.context import StatementContext
from engine.runtime.identity import Identity

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


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementContext(identity=Identity("ann")))
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


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
