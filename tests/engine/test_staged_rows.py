"""Rows that are written together: the statement over literals, bound values, texts and bulk loads, and dropped rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from catalog.conditions import BlockNotSupported, BlockTextTooLarge, SpoolFull
from engine import staged_rows
from engine.runtime.parameters import Parameter
from engine.spool.budget import SpoolBudget
from engine.spool.messages import find_messages
from engine.spool.spool import Spool
from engine.spool.spooled_rows import SpooledRows
from engine.sql.postgres_text import InsertText, parse_insert
from engine.staged_rows import StagedRows

TYPES = ("int", "string")


def staged(folder: Path, bytes_max: int = 1 << 30) -> StagedRows:
    return StagedRows("t", "(a, b)", TYPES, Spool(folder, SpoolBudget(bytes_max)), "ann")


def insert(values: str) -> InsertText:
    found = parse_insert(f"INSERT INTO t (a, b) VALUES {values}")
    assert found is not None
    return found


def bind(rows: StagedRows, *values: str | None, text: str = "(:p1, :p2)") -> None:
    parameters = [Parameter(value=value, sql_type="string") for value in values]
    rows.add(insert(text), f"INSERT INTO t (a, b) VALUES {text}", parameters)


def content(rows: SpooledRows) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for path in rows.files:
        held = path.read_bytes()

        def read(offset: int, length: int, held: bytes = held) -> bytes:
            return held[offset : offset + length]

        for at in find_messages(read, 0, len(held)):
            message = pa.ipc.read_message(pa.py_buffer(held[at.offset : at.offset + at.length]))
            batch = pa.ipc.read_record_batch(message, rows.schema)
            found += [tuple(row.values()) for row in batch.to_pylist()]
    return found


def test_only_execution_is_run_as_it_was_sent(tmp_path: Path) -> None:
    rows = staged(tmp_path)
    bind(rows, "1", "x")
    statement = rows.statement()
    assert statement.text == "INSERT INTO t (a, b) VALUES (:p1, :p2)" and not statement.rows
    assert [one.value for one in statement.parameters] == ["1", "x"]


def test_executions_of_a_text_share_a_part(tmp_path: Path) -> None:
    rows = staged(tmp_path)
    for number in range(3):
        bind(rows, str(number), "x")
        bind(rows, str(number), "y", text="(:p1, upper(:p2))")
    statement = rows.statement()
    first, second = statement.rows
    assert statement.text == (
        f"INSERT INTO t (a, b) SELECT CAST(p1 AS int), CAST(p2 AS string) FROM {first.name} UNION ALL "
        f"SELECT CAST(p1 AS int), upper(p2) FROM {second.name}"
    )
    assert content(first) == [("0", "x", 0), ("1", "x", 2), ("2", "x", 4)]
    rows.close()
    assert list(tmp_path.iterdir()) == [] and rows.count == 0


def test_rows_after_a_savepoint_are_left_out(tmp_path: Path) -> None:
    rows = staged(tmp_path)
    rows.add(insert("(1, 'a'), (2, 'b')"), "", ())
    savepoint = rows.position
    rows.add(insert("(3, 'c')"), "", ())
    rows.add(insert("(1 + 1, 'd')"), "", ())
    rows.cut(savepoint)
    rows.add(insert("(5, 'e')"), "", ())
    later = rows.position
    rows.add(insert("(6, 'f')"), "", ())
    rows.cut(later)
    assert rows.count == 3
    statement = rows.statement()
    assert statement.text.endswith("WHERE NOT (gateway_row BETWEEN 2 AND 3 OR gateway_row BETWEEN 5 AND 5)")
    assert "VALUES" not in statement.text
    rows.cut(0)
    assert rows.count == 0


def test_texts_with_expressions_are_parts_of_the_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = staged(tmp_path)
    for number in range(2):
        rows.add(insert(f"({number} + 1, 'a')"), "", ())
    assert rows.statement().text == "INSERT INTO t (a, b) VALUES (0 + 1, 'a'), (1 + 1, 'a')"
    monkeypatch.setattr(staged_rows, "TEXT_BYTES_MAX", 40)
    with pytest.raises(BlockTextTooLarge):
        rows.add(insert("(9 + 1, 'a')"), "", ())
        rows.add(insert("(9 + 2, 'a')"), "", ())


def test_rows_of_a_bulk_load_are_texts_of_the_columns_types(tmp_path: Path) -> None:
    rows = StagedRows("t", "", ("binary", "array<date>", "map<int,int>"), Spool(tmp_path), "ann")
    rows.add_rows(pa.table([["\\x00"], ['["2020-01-02"]'], ["{}"]], names=["c0", "c1", "c2"]))
    text = rows.statement().text
    assert "unhex(substring(c0, 3))" in text and "from_json(c2, 'map<int,int>', map('mode', 'FAILFAST'))" in text
    assert "transform(from_json(c1, 'array<string>', map('mode', 'FAILFAST')), item -> CAST(item AS date))" in text


def test_memory_is_bounded_by_the_spool(tmp_path: Path) -> None:
    rows = staged(tmp_path, 1 << 20)
    with pytest.raises(SpoolFull):
        for _ in range(300):
            bind(rows, "1", "x" * 100_000)


def test_other_columns_are_rejected(tmp_path: Path) -> None:
    rows = staged(tmp_path)
    other = parse_insert("INSERT INTO t (b, a) VALUES ('x', 1)")
    assert other is not None
    with pytest.raises(BlockNotSupported, match="the same table and columns"):
        rows.add(other, "", ())
