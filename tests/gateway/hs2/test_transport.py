"""Answers reach the client whole and in order, in however many pieces they are made and sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from gateway.hs2.transport import ByteStream, MessageStream

PIECES: dict[str, tuple[bytes, ...]] = {
    "nothing": (),
    "one small": (b"abc",),
    "small ones": (b"a", b"", b"bc"),
    "one large": (bytes(range(256)) * 1000,),
    "a large one between small ones": (b"head", bytes(range(256)) * 4000, b"", b"tail"),
    "large ones": tuple(bytes([number]) * 100_000 for number in range(20)),
    "more than the system takes": tuple(bytes([number % 256]) * 100 for number in range(3000)),
}


class Piecemeal(socket.socket):
    """Takes a part of a message at a time, as the system may."""

    part = 100_003

    def sendmsg(self, buffers: Iterator[bytes], *_: object) -> int:  # type: ignore[override]
        return self.send(b"".join(buffers)[: self.part])


@pytest.fixture
def pair() -> Iterator[tuple[Piecemeal, socket.socket]]:
    ours, theirs = socket.socketpair()
    piecemeal = Piecemeal(fileno=ours.detach())
    yield piecemeal, theirs
    piecemeal.close()
    theirs.close()


@pytest.mark.parametrize("part", [1, 4, 100_003, 1 << 30])
@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_a_message_arrives_whole(pair: tuple[Piecemeal, socket.socket], pieces: tuple[bytes, ...], part: int) -> None:
    ours, theirs = pair
    ours.part = part
    messages = MessageStream(ByteStream(ours), framed=True, bytes_max=1)

    def write() -> None:
        messages.write(pieces)
        messages.write((b"next",))
        ours.shutdown(socket.SHUT_WR)

    writer = threading.Thread(target=write)
    writer.start()
    received = b"".join(iter(lambda: theirs.recv(1 << 16), b""))
    writer.join()
    content = b"".join(pieces)
    assert received == len(content).to_bytes(4, "big") + content + b"\0\0\0\4next"
