"""The end of the start reports what is served and where."""

from __future__ import annotations

import pytest

from engine.engine import TableCount
from gateway.cli.banner import Banner
from gateway.configuration.loader import load_config
from gateway.lifecycle import Ports

PORTS = Ports(thrift=10000, http=8080)
WITH_CONNECT = Ports(thrift=10000, http=8080, optional={"connect": 15002})


def banner(count: TableCount | None, **settings: object) -> Banner:
    flags = {name.replace("__", "."): value for name, value in settings.items()}
    return Banner(load_config(None, {}, {"lake.folder": "/lake"} | flags), PORTS, count)


@pytest.mark.parametrize(
    ("count", "end"),
    [
        (None, "/lake"),
        (TableCount(12, 3), "/lake: 12 tables in 3 schemas"),
        (TableCount(1, 1), "/lake: 1 table in 1 schema"),
        (TableCount(0, 0), "/lake: no tables"),
    ],
)
def test_first_line_has_the_number_of_tables(count: TableCount | None, end: str) -> None:
    assert banner(count).text.splitlines()[0].endswith(f" serves {end}")


def test_open_port_of_spark_connect_is_shown_with_its_address() -> None:
    config = load_config(None, {}, {"lake.folder": "/lake"})
    assert "\n  Spark   sc://127.0.0.1:15002\n" in Banner(config, WITH_CONNECT, None).text
    assert Banner(config, WITH_CONNECT, None).line.endswith(", Spark Connect sc://127.0.0.1:15002")
    assert "sc://" not in banner(None).text + banner(None).line
    tls = load_config(None, {}, {"lake.folder": "/lake", "server.tls_certificate": "c.pem"})
    assert "sc://127.0.0.1:15002/;use_ssl=true" in Banner(tls, WITH_CONNECT, None).text


def test_empty_lake_shows_where_tables_are_found() -> None:
    assert "/lake/schema/table,\n" in banner(TableCount(0, 0)).text
    assert "schema/table" not in banner(TableCount(1, 1)).text + banner(None).text


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"server__host": "::1"}, "http://[::1]:8080"),
        ({"server__host": "0.0.0.0"}, "http://localhost:8080"),
        ({"server__tls_certificate": "c.pem", "server__tls_key": "k.pem"}, "https://127.0.0.1:8080"),
        ({"server__public_url": "https://gateway.example"}, "https://gateway.example"),
    ],
)
def test_console_has_an_address_that_browsers_can_open(settings: dict[str, object], url: str) -> None:
    shown = banner(TableCount(1, 1), **settings)
    assert f"\n  Console {url}\n" in shown.text and f"console and HTTP {url}, Thrift" in shown.line
    assert "\n" not in shown.line
