"""The Flight port of a whole server: open on request, and only with its packages."""

from __future__ import annotations

import importlib
import json
import socket
from pathlib import Path

import pytest
from pyarrow import flight

from catalog.conditions import FlightNotInstalled, PortInUse
from gateway.configuration.loader import load_config
from gateway.lifecycle import Ports
from gateway.server import Server
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.flight.lab import rows_of


def _server(port: int, **settings: object) -> Server:
    flags = {
        "server.thrift_port": 0,
        "server.http_port": 0,
        "server.flight_port": port,
        "lake.folder": "x",
        "state.folder": "none",
    }
    config = load_config(None, {}, flags | {name.replace("__", "."): value for name, value in settings.items()})
    return Server(config, lambda _: None, lambda *_: ArrowEngine())


def test_open_port_is_in_the_port_file_and_closes_with_the_server(tmp_path: Path) -> None:
    server = _server(0, server__port_file=str(tmp_path / "ports.json"))
    ports: Ports = server.start()
    found = json.loads((tmp_path / "ports.json").read_text())
    port = ports.optional["flight"]
    assert found == ports.numbers == {"thrift": ports.thrift, "http": ports.http, "flight": port}
    with flight.connect(f"grpc://127.0.0.1:{port}") as client:
        assert rows_of(client, "SELECT 1").num_rows == 1
    server.drain()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=10)


def test_port_is_closed_by_default() -> None:
    assert load_config(None, {}, {}).server.flight_port == -1
    server = _server(-1)
    assert "flight" not in server.start().optional
    server.drain()


def test_port_without_its_packages_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError("No module named 'google.protobuf'")

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(FlightNotInstalled, match="google") as caught:
        _server(0).start()
    assert "delta-gateway[flight]" in caught.value.hint


def test_port_in_use_is_named_before_the_engine_opens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = int(listener.getsockname()[1])
        with pytest.raises(PortInUse, match=f"flight port {taken}"):
            _server(taken).start()
