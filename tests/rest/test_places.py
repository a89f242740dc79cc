"""Locations for REST catalog tables: outside other tables, under one name, and with one set of policies."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from catalog.conditions import LocationOverlap
from catalog.entries import FunctionEntry, FunctionParameter, TableEntry
from catalog.grants.right_changes import CreateFunction
from catalog.names import ICEBERG, SchemaName, TableName
from catalog.policies.policies import PolicyArgument, PolicyFunction
from catalog.policies.policy_changes import SetRowFilter
from catalog.rest.names import RestNames
from catalog.rest.options import RestOptions
from catalog.rest.places import RestPlace
from engine.iceberg.definition.definition import IcebergDefinition
from engine.runtime.identity import Identity
from tests.rest.conftest import RestServer
from tests.security.guarded_lake import GuardedLake

ROWS = pa.table({"id": pa.array([1], pa.int64())})


# A server without authentication.
ANYBODY = Identity("anybody")


def condition(lake: GuardedLake, who: str | Identity, text: str) -> str | None:
    error = lake.error(who, text)
    return None if error is None else error.condition


def few(*columns: str) -> FunctionEntry:
    """Returns a row filter."""
    return FunctionEntry(
        name=TableName("spark_catalog", "shop", "few"),
        parameters=tuple(FunctionParameter(name=each, type="BIGINT") for each in columns),
        returns="BOOLEAN",
        body=" AND ".join(f"{each} < 2" for each in columns) or "false",
        current=SchemaName("spark_catalog", "shop"),
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, server: RestServer) -> GuardedLake:
    folder = tmp_path_factory.mktemp("guarded") / "lake"
    folder.mkdir()
    roomy = str(folder.parent / "roomy")
    found = GuardedLake(folder, (str(server.folder), roomy), (server.options(nested=True),))
    found.table("shop/d")
    found.do("root", f"CREATE EXTERNAL LOCATION roomy URL '{roomy}'")
    found.do("root", f"CREATE EXTERNAL LOCATION warehouse URL '{server.folder}'")
    found.do("root", "GRANT SELECT, MODIFY ON CATALOG elsewhere TO root")
    return found


@pytest.mark.parametrize("place", ["warehouse/t", "", "shop/d/t"])
def test_a_table_in_the_lake_has_no_second_name(lake: GuardedLake, server: RestServer, place: str) -> None:
    name = f"inside{len(place)}"
    server.other_client().create_table(f"a.{name}", ROWS.schema, location=f"file://{lake.folder}/{place}".rstrip("/"))
    assert condition(lake, "root", f"SELECT * FROM elsewhere.a.{name}") == "REST_TABLE_IN_LAKE"
    server.other_client().drop_table(f"a.{name}")


@pytest.mark.parametrize(
    ("place", "expected", "sqlstate"),
    [
        ("lake/made", "REST_TABLE_IN_LAKE", "42501"),
        ("lake-catalog/made", "PATH_NOT_ALLOWED", "42501"),
        ("roomy/delta", "LOCATION_OVERLAP", "22KD1"),
        ("roomy/delta/inside", "LOCATION_OVERLAP", "22KD1"),
        ("roomy", "LOCATION_OVERLAP", "42501"),
        ("roomy/rest/inside", "LOCATION_OVERLAP", "42501"),
    ],
)
def test_a_table_is_made_beside_others(
    lake: GuardedLake, server: RestServer, place: str, expected: str, sqlstate: str
) -> None:
    other, roomy = server.other_client(), lake.folder.parent / "roomy"
    if not roomy.exists():
        write_deltalake(roomy / "delta", ROWS)
        other.create_table("a.placed", ROWS.schema, location=f"file://{roomy}/rest")
        lake.do("root", "DESCRIBE elsewhere.a.placed")
    text = f"CREATE TABLE elsewhere.a.made (id INT) LOCATION '{lake.folder.parent}/{place}'"
    assert (condition(lake, ANYBODY, text), lake.outcome("root", text)) == (expected, sqlstate)
    assert ("a", "made") not in other.list_tables("a")


def test_a_place_that_the_catalog_chose_is_looked_at(lake: GuardedLake, server: RestServer) -> None:
    write_deltalake(server.folder / "b" / "chosen" / "inside", ROWS)
    assert condition(lake, "root", "CREATE TABLE elsewhere.b.chosen (id INT)") == "LOCATION_OVERLAP"
    assert ("b", "chosen") not in server.other_client().list_tables("b")


def test_a_catalog_may_choose_the_place_of_a_dropped_table_again(lake: GuardedLake, server: RestServer) -> None:
    folders, folder = lake.sources.catalog.view().folders, server.folder / "b" / "again"
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "v1.metadata.json").write_text("{}")
    address = "iceberg-rest://elsewhere/b/again"
    iceberg = lake.sources.formats[ICEBERG]
    expected_config = iceberg.load("iceberg-rest://elsewhere/shop/orders").table_config
    assert isinstance(expected_config, IcebergDefinition)
    staged = iceberg.prepare_location(address, expected_config)
    assert staged.startswith(address) and staged != address
    said = f"CREATE TABLE elsewhere.b.again (id INT) LOCATION '{folder}'"
    assert condition(lake, ANYBODY, said) == "LOCATION_OVERLAP"
    server.other_client().create_table("b.other", ROWS.schema, location=f"file://{folder}")
    lake.do("root", "DESCRIBE elsewhere.b.other")
    with pytest.raises(LocationOverlap):  # another table now has its location
        folders.ensure_free_for(address, str(folder), may_have_metadata=True)
    server.other_client().drop_table("b.other")
    folders.ensure_free_for(address, str(folder), may_have_metadata=True)
    write_deltalake(folder, ROWS)
    with pytest.raises(LocationOverlap):
        folders.ensure_free_for(address, str(folder), may_have_metadata=True)


@pytest.mark.parametrize("shared", ["s", "s/inside"])
def test_files_of_tables_that_share_a_folder_stay(lake: GuardedLake, server: RestServer, shared: str) -> None:
    other, roomy = server.other_client(), server.folder / "shared"
    other.create_table("shop.eu.sharing", ROWS.schema, location=f"file://{roomy}/s")
    other.create_table("a.shared", ROWS.schema, location=f"file://{roomy}/{shared}")
    try:
        for name in ("shop.eu.sharing", "a.shared"):
            *schema, table = name.split(".")
            text = f"CALL elsewhere.system.remove_orphan_files('`{'.'.join(schema)}`.{table}')"
            assert condition(lake, "root", text) == "REST_TABLE_LOCATION_SHARED"
        lake.do("root", "DESCRIBE elsewhere.`shop.eu`.sharing")
        assert (
            condition(lake, "root", "GRANT SELECT ON TABLE elsewhere.a.shared TO ann") == "REST_TABLE_LOCATION_SHARED"
        )
    finally:
        other.drop_table("shop.eu.sharing")
        other.drop_table("a.shared")


def test_vacuum_leaves_tables_of_a_rest_catalog_alone(lake: GuardedLake, server: RestServer) -> None:
    outer = server.folder / "outer"
    write_deltalake(outer, ROWS)
    server.other_client().create_table("a.in_delta", ROWS.schema, location=f"file://{outer}/inside")
    assert condition(lake, "root", f"VACUUM delta.`{outer}`") == "REST_TABLE_LOCATION_SHARED"
    server.other_client().drop_table("a.in_delta")
    server.requests()
    lake.error("root", "VACUUM shop.d")
    assert not server.requests()  # none is in the lake


def test_a_path_leads_to_the_table_of_the_catalog(lake: GuardedLake, server: RestServer) -> None:
    path = f"iceberg.`{server.folder}/shop/orders`"
    file = server.folder / "shop" / "orders" / "metadata" / "00001-6d8d7cf5-1c1e-4b3c-9d54-8f2d3c5ad101.metadata.json"
    file.write_text(server.other_client().load_table("shop.orders").metadata.model_dump_json())
    lake.do("root", "GRANT READ FILES ON EXTERNAL LOCATION warehouse TO ann")
    lake.do("root", "GRANT READ FILES ON EXTERNAL LOCATION warehouse TO eve")
    for text in ("USE CATALOG ON CATALOG elsewhere", "USE SCHEMA, SELECT ON SCHEMA elsewhere.shop"):
        lake.do("root", f"GRANT {text} TO ann")
    lake.do("root", "DESCRIBE elsewhere.shop.orders")
    assert lake.outcome("ann", f"SELECT * FROM {path}") == "R"
    assert condition(lake, "eve", f"SELECT * FROM {path}") == "INSUFFICIENT_PERMISSIONS"
    lake.sources.catalog.change(CreateFunction(few("id")))
    orders, call = TableName("elsewhere", "shop", "orders"), PolicyFunction(few().name, (PolicyArgument(column="id"),))
    lake.sources.catalog.change(SetRowFilter(orders, call))
    again = GuardedLake(lake.folder, (str(server.folder),), (server.options(),))  # which has loaded nothing
    for each in (lake, again):
        assert condition(each, "ann", f"SELECT * FROM {path}") == "PATH_NOT_ALLOWED"
        assert condition(each, "ann", f"SELECT * FROM {path}.files") == "PATH_NOT_ALLOWED"
    gone = GuardedLake(lake.folder, (str(server.folder),), (RestOptions(name="elsewhere", uri="http://127.0.0.1:9"),))
    assert condition(gone, "ann", f"SELECT * FROM {path}") == "REST_CATALOG_NOT_AVAILABLE"
    lake.sources.catalog.change(SetRowFilter(orders, None))


def test_the_policies_of_a_schema_count_for_paths_after_a_start(
    tmp_path: Path, lake: GuardedLake, server: RestServer
) -> None:
    (tmp_path / "lake").mkdir()
    allowed, warehouse = (str(server.folder),), (server.options(),)
    before = GuardedLake(tmp_path / "lake", allowed, warehouse)
    before.table("shop/d")
    before.sources.catalog.change(CreateFunction(few()))
    server.other_client().create_table("a.policed", ROWS.schema)
    folder = server.folder / "a" / "policed"
    path = f"iceberg.`{folder}`"
    (folder / "metadata").mkdir(parents=True, exist_ok=True)
    metadata = server.other_client().load_table("a.policed").metadata.model_dump_json()
    (folder / "metadata" / "v1.metadata.json").write_text(metadata)
    assert condition(GuardedLake(tmp_path / "lake", allowed, warehouse), ANYBODY, f"DESCRIBE {path}") is None
    before.do("root", "GRANT EXECUTE ON FUNCTION shop.few TO root")
    before.do("root", "CREATE POLICY some ON SCHEMA elsewhere.a ROW FILTER shop.few TO `account users` FOR TABLES")
    after = GuardedLake(tmp_path / "lake", allowed, warehouse)  # which has loaded nothing
    assert condition(after, ANYBODY, f"SELECT * FROM {path}") == "PATH_NOT_ALLOWED"
    away = (RestOptions(name="elsewhere", uri="http://127.0.0.1:9", timeout_s=1),)
    assert condition(GuardedLake(tmp_path / "lake", allowed, away), ANYBODY, f"SELECT * FROM {path}") == (
        "REST_CATALOG_NOT_AVAILABLE"
    )
    server.other_client().drop_table("a.policed")


def test_table_locations_are_requested_periodically(server: RestServer) -> None:
    now, names = [0.0], RestNames(server.client())

    def loaded() -> set[str]:
        server.requests()
        names.learn_places(lambda: now[0])
        return {each.rpartition("/")[2].partition("?")[0] for each in server.requests() if "/tables/" in each}

    tables = {"orders", "Mixed", "empty"}
    assert not names.knows_places
    assert loaded() >= tables and names.knows_places
    server.other_client().create_table("b.found", ROWS.schema)
    assert not loaded()
    now[0] = 60.0
    assert loaded() == {"found"}
    now[0] = 900.0
    assert loaded() >= {*tables, "found"}
    server.other_client().drop_table("b.found")


def test_a_table_that_was_made_again_elsewhere_is_found_by_its_new_path(
    tmp_path: Path, lake: GuardedLake, server: RestServer
) -> None:
    """Its policies belong to its name, regardless of its earlier location."""
    other = server.other_client()
    (tmp_path / "lake").mkdir()
    mine = GuardedLake(tmp_path / "lake", (str(server.folder),), (server.options(),))
    mine.table("shop/d")
    mine.sources.catalog.change(CreateFunction(few()))
    mine.do(
        "root",
        f"CREATE EXTERNAL LOCATION warehouse URL '{server.folder}'",
        "GRANT EXECUTE ON FUNCTION shop.few TO root",
    )
    mine.do("root", "CREATE POLICY some ON SCHEMA elsewhere.b ROW FILTER shop.few TO `account users` FOR TABLES")

    def made(folder: Path) -> str:
        metadata = other.create_table("b.again", ROWS.schema, location=f"file://{folder}").metadata.model_dump_json()
        (folder / "metadata").mkdir(parents=True)
        (folder / "metadata" / "v1.metadata.json").write_text(metadata)
        return f"iceberg.`{folder}`"

    first = made(server.folder / "b" / "first")
    assert condition(mine, ANYBODY, f"SELECT * FROM {first}") == "PATH_NOT_ALLOWED"
    other.drop_table("b.again")
    second = made(server.folder / "b" / "second")
    assert condition(mine, ANYBODY, f"SELECT * FROM {second}") == "PATH_NOT_ALLOWED"
    other.drop_table("b.again")
    assert condition(mine, ANYBODY, f"SELECT * FROM {second}") is None
    server.requests()
    assert condition(mine, ANYBODY, f"SELECT * FROM {second}") is None
    for name in ("a", "b"):
        folder = server.folder / "b" / "second" / "data" / name
        assert condition(mine, ANYBODY, f"SELECT * FROM iceberg.`{folder}`") is not None
    assert not [each for each in server.requests() if "/shop/tables/" in each]


def test_a_slow_catalog_holds_up_nobody_else(lake: GuardedLake, server: RestServer) -> None:
    server.faults({"method": "GET", "contains": "/namespaces/shop", "holds": True})
    waiting = threading.Thread(target=lake.do, args=("root", "GRANT SELECT ON TABLE elsewhere.shop.`Mixed` TO ann"))
    waiting.start()
    try:
        done = threading.Thread(target=lake.do, args=("root", "GRANT SELECT ON TABLE shop.d TO bob"))
        done.start()
        done.join(60)
        assert not done.is_alive() and waiting.is_alive()
    finally:
        server.release()
    waiting.join()
    entries = lake.sources.catalog.view().state.relations.values()
    assert {str(each.name) for each in entries if each.grants} >= {
        "`elsewhere`.`shop`.`Mixed`",
        "`spark_catalog`.`shop`.`d`",
    }


def test_a_catalog_that_cannot_be_used_stops_no_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "ca.pem").write_text("no certificate")
    bad = RestOptions(name="bad", uri="https://h", token="s3cret", ca_file=str(tmp_path / "ca.pem"))
    found = GuardedLake(tmp_path / "lake", rest=(bad,))
    found.table("shop/d")
    assert "bad cannot be used: its ca_file" in caplog.text and "s3cret" not in caplog.text
    error = found.error("root", "SHOW SCHEMAS IN bad")
    assert error is not None and error.condition == "REST_CATALOG_NOT_AVAILABLE" and "ca_file" in str(error)
    assert found.outcome(ANYBODY, "SELECT * FROM shop.d") == "R"


def test_a_schema_is_dropped_as_a_whole(lake: GuardedLake, server: RestServer) -> None:
    other = server.other_client()
    lake.do("root", "CREATE SCHEMA elsewhere.whole", "CREATE TABLE elsewhere.whole.t (id INT)")
    server.create_view("whole", "v", "SELECT 1 AS id")
    for status in (403, 500):
        server.faults(*3 * [{"method": "GET", "contains": "/views", "status": status}])
        assert condition(lake, "root", "DROP SCHEMA elsewhere.whole CASCADE") is not None
        server.faults()
        assert other.list_tables("whole") == [("whole", "t")]
    assert condition(lake, "root", "DROP SCHEMA elsewhere.whole") == "SCHEMA_NOT_EMPTY"
    lake.do("root", "DROP SCHEMA elsewhere.whole CASCADE")
    assert ("whole",) not in other.list_namespaces()


def test_location_is_stored_in_entry(lake: GuardedLake, server: RestServer) -> None:
    lake.do("root", "CREATE TABLE elsewhere.a.recorded (id INT)")
    relations = lake.sources.catalog.view().state.relations.values()
    (entry,) = (each for each in relations if each.name.table == "recorded")
    assert isinstance(entry, TableEntry)
    assert entry.place == f"{server.folder}/a/recorded" and entry.format == ICEBERG


def test_the_place_of_a_table_that_is_gone_is_free(lake: GuardedLake, server: RestServer) -> None:
    other, folder = server.other_client(), f"{server.folder}/places"
    known = lake.sources.catalog.rest.places
    for name in ("dropped", "renamed", "gone"):
        other.create_table(f"b.{name}", ROWS.schema, location=f"file://{folder}/{name}")
        lake.do("root", f"DESCRIBE elsewhere.b.{name}")
    lake.do("root", "GRANT MANAGE ON SCHEMA elsewhere.b TO root", "DROP TABLE elsewhere.b.dropped")
    lake.do("root", "ALTER TABLE elsewhere.b.renamed RENAME TO elsewhere.b.newer")
    other.drop_table("b.gone")
    placed = {address.rpartition("/")[2]: place.location for address, place in known.all().items()}
    assert "dropped" not in placed and "renamed" not in placed and placed["newer"] == f"{folder}/renamed"
    folders = lake.sources.catalog.view().folders
    for name in ("dropped", "gone"):
        folders.ensure_free(f"{folder}/{name}/inside")
    with pytest.raises(LocationOverlap):
        folders.ensure_free(f"{folder}/renamed/inside")
    other.create_table("b.later", ROWS.schema, location=f"file://{folder}/gone/inside")
    known.put("iceberg-rest://elsewhere/b/gone", RestPlace(f"{folder}/gone"))  # as it was loaded before
    lake.do("root", "GRANT SELECT ON TABLE elsewhere.b.later TO ann")
    known.put("iceberg-rest://nowhere/b/t", RestPlace(f"{folder}/nowhere"))
    folders.ensure_free(f"{folder}/nowhere/inside")
    for name in ("newer", "later"):
        other.drop_table(f"b.{name}")
