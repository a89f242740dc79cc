"""Spooled batches: read in any order and repeatedly, bounded, removed with their handles; and disk failures."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import DiskFull, SpooledRowsLost, SpoolFull, SpoolFullOfOwner
from catalog.errors import SqlError
from engine.spool.budget import SpoolBudget
from engine.spool.spool import OwnedSpool, Spool
from engine.spool.spool_file import SpoolFile, StoredBatch, read_batches, stored_batches

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string()), ("list", pa.list_(pa.int32()))])


def batch(first: int, count: int) -> pa.RecordBatch:
    ids = range(first, first + count)
    columns = [pa.array(ids, pa.int64()), pa.array([None if i % 3 else f"row {i}" for i in ids], pa.string())]
    return pa.record_batch([*columns, pa.array([[i] * (i % 4) for i in ids], pa.list_(pa.int32()))], schema=SCHEMA)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path, SpoolBudget(1 << 20, 1 << 19, setting="all", owner_setting="of one"))


def files(spool: Spool) -> list[Path]:
    return sorted(spool.folder.iterdir())


@pytest.mark.parametrize("is_compressed", [False, True])
def test_batches_are_read_in_any_order_and_again(spool: Spool, is_compressed: bool) -> None:
    writer = spool.writer(SCHEMA, is_compressed=is_compressed)
    batches = [batch(0, 5), batch(5, 0), batch(5, 1), batch(6, 1000)]
    stored = [writer.add(one) for one in batches]
    for place in (3, 0, 2, 1, 0, 3):
        assert stored[place].read().equals(batches[place])
    assert [one.num_rows for one in stored] == [5, 0, 1, 1000]


@pytest.mark.parametrize("selected", [(0, 5), (0, 0), (2, 2), (4, 100), (9, 1)])
def test_a_part_of_a_batch_is_that_part(spool: Spool, selected: tuple[int, int]) -> None:
    stored = spool.writer(SCHEMA).add(batch(0, 10)).slice(1, 5)
    expected = batch(1, 5).slice(*selected)
    part = stored.slice(*selected)
    assert part.read().equals(expected) and part.num_rows == expected.num_rows
    assert 0 <= part.value_bytes <= stored.value_bytes


def test_files_go_with_the_last_that_holds_them(spool: Spool) -> None:
    writer = spool.writer(SCHEMA, "ann")
    stored = [writer.add(batch(0, 10)), writer.add(batch(10, 10))]
    size = writer.file.size
    assert spool.held_bytes() == size and files(spool)[0].stat().st_size == size
    del writer, stored[0]
    assert stored[0].read().equals(batch(10, 10))
    stored.clear()
    assert not files(spool) and spool.held_bytes() == 0


def test_a_closed_file_has_no_rows(spool: Spool) -> None:
    writer = spool.writer(SCHEMA)
    stored = writer.add(batch(0, 10))
    writer.file.close()
    writer.file.close()
    assert not files(spool) and spool.held_bytes() == 0
    with pytest.raises(SpooledRowsLost, match="closed"):
        stored.read()


@pytest.mark.parametrize(
    ("owner", "refusal"), [("ann", SpoolFullOfOwner), ("bob", SpoolFullOfOwner), ("eve", SpoolFull)]
)
def test_write_over_the_limit_is_rejected_and_not_counted(tmp_path: Path, owner: str, refusal: type[SqlError]) -> None:
    message = batch(0, 100).serialize().size
    spool = Spool(tmp_path, SpoolBudget(5 * message, 2 * message, setting="all", owner_setting="of one"))
    writers = {name: spool.writer(SCHEMA, name) for name in ("ann", "bob", "eve")}
    for name, count in (("ann", 2), ("bob", 2), ("eve", 1)):
        for _ in range(count):
            writers[name].add(batch(0, 100))
    with pytest.raises(refusal, match="all|of one"):
        writers[owner].add(batch(0, 100))
    assert spool.held_bytes() == 5 * message
    writers.pop("ann" if owner != "ann" else "eve")
    left = message * (2 if owner != "ann" else 1)
    reserved = spool.reservation("tom")
    assert reserved.take(100 * message, left) == left and spool.held_bytes() == 5 * message


def test_reserved_bytes_count_until_spooled(tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolBudget(1000, setting="all"))
    first, second = spool.reservation("ann"), spool.reservation("bob")
    assert (first.take(600, 600), second.take(600, 400), spool.held_bytes()) == (600, 400, 1000)
    with pytest.raises(SpoolFull):
        second.take(600, 1)
    first.release()
    assert spool.held_bytes() == 400 and second.take(1000, 600) == 600
    first.release()
    second.release()
    assert (first.take(10, 10), spool.held_bytes()) == (0, 0), "its statement has ended"


def test_unused_reservations_reject_nobody(tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolBudget(100 << 20, setting="all"))
    reserved = [spool.reservation(f"user {number}") for number in range(20)]
    taken = [one.take(32 << 20, 1 << 20) for one in reserved]
    assert taken[0] == (100 << 20) // 8 and min(taken) == 1 << 20
    assert spool.reservation("large").take(1 << 20, 1 << 10) < 1 << 20


def test_without_a_budget_all_may_be_written(tmp_path: Path) -> None:
    assert Spool(tmp_path).reservation("ann").take(1 << 60, 1) == 1 << 60


def test_without_a_limit_of_its_own_an_owner_meets_that_of_all(tmp_path: Path) -> None:
    writer = Spool(tmp_path, SpoolBudget(1000, setting="all")).writer(SCHEMA, "ann")
    with pytest.raises(SpoolFull, match="raise all in"):
        writer.add(batch(0, 100))


def test_spool_file_limit_is_enforced(spool: Spool) -> None:
    message = batch(0, 100).serialize().size
    writer = spool.writer(SCHEMA, file_bytes_max=message * 2)
    stored = [writer.add(batch(0, 100)), writer.add(batch(1, 100))]
    with pytest.raises(SpoolFull):
        writer.add(batch(2, 100))
    assert stored[1].read().equals(batch(1, 100))


def full(*_: Any) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def some(write: Callable[..., int]) -> Callable[..., int]:
    """Returns a write that takes ten bytes per call and raises disk full at the third."""
    taken: list[int] = []

    def pwrite(descriptor: int, content: memoryview, offset: int) -> int:
        taken.append(offset)
        return full() if len(taken) == 3 else write(descriptor, content[:10], offset)

    return pwrite


@pytest.mark.parametrize("pwrite", [full, some(os.pwrite)])
def test_a_full_disk_is_the_error_of_one_write(spool: Spool, monkeypatch: pytest.MonkeyPatch, pwrite: Any) -> None:
    writer = spool.writer(SCHEMA)
    before = writer.add(batch(0, 10))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", pwrite)
        with pytest.raises(DiskFull):
            writer.add(batch(10, 10))
    assert before.read().equals(batch(0, 10))
    after = writer.add(batch(20, 10))
    assert after.read().equals(batch(20, 10)) and before.read().equals(batch(0, 10))
    del writer, before, after
    assert not files(spool) and spool.held_bytes() == 0


@pytest.mark.parametrize("damage", ["gone", "cut", "empty"])
def test_a_file_that_somebody_damaged_is_named(spool: Spool, damage: str) -> None:
    stored = spool.writer(SCHEMA).add(batch(0, 10))
    (file,) = files(spool)
    if damage == "gone":
        file.unlink()
    else:
        os.truncate(file, 0 if damage == "empty" else stored.length - 1)
    with pytest.raises(SpooledRowsLost):
        stored.read()


def test_growing_foreign_file_is_read_and_then_spooled(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "statement").mkdir()
    path, messages = tmp_path / "statement" / "0.1", [batch(i, 10).serialize().to_pybytes() for i in (0, 10)]
    path.write_bytes(messages[0])
    file = spool.follow(path, "ann")
    (first,) = stored_batches(file, SCHEMA, 0, len(messages[0]))
    assert first.read().equals(batch(0, 10))
    path.write_bytes(b"".join(messages))
    spool.keep(file)
    assert not path.exists() and spool.held_bytes() == sum(map(len, messages))
    (second,) = stored_batches(file, SCHEMA, len(messages[0]), len(messages[1]))
    assert [first.read(), second.read()] == [batch(0, 10), batch(10, 10)]
    del file, first, second
    assert spool.held_bytes() == 0 and not list(spool.folder.glob("rows-*"))


def test_file_over_spool_limit_is_not_spooled(spool: Spool, tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes((1 << 19) + 1))
    file = spool.follow(path, "ann")
    with pytest.raises(SpoolFullOfOwner):
        spool.keep(file)
    assert spool.held_bytes() == 0
    del file
    assert not path.exists()


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xff\xff\xff", bytes(64), b"\xff\xff\xff\xff\x10\0\0\0" + bytes(16), b"\xff" * 64]
)
def test_malformed_messages_are_rejected(spool: Spool, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(SpooledRowsLost):
        stored_batches(spool.follow(path), SCHEMA, 0, 64)


def test_very_many_columns_are_found(spool: Spool, tmp_path: Path) -> None:
    wide = pa.record_batch({f"column {i}": [i, None] for i in range(3000)})
    (tmp_path / "wide").write_bytes(wide.serialize().to_pybytes() * 2)
    found = stored_batches(spool.follow(tmp_path / "wide"), wide.schema, 0, (tmp_path / "wide").stat().st_size)
    assert [one.num_rows for one in found] == [2, 2] and found[1].read().equals(wide)


def test_threads_read_and_drop_files_while_others_write(spool: Spool) -> None:
    wrong: list[object] = []

    def work(first: int) -> None:
        try:
            for number in range(30):
                writer = spool.writer(SCHEMA, f"user {first}")
                stored: list[StoredBatch] = [writer.add(batch(first + number, 20)) for _ in range(3)]
                writer.file.__dict__["cycle"] = writer  # which only the collector frees, on whatever thread
                wrong.extend(one for one in stored if not one.read().equals(batch(first + number, 20)))
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 4000, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    gc.collect()
    assert not wrong and spool.held_bytes() == 0 and not files(spool)


def test_a_folder_that_was_cleaned_up_is_made_again(spool: Spool) -> None:
    lost = spool.writer(SCHEMA).add(batch(0, 10))
    shutil.rmtree(spool.folder)
    with pytest.raises(SpooledRowsLost):
        lost.read()
    assert spool.writer(SCHEMA).add(batch(0, 10)).read().equals(batch(0, 10))
    assert spool.folder.stat().st_mode & 0o777 == 0o700


def test_a_spool_of_its_own_goes_as_a_whole(tmp_path: Path) -> None:
    spool = OwnedSpool(str(tmp_path))
    stored = spool.writer(SCHEMA).add(batch(0, 10))
    assert stored.read().num_rows == 10 and spool.folder.parent == tmp_path
    spool.close()
    assert not list(tmp_path.iterdir())


def test_batches_that_follow_each_other_are_read_at_once(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, other = spool.writer(SCHEMA), spool.writer(SCHEMA)
    sent = [batch(0, 5), batch(5, 7), batch(12, 3), batch(15, 1), batch(16, 2), batch(18, 4)]
    stored = [writer.add(sent[0]), writer.add(sent[1]), other.add(sent[2]), sent[3], writer.add(sent[4]), sent[5]]
    reads: list[int] = []
    read_buffer = SpoolFile.read_buffer

    def counted(file: SpoolFile, offset: int, length: int, header: bytes) -> pa.Buffer:
        reads.append(length)
        return read_buffer(file, offset, length, header)

    monkeypatch.setattr(SpoolFile, "read_buffer", counted)
    parts = [one.slice(1, 3) for one in stored]
    schema = SCHEMA.with_metadata({"a": "b"})
    found = list(read_batches(parts, schema))
    assert [one.to_pylist() for one in found] == [one.slice(1, 3).to_pylist() for one in sent]
    assert all(one.schema.equals(schema, check_metadata=True) for one in found)
    assert len(reads) == 3
    os.truncate(writer.file.path, stored[1].offset + 8)
    with pytest.raises(SpooledRowsLost):
        list(read_batches(parts, schema))


def test_whole_messages_of_a_file_are_read_by_one_reader(spool: Spool) -> None:
    writer = spool.writer(SCHEMA)
    sent = [batch(0, 5), batch(5, 70), batch(75, 3)]
    stored = [writer.add(one) for one in sent]
    schema = SCHEMA.with_metadata({"a": "b"})
    (reader,) = read_batches(stored, schema)
    assert isinstance(reader, pa.RecordBatchReader) and reader.schema.equals(schema, check_metadata=True)
    assert [one.to_pylist() for one in reader] == [one.to_pylist() for one in sent]
    checked = [replace(stored[0], checksum=zlib.crc32(stored[0].file.read(stored[0].offset, stored[0].length)))]
    assert [one.to_pylist() for one in read_batches(checked, schema)] == [sent[0].to_pylist()]
    with pytest.raises(SpooledRowsLost, match="other bytes"):
        list(read_batches([replace(stored[1], checksum=1)], schema))
    with open(writer.file.path, "r+b") as file:  # as a hole in the file, or the end of a stream, begins
        file.seek(stored[2].offset)
        file.write(bytes(8))
    with pytest.raises(SpooledRowsLost, match="other bytes"):
        list(read_batches(stored, schema))
