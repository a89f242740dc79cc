"""COPY INTO's record of loaded files: entries that count, entries that do not, and number of segments."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.errors import SqlError
from engine.delta.commit.loads import LOADS_DIR, SCHEMA, Loads, mask_not_loaded, read_loads, write_load
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.metadata_changes import define_table
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import open_storage
from engine.tables.operations import CommitDescription, TableOperation
from engine.types.schema import PrimitiveType, StructField, StructType

LOAD = CommitDescription(name="COPY INTO", operation=TableOperation.APPEND)


@pytest.fixture
def table(tmp_path: Path) -> Snapshot:
    transaction = Transaction.create(open_storage(str(tmp_path)), LOAD)
    transaction.define(define_table("t", StructType((StructField("a", PrimitiveType.LONG),))))
    transaction.commit()
    return Snapshot.load(open_storage(str(tmp_path)))


def files(*names: int) -> pa.Table:
    count = len(names)
    columns = [[f"/in/{name}" for name in names], [1] * count, [2] * count]
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), SCHEMA)


def load(table: Snapshot, loads: Loads, loaded: pa.Table) -> Transaction:
    transaction = Transaction.on(table, LOAD)
    written = write_load(table.storage, loads, loaded)
    transaction.last_version_of(written.action.app_id)
    transaction.stage(written.action)
    return transaction


def fresh(table: Snapshot, *names: int) -> list[int]:
    known = mask_not_loaded(table.storage, read_loads(table), files(*names)["path"].combine_chunks())
    return [name for name, is_fresh in zip(names, known.to_pylist(), strict=True) if is_fresh]


def test_files_count_with_the_commit(table: Snapshot) -> None:
    waiting = load(table, read_loads(table), files(1, 2))
    assert fresh(table.advance(), 1, 2, 3) == [1, 2, 3]
    waiting.commit()
    assert fresh(table.advance(), 1, 2, 3) == [3]


def test_two_at_once_conflict(table: Snapshot) -> None:
    first, second = load(table, Loads(), files(1)), load(table, Loads(), files(2))
    first.commit()
    with pytest.raises(SqlError) as lost:
        second.commit()
    assert lost.value.condition == "DELTA_CONCURRENT_TRANSACTION"
    assert fresh(table.advance(), 1, 2) == [2]


def test_segments_are_few_and_name_one_another(table: Snapshot) -> None:
    for number in range(40):
        load(table, read_loads(table), files(number)).commit()
        table = table.advance()
    loads = read_loads(table)
    assert sum(segment.count for segment in loads.segments) == 40 and len(loads.segments) <= 6
    assert fresh(table, *range(41)) == [40]


@pytest.mark.parametrize("before", [b"no JSON", b"[null]", b'[["a", 1]]', None])
def test_segment_with_malformed_predecessors_is_rejected(table: Snapshot, tmp_path: Path, before: bytes | None) -> None:
    load(table, Loads(), files(1)).commit()
    [segment] = (tmp_path / LOADS_DIR).iterdir()
    [key] = pq.read_schema(segment).metadata
    pq.write_table(files(1).replace_schema_metadata({b"other": b""} if before is None else {key: before}), segment)
    with pytest.raises(SqlError, match="it names no segments") as broken:
        read_loads(table.advance())
    assert broken.value.condition == "DELTA_MALFORMED_LOG_ENTRY"


def test_a_segment_that_is_gone_is_no_empty_one(table: Snapshot, tmp_path: Path) -> None:
    load(table, Loads(), files(1)).commit()
    (segment,) = (tmp_path / LOADS_DIR).iterdir()
    segment.write_bytes(b"no parquet")
    with pytest.raises(SqlError) as broken:
        read_loads(table.advance())
    assert broken.value.condition == "DELTA_MALFORMED_LOG_ENTRY"
    segment.unlink()
    with pytest.raises(SqlError) as missing:
        read_loads(table.advance())
    assert missing.value.condition == "DELTA_LOG_FILE_NOT_FOUND"
