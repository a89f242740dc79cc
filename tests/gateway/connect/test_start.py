"""The Spark Connect port of a whole server: open on request, and only with its packages."""

from __future__ import annotations

import json
import socket
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from pyspark.sql.connect.proto import base_pb2_grpc

from catalog.conditions import ConnectNotInstalled, PortInUse
from gateway.configuration.loader import load_config
from gateway.lifecycle import Ports
from gateway.server import Server
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.connect.lab import execute_request, table_of


def _server(port: int, **settings: object) -> Server:
    flags = {
        "server.thrift_port": 0,
        "server.http_port": 0,
        "server.connect_port": port,
        "lake.folder": "x",
        "state.folder": "none",
    }
    config = load_config(None, {}, flags | {name.replace("__", "."): value for name, value in settings.items()})
    return Server(config, lambda _: None, lambda *_: ArrowEngine())


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def test_open_port_is_in_the_port_file_and_closes_with_the_server(tmp_path: Path) -> None:
    server = _server(0, server__port_file=str(tmp_path / "ports.json"))
    ports: Ports = server.start()
    assert (
        json.loads((tmp_path / "ports.json").read_text())
        == ports.numbers
        == {
            "thrift": ports.thrift,
            "http": ports.http,
            "connect": ports.optional["connect"],
        }
    )
    with grpc.insecure_channel(f"127.0.0.1:{ports.optional['connect']}") as channel:
        stub = base_pb2_grpc.SparkConnectServiceStub(channel)
        assert table_of(list(stub.ExecutePlan(execute_request("SELECT 1", str(uuid.uuid4()))))).num_rows == 1
    server.drain()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", ports.optional["connect"]), timeout=10)


def test_port_is_closed_by_default() -> None:
    assert load_config(None, {}, {}).server.connect_port == -1
    server = _server(-1)
    assert not server.start().optional
    server.drain()


def test_port_without_its_packages_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gateway.connect.server", raising=False)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ConnectNotInstalled, match="grpc") as caught:
        _server(0).start()
    assert "delta-gateway[connect]" in caught.value.hint


def test_port_in_use_is_named_before_the_engine_opens(taken: int) -> None:
    with pytest.raises(PortInUse, match=f"connect port {taken}"):
        _server(taken).start()
