"""Sending to clients that read slowly, or not at all."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from gateway.hs2.messages import MalformedMessage
from gateway.hs2.transport import MessageStream
from gateway.process import byte_stream
from gateway.process.byte_stream import ByteStream, Disconnected

# In one piece, in several, and in more than the system takes at once.
ANSWERS = [(b"x" * (4 << 20),), (b"x" * (1 << 20), b"y" * (3 << 20)), (b"x" * 8192,) * 512]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ByteStream, socket.socket]]:
    monkeypatch.setattr(byte_stream, "WRITE_S", 0.7)
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


@pytest.mark.parametrize("pieces", [(b"x" * 100,), (b"x" * 50_000, b"y" * 50_000)], ids=len)
def test_the_time_of_a_client_that_reads_nothing_is_one_deadline(pieces: tuple[bytes, ...]) -> None:
    """Although the system accepts the response's beginning, and more when its buffer grows."""
    full = FullSocket([10, 5])
    with pytest.raises(Disconnected):
        ByteStream(full).write(pieces)  # type: ignore[arg-type]
    assert byte_stream.WRITE_S <= full.waited_s <= 1.5 * byte_stream.WRITE_S


class FullSocket:
    """Accepts so many bytes in its first calls, none later, and returns how long all would have waited."""

    def __init__(self, taken: list[int]) -> None:
        self._taken, self._wait_s, self.waited_s = taken, 0.0, 0.0

    def settimeout(self, seconds: float | None) -> None:
        assert seconds is None

    def setsockopt(self, level: int, name: int, value: bytes) -> None:
        assert (level, name) == (socket.SOL_SOCKET, socket.SO_SNDTIMEO)
        seconds, micros = struct.unpack("@ll", value)
        self._wait_s = seconds + micros / 1e6

    def send(self, content: object) -> int:
        self.waited_s += self._wait_s
        if not self._taken:
            raise BlockingIOError
        return self._taken.pop(0)

    sendmsg = send


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


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


@pytest.mark.parametrize(
    "parts",
    [
        [frame(b"one"), frame(b"two")],
        [frame(b"one") + frame(b"two")],
        [frame(b"one")[:2], frame(b"one")[2:] + frame(b"two")[:5], frame(b"two")[5:]],
        [frame(b"one")[:4], frame(b"one")[4:], frame(b"two")],
        [frame(b"one") + frame(b"two")[:1], frame(b"two")[1:]],
    ],
    ids=["each in one part", "both in one part", "across parts", "behind its length", "with the begin of the next"],
)
def test_frames_are_split_for_any_chunking(ends: tuple[ByteStream, socket.socket], parts: list[bytes]) -> None:
    stream, client = ends
    messages = MessageStream(stream, framed=True, bytes_max=3)

    def send() -> None:
        for part in parts:
            client.sendall(part)
            time.sleep(0.01)

    sender = threading.Thread(target=send)
    sender.start()
    assert [messages.read(), messages.read()] == [b"one", b"two"]
    sender.join(10)


@pytest.mark.parametrize("parts", [[frame(b"four")], [frame(b"four")[:4]]], ids=["whole", "its length"])
def test_a_frame_longer_than_allowed_is_refused(ends: tuple[ByteStream, socket.socket], parts: list[bytes]) -> None:
    stream, client = ends
    for part in parts:
        client.sendall(part)
    with pytest.raises(MalformedMessage, match="4 bytes"):
        MessageStream(stream, framed=True, bytes_max=3).read()


def test_answer_is_buffered_once_with_deadline(ends: tuple[ByteStream, socket.socket]) -> None:
    """A client without a session has a deadline for its next message; responses in between have their own."""
    stream, client = ends
    messages = MessageStream(stream, framed=True, bytes_max=3)
    client.sendall(frame(b"one"))
    assert messages.read(0.05) == b"one"
    answer = b"x" * (4 << 20)
    received = bytearray()

    def read() -> None:
        time.sleep(0.1)
        while len(received) < len(answer) + 4:
            received.extend(client.recv(1 << 20))

    reader = threading.Thread(target=read)
    reader.start()
    messages.write((answer,))
    reader.join(10)
    assert len(received) == len(answer) + 4


def test_a_client_that_asks_at_once_is_looked_for_and_one_that_does_not_is_waited_for(
    ends: tuple[ByteStream, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = ends
    monkeypatch.setattr(byte_stream, "_SHORTLY_S", 60)
    messages = MessageStream(ours, framed=True, bytes_max=100)
    theirs.sendall(frame(b"at once"))
    messages.await_shortly()
    assert messages.read() == b"at once"
    monkeypatch.setattr(byte_stream, "_SHORTLY_S", 0)
    messages.await_shortly()
    monkeypatch.setattr(byte_stream, "_SHORTLY_S", 60)
    messages.await_shortly()  # returns: nobody looks again so soon
    theirs.sendall(frame(b"later"))
    assert messages.read() == b"later"


def test_a_client_that_leaves_while_it_is_looked_for(
    ends: tuple[ByteStream, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = ends
    monkeypatch.setattr(byte_stream, "_SHORTLY_S", 60)
    theirs.close()
    with pytest.raises(Disconnected):
        ours.await_shortly()
    with pytest.raises(Disconnected):  # and the next one may look
        ours.await_shortly()
