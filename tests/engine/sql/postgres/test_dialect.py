"""PostgreSQL's dialect on Spark: answers are PostgreSQL's, and what cannot be translated is rejected with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.sql_dialect import SqlDialect
from engine.spark.session import SparkDriver
from tests.engine.sql.postgres.dialect_cases import answers, comparable, queries, refusals, spark_statements

ANN = Identity("ann")
CASES = [pytest.param(text, answer, id=text[:70]) for text, answer in zip(queries(), answers(), strict=True)]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    lake = tmp_path_factory.mktemp("lake")
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(ANN, settings={}, catalog=None, schema=None)
    for statement in spark_statements():
        for _ in opened.execute(statement, StatementRequest(identity=ANN)).batches():
            pass
    yield opened
    opened.close()


def _run(session: LakeSession, text: str) -> tuple[list[str], list[tuple[object, ...]]]:
    stream = session.execute(text, StatementRequest(identity=ANN, dialect=SqlDialect.POSTGRES))
    rows = [row for batch in stream.batches() for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
    return list(stream.schema.names), rows


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_query_has_postgresqls_labels_and_rows(session: LakeSession, text: str, expected: dict[str, object]) -> None:
    labels, rows = _run(session, text)
    assert comparable(text, rows) == expected["rows"]
    assert labels == expected["labels"]
