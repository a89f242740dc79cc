"""Strings with C-style escapes: characters, bytes in UTF-8, and escapes that are neither."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError
from engine.sql.string_literals import spark_string, unescape


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"a\nb\tc\\d", "a\nb\tc\\d"),
        (r"it''s \'so\' \q", "it's 'so' q"),
        (r"\x41\101\x7", "AA\x07"),
        (r"\xc3\xa9", "é"),
        (r"\303\251é", "éé"),
        (r"\u00e9\U0001F600", "é😀"),
        (r"\uD83D\uDE00", "😀"),
    ],
)
def test_escapes_are_characters_or_bytes_of_utf8(text: str, value: str) -> None:
    assert unescape(text) == value


@pytest.mark.parametrize(
    "text", [r"\xff", r"\351", r"\xc3", r"\UFFFFFFFF", r"\U00110000", r"\uD83D", r"a\u0000", r"\0"]
)
def test_invalid_escapes_are_rejected(text: str) -> None:
    with pytest.raises(StatementSyntaxError):
        unescape(text)


def test_literals_escape_quotes_and_backslashes() -> None:
    assert spark_string(r"it's C:\new") == r"'it\'s C:\\new'"
