"""The frames of a client: what is forwarded, and what ends the connection."""

from __future__ import annotations

import random

import pytest

from catalog.conditions import FlightMessageInvalid, FlightMessageTooLarge
from catalog.errors import SqlError
from gateway.flight.frames import ClientFrames

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, CONTINUATION = 0, 1, 3, 4, 9
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
TOKEN = "a" * 32
ADDED = b"\x00\x14x-gateway-connection\x20" + TOKEN.encode()


def frame(kind: int, flags: int, stream_id: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream_id.to_bytes(4) + content


def message(content: bytes, compressed: int = 0) -> bytes:
    return bytes([compressed]) + len(content).to_bytes(4) + content


def frames(streams_max: int = 1000) -> ClientFrames:
    return ClientFrames(TOKEN, message_bytes_max=1000, streams_max=streams_max)


BEGIN = frame(HEADERS, END_HEADERS, 1, b"\x82")
FORWARDED_HEADERS = frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, END_HEADERS, 1, ADDED)


def test_headers_get_one_more_after_the_clients_own() -> None:
    content = PREFACE + frame(SETTINGS, 0, 0) + BEGIN + frame(DATA, END_STREAM, 1, message(b"x" * 10))
    expected = PREFACE + frame(SETTINGS, 0, 0) + FORWARDED_HEADERS + frame(DATA, END_STREAM, 1, message(b"x" * 10))
    assert frames().receive(content) == expected
    by_byte = frames()
    assert b"".join(by_byte.receive(content[at : at + 1]) for at in range(len(content))) == expected


def test_headers_in_several_frames_get_it_at_their_end() -> None:
    parts = frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, END_HEADERS, 1, b"\x84")
    expected = frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, 0, 1, b"\x84")
    assert frames().receive(PREFACE + parts) == PREFACE + expected + frame(CONTINUATION, END_HEADERS, 1, ADDED)


def test_message_within_the_limit_passes_in_any_frames() -> None:
    content = message(b"y" * 990) + message(b"") + message(b"z" * 1000)
    for size in (1, 3, 7, 400, 999):
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        sent = b"".join(frame(DATA, 0, 1, piece) for piece in pieces)
        assert frames().receive(PREFACE + BEGIN + sent) == PREFACE + FORWARDED_HEADERS + sent


REJECTED = {
    "another protocol": b"GET / HTTP/1.1\r\n\r\n",
    "a large message": PREFACE + BEGIN + frame(DATA, 0, 1, message(b"x" * 1001)[:20]),
    "a large second message": PREFACE + BEGIN + frame(DATA, 0, 1, message(b"x") + b"\0\0\1\0\0"),
    "a large padded message": PREFACE + BEGIN + frame(DATA, PADDED, 1, b"\3" + message(b"x" * 1001)[:20] + b"\0\0\0"),
    "a compressed message": PREFACE + BEGIN + frame(DATA, 0, 1, message(b"x", compressed=1)),
    "a large frame": PREFACE + BEGIN + frame(DATA, 0, 1, b"x" * 1001),
    "a frame of headers": PREFACE + frame(HEADERS, 0, 1, b"x" * 70_000),
    "many frames of headers": PREFACE + frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 1, b"x" * 60_000) * 2,
    "padding without a length": PREFACE + BEGIN + frame(DATA, PADDED, 1),
}


@pytest.mark.parametrize("content", REJECTED.values(), ids=REJECTED)
def test_content_beyond_the_limits_is_rejected(content: bytes) -> None:
    with pytest.raises((FlightMessageInvalid, FlightMessageTooLarge)):
        frames().receive(content)


def test_open_streams_are_limited_and_ended_ones_do_not_count() -> None:
    limited = frames(streams_max=3)
    limited.receive(PREFACE)
    for number in range(1, 101, 2):
        limited.receive(frame(HEADERS, END_HEADERS, number) + frame(DATA, END_STREAM, number, message(b"")))
    for number in range(101, 201, 2):
        limited.receive(frame(HEADERS, END_HEADERS, number) + frame(RESET, 0, number, bytes(4)))
    with pytest.raises(FlightMessageInvalid):
        for number in range(201, 301, 2):
            limited.receive(frame(HEADERS, END_HEADERS, number))


def test_random_bytes_raise_nothing_else() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        fuzzed, content = frames(), PREFACE + BEGIN
        for _ in range(chance.randrange(1, 6)):
            content += frame(chance.randrange(11), chance.randrange(256), chance.randrange(4), chance.randbytes(40))
        try:
            fuzzed.receive(content)
        except SqlError:
            pass
