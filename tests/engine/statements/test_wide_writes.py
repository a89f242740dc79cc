"""Writes that name thousands of columns are read in a constant number of passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot.tokens import Tokenizer

from engine.pipeline import parse_statement


def _merge(columns: list[str]) -> str:
    assignments = ", ".join(f"t.{name} = s.{name}" for name in columns)
    values = ", ".join(f"s.{name}" for name in columns)
    inserted = f"INSERT ({', '.join(columns)}) VALUES ({values})"
    return (
        f"MERGE INTO wide t USING wide s ON t.c0 = s.c0 WHEN MATCHED THEN UPDATE SET {assignments}"
        f" WHEN NOT MATCHED THEN {inserted}"
    )


def _update(columns: list[str]) -> str:
    return f"UPDATE wide SET {', '.join(f'{name} = {name} + 1' for name in columns)}"


@pytest.mark.parametrize("statement", [_merge, _update], ids=["merge", "update"])
def test_wide_write_is_tokenized_as_often_as_a_narrow_one(
    statement: Callable[[list[str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    tokenize = Tokenizer.tokenize
    for number in (2, 200):
        text = statement([f"c{each}" for each in range(number)])
        long_texts = list[int]()

        def counted(self: Tokenizer, sql: str, length: int = len(text), found: list[int] = long_texts) -> object:
            if 2 * len(sql) > length:
                found.append(len(sql))
            return tokenize(self, sql)

        monkeypatch.setattr(Tokenizer, "tokenize", counted)
        parse_statement(text)
        counts.append(len(long_texts))
    assert counts[1] <= counts[0] != 0
