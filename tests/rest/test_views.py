"""Views that a REST catalog keeps: read with the rights of who asks, listed and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.changes import CreateView
from catalog.entries import ViewEntry
from catalog.names import SchemaName, TableName
from catalog.rest.views import view_entry
from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import refuse, rows, run
from tests.rest.conftest import RestServer
from tests.security.guarded_lake import GuardedLake

NAME = TableName("elsewhere", "shop", "v")
VERSION = {
    "version-id": 2,
    "schema-id": 1,
    "default-namespace": ["shop", "eu"],
    "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "Spark"}],
}
SCHEMA = {
    "schema-id": 1,
    "fields": [
        {"id": 1, "name": "A", "type": "decimal(9, 2)", "doc": "a"},
        {"id": 2, "name": "B", "type": {"type": "map", "key": "string", "value": {"type": "list", "element": "long"}}},
        {"id": 3, "name": "C", "type": {"type": "struct", "fields": [{"name": "x`", "type": "timestamptz"}]}},
    ],
}


def test_metadata_of_a_view() -> None:
    metadata = {"versions": [VERSION], "current-version-id": 2, "schemas": [SCHEMA], "properties": {"comment": "c"}}
    found = view_entry(NAME, metadata)
    assert (found.text, found.comment, found.current) == ("SELECT 1", "c", SchemaName("elsewhere", "shop.eu"))
    assert [(each.source, each.name, each.type) for each in found.columns] == [
        ("A", "A", "decimal(9,2)"),
        ("B", "B", "map<string, array<bigint>>"),
        ("C", "C", "struct<`x```: timestamp>"),
    ]
    named = {**metadata, "properties": {"spark.query-column-names": "x,y,z"}}
    assert [each.source for each in view_entry(NAME, named).columns] == ["x", "y", "z"]


@pytest.mark.parametrize("metadata", [{}, {"versions": [], "current-version-id": 1}, {"versions": 3}])
def test_metadata_that_is_none(metadata: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(Exception, match="its description of the view"):
        view_entry(NAME, metadata)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, server: RestServer) -> GuardedLake:
    folder = tmp_path_factory.mktemp("guarded") / "lake"
    folder.mkdir()
    found = GuardedLake(folder, (str(server.folder),), (server.options(nested=True),))
    for schema in ("shop", "a"):
        found.do(
            "root",
            "GRANT USE CATALOG ON CATALOG elsewhere TO ann",
            f"GRANT USE SCHEMA ON SCHEMA elsewhere.{schema} TO ann",
        )
    server.create_view("a", "v", "SELECT id FROM elsewhere.shop.orders")
    server.create_view("a", "w", "SELECT id FROM shop.orders", dialect="trino")
    found.do("root", "GRANT SELECT ON SCHEMA elsewhere.a TO ann")
    return found


def test_a_view_is_read_with_the_rights_of_who_asks(lake: GuardedLake) -> None:
    error = lake.error("ann", "SELECT * FROM elsewhere.a.v")
    assert error is not None and error.sqlstate in {"42P01", "42501"}
    lake.do("root", "GRANT SELECT ON TABLE elsewhere.shop.orders TO ann")
    assert lake.outcome("ann", "SELECT * FROM elsewhere.a.V") == "R"
    assert lake.outcome("eve", "SELECT * FROM elsewhere.a.v") in {"42P01", "42704", "42P08"}
    around = ViewEntry(
        name=TableName("elsewhere", "a", "around"),
        text="SELECT * FROM elsewhere.a.v",
        current=SchemaName("elsewhere", "a"),
        owner="bob",
    )
    lake.sources.catalog.change(CreateView(around))
    assert lake.outcome("ann", "SELECT * FROM elsewhere.a.around") != "R"  # bob, who owns it, may not
    error = lake.error("ann", "SELECT * FROM elsewhere.a.w")
    assert error is not None and error.condition == "REST_VIEW_NOT_READABLE" and "trino" in str(error)


def test_views_are_listed_and_dropped(lake: GuardedLake, server: RestServer) -> None:
    server.create_view("a", "gone", "SELECT 1 AS id")
    assert {"v", "w", "gone"} <= {row[1] for row in lake.rows("root", "SHOW VIEWS IN elsewhere.a")}
    assert {"v", "w"} <= {row[1] for row in lake.rows("ann", "SHOW TABLES IN elsewhere.a")}
    assert lake.rows("root", "DESCRIBE elsewhere.a.gone") == [("id", "bigint", None)]
    assert lake.outcome("ann", "DROP VIEW elsewhere.a.gone") == "42501"
    error = lake.error("root", "GRANT SELECT ON VIEW elsewhere.a.gone TO ann")
    assert error is not None and error.condition == "REST_CATALOG_NOT_CHANGED_HERE"
    assert lake.outcome("root", "DROP TABLE elsewhere.a.gone") != "R"
    lake.do("root", "DROP VIEW elsewhere.a.GONE", "DROP VIEW IF EXISTS elsewhere.a.gone")
    error = lake.error("root", "DROP VIEW elsewhere.a.gone")
    assert error is not None and error.condition == "TABLE_OR_VIEW_NOT_FOUND"
    taken = ViewEntry(name=TableName("elsewhere", "a", "v"), text="SELECT 1", current=SchemaName("elsewhere", "a"))
    with pytest.raises(Exception, match="exists already"):
        lake.sources.catalog.change(CreateView(taken))


@pytest.mark.parametrize("status", [400, 403, 404, 405, 501])
def test_a_catalog_without_views(lake: GuardedLake, server: RestServer, status: int) -> None:
    server.faults(*4 * [{"method": "GET", "contains": "/views", "status": status}])
    assert "v" not in {row[1] for row in lake.rows("root", "SHOW TABLES IN elsewhere.a")}
    assert lake.outcome("root", "DESCRIBE elsewhere.a.none") == "42P01"
    server.faults()


@pytest.fixture
def session(tmp_path: Path, server: RestServer, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    options = EngineOptions(
        lake_folder=str(tmp_path), allowed_roots=(str(server.folder),), rest_catalogs=(server.options(),)
    )
    opened = LakeEngine(open_sources(options), spark_driver).open_session(
        Identity("ann"), settings={}, catalog=None, schema=None
    )
    yield opened
    opened.close()


@pytest.mark.spark
def test_rows_of_a_view(session: LakeSession, server: RestServer) -> None:
    server.create_view("shop", "few", "SELECT id AS n FROM orders WHERE id < 2", **{"default-namespace": ["shop"]})
    assert refuse(session, "SELECT * FROM elsewhere.shop.few").condition  # its text has no column id
    server.create_view("b", "few", "SELECT id FROM orders WHERE id < 2", **{"default-namespace": ["shop"]})
    assert rows(session, "SELECT id FROM elsewhere.b.few ORDER BY id") == [(0,), (1,)]
    run(session, "DROP VIEW elsewhere.b.few")
