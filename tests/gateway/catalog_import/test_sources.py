"""What each source yields, read from servers with the sources' own interfaces: Hive's Thrift classes, HTTP pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from gateway.catalog_import.ddl import ddl_objects, read_ddl
from gateway.catalog_import.hive_metastore import HiveMetastore, MetastoreError
from gateway.catalog_import.objects import (
    Grantee,
    ImportedCatalog,
    ImportedGrant,
    ImportedObject,
    ImportedSchema,
    ImportedTable,
    ImportedView,
    ImportStatement,
    ObjectName,
    Skipped,
    import_statement,
    relocate,
)
from gateway.catalog_import.unity import UnityCatalog, UnityError
from tests.gateway.catalog_import.hive_server import BrokenHandler, Handler, metastore


def name(text: str) -> ObjectName:
    return ObjectName(tuple(text.split(".")))


def test_metastore_yields_databases_tables_views_and_grants() -> None:
    with metastore(Handler()) as port, HiveMetastore("127.0.0.1", port) as hive:
        found = list(hive.objects())
    orders = name("shop.orders")
    assert found == [
        ImportedSchema(name("shop"), "what we sell"),
        ImportedGrant("ALL PRIVILEGES", "SCHEMA", name("shop"), Grantee.GROUP, "staff"),
        ImportedTable(orders, "delta", "s3a://b/orders"),
        ImportedGrant("SELECT", "TABLE", orders, Grantee.USER, "ann"),
        ImportedGrant("MODIFY", "TABLE", orders, Grantee.GROUP, "sales"),
        Skipped(orders, "the privilege LOCK of ops has no counterpart"),
        ImportedTable(name("shop.events"), "iceberg", "s3a://b/events", "s3a://b/events/metadata/3.metadata.json"),
        ImportedTable(name("shop.old"), "mapredparquetinputformat", "hdfs://n/old"),
        ImportedView(name("shop.big"), "SELECT * FROM orders WHERE amount > 10", name("sales"), "large ones"),
    ]


def test_error_of_the_metastore_has_its_message() -> None:
    with metastore(BrokenHandler()) as port, HiveMetastore("127.0.0.1", port) as hive:
        with pytest.raises(
            MetastoreError, match=f"get_table of the metastore 127.0.0.1:{port} failed: the database is"
        ):
            list(hive.objects())


def test_metastore_that_does_not_listen_is_named() -> None:
    with pytest.raises(MetastoreError, match="127.0.0.1:1 cannot be reached"), HiveMetastore("127.0.0.1", 1):
        pass


PAGES: Mapping[str, Any] = {
    "catalogs": {"catalogs": [{"name": "main", "comment": "all"}, {"name": "other"}]},
    "schemas?catalog_name=main": {"next_page_token": "2"},
    "schemas?catalog_name=main&page_token=2": {"schemas": [{"name": "shop"}, {"name": "information_schema"}]},
    "tables?catalog_name=main&schema_name=shop": {
        "tables": [
            {"name": "o", "table_type": "EXTERNAL", "data_source_format": "DELTA", "storage_location": "s3://b/o"},
            {"name": "v", "table_type": "VIEW", "view_definition": "SELECT 1 AS x", "comment": "one"},
            {"name": "m", "table_type": "MATERIALIZED_VIEW"},
            {"name": "c", "table_type": "MANAGED", "data_source_format": "CSV", "storage_location": "s3://b/c"},
        ]
    },
    "permissions/catalog/main": {"privilege_assignments": [{"principal": "all users", "privileges": ["USE_CATALOG"]}]},
    "permissions/table/main.shop.o": {
        "privilege_assignments": [{"principal": "ann@x.org", "privileges": ["SELECT", "ALL_PRIVILEGES"]}]
    },
}


@contextmanager
def unity(pages: Mapping[str, Any], token: str) -> Iterator[str]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = "&".join(f"{key}={value}" for key, value in parse_qsl(parts.query) if key != "max_results")
            path = unquote(parts.path.removeprefix("/api/2.1/unity-catalog/")) + (f"?{query}" if query else "")
            is_known = self.headers["Authorization"] == f"Bearer {token}"
            content = json.dumps(pages.get(path, {}) if is_known else {"error_code": "UNAUTHENTICATED"}).encode()
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_unity_catalog_yields_the_pages_of_the_selected_catalog() -> None:
    with unity(PAGES, "secret") as url:
        found = list(UnityCatalog(url, "secret", ("main",)).objects())
    orders = name("main.shop.o")
    assert found == [
        ImportedCatalog(name("main"), "all"),
        ImportedGrant("USE CATALOG", "CATALOG", name("main"), Grantee.GROUP, "all users"),
        ImportedSchema(name("main.shop")),
        ImportedTable(orders, "delta", "s3://b/o"),
        ImportedGrant("SELECT", "TABLE", orders, Grantee.USER, "ann@x.org"),
        ImportedGrant("ALL PRIVILEGES", "TABLE", orders, Grantee.USER, "ann@x.org"),
        ImportedView(name("main.shop.v"), "SELECT 1 AS x", name("main.shop"), "one"),
        Skipped(name("main.shop.m"), "it is a materialized view without a definition that can be imported"),
        ImportedTable(name("main.shop.c"), "csv", "s3://b/c"),
    ]


def test_rejected_login_names_the_request_and_hides_the_token() -> None:
    with unity(PAGES, "secret") as url, pytest.raises(UnityError) as raised:
        list(UnityCatalog(url, "wrong-token").objects())
    assert str(raised.value) == 'GET catalogs answers 401: {"error_code": "UNAUTHENTICATED"}'


def test_token_is_not_sent_unencrypted_to_another_machine() -> None:
    with pytest.raises(UnityError, match="http://unity.example is not an https URL"):
        UnityCatalog("http://unity.example", "secret")
    UnityCatalog("https://unity.example", "secret")
    UnityCatalog("http://unity.example")


DUMP = """
CREATE DATABASE IF NOT EXISTS shop COMMENT 'what we sell; all of it';
USE shop;
CREATE TABLE orders (id INT, note STRING) USING delta LOCATION 's3a://b/orders' TBLPROPERTIES ('a' = 'b');
CREATE TABLE shop.lines (id INT) USING delta;
CREATE OR REPLACE VIEW big AS SELECT * FROM orders WHERE note <> ';';
GRANT SELECT, MODIFY ON TABLE orders TO `ann@x.org`;
INSERT INTO orders VALUES (1, 'x');
CREATE TABLE broken (;
"""


def test_dump_yields_objects_with_full_names() -> None:
    orders, shop = name("shop.orders"), name("shop")
    found = list(ddl_objects(DUMP))
    syntax = found.pop()
    assert found == [
        ImportedSchema(shop, "what we sell; all of it"),
        ImportedTable(orders, "delta", "s3a://b/orders"),
        Skipped(name("shop.lines"), "it has no LOCATION"),
        ImportedView(name("shop.big"), "SELECT * FROM orders WHERE note <> ';'", shop),
        ImportedGrant("SELECT", "TABLE", orders, Grantee.USER, "ann@x.org"),
        ImportedGrant("MODIFY", "TABLE", orders, Grantee.USER, "ann@x.org"),
        Skipped(
            ObjectName(("INSERT INTO orders VALUES (1, 'x')",)), "only CREATE, USE and GRANT statements are imported"
        ),
    ]
    assert isinstance(syntax, Skipped) and syntax.name == ObjectName(("CREATE TABLE broken (",))


STATEMENTS: list[tuple[ImportedObject, ImportStatement | Skipped]] = [
    (
        ImportedSchema(name("a`b"), "it's"),
        ImportStatement("schema a`b", r"CREATE SCHEMA IF NOT EXISTS `a``b` COMMENT 'it\'s'"),
    ),
    (
        ImportedTable(name("c.s.t"), "delta", "/x"),
        ImportStatement("table c.s.t", "CREATE TABLE IF NOT EXISTS `c`.`s`.`t` USING delta LOCATION '/x'"),
    ),
    (
        ImportedTable(name("c.s.t"), "iceberg", "/x", "/x/m.json"),
        ImportStatement("table c.s.t", "CALL `c`.system.register_table(table => 's.t', metadata_file => '/x/m.json')"),
    ),
    (ImportedTable(name("s.t"), "csv", "/x"), Skipped(name("s.t"), "the format csv is not served")),
    (
        ImportedView(name("s.v"), "SELECT 1", name("s")),
        ImportStatement("view s.v", "CREATE VIEW IF NOT EXISTS `s`.`v` AS SELECT 1", name("s")),
    ),
    (
        ImportedGrant("SELECT", "TABLE", name("s.t"), Grantee.USER, "a b"),
        ImportStatement("SELECT on TABLE s.t to a b", "GRANT SELECT ON TABLE `s`.`t` TO USER `a b`"),
    ),
]


@pytest.mark.parametrize(("imported", "expected"), STATEMENTS, ids=lambda it: type(it).__name__)
def test_object_becomes_a_repeatable_statement(imported: ImportedObject, expected: ImportStatement | Skipped) -> None:
    assert import_statement(imported) == expected


@pytest.mark.parametrize(
    ("location", "expected"),
    [("s3a://old/t", "s3://new/t"), ("s3a://old", "s3://new"), ("s3a://older/t", "s3a://older/t")],
)
def test_relocation_replaces_whole_path_components(location: str, expected: str) -> None:
    moved = relocate([ImportedTable(name("s.t"), "delta", location)], {"s3a://old": "s3://new"})
    assert [table.location for table in moved if isinstance(table, ImportedTable)] == [expected]


def test_files_of_a_folder_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "2.sql").write_text("CREATE SCHEMA b")
    (tmp_path / "1.sql").write_text("CREATE SCHEMA a;")
    assert list(read_ddl(tmp_path)) == [ImportedSchema(name("a")), ImportedSchema(name("b"))]
