"""DDL on schemas and tables in a REST catalog: through SQL, compared with pyiceberg."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from catalog.entries import TableEntry
from catalog.names import TableName
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run
from tests.rest.conftest import RestServer
from tests.security.guarded_lake import GuardedLake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, server: RestServer) -> GuardedLake:
    folder = tmp_path_factory.mktemp("guarded") / "lake"
    folder.mkdir()
    found = GuardedLake(folder, (str(server.folder), str(folder.parent / "roomy")), (server.options(nested=True),))
    found.table("shop/d")
    found.do("root", *(f"GRANT USE CATALOG, CREATE SCHEMA ON CATALOG elsewhere TO {who}" for who in ("ann", "bob")))
    return found


@pytest.fixture
def other(server: RestServer) -> RestCatalog:
    return server.other_client()


def condition(lake: GuardedLake, who: str, text: str) -> str | None:
    error = lake.error(who, text)
    return None if error is None else error.condition


def test_a_schema_is_made_and_dropped(lake: GuardedLake, other: RestCatalog) -> None:
    lake.do("ann", "CREATE SCHEMA elsewhere.made COMMENT 'of ann' WITH DBPROPERTIES ('team' = 'x')")
    assert other.load_namespace_properties("made") == {"comment": "of ann", "team": "x"}
    assert condition(lake, "ann", "CREATE SCHEMA elsewhere.MADE") == "SCHEMA_ALREADY_EXISTS"
    lake.do("ann", "CREATE SCHEMA IF NOT EXISTS elsewhere.made", "COMMENT ON SCHEMA elsewhere.made IS 'another'")
    assert other.load_namespace_properties("made")["comment"] == "another"
    described = dict(lake.rows("ann", "DESCRIBE SCHEMA EXTENDED elsewhere.made"))
    assert (described["Comment"], described["Owner"], described["Properties"]) == ("another", "ann", "((team,x))")
    lake.do("ann", "COMMENT ON SCHEMA elsewhere.made IS NULL")
    assert other.load_namespace_properties("made") == {"team": "x"}
    assert condition(lake, "bob", "DROP SCHEMA elsewhere.made") == "SCHEMA_NOT_FOUND"
    lake.do("ann", "CREATE TABLE elsewhere.made.t (id INT)")
    assert condition(lake, "ann", "DROP SCHEMA elsewhere.made") == "SCHEMA_NOT_EMPTY"
    lake.do("ann", "DROP SCHEMA elsewhere.made CASCADE", "DROP SCHEMA IF EXISTS elsewhere.made")
    assert ("made",) not in other.list_namespaces()
    assert condition(lake, "ann", "DROP SCHEMA elsewhere.made") == "SCHEMA_NOT_FOUND"
    lake.do("bob", "CREATE SCHEMA elsewhere.made")
    assert condition(lake, "ann", "CREATE TABLE elsewhere.made.t (id INT)") == "SCHEMA_NOT_FOUND"
    lake.do("bob", "DROP SCHEMA elsewhere.made")


def test_a_schema_in_another_one(lake: GuardedLake, other: RestCatalog) -> None:
    lake.do("root", "CREATE SCHEMA elsewhere.`shop.us`", "CREATE TABLE elsewhere.`shop.us`.t (id INT)")
    assert other.list_tables(("shop", "us")) == [("shop", "us", "t")]
    lake.do("root", "CREATE SCHEMA elsewhere.`shop.us.west`")
    assert condition(lake, "root", "DROP SCHEMA elsewhere.`shop.us` CASCADE") == "SCHEMA_NOT_EMPTY"
    assert other.list_tables(("shop", "us")) == [("shop", "us", "t")]
    lake.do("root", "DROP SCHEMA elsewhere.`shop.us.west`", "DROP SCHEMA elsewhere.`shop.us` CASCADE")
    assert ("shop", "us") not in other.list_namespaces("shop")


def test_a_table_is_made(lake: GuardedLake, other: RestCatalog) -> None:
    lake.do(
        "root",
        "CREATE TABLE elsewhere.a.made (id BIGINT NOT NULL COMMENT 'key', at TIMESTAMP, page STRING) USING iceberg "
        "PARTITIONED BY (day(at), bucket(16, id)) COMMENT 'clicks' "
        "TBLPROPERTIES ('format-version' = '1', 'mine' = '1')",
    )
    table = other.load_table("a.made")
    assert table.format_version == 1 and table.properties["mine"] == "1" and table.properties["comment"] == "clicks"
    assert [(each.name, each.required, each.doc) for each in table.schema().fields] == [
        ("id", True, "key"),
        ("at", False, None),
        ("page", False, None),
    ]
    assert [str(field.transform) for field in table.spec().fields] == ["day", "bucket[16]"]
    assert condition(lake, "root", "CREATE TABLE elsewhere.a.MADE (id INT)") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    lake.do("root", "CREATE TABLE IF NOT EXISTS elsewhere.a.made (id INT)")
    lake.do("root", "CREATE OR REPLACE TABLE elsewhere.a.made (name STRING)")
    replaced = other.load_table("a.made")
    assert replaced.schema().column_names == ["name"] and replaced.metadata.table_uuid == table.metadata.table_uuid
    lake.do("root", "ALTER TABLE elsewhere.a.made ADD COLUMN more INT")
    assert other.load_table("a.made").schema().column_names == ["name", "more"]


def test_a_place_is_said(lake: GuardedLake, other: RestCatalog) -> None:
    place = f"{lake.folder.parent}/roomy/t"
    lake.do("root", f"CREATE EXTERNAL LOCATION roomy URL '{lake.folder.parent}/roomy'")
    lake.do("root", f"CREATE TABLE elsewhere.a.placed (id INT) LOCATION '{place}'")
    assert other.load_table("a.placed").location() == f"file://{place}"
    assert condition(lake, "root", "CREATE TABLE elsewhere.a.out (id INT) LOCATION '/etc/x'") == "PATH_NOT_ALLOWED"
    hidden = f"CREATE SCHEMA elsewhere.hidden WITH DBPROPERTIES ('location' = 'file://{lake.folder}/default')"
    assert condition(lake, "root", hidden) == "REST_CATALOG_OPTION_INVALID"
    assert condition(lake, "root", "CREATE TABLE elsewhere.a.out (id INT) USING delta")
    assert ("a", "out") not in other.list_tables("a")


def test_a_table_out_of_the_roots_is_not_made(tmp_path: Path, server: RestServer, other: RestCatalog) -> None:
    (tmp_path / "lake").mkdir()
    found = GuardedLake(tmp_path / "lake", rest=(server.options(),))
    assert condition(found, "root", "CREATE TABLE elsewhere.a.out (id INT)") == "PATH_NOT_ALLOWED"
    assert ("a", "out") not in other.list_tables("a")


def test_creator_owns_the_table(lake: GuardedLake, other: RestCatalog) -> None:
    lake.do("root", *(f"GRANT USE SCHEMA, CREATE TABLE ON SCHEMA elsewhere.b TO {who}" for who in ("ann", "bob")))
    lake.do("ann", "CREATE TABLE elsewhere.b.own (id INT)")
    assert lake.outcome("ann", "SELECT * FROM elsewhere.b.own") == "R"
    assert lake.outcome("bob", "SELECT * FROM elsewhere.b.own") == "42P01"
    lake.do("ann", "GRANT SELECT ON TABLE elsewhere.b.own TO bob")
    lake.do("ann", "ALTER TABLE elsewhere.b.own RENAME TO elsewhere.b.renamed")
    assert other.list_tables("b") == [("b", "renamed")]
    assert lake.outcome("bob", "SELECT * FROM elsewhere.b.renamed") == "R"
    assert condition(lake, "bob", "DROP TABLE elsewhere.b.renamed") == "INSUFFICIENT_PERMISSIONS"
    lake.do("ann", "DROP TABLE elsewhere.b.renamed", "DROP TABLE IF EXISTS elsewhere.b.renamed")
    assert condition(lake, "ann", "DROP TABLE elsewhere.b.renamed") == "TABLE_OR_VIEW_NOT_FOUND"
    lake.do("ann", "CREATE TABLE elsewhere.b.renamed (id INT)")
    assert lake.outcome("bob", "SELECT * FROM elsewhere.b.renamed") == "42P01"  # another table, without the grant
    other.drop_table("b.renamed")
    lake.do("bob", "CREATE TABLE elsewhere.b.renamed (id INT)")  # the removed one's record is not a table
    assert lake.outcome("ann", "SELECT * FROM elsewhere.b.renamed") == "42P01"
    other.drop_table("b.renamed")
    lake.do("bob", "DROP TABLE elsewhere.b.renamed")
    assert TableName("elsewhere", "b", "renamed") not in lake.sources.catalog.view().state.relations


def test_names_stay_in_their_catalog(lake: GuardedLake) -> None:
    lake.do("root", "CREATE TABLE elsewhere.a.stays (id INT)", "CREATE TABLE shop.local (id INT)")
    for text, expected in (
        ("ALTER TABLE elsewhere.a.stays RENAME TO shop.moved", "REST_CATALOG_NOT_CHANGED_HERE"),
        ("ALTER TABLE shop.local RENAME TO elsewhere.a.moved", "REST_CATALOG_NOT_CHANGED_HERE"),
        ("ALTER TABLE elsewhere.a.stays SET LOCATION '/x'", "PATH_NOT_ALLOWED"),
        ("DROP CATALOG elsewhere", "REST_CATALOG_NOT_CHANGED_HERE"),
        ("CALL elsewhere.system.register_table('a.registered', '/x/v1.metadata.json')", "PATH_NOT_ALLOWED"),
        ("CREATE TABLE elsewhere.a.cloned SHALLOW CLONE shop.local", "ICEBERG_STATEMENT_NOT_SUPPORTED"),
        ("CREATE TABLE elsewhere.a.like_it LIKE shop.local USING delta", "UNSUPPORTED_FEATURE.STATEMENT"),
    ):
        assert (condition(lake, "root", text), text) == (expected, text)
    lake.do("root", "CREATE TABLE elsewhere.a.taken (id INT)")
    text = "ALTER TABLE elsewhere.a.stays RENAME TO elsewhere.a.taken"
    assert condition(lake, "root", text) == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_a_table_like_one_of_ours_is_one_of_the_catalog(lake: GuardedLake, other: RestCatalog) -> None:
    lake.do("root", "CREATE TABLE shop.model (id INT NOT NULL, price DECIMAL(9, 2) COMMENT 'net')")
    text = "CREATE TABLE elsewhere.a.like_model LIKE shop.model"
    assert condition(lake, "eve", text) == "TABLE_OR_VIEW_NOT_FOUND"
    for granted in ("USE CATALOG ON CATALOG spark_catalog", "USE SCHEMA ON SCHEMA shop", "SELECT ON TABLE shop.model"):
        lake.do("root", f"GRANT {granted} TO eve")
    for granted in ("USE CATALOG ON CATALOG elsewhere", "USE SCHEMA ON SCHEMA elsewhere.a"):
        lake.do("root", f"GRANT {granted} TO eve")
    assert condition(lake, "eve", text) == "INSUFFICIENT_PERMISSIONS"
    assert ("a", "like_model") not in other.list_tables("a")
    lake.do("root", text)
    assert ("a", "like_model") in other.list_tables("a")
    assert [
        (field.name, str(field.field_type), field.required, field.doc)
        for field in other.load_table("a.like_model").schema().fields
    ] == [
        ("id", "int", True, None),
        ("price", "decimal(9, 2)", False, "net"),
    ]
    assert lake.answer("root", "DESCRIBE DETAIL elsewhere.a.like_model")["format"].to_pylist() == ["iceberg"]
    (entry,) = (
        each for each in lake.sources.catalog.view().state.relations.values() if each.name.table == "like_model"
    )
    assert isinstance(entry, TableEntry) and entry.format == "iceberg" and not entry.managed
    assert condition(lake, "eve", "SELECT * FROM elsewhere.a.like_model") == "TABLE_OR_VIEW_NOT_FOUND"
    assert condition(lake, "root", text) == "TABLE_OR_VIEW_ALREADY_EXISTS"
    lake.do("root", "DROP TABLE elsewhere.a.like_model")


@pytest.mark.parametrize(
    ("text", "fault", "expected"),
    [
        ("CREATE TABLE elsewhere.a.f0 (id INT)", {"contains": "/tables", "status": 409}, "ALREADY_EXISTS"),
        ("CREATE TABLE elsewhere.a.f1 (id INT)", {"contains": "/tables", "status": 500, "applies": True}, "UNKNOWN"),
        ("CREATE TABLE elsewhere.a.f2 (id INT)", {"contains": "/tables", "status": 0}, "OUTCOME_UNKNOWN"),
        ("CREATE TABLE elsewhere.a.f3 (id INT)", {"contains": "/tables", "status": 503}, "OUTCOME_UNKNOWN"),
        ("CREATE TABLE elsewhere.a.f4 (id INT)", {"contains": "/tables", "status": 403}, "REFUSED"),
        ("CREATE SCHEMA elsewhere.f5", {"contains": "/namespaces", "status": 502}, "OUTCOME_UNKNOWN"),
        ("CREATE SCHEMA elsewhere.f6", {"contains": "/namespaces", "status": 501}, "OUTCOME_UNKNOWN"),
    ],
)
def test_faults_have_names(lake: GuardedLake, server: RestServer, text: str, fault: dict, expected: str) -> None:  # type: ignore[type-arg]
    server.faults({"method": "POST", **fault})
    found = condition(lake, "root", text)
    assert found is not None and expected in found, found


def test_a_drop_whose_answer_is_lost_is_no_failure(lake: GuardedLake, server: RestServer, other: RestCatalog) -> None:
    lake.do("root", "CREATE TABLE elsewhere.a.lost (id INT)")
    server.faults({"method": "DELETE", "contains": "/tables/", "status": 504, "applies": True})
    lake.do("root", "DROP TABLE elsewhere.a.lost PURGE")
    assert ("a", "lost") not in other.list_tables("a")
    assert any("purgeRequested=true" in each for each in server.requests())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, server: RestServer, spark_driver: SparkDriver) -> LakeEngine:
    options = EngineOptions(
        lake_folder=str(tmp_path_factory.mktemp("lake")),
        allowed_roots=(str(server.folder),),
        rest_catalogs=(server.options(nested=True),),
    )
    return LakeEngine(open_sources(options), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.mark.spark
def test_a_table_is_made_of_a_query(session: LakeSession, server: RestServer, other: RestCatalog) -> None:
    name = "elsewhere.shop.copied"
    run(session, f"CREATE TABLE {name} PARTITIONED BY (bucket(2, id)) AS SELECT id, 'x' AS s FROM range(5)")
    assert sorted(other.load_table("shop.copied").scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 3, 4]
    assert rows(session, f"SELECT count(*), max(s) FROM {name}") == [(5, "x")]
    assert refuse(session, f"CREATE TABLE {name} AS SELECT 1 AS id").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    run(session, f"CREATE OR REPLACE TABLE {name} AS SELECT 7 AS n")
    assert other.load_table("shop.copied").scan().to_arrow() == pa.table({"n": pa.array([7], pa.int32())})
    first = rows(session, f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at")[0][0]
    assert rows(session, f"SELECT count(*) FROM {name} VERSION AS OF {first}") == [(5,)]
    run(session, f"CALL elsewhere.system.set_current_snapshot('shop.copied', {first})")
    assert rows(session, f"SELECT count(*) FROM {name}") == [(5,)]
    run(session, f"DROP TABLE {name}")
    assert refuse(session, f"SELECT * FROM {name}").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(session, "CREATE TABLE elsewhere.shop.nothing AS SELECT 1 AS id WHERE false")
    assert other.load_table("shop.nothing").scan().to_arrow().num_rows == 0


@pytest.mark.spark
def test_a_lost_answer_of_a_table_made_of_a_query(session: LakeSession, server: RestServer, other: RestCatalog) -> None:
    fault = {"method": "POST", "contains": "/tables/", "applies": True, "status": 502}
    server.faults(fault)
    run(session, "CREATE TABLE elsewhere.shop.settled AS SELECT 1 AS id")
    assert other.load_table("shop.settled").scan().to_arrow().num_rows == 1
    server.faults({**fault, "applies": False})
    error = refuse(session, "CREATE TABLE elsewhere.shop.unsettled AS SELECT 1 AS id")
    assert error.condition == "COMMIT_OUTCOME_UNKNOWN"
    server.faults({**fault, "applies": False, "status": 409})
    error = refuse(session, "CREATE TABLE elsewhere.shop.faster AS SELECT 1 AS id")
    assert error.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert not list(Path(server.folder, "shop", "faster").rglob("*.parquet"))
    assert list(Path(server.folder, "shop", "unsettled").rglob("*.parquet"))  # it may have been committed
