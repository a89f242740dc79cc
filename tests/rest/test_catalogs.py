"""CREATE CATALOG for REST catalogs: allowed connections, and no stored or shown secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import RestCatalogNotAvailable, RestOptionInvalid
from catalog.entries import CatalogEntry, FunctionEntry
from catalog.grants.right_changes import CreateFunction
from catalog.names import CatalogName, SchemaName, TableName
from catalog.rest.connections import RestPolicy, RestSecret, options_of
from catalog.rest.names import RestCatalogs, RestNames
from engine.main import EngineOptions, open_sources
from tests.rest.catalog_server import CLIENT_ID, CLIENT_SECRET
from tests.rest.conftest import RestServer
from tests.security.guarded_lake import GuardedLake

HTTPS = "https://catalog.example.com/iceberg"
SECRETS = {
    "prod": RestSecret(
        name="prod", value="the-s3cret", urls=("https://catalog.example.com", "http://plain.example.com")
    )
}
POLICY = RestPolicy(urls=("https://open.example.com/a",), secrets=SECRETS)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"uri": HTTPS},
        {"uri": HTTPS, "credential": "id:the-s3cret"},
        {"uri": HTTPS, "credential": "secret:other"},
        {"uri": HTTPS, "credential": "secret:prod", "token": "secret:prod"},
        {"uri": "https://catalog.example.com.evil.org/", "token": "secret:prod"},
        {"uri": "https://catalog.example.com@evil.org/", "token": "secret:prod"},
        {"uri": "https://catalog.example.com/a?b", "token": "secret:prod"},
        {"uri": "http://plain.example.com/", "token": "secret:prod"},
        {"uri": HTTPS, "credential": "secret:prod", "oauth2-server-uri": "https://evil.org/tokens"},
        {"uri": "https://open.example.com/ab"},
        {"uri": "https://open.example.com/a/../b"},
        {"uri": "https://open.example.com/a", "token": "secret:prod"},
        {"uri": "https://open.example.com/a", "header.Authorization": "Bearer the-s3cret"},
        {"uri": "https://open.example.com/a", "header.X-Y": "1\r\nCookie: x"},
        {"uri": "https://open.example.com/a", "prefix": "../../tenant-b"},
        {"uri": "https://open.example.com/a", "prefix": "x/%2e%2E/y"},
        {"uri": "https://open.example.com/a", "header.Host": "internal.example.com"},
        {"uri": "https://open.example.com/a", "header.content-length": "0"},
        {"uri": "https://open.example.com/a", "header.Transfer-Encoding": "chunked"},
        {"uri": "https://open.example.com/a", "header.x-forwarded-for": "127.0.0.1"},
        {"uri": "https://open.example.com/a", "rest.sigv4-enabled": "true"},
        {"uri": "file:///etc"},
    ],
)
def test_forbidden_catalog_addresses(given: dict[str, str]) -> None:
    with pytest.raises(RestOptionInvalid) as error:
        options_of("x", tuple(given.items()), POLICY)
    assert "s3cret" not in str(error.value)


def test_options_of_a_statement() -> None:
    given = {"URI": HTTPS, "Warehouse": "w", "credential": "secret:prod", "scope": "s", "header.X-Team": "a"}
    found = options_of("x", tuple(given.items()), POLICY)
    assert (found.uri, found.warehouse, found.credential, found.token) == (HTTPS, "w", "the-s3cret", "")
    assert (found.scope, found.headers) == ("s", (("x-team", "a"),))
    assert "s3cret" not in repr(found)
    assert options_of("x", (("uri", "https://open.example.com/a/b"),), POLICY).token == ""


@pytest.fixture
def lake(tmp_path: Path, server: RestServer) -> GuardedLake:
    (tmp_path / "lake").mkdir()
    secrets = {
        "client": RestSecret(name="client", value=f"{CLIENT_ID}:{CLIENT_SECRET}", urls=(server.uri,)),
        "token": RestSecret(name="token", value="a-fixed-token", urls=(server.uri,)),
        "wrong": RestSecret(name="wrong", value="some:thing-else", urls=(server.uri,)),
    }
    found = GuardedLake(tmp_path / "lake", (str(server.folder),), policy=RestPolicy(secrets=secrets))
    found.do("root", "GRANT CREATE CATALOG ON SERVER TO ann")
    return found


def condition(lake: GuardedLake, who: str, text: str) -> str | None:
    error = lake.error(who, text)
    return None if error is None else error.condition


def test_a_catalog_is_made_and_dropped(lake: GuardedLake, server: RestServer, tmp_path: Path) -> None:
    made = f"CREATE CATALOG away USING rest COMMENT 'c' OPTIONS (uri '{server.uri}', credential 'secret:client')"
    assert condition(lake, "bob", made) == "INSUFFICIENT_PERMISSIONS"
    lake.do("ann", made, made.replace("CATALOG away", "CATALOG IF NOT EXISTS away"))
    assert condition(lake, "ann", made) == "CATALOG_ALREADY_EXISTS"
    assert ("orders",) in [row[1:2] for row in lake.rows("ann", "SHOW TABLES IN away.shop")]
    assert lake.outcome("bob", "SELECT * FROM away.shop.orders") == "42P08"
    lake.do("ann", *(f"GRANT {each} ON CATALOG away TO bob" for each in ("USE CATALOG", "USE SCHEMA", "SELECT")))
    assert lake.outcome("bob", "SELECT * FROM away.shop.orders") == "R"
    remaining = "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert server.uri in remaining and CLIENT_SECRET not in remaining
    again = open_sources(EngineOptions(lake_folder=str(lake.folder), catalog_folder=f"{lake.folder}-catalog"))
    assert again.catalog.view().has_catalog(again.catalog.view().catalogs()[0].name)  # without the secret it starts
    assert condition(lake, "bob", "DROP CATALOG away") == "INSUFFICIENT_PERMISSIONS"
    shop = SchemaName("away", "shop")
    one = FunctionEntry(
        name=TableName("away", "shop", "f"), parameters=(), returns="INT", body="1", current=shop, owner="ann"
    )
    lake.sources.catalog.change(CreateFunction(one))
    assert condition(lake, "ann", "DROP CATALOG away") == "CATALOG_NOT_EMPTY"
    lake.do("ann", "DROP CATALOG away CASCADE", "DROP CATALOG IF EXISTS away")
    assert condition(lake, "ann", "SELECT * FROM away.shop.orders") == "CATALOG_NOT_FOUND"
    assert server.other_client().load_table("shop.orders") is not None
    lake.do("ann", made)
    assert lake.outcome("bob", "SELECT * FROM away.shop.orders") == "42P08"  # another catalog, without the grants


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("USING rest OPTIONS (uri 'URI', credential 'secret:wrong')", "REST_CATALOG_REFUSED"),
        ("USING rest OPTIONS (uri 'URI')", "REST_CATALOG_OPTION_INVALID"),
        ("USING hive OPTIONS (uri 'URI')", "UNSUPPORTED_STATEMENT"),
        ("OPTIONS (uri 'URI')", "UNSUPPORTED_STATEMENT"),
    ],
)
def test_unreachable_catalog_is_not_created(lake: GuardedLake, server: RestServer, text: str, expected: str) -> None:
    found: Any = condition(lake, "ann", f"CREATE CATALOG away {text.replace('URI', server.uri)}")
    assert found == expected or (expected == "UNSUPPORTED_STATEMENT" and found is not None)
    assert not [row for row in lake.rows("ann", "SHOW CATALOGS") if row[0] == "away"]


def test_a_secret_that_is_configured_no_longer_is_an_error_of_its_catalog(
    lake: GuardedLake, server: RestServer
) -> None:
    lake.do("ann", f"CREATE CATALOG away USING rest OPTIONS (uri '{server.uri}', credential 'secret:client')")
    later = GuardedLake(lake.folder, (str(server.folder),))
    assert condition(later, "ann", "SELECT * FROM away.shop.orders") == "REST_CATALOG_NOT_AVAILABLE"
    assert {row[0] for row in later.rows("root", "SHOW CATALOGS")} == {"spark_catalog", "away"}
    later.do("ann", "DROP CATALOG away")


def test_a_catalog_is_described_and_altered(lake: GuardedLake, server: RestServer) -> None:
    lake.do("ann", f"CREATE CATALOG away USING rest COMMENT 'c' OPTIONS (uri '{server.uri}', token 'secret:token')")
    shown = dict(lake.rows("ann", "DESCRIBE CATALOG EXTENDED away"))
    assert (shown["Comment"], shown["Owner"], shown["Catalog Type"]) == ("c", "ann", "Iceberg REST")
    assert shown["Options"] == f"[token=secret:token, uri={server.uri}]"
    lake.do("ann", "GRANT USE CATALOG ON CATALOG away TO bob")
    assert "Options" not in dict(lake.rows("bob", "DESCRIBE CATALOG EXTENDED away"))
    assert condition(lake, "bob", "ALTER CATALOG away OPTIONS (scope 'x')") == "INSUFFICIENT_PERMISSIONS"
    assert (
        condition(lake, "ann", "ALTER CATALOG away OPTIONS (uri 'https://evil.org')") == "REST_CATALOG_OPTION_INVALID"
    )
    schemas = lake.rows("ann", "SHOW SCHEMAS IN away")
    lake.do("ann", "ALTER CATALOG away SET OPTIONS (nested 'true', token 'secret:token')")
    assert ("shop.eu",) in lake.rows("ann", "SHOW SCHEMAS IN away") and ("shop.eu",) not in schemas
    lake.do("ann", "ALTER CATALOG away OPTIONS ('vended-credentials' 'true')")
    server.vend(config={"s3.access-key-id": "k"})
    names = lake.sources.catalog.view().sources[CatalogName("away")]
    assert isinstance(names, RestNames) and names.client.vends
    given = names.client.load_credentials(("shop",), "orders")
    assert given is not None and given.config == {"s3.access-key-id": "k"}
    server.vend()
    assert condition(lake, "root", "ALTER CATALOG spark_catalog OPTIONS (scope 'x')") == "UNSUPPORTED_FEATURE.STATEMENT"
    assert dict(lake.rows("root", "DESCRIBE CATALOG spark_catalog"))["Catalog Name"] == "spark_catalog"
    lake.do("ann", "ALTER CATALOG away OWNER TO bob")
    assert condition(lake, "bob", "ALTER CATALOG away OPTIONS (scope 'x')") == "INSUFFICIENT_PERMISSIONS"
    lake.do("bob", "DROP CATALOG away")


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_ca_file_that_cannot_be_read_stops_its_catalog_alone(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "ca.pem").write_text(text)
    secret = RestSecret(name="s", value="x", urls=("https://h",), ca_file=str(tmp_path / "ca.pem"))
    rest = RestCatalogs([], RestPolicy(secrets={"s": secret}))
    entry = CatalogEntry(name=CatalogName("away"), rest=(("uri", "https://h"), ("token", "secret:s")))
    with pytest.raises(RestCatalogNotAvailable, match="ca_file"):
        rest.of([entry])[entry.name].schemas()
    with pytest.raises(RestCatalogNotAvailable, match="ca_file"):
        rest.ensure_answers(entry)
