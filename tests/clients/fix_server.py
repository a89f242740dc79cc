"""One real server for all end-to-end tests in a run, over a lake with the sample and tables from other engines.

<lake>/…           the sample lake: `weather`, `shop.orders`, … <lake>/dat         a link to the acceptance tests: ``
`dat.<case>`.delta `` <lake>/golden      a link to the golden tables: `` `golden.<case>`.delta `` <lake>/<name>
tables from a test, in a separate schema
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.sample.lake import ensure_sample_lake
from tests.certificates import Certificate, make_certificate
from tests.clients.http_client import HttpClient
from tests.paths import DAT, GOLDEN, HAS_TESTDATA, TESTDATA
from tests.server_process import ServerProcess


@dataclass(frozen=True)
class RealServer:
    """The running server; the ports take TLS as well, those of Spark Connect and Flight take nothing else."""

    process: ServerProcess
    lake: Path
    thrift_port: int
    http_port: int
    connect_port: int
    flight_port: int
    certificate: Certificate
    postgres_port: int = 0

    def http(self, **settings: str) -> HttpClient:
        """Returns a client with a session that has these settings, or without a session."""
        client = HttpClient(self.http_port)
        return client.session(**settings) if settings else client


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("server")
    lake = folder / "lake"
    ensure_sample_lake(str(lake))
    if HAS_TESTDATA:
        (lake / "dat").symlink_to(DAT)
        (lake / "golden").symlink_to(GOLDEN)
    certificate = make_certificate(folder)
    process = ServerProcess(
        folder,
        str(lake),
        GATEWAY_SPARK_DRIVER_MEMORY="1g",
        GATEWAY_LAKE_ALLOWED_ROOTS=f'["{TESTDATA}"]',
        GATEWAY_SERVER_TLS_CERTIFICATE=str(certificate.certificate),
        GATEWAY_SERVER_TLS_KEY=str(certificate.key),
        GATEWAY_SERVER_CONNECT_PORT="0",
        GATEWAY_SERVER_POSTGRES_PORT="0",
        GATEWAY_SERVER_FLIGHT_PORT="0",
    )
    try:
        ports = process.ports()
        found = (ports["thrift"], ports["http"], ports["connect"], ports["flight"], certificate, ports["postgres"])
        yield RealServer(process, lake, *found)
        process.popen.send_signal(signal.SIGTERM)
        assert process.end() == 0, process.output
        assert "internal error" not in process.output, process.output
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()
