"""Temporary views: their qualified names, and those that all sessions share."""

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


def condition(session: LakeSession, text: str) -> str:
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    return caught.value.condition


QUALIFIED = (
    *("SELECT a FROM session.v", "SELECT v.a FROM session.v", "SELECT a FROM system.session.v"),
    *("SELECT a FROM `System`.SESSION.V", "SELECT max(w.a) FROM session.v w", "TABLE session.v"),
    "WITH c AS (SELECT * FROM session.v) SELECT a FROM c",
    "SELECT (SELECT a FROM system.session.v)",
)


@pytest.mark.parametrize("text", QUALIFIED)
def test_qualified_name_means_the_temporary_view(session: LakeSession, text: str) -> None:
    rows(session, "CREATE TEMPORARY VIEW v AS SELECT 7 AS a")
    assert rows(session, text) == [(7,)]


@pytest.mark.parametrize("name", ["v", "session.v", "system.session.v"])
def test_qualified_name_in_definitions(session: LakeSession, name: str) -> None:
    rows(session, f"CREATE TEMPORARY VIEW {name} AS SELECT 7 AS a")
    assert condition(session, "CREATE TEMPORARY VIEW v AS SELECT 8 AS a") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    rows(session, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT 8 AS a")
    assert rows(session, f"DESCRIBE {name}") == [("a", "int", None)]
    rows(session, f"ALTER VIEW {name} AS SELECT 9 AS a")
    assert rows(session, "SELECT a FROM v") == [(9,)]
    rows(session, f"ALTER VIEW {name} RENAME TO session.w")
    assert rows(session, "SELECT a FROM w") == [(9,)]
    rows(session, "DROP VIEW session.w")
    assert condition(session, "SELECT a FROM w") == "TABLE_OR_VIEW_NOT_FOUND"


REJECTED = {
    "CREATE TEMPORARY VIEW default.v AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "CREATE OR REPLACE TEMP VIEW spark_catalog.session.v AS SELECT 1 AS a": "INVALID_TEMP_OBJ_QUALIFIER",
    "SELECT * FROM session.nothing": "TABLE_OR_VIEW_NOT_FOUND",
    "SELECT * FROM default.v": "TABLE_OR_VIEW_NOT_FOUND",
    "CREATE VIEW kept AS SELECT * FROM session.v": "INVALID_TEMP_OBJ_REFERENCE",
    "CREATE VIEW kept AS SELECT * FROM system.session.v": "INVALID_TEMP_OBJ_REFERENCE",
}


@pytest.mark.parametrize("text", REJECTED)
def test_other_qualifiers_are_rejected(session: LakeSession, text: str) -> None:
    rows(session, "CREATE TEMPORARY VIEW v AS SELECT 7 AS a")
    assert condition(session, text) == REJECTED[text]


def test_persistent_view_in_a_schema_named_session_reads_the_persistent_one(session: LakeSession) -> None:
    rows(session, "CREATE SCHEMA IF NOT EXISTS session")
    rows(session, "CREATE OR REPLACE VIEW session.v AS SELECT 'persistent' AS a")
    rows(session, "CREATE OR REPLACE VIEW default.reading AS SELECT a FROM session.v")
    assert rows(session, "SELECT a FROM session.v") == [("persistent",)]
    rows(session, "CREATE TEMPORARY VIEW v AS SELECT 'temporary' AS a")
    assert rows(session, "SELECT session.v.a, reading.a FROM session.v, default.reading") == [
        ("temporary", "persistent")
    ]
    rows(session, "DROP SCHEMA spark_catalog.session CASCADE")
