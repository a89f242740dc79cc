"""What is sent to a client that takes it slowly, or not at all."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from gateway.hs2 import transport
from gateway.hs2.transport import ByteStream, Disconnected

ANSWERS = [(b"x" * (4 << 20),), (b"x" * (1 << 20), b"y" * (3 << 20)), (b"x" * 8192,) * 512]
"""In one piece, in several, and in more than the system takes at once."""


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ByteStream, socket.socket]]:
    monkeypatch.setattr(transport, "WRITE_S", 0.7)
    server, client = socket.socketpair()
    with server, client:
        yield ByteStream(server), client


@pytest.mark.parametrize("pieces", ANSWERS, ids=len)
def test_a_client_that_reads_nothing_is_given_up(
    ends: tuple[ByteStream, socket.socket], pieces: tuple[bytes, ...]
) -> None:
    given_up = threading.Event()

    def write() -> None:
        with pytest.raises(Disconnected):
            ends[0].write(pieces)
        given_up.set()

    threading.Thread(target=write, daemon=True).start()
    assert given_up.wait(60)


@pytest.mark.parametrize("pieces", ANSWERS, ids=len)
def test_a_client_that_reads_slowly_gets_all(ends: tuple[ByteStream, socket.socket], pieces: tuple[bytes, ...]) -> None:
    """Longer than the deadline, which each part that it takes renews."""
    stream, client = ends
    received = bytearray()

    def read() -> None:
        for _ in range(10):
            time.sleep(0.1)
            received.extend(client.recv(64 << 10))
        while len(received) < 4 << 20:
            received.extend(client.recv(1 << 20))

    reader = threading.Thread(target=read)
    reader.start()
    stream.write(pieces)
    reader.join(60)
    assert bytes(received) == b"".join(pieces)
