"""A REST catalog's views: read with the caller's privileges, listed and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.view.metadata import ViewMetadata, ViewVersion

from catalog.catalog import Catalog
from catalog.changes import CreateTable, CreateView, DropView
from catalog.conditions import TableAlreadyExists
from catalog.entries import TableEntry, ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName
from catalog.rest.names import RestCatalogs, location_of
from catalog.rest.new_views import creation
from catalog.rest.views import view_entry
from catalog.store.store import MemoryStore
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
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


@pytest.mark.parametrize("sources", [["a", "b"], ["b", "a"], ["x", "y"]])
def test_a_property_does_not_say_the_names_of_the_query(sources: list[str]) -> None:
    columns = (ViewColumn(name=name, source=source, type="int") for name, source in zip("ab", sources, strict=True))
    given = (("spark.query-column-names", "b,a"), ("k", "v"))
    entry = ViewEntry(name=NAME, text="", current=NAME.schema_name, columns=tuple(columns), properties=given)
    made = creation(entry, ("shop",))
    version, schema, properties = made["view-version"], made["schema"], made["properties"]
    remaining = {"versions": [version], "current-version-id": 1, "schemas": [schema], "properties": properties}
    assert [each.source for each in view_entry(NAME, remaining).columns] == sources and properties["k"] == "v"


@pytest.mark.parametrize("metadata", [{}, {"versions": [], "current-version-id": 1}, {"versions": 3}])
def test_metadata_that_is_none(metadata: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(Exception, match="its description of the view"):
        view_entry(NAME, metadata)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, server: RestServer) -> GuardedLake:
    folder = tmp_path_factory.mktemp("guarded") / "lake"
    folder.mkdir()
    found = GuardedLake(folder, (str(server.folder),), (server.options(nested=True),))
    found.table("shop/d")
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
    assert error is not None and error.sqlstate == "42501"
    lake.do("root", "GRANT SELECT ON TABLE elsewhere.shop.orders TO ann")
    assert lake.outcome("ann", "SELECT * FROM elsewhere.a.V") == "R"
    assert lake.outcome("eve", "SELECT * FROM elsewhere.a.v") == "42P08"
    around = ViewEntry(
        name=TableName("spark_catalog", "shop", "around"),
        text="SELECT * FROM elsewhere.a.v",
        current=SchemaName("elsewhere", "a"),
        owner="bob",
    )
    lake.sources.catalog.change(CreateView(around))
    lake.do("root", "GRANT USE CATALOG, USE SCHEMA, SELECT ON CATALOG spark_catalog TO ann")
    assert lake.outcome("ann", "SELECT * FROM spark_catalog.shop.around") == "42501"  # bob, who owns it, may not
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
    assert lake.outcome("root", "DROP TABLE elsewhere.a.gone") == "42809"
    lake.do("root", "DROP VIEW elsewhere.a.GONE", "DROP VIEW IF EXISTS elsewhere.a.gone")
    error = lake.error("root", "DROP VIEW elsewhere.a.gone")
    assert error is not None and error.condition == "TABLE_OR_VIEW_NOT_FOUND"
    taken = ViewEntry(name=TableName("elsewhere", "a", "v"), text="SELECT 1", current=SchemaName("elsewhere", "a"))
    with pytest.raises(Exception, match="already exists"):
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


def current(view: ViewMetadata) -> ViewVersion:
    return next(each for each in view.versions if each.version_id == view.current_version_id)


@pytest.mark.spark
def test_a_view_is_made_in_the_catalog_and_replaced(session: LakeSession, server: RestServer) -> None:
    run(session, "USE elsewhere.shop")
    columns = "CAST(id AS SMALLINT) n, array(struct(id AS `x y`)) AS a, map('k', 1.5) AS m, TIMESTAMP'2024-01-01' AS t"
    run(session, f"CREATE VIEW b.made (n COMMENT 'few', a, m, t) COMMENT 'one' AS SELECT {columns} FROM orders")
    found = ViewMetadata.model_validate(server.client().load_view(("b",), "made"))
    version = current(found)
    assert (list(version.default_namespace), version.default_catalog) == (["shop"], None)
    fields = {each.name: (str(each.field_type), each.doc) for each in found.schemas[0].fields}
    assert fields["n"] == ("int", "few") and fields["t"] == ("timestamptz", None) and "x y" in fields["a"][0]
    assert found.schemas[0].highest_field_id == 8
    assert rows(session, "SELECT n, a[0].`x y` FROM b.made ORDER BY n") == [(each, each) for each in range(5)]
    assert refuse(session, "CREATE VIEW b.made AS SELECT 1 AS one").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    run(session, "CREATE VIEW IF NOT EXISTS b.made AS SELECT 1 AS one")
    assert refuse(session, "CREATE VIEW shop.orders AS SELECT 1 AS one").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    run(session, "USE spark_catalog.default")
    run(session, "CREATE OR REPLACE VIEW elsewhere.b.made AS SELECT 7 AS one, 'x' AS two")
    assert rows(session, "SELECT * FROM elsewhere.b.made") == [(7, "x")]
    replaced = ViewMetadata.model_validate(server.client().load_view(("b",), "made"))
    assert replaced.view_uuid == found.view_uuid and "comment" not in replaced.properties
    assert current(replaced).default_catalog == "spark_catalog" and len(replaced.versions) == 2
    assert ("b", "made", False) in rows(session, "SHOW VIEWS IN elsewhere.b")
    for text, reason in (("INTERVAL '1' DAY", "interval day"), ("TIME'12:00:00'", "time(6)")):
        error = refuse(session, f"CREATE VIEW elsewhere.b.odd AS SELECT {text} AS i")
        assert error.condition == "REST_VIEW_NOT_KEPT" and reason in str(error)
    server.create_view("b", "theirs", "SELECT 1 AS id", dialect="trino")
    error = refuse(session, "CREATE OR REPLACE VIEW elsewhere.b.theirs AS SELECT 1 AS id")
    assert error.condition == "REST_VIEW_NOT_KEPT" and "trino" in str(error)
    for view in ("made", "theirs"):
        run(session, f"DROP VIEW elsewhere.b.{view}")
    assert not list(server.client().views(("b",)))


@pytest.mark.spark
@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_catalog_without_views_makes_none(session: LakeSession, server: RestServer, status: int) -> None:
    server.faults({"method": "POST", "contains": "/views", "status": status})
    error = refuse(session, "CREATE VIEW elsewhere.b.none AS SELECT 1 AS id")
    assert error.condition == "REST_CATALOG_HAS_NO_VIEWS"
    reported = {"endpoints": ["GET /v1/{prefix}/namespaces/{namespace}/tables"], "overrides": {"prefix": "wh-1"}}
    server.faults({"method": "GET", "contains": "/config", "status": 200, "body": reported})
    assert not server.client().create_view(("b",), {})
    assert not server.other_client().list_views("b")


@pytest.mark.spark
@pytest.mark.parametrize("applies", [True, False])
def test_lost_view_answer_is_resolved_by_view(session: LakeSession, server: RestServer, applies: bool) -> None:
    server.faults({"method": "POST", "contains": "/views", "status": 502, "applies": applies})
    text = "CREATE VIEW elsewhere.b.lost AS SELECT 1 AS id"
    if applies:
        run(session, text)
        run(session, "DROP VIEW elsewhere.b.lost")
    else:
        assert refuse(session, text).condition == "REST_CATALOG_OUTCOME_UNKNOWN"


@pytest.mark.spark
def test_rows_of_a_view(session: LakeSession, server: RestServer) -> None:
    server.create_view(
        "shop", "few", "SELECT id AS n FROM orders WHERE id < 2", "spark", **{"default-namespace": ["shop"]}
    )
    error = refuse(session, "SELECT * FROM elsewhere.shop.few")  # its text has no column id
    assert error.condition == "INCOMPATIBLE_VIEW_SCHEMA_CHANGE"
    server.create_view("b", "few", "SELECT id FROM orders WHERE id < 2", "spark", **{"default-namespace": ["shop"]})
    assert rows(session, "SELECT id FROM elsewhere.b.few ORDER BY id") == [(0,), (1,)]
    run(session, "DROP VIEW elsewhere.b.few")


def test_a_view_takes_the_name_of_a_table_that_went_elsewhere(server: RestServer) -> None:
    """The record remains, with privileges that no longer apply."""
    catalog = Catalog(MemoryStore(), rest=RestCatalogs([server.options()]))
    catalog.record_rest_catalogs()
    name = TableName("elsewhere", "b", "went")
    other = server.other_client()
    other.create_table("b.went", pa.schema([("id", pa.int64())]))
    address = location_of("elsewhere", ("b",), name.table)
    catalog.change(CreateTable(TableEntry(name=name, location=address, format="iceberg")))
    view = ViewEntry(
        name=name,
        text="SELECT 1 AS one",
        current=name.schema_name,
        columns=(ViewColumn(name="one", source="one", type="int"),),
    )
    with pytest.raises(TableAlreadyExists):
        catalog.change(CreateView(view))
    assert name in catalog.view().state.relations
    other.drop_table("b.went")
    catalog.change(CreateView(view))
    assert name not in catalog.view().state.relations
    found = catalog.view().find(name)
    assert isinstance(found, ViewEntry) and found.text == view.text and found.owner is None
    assert name.table in list(server.client().views(("b",)))
    catalog.change(DropView(name))
    assert name.table not in list(server.client().views(("b",)))
