"""Rows of a client in files: joined and divided into messages, checked, charged to their owner, and removed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from catalog.conditions import SpoolFull, UnsupportedDataType
from engine.spool import spooled_rows
from engine.spool.budget import SpoolBudget
from engine.spool.messages import find_messages
from engine.spool.spool import Spool
from engine.spool.spooled_rows import SpooledRows

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def batch(first: int, count: int) -> pa.RecordBatch:
    ids = range(first, first + count)
    return pa.record_batch([pa.array(ids, pa.int64()), pa.array(map(str, ids), pa.string())], schema=SCHEMA)


def spool(folder: Path, bytes_max: int = 1 << 30) -> Spool:
    return Spool(folder, SpoolBudget(bytes_max))


def messages(rows: SpooledRows) -> list[pa.RecordBatch]:
    found = []
    for path in rows.files:
        content = path.read_bytes()

        def read(offset: int, length: int, content: bytes = content) -> bytes:
            return content[offset : offset + length]

        for at in find_messages(read, 0, len(content)):
            message = pa.ipc.read_message(pa.py_buffer(read(at.offset, at.length)))
            found.append(pa.ipc.read_record_batch(message, rows.schema))
    return found


def test_small_batches_are_joined_and_large_ones_divided(tmp_path: Path) -> None:
    rows = SpooledRows(spool(tmp_path), SCHEMA)
    for number in range(1000):
        rows.add(batch(number, 1))
    rows.add(batch(1000, 3 * spooled_rows.MESSAGE_ROWS))
    rows.finish()
    found = messages(rows)
    assert len(found) <= 6
    assert max(one.num_rows for one in found) <= spooled_rows.MESSAGE_ROWS
    assert pa.Table.from_batches(found)["id"].to_pylist() == list(range(1000 + 3 * spooled_rows.MESSAGE_ROWS))
    assert rows.num_rows == 1000 + 3 * spooled_rows.MESSAGE_ROWS
    assert rows.size_bytes == sum(path.stat().st_size for path in rows.files)


def test_rows_are_in_several_files_which_close_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled_rows, "FILE_BYTES", 1 << 20)
    held = spool(tmp_path)
    rows = SpooledRows(held, SCHEMA, "ann")
    for number in range(10):
        rows.add(batch(number, 50_000))
    rows.finish()
    assert len(rows.files) > 3
    assert held.held_bytes() == rows.size_bytes
    rows.close()
    rows.close()
    assert list(tmp_path.iterdir()) == []
    assert held.held_bytes() == 0


def test_rows_beyond_the_budget_are_rejected(tmp_path: Path) -> None:
    rows = SpooledRows(spool(tmp_path, 1 << 20), SCHEMA)
    with pytest.raises(SpoolFull):
        for number in range(100):
            rows.add(batch(number, 50_000))
    rows.close()
    assert list(tmp_path.iterdir()) == []


def test_any_number_of_rows_without_values_is_rejected(tmp_path: Path) -> None:
    rows = SpooledRows(spool(tmp_path), pa.schema([("nothing", pa.null())]))
    rows.add(pa.record_batch([pa.nulls(1000)], names=["nothing"]))
    with pytest.raises(pa.ArrowInvalid, match="rows without values"):
        rows.add(pa.record_batch([pa.nulls(1 << 25)], names=["nothing"]))


@pytest.mark.parametrize("offsets", [[0, 11, 10], [0, 3, 2]])
def test_texts_outside_of_their_buffer_are_rejected(tmp_path: Path, offsets: list[int]) -> None:
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(b"0123456789")]
    column = pa.Array.from_buffers(pa.string(), 2, buffers)
    rows = SpooledRows(spool(tmp_path), pa.schema([("text", pa.string())]))
    with pytest.raises(pa.ArrowInvalid):
        rows.add(pa.record_batch([column], names=["text"]))


def test_batch_of_another_schema_is_rejected(tmp_path: Path) -> None:
    rows = SpooledRows(spool(tmp_path), SCHEMA)
    with pytest.raises(pa.ArrowInvalid):
        rows.add(pa.record_batch([pa.array([1]), pa.array([1])], names=["id", "text"]))


def test_types_that_spark_does_not_read_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedDataType):
        SpooledRows(spool(tmp_path), pa.schema([("unsigned", pa.uint64())]))
