"""The internal address of each gateway, in its folder: other gateways forward requests to it."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

import msgspec

_NAME = "address.json"
# Hosts that mean every address of a machine.
_EVERY_ADDRESS = ("", "0.0.0.0", "::", "[::]")


class Address(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gateway's HTTP port; `certificate` is its PEM certificate if it has TLS. `connect_port` 0: it has no port for
    Spark Connect, or has not opened it yet.
    """

    host: str
    port: int
    certificate: str | None = None
    connect_port: int = 0


def write_address(folder: Path, address: Address) -> None:
    """Writes the address, replacing a former one."""
    made = folder / f".{_NAME}.{uuid.uuid4().hex}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.encode(address))
    made.rename(folder / _NAME)


def read_address(folder: Path) -> Address | None:
    """Returns the address; None if the gateway has none, or has ended."""
    try:
        return msgspec.json.decode((folder / _NAME).read_bytes(), type=Address)
    except (OSError, msgspec.MsgspecError):
        return None


def internal_address(text: str, port: int) -> tuple[str, int]:
    """Returns the host and port in `text`; `port` applies if it has none."""
    host, colon, number = text.rpartition(":")
    if colon and number.isdigit() and ("]" in host or ":" not in host):
        text, port = host, int(number)
    return (socket.gethostname() if text in _EVERY_ADDRESS else text.strip("[]")), port
