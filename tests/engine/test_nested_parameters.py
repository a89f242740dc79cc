"""Arrays and maps as parameters: their elements are typed values, like other parameters."""

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

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    folder: Path = tmp_path_factory.mktemp("lake")
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def answer(session: LakeSession, text: str, *parameters: Parameter) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementRequest(identity=Identity("ann")), parameters)
    table = pa.Table.from_batches(result.batches(), result.schema)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def plain(value: str | None, sql_type: str) -> Parameter:
    return Parameter(value=value, sql_type=sql_type)


def array(*members: Parameter, name: str | None = None) -> Parameter:
    return Parameter(value=None, sql_type="ARRAY", name=name, members=members)


def map_(*members: Parameter, name: str | None = None) -> Parameter:
    return Parameter(value=None, sql_type="MAP", name=name, members=members)


NUMBERS = array(plain("1", "INT"), plain(None, "VOID"), plain("1099511627776", "BIGINT"))
TEXTS = array(plain("it's", "STRING"), plain("a\\b", "STRING"), plain("');--", "STRING"))
VALUES: list[tuple[Parameter, str, Any]] = [
    (NUMBERS, "array<bigint>", [1, None, 2**40]),
    (TEXTS, "array<string>", ["it's", "a\\b", "');--"]),
    (array(plain("1.5", "DECIMAL(2,1)"), plain("10.25", "DECIMAL(4,2)")), "array<decimal(4,2)>", None),
    (array(), "array<void>", []),
    (array(array(plain("1", "INT")), array()), "array<array<int>>", [[1], []]),
    (map_(plain("k", "STRING"), plain("5", "INT")), "map<string,int>", [("k", 5)]),
    (map_(plain("k", "STRING"), array(plain("2024-01-31", "DATE"))), "map<string,array<date>>", None),
]


@pytest.mark.parametrize(("parameter", "sql_type", "value"), VALUES, ids=[each for _, each, _ in VALUES])
def test_value_has_the_type_of_its_members(
    session: LakeSession, parameter: Parameter, sql_type: str, value: Any
) -> None:
    ((found, kind),) = answer(session, "SELECT ? AS v, typeof(?)", parameter, parameter)
    assert kind == sql_type
    assert value is None or found == value
    named = Parameter(value=None, sql_type=parameter.sql_type, name="p", members=parameter.members)
    assert answer(session, "SELECT typeof(:p)", named) == [(sql_type,)]


def test_values_are_written_and_compared(session: LakeSession) -> None:
    answer(session, "CREATE TABLE t (a ARRAY<BIGINT>, m MAP<STRING, INT>)")
    answer(session, "INSERT INTO t VALUES (?, ?)", NUMBERS, map_(plain("k", "STRING"), plain("5", "INT")))
    assert answer(
        session, "SELECT m FROM t WHERE array_contains(a, 1) AND a = :a", array(*(NUMBERS.members or ()), name="a")
    )


def test_text_that_is_no_type_is_rejected(session: LakeSession) -> None:
    for sql_type in ("INT), reflect('java.lang.System', 'exit'", "nosuch", "INT) --", "DECIMAL(3,1)) + (1"):
        with pytest.raises(SqlError) as caught:
            answer(session, "SELECT ?", array(plain("1", sql_type)))
        assert caught.value.condition == "UNSUPPORTED_FEATURE.STATEMENT", sql_type
