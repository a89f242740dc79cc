"""One Thrift server over a scripted engine for all client tests, and the clients that are driven against it."""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pytest
from py4j.java_gateway import JavaGateway

from catalog.conditions import TableNotFound
from gateway.process.tls import TlsFiles, TlsServer
from gateway.registry import Registry
from tests.certificates import Certificate, make_certificate
from tests.clients.drivers import Driver, open_driver, start_jvm
from tests.clients.fix_agents import agents
from tests.gateway.arrow_engine import ArrowEngine, fails, modifies, rows
from tests.gateway.http.conftest import serving_http

# A fixture for these tests only: importing the client of MCP takes a second.
__all__ = ["agents"]

TYPES = pa.table(
    {
        "bo": pa.array([True, None]),
        "ti": pa.array([-128, None], pa.int8()),
        "sm": pa.array([-32768, None], pa.int16()),
        "i": pa.array([2**31 - 1, None], pa.int32()),
        "b": pa.array([-(2**63), None], pa.int64()),
        "f": pa.array([1.5, None], pa.float32()),
        "d": pa.array([1e10, None], pa.float64()),
        "dec": pa.array([Decimal("-1.50"), None], pa.decimal128(10, 2)),
        "s": pa.array(['é "q" 日本', None]),
        "bin": pa.array([b"raw", None]),
        "da": pa.array([dt.date(2024, 2, 29), None]),
        "ts": pa.array([dt.datetime(2024, 7, 1, 12, 0, 0, 250000), None], pa.timestamp("us", "UTC")),
        "arr": pa.array([[1, None], None], pa.list_(pa.int32())),
        "st": pa.array([{"x": 1, "y": "z"}, None], pa.struct([("x", pa.int32()), ("y", pa.string())])),
    }
)
SQL_TYPES = {"f": "float", "d": "double", "arr": "array<int>", "st": "struct<x:int,y:string>"}


@dataclass(frozen=True)
class Served:
    """The server under test; both ports take TLS as well."""

    port: int
    http_port: int
    engine: ArrowEngine
    registry: Registry
    certificate: Certificate


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    certificate = make_certificate(tmp_path_factory.mktemp("tls"))
    files = TlsFiles(certificate=str(certificate.certificate), key=str(certificate.key))
    with serving_http(tls=TlsServer(files)) as live:
        live.engine.tables["lab", "t"] = pa.table({"i": pa.array([1], pa.int32()), "s": ["x"]})
        live.engine.answers |= {
            "SELECT types": rows(TYPES, SQL_TYPES),
            "INSERT": modifies(3),
            "DESCRIBE lab.nope": fails(TableNotFound("spark_catalog.lab.nope")),
            "DESCRIBE lab.t": rows(pa.table({"col_name": ["i"], "data_type": ["int"], "comment": [None]}), {}),
        }
        yield Served(live.thrift_port, live.port, live.engine, live.registry, certificate)


@pytest.fixture(scope="session")
def jvm() -> Iterator[JavaGateway]:
    """Yields a JVM with Hive's JDBC driver, for the clients that are Java's."""
    gateway = start_jvm()
    yield gateway
    gateway.shutdown()


@pytest.fixture(autouse=True)
def collected_in_order() -> Iterator[None]:
    """Collects clients between tests only, on the tests' thread.

    When a forgotten impyla cursor is collected, it closes itself by a call; on a server thread in this process, that
    call would wait for itself.
    """
    gc.disable()
    yield
    gc.enable()
    gc.collect()


# Each test with Beeline starts a Java; those of `test_transports.py` and `test_conformance.py` are not slow.
_BEELINE = pytest.param("beeline", marks=pytest.mark.slow)


@pytest.fixture(params=["pyhive", "impyla", "impyla-nosasl", "jdbc", "jdbc-nosasl", _BEELINE])
def driver(request: pytest.FixtureRequest, served: Served) -> Iterator[Driver]:
    """Yields every client in turn, connected."""
    gateway = request.getfixturevalue("jvm") if request.param.startswith("jdbc") else None
    opened = open_driver(request.param, served.port, gateway)
    yield opened
    opened.close()
