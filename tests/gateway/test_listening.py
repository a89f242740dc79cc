"""Only this machine may connect, a taken port is named before Spark starts, and the port file is whole."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from catalog.conditions import HostNotLoopback, HostUnknown, PortFileUnwritable, PortInUse
from gateway.configuration.config import Risk
from gateway.lifecycle import Ports
from gateway.process.listening import ensure_may_listen, ensure_port_free, remove_port_file, write_port_file


def ensure(host: str, *risks: Risk, authenticates: bool = False, encrypts: bool = False) -> None:
    ensure_may_listen(host, authenticates=authenticates, encrypts=encrypts, risks=risks)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.53", "localhost", "::1", "127.1"])
def test_this_machine_may_be_listened_on(host: str) -> None:
    ensure(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "0", "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"])
def test_other_addresses_require_authentication_and_tls_or_accepted_risk(host: str) -> None:
    ensure(host, authenticates=True, encrypts=True)
    ensure(host, Risk.ANYBODY, encrypts=True)
    ensure(host, Risk.CLEARTEXT, authenticates=True)
    ensure(host, *Risk)
    for risks, encrypts in (((), True), ((Risk.CLEARTEXT,), False)):
        with pytest.raises(HostNotLoopback, match=f"(?s)has no authentication.*{Risk.ANYBODY}"):
            ensure(host, *risks, encrypts=encrypts)
    for risks, authenticates in (((), True), ((Risk.ANYBODY,), False)):
        with pytest.raises(HostNotLoopback, match=f"(?s)no certificate for TLS.*{Risk.CLEARTEXT}"):
            ensure(host, *risks, authenticates=authenticates)


def test_a_name_is_as_good_as_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("127.0.0.1", 0)), (2, 1, 6, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(HostNotLoopback, match="my-laptop"):
        ensure("my-laptop")


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(HostUnknown):
        ensure("no-such-host.invalid")


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"(?s)thrift port {port} on 127.0.0.1 .*already in use.*--thrift-port"):
            ensure_port_free("thrift", "127.0.0.1", port)
    ensure_port_free("thrift", "127.0.0.1", port)
    ensure_port_free("thrift", "127.0.0.1", 0)


def test_the_port_file_holds_the_ports_and_goes_with_the_server(tmp_path: Path) -> None:
    file, ports = tmp_path / "ports.json", Ports(thrift=1, http=2)
    file.write_text("of an earlier server")
    write_port_file(file, ports)
    assert json.loads(file.read_text()) == {"thrift": 1, "http": 2}
    assert list(tmp_path.iterdir()) == [file]
    remove_port_file(file, ports)
    remove_port_file(file, ports)
    assert not file.exists()


def test_the_port_file_of_a_later_server_stays(tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    write_port_file(file, Ports(thrift=3, http=4))
    remove_port_file(file, Ports(thrift=1, http=2))
    assert file.exists()


def test_a_port_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(PortFileUnwritable, match="no such file or directory"):
        write_port_file(tmp_path / "missing" / "ports.json", Ports(thrift=1, http=2))
