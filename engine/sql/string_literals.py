"""Strings of PostgreSQL with escapes (`E'…'`), and Spark's literals."""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)|''", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def unescape(text: str) -> str:
    """Returns the value of a string with C-style escapes, as it is written between its quotes."""

    def character(found: re.Match[str]) -> str:
        code = found[1]
        if code is None:  # a doubled quote
            return "'"
        if code[0] in "uUx" and len(code) > 1:
            return chr(int(code[1:], 16))
        return chr(int(code, 8)) if code.isdecimal() and code[0] in "01234567" else _ESCAPES.get(code, code)

    made = _ESCAPE.sub(character, text)
    if not _SURROGATE.search(made):
        return made
    return made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def spark_string(value: str) -> str:
    """Returns a literal of Spark."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
