"""Permitted listening addresses, and the port file."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import json
import os
import socket
from collections.abc import Collection
from pathlib import Path

from catalog.conditions import HostNotLoopback, HostUnknown, PortFileUnwritable, PortInUse
from gateway.configuration.config import Risk
from gateway.lifecycle import Ports


def ensure_may_listen(host: str, *, authenticates: bool, encrypts: bool, risks: Collection[str]) -> None:
    """Rejects an address that other machines can reach, unless it is safe or the operator has accepted the risk."""
    if is_loopback(host):
        return
    host = host or "the empty host (every address of this machine)"
    if not authenticates and Risk.ANYBODY not in risks:
        raise HostNotLoopback(host, "authentication", "authentication.methods", Risk.ANYBODY)
    if not encrypts and Risk.CLEARTEXT not in risks:
        raise HostNotLoopback(host, "certificate for TLS", "server.tls_certificate", Risk.CLEARTEXT)


def is_loopback(host: str) -> bool:
    """Returns True if only this machine can reach `host`; a name must have only loopback addresses."""
    if not host:
        return False
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise HostUnknown(host, error.strerror or str(error)) from error
    addresses = {str(address[0]).partition("%")[0] for *_, address in found}
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)


def ensure_port_free(interface: str, host: str, port: int) -> None:
    """Checks the port before Spark starts, which takes seconds."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise PortInUse(interface, host, port, (error.strerror or str(error)).lower()) from error


def ensure_port_file_writable(path: Path) -> None:
    """Checks that the port file is writable before Spark starts, which takes seconds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary.touch()
        temporary.unlink()
    except OSError as error:
        raise PortFileUnwritable(str(path), (error.strerror or str(error)).lower()) from error


def write_port_file(path: Path, ports: Ports) -> None:
    """Writes the ports as JSON atomically: a process that sees the file can connect."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(ports.numbers) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise PortFileUnwritable(str(path), (error.strerror or str(error)).lower()) from error


def remove_port_file(path: Path, ports: Ports) -> None:
    """Removes the file unless another server has written its own ports there since."""
    with contextlib.suppress(OSError, ValueError):
        if json.loads(path.read_text(encoding="utf-8")) == ports.numbers:
            path.unlink()
