"""The PostgreSQL port of the whole server: its setting, its port file, its metric and its end."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from gateway.configuration.loader import load_config
from gateway.server import Server
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import eventually
from tests.gateway.postgres.lab import kinds, opened


def _server(port: int, folder: Path) -> Server:
    settings = {"server.thrift_port": 0, "server.http_port": 0, "server.postgres_port": port, "state.folder": "none"}
    config = load_config(None, {}, settings | {"server.port_file": str(folder / "ports.json")})
    return Server(config, lambda _: None, lambda *_: ArrowEngine())


def test_open_port_is_in_the_port_file_and_closes_with_the_server(tmp_path: Path) -> None:
    server = _server(0, tmp_path)
    port = server.start().optional["postgres"]
    assert json.loads((tmp_path / "ports.json").read_text())["postgres"] == port
    count = server._lifecycle.traffic.connections["postgres"]
    with opened(port) as wire:
        assert kinds(wire.query("SELECT 1")) == "TDCZ" and count() == 1
    assert eventually(lambda: count() == 0)
    server.drain()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=10)


def test_port_is_closed_by_default(tmp_path: Path) -> None:
    assert load_config(None, {}, {}).server.postgres_port == -1
    server = _server(-1, tmp_path)
    assert not server.start().optional
    server.drain()
