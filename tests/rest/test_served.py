"""REST catalog tables along with the lake's: through SQL, with grants, and with an unavailable catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from catalog.rest.options import RestOptions
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run
from tests.rest.conftest import RestServer
from tests.security.guarded_lake import GuardedLake

GONE = RestOptions(name="gone", uri="http://127.0.0.1:9", token="s3cret", timeout_s=1)
NOT_THERE = {"42P01", "42704", "42P08"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, server: RestServer) -> GuardedLake:
    folder = tmp_path_factory.mktemp("guarded") / "lake"
    folder.mkdir()
    found = GuardedLake(folder, (str(server.folder),), (server.options(nested=True), GONE))
    found.table("shop/d")
    found.do(
        "root", *(f"GRANT USE CATALOG, USE SCHEMA, SELECT ON CATALOG {name} TO ann" for name in ("elsewhere", "gone"))
    )
    found.do("root", "GRANT USE CATALOG, USE SCHEMA, SELECT ON CATALOG spark_catalog TO ann")
    return found


def test_names_are_listed_live(lake: GuardedLake, server: RestServer) -> None:
    assert {row[0] for row in lake.rows("root", "SHOW CATALOGS")} == {"spark_catalog", "elsewhere", "gone"}
    schemas = {row[0] for row in lake.rows("root", "SHOW SCHEMAS IN elsewhere")}
    assert schemas >= {"a", "b", "shop", "shop.eu"}
    tables = {row[1] for row in lake.rows("root", "SHOW TABLES IN elsewhere.shop")}
    assert tables >= {"orders", "empty", "Mixed"}
    server.other_client().create_table("a.fresh", pa.schema([("id", pa.int64())]))
    assert ("fresh") in {row[1] for row in lake.rows("root", "SHOW TABLES IN elsewhere.a")}
    described = {row[0]: row[1] for row in lake.rows("root", "DESCRIBE elsewhere.shop.orders")}
    assert described["id"] == "bigint"
    lake.do("root", "ALTER TABLE elsewhere.shop.`Mixed` OWNER TO ann")
    (detail,) = lake.rows("ann", "DESCRIBE DETAIL elsewhere.shop.`Mixed`")
    assert f"{server.folder}/shop/Mixed" in detail


def test_a_catalog_that_does_not_answer_is_one_error_and_the_others_go_on(lake: GuardedLake) -> None:
    for text in ("SHOW SCHEMAS IN gone", "SELECT * FROM gone.shop.orders", "SHOW TABLES IN gone.shop"):
        error = lake.error("ann", text)
        assert error is not None and error.condition == "REST_CATALOG_NOT_AVAILABLE", text
        assert "s3cret" not in str(error)
    assert lake.outcome("ann", "SELECT * FROM shop.d") == "R"
    view = lake.sources.catalog.view()
    found = {str(entry.name) for entry in view.find_relations(None, lambda name: True, lambda name: True)}
    assert {"`spark_catalog`.`shop`.`d`", "`elsewhere`.`shop`.`orders`"} <= found


def test_grants_hold(lake: GuardedLake) -> None:
    text = "SELECT * FROM elsewhere.shop.orders"
    assert lake.outcome("ann", text) == "R"
    assert lake.outcome("eve", text) in NOT_THERE
    lake.do(
        "root",
        "GRANT USE CATALOG ON CATALOG elsewhere TO eve",
        "GRANT USE SCHEMA ON SCHEMA elsewhere.shop TO eve",
        "GRANT SELECT ON TABLE elsewhere.shop.orders TO eve",
    )
    assert lake.outcome("eve", text) == "R"
    assert [row[1] for row in lake.rows("eve", "SHOW TABLES IN elsewhere.shop")] == ["orders"]
    assert lake.outcome("eve", "SELECT * FROM elsewhere.shop.`Mixed`") in NOT_THERE
    assert lake.outcome("mal", text) in NOT_THERE
    assert lake.outcome("eve", "SELECT * FROM elsewhere.shop.orders.files") == "R"
    assert lake.outcome("mal", "SELECT * FROM elsewhere.shop.orders.files") in NOT_THERE | {"42601"}


def test_a_table_outside_of_the_roots_is_not_read(tmp_path: Path, server: RestServer) -> None:
    (tmp_path / "lake").mkdir()
    elsewhere = GuardedLake(tmp_path / "lake", rest=(server.options(),))
    elsewhere.do("root", "GRANT USE CATALOG, USE SCHEMA, SELECT ON CATALOG elsewhere TO ann")
    error = elsewhere.error("ann", "SELECT * FROM elsewhere.shop.orders")
    assert error is not None and error.condition.endswith("PATH_NOT_ALLOWED")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, server: RestServer, spark_driver: SparkDriver) -> LakeEngine:
    lake = tmp_path_factory.mktemp("lake")
    write_deltalake(str(lake / "names"), pa.table({"id": [1, 2], "name": ["x", "y"]}))
    options = EngineOptions(
        lake_folder=str(lake), allowed_roots=(str(server.folder),), rest_catalogs=(server.options(nested=True), GONE)
    )
    return LakeEngine(open_sources(options), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.mark.spark
def test_tables_are_read_at_their_newest(session: LakeSession, server: RestServer) -> None:
    query = "SELECT n.name, o.id FROM names AS n JOIN elsewhere.shop.orders AS o USING (id) ORDER BY id"
    assert rows(session, query) == [("x", 1), ("y", 2)]
    before = rows(session, "SELECT snapshot_id FROM elsewhere.shop.orders.snapshots")
    server.other_client().load_table("shop.orders").append(pa.table({"id": pa.array([2], pa.int64())}))
    assert rows(session, query) == [("x", 1), ("y", 2), ("y", 2)]
    assert rows(session, f"SELECT count(*) FROM elsewhere.shop.orders VERSION AS OF {before[0][0]}") == [(5,)]
    run(session, "USE elsewhere.`shop.eu`")
    assert rows(session, "SELECT * FROM orders") == [(7,)]
    assert rows(session, "SELECT * FROM ELSEWHERE.SHOP.mixed") == [(1,)]
    assert refuse(session, "SELECT * FROM elsewhere.shop.none").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(session, "USE spark_catalog.default")
    assert run(session, "INSERT INTO elsewhere.shop.orders VALUES (9), (2)") == 2
    assert rows(session, "SELECT count(*), max(id) FROM elsewhere.shop.orders") == [(8, 9)]
    assert server.other_client().load_table("shop.orders").scan().to_arrow().num_rows == 8
    run(session, "ALTER TABLE elsewhere.shop.orders ADD COLUMN more STRING")
    assert server.other_client().load_table("shop.orders").schema().column_names == ["id", "more"]
    listed = rows(session, "SELECT table_name FROM elsewhere.information_schema.tables WHERE table_schema = 'shop.eu'")
    assert listed == [("orders",)]
