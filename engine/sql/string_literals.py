"""Strings of PostgreSQL with escapes (`E'…'`), and Spark's literals."""

from __future__ import annotations

import re

from engine.sql.parser import syntax_error

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)|''", re.DOTALL)


def unescape(text: str) -> str:
    """Returns the value of a string with C-style escapes, as it is written between its quotes.

    `\\x41` and `\\101` are bytes in UTF-8, `\\u0041` and `\\U00000041` are characters (PostgreSQL, "String Constants
    With C-Style Escapes"). Raises `StatementSyntaxError` for bytes and characters that are none, and for NUL.
    """
    made, at = bytearray(), 0
    try:
        for found in _ESCAPE.finditer(text):
            made += text[at : found.start()].encode() + _bytes_of(found[1])
            at = found.end()
        made += text[at:].encode()
        # Two escapes of surrogates are one character.
        value = made.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
    except (OverflowError, ValueError):
        raise syntax_error(text, "an escape in a string is no character or not UTF-8", 0) from None
    if "\0" in value:
        raise syntax_error(text, "a string has a NUL character", 0)
    return value


def _bytes_of(code: str | None) -> bytes:
    """Returns the bytes of an escape, without its backslash; None is a doubled quote."""
    if code is None:
        return b"'"
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16)).encode("utf-8", "surrogatepass")
    if code[0] == "x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[0] in "01234567":
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPES.get(code, code).encode()


def spark_string(value: str) -> str:
    """Returns a string literal of Spark."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
