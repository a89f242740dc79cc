"""Bytes in the rows of COPY FROM, in both forms that PostgreSQL reads."""

from __future__ import annotations

import pytest

from gateway.postgres.copying import hexadecimal
from gateway.postgres.types import BYTEA


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\x00fF", b"\x00\xff"),
        (r"\x", b""),
        ("", b""),
        ("abc", b"abc"),
        (r"a\\b", b"a\\b"),
        (r"\000\377x", b"\x00\xffx"),
        (r"\\x00ff", rb"\x00ff"),
        (r"\\\001", b"\\\x01"),
    ],
)
def test_bytes_are_read_as_postgresql_reads_them(text: str, content: bytes) -> None:
    assert hexadecimal(text, BYTEA) == f"\\x{content.hex()}"


@pytest.mark.parametrize("text", [r"\xzz", r"a\q", "\\", r"\\\\\8", "é", r"\400"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"bytea|hexadecimal"):
        hexadecimal(text, BYTEA)
