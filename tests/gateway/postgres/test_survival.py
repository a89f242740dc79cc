"""Malformed messages and random bytes leave the port serving."""

from __future__ import annotations

import random
import socket
import struct
import threading
from contextlib import suppress

import pytest

from tests.gateway.http.conftest import eventually
from tests.gateway.postgres.lab import Lab, Wire, error_of, kinds, opened

_KINDS = b"QPBDECHSXdcfFp?\0"


def _start(user: str = "ada") -> bytes:
    content = f"user\0{user}\0\0".encode()
    return struct.pack(">ii", len(content) + 8, 3 << 16) + content


def _random_bytes(chance: random.Random, number: int) -> bytes:
    """Returns the bytes of a client: noise, noise after the start, or well-framed messages with noise inside."""
    noise = chance.randbytes(chance.randrange(1, 300))
    match number % 4:
        case 0:
            return noise
        case 1:
            return struct.pack(">ii", chance.randrange(0, 400), chance.choice([3 << 16, 80_877_103, 1, 7])) + noise
        case 2:
            return _start() + noise
        case _:  # a few messages
            framed = b""
            for _ in range(chance.randrange(1, 6)):
                inner = chance.choice(
                    [noise, b"\0" * chance.randrange(30), b"SELECT 1\0", b"\0SELECT $1\0\0\0", b"S\0"]
                )
                framed += bytes([chance.choice(_KINDS)]) + struct.pack(">i", len(inner) + 4) + inner
            return _start() + framed + b"S\0\0\0\4"


def _send(port: int, count: int, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(count):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.settimeout(0.02)
            connection.sendall(_random_bytes(chance, number))
            with suppress(OSError):
                connection.recv(10_000)


def _ensure_survives(lab: Lab, count: int, seed: int) -> None:
    _send(lab.port, count, seed)
    with opened(lab.port) as wire:
        assert kinds(wire.query("SELECT 1")) == "TDCZ"
    assert eventually(lambda: lab.server.connection_count() == 0, 120)
    assert eventually(lambda: not lab.registry.sessions())
    names = [thread.name for thread in threading.enumerate()]
    assert "postgres-accept" in names and "postgres-watch" in names


def test_random_bytes_leave_the_port_serving(lab: Lab) -> None:
    _ensure_survives(lab, 400, 1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_bytes_leave_the_port_serving(lab: Lab) -> None:
    _ensure_survives(lab, 10_000, 2)


@pytest.mark.parametrize(
    "content",
    [
        b"Q\0\0\0\3",
        b"Q\x7f\xff\xff\xff",
        b"Q\0\0\0\6ab",
        b"B\0\0\0\x0a\0\0\0\0\xff\xff",
        b"P\0\0\0\6\xff\0",
        b"?\0\0\0\4",
    ],
)
def test_malformed_message_ends_the_connection_with_its_error(lab: Lab, content: bytes) -> None:
    wire = Wire(lab.port)
    wire.start()
    wire.socket.sendall(content)
    assert error_of(wire.until_ready())["C"] == "08P01"
    assert wire.read() is None
    wire.close()


def test_long_text_without_meaning_is_rejected_in_time(lab: Lab) -> None:
    with opened(lab.port) as wire:
        for text in (
            "SET x = " + " " * 500_000 + "?",
            "COPY (" + ")" * 300_000,
            "FETCH" + " " * 500_000,
            "'" * 300_001,
        ):
            messages = wire.query(text)
            assert messages[-1][0] == b"Z" and "E" in kinds(messages)


def test_client_that_never_starts_is_disconnected() -> None:
    lab = Lab(startup_s=0.3)
    try:
        wire = Wire(lab.port)
        assert wire.read() is None
        wire.close()
    finally:
        lab.close()
