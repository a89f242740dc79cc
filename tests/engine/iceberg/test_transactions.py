"""Two writers on one table, without Spark: conflicts, and files rewritten for a retry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.conditions import ConcurrentDrop, ConcurrentModification, IcebergConflict
from engine.iceberg.commit.updates import LAST_ADDED, AddSpec, RemovePartitionSpecs, SetDefaultSpec
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.tables.definition_changes import AddColumn, RenameColumn, SetProperty
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.transaction import DataFile
from engine.types.schema import PrimitiveType, StructField
from tests.engine.iceberg.tables import OwnTable, columns

WRITE = CommitDescription(name="WRITE", operation=TableOperation.OVERWRITE)
Step = Callable[[IcebergTransaction, OwnTable], None]


@pytest.fixture(params=["2", "3"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> OwnTable:
    """Creates two files with ten rows each: the numbers from 0, and from 10."""
    made = OwnTable(tmp_path / "t", columns(id="long"), format_version=request.param)
    for first in (0, 10):
        begun = begin(made)
        append(first)(begun, made)
        begun.commit()
    return made


def begin(table: OwnTable) -> IcebergTransaction:
    return table.format.begin(table.snapshot, WRITE, "t")


def append(first: int) -> Step:
    def add(transaction: IcebergTransaction, table: OwnTable) -> None:
        name = f"data/{first}-{len(list(table.folder.glob('data/*')))}.parquet"
        path = table.folder / name
        path.parent.mkdir(exist_ok=True)
        field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
        pq.write_table(pa.table([pa.array(range(first, first + 10))], schema=pa.schema([field])), path)
        file = DataFile(path=name, size=path.stat().st_size, modification_time=0, partition_values={})
        snapshot = table.snapshot
        transaction.add_files(table.format.describe_files(snapshot.storage, snapshot.table_config, [file]))

    return add


def remove(position: int) -> Step:
    """Removes a file in the transaction's snapshot, by its position in name order."""

    def go(transaction: IcebergTransaction, table: OwnTable) -> None:
        assert transaction.snapshot is not None
        files = transaction.snapshot.files
        order = np.argsort(files["path"].to_numpy(zero_copy_only=False))
        transaction.stage_removes(files.take(pa.array(order[[position]])))

    return go


def reading(is_concerned: bool) -> Step:
    """Adds a condition that matches any file, or none."""

    def read(transaction: IcebergTransaction, table: OwnTable) -> None:
        transaction.depend_on(lambda files: pa.repeat(is_concerned, files.num_rows), pa.array([], pa.string()))

    return read


def read_all(transaction: IcebergTransaction, table: OwnTable) -> None:
    transaction.read_whole_table()


def rename(transaction: IcebergTransaction, table: OwnTable) -> None:
    transaction.define(table.snapshot.change_definition("t", [RenameColumn(path=("id",), name="number")]))


def comment(transaction: IcebergTransaction, table: OwnTable) -> None:
    transaction.define(table.snapshot.change_definition("t", [SetProperty(key="comment", value="new")]))


# The steps of the slower and the faster transaction, and the number of rows after both; None: the slower one fails.
RACES: dict[str, tuple[list[Step], list[Step], int | None]] = {
    "two appends": ([append(20)], [append(30)], 40),
    "an append and an overwrite": ([append(20)], [read_all, remove(0), remove(1), append(30)], 20),
    "an overwrite of all and an append": ([read_all, remove(0), remove(1), append(20)], [append(30)], None),
    "an overwrite of others": ([reading(False), remove(0)], [remove(1), append(30)], 10),
    "an overwrite of rows like those that came": ([reading(True), remove(0)], [append(30)], None),
    "an overwrite of rows unlike those that came": ([reading(False), remove(0)], [append(30)], 20),
    "two overwrites of one file": ([reading(False), remove(0), append(20)], [remove(0)], None),
    "an append and another definition": ([append(20)], [rename], 30),
    "another definition and an append": ([rename], [append(20)], 30),
    "two definitions": ([rename], [comment], None),
}


@pytest.mark.parametrize("name", RACES)
def test_of_two_writers_the_slower_one_looks_at_the_faster(table: OwnTable, name: str) -> None:
    slow, fast, total = RACES[name]
    late, early = begin(table), begin(table)
    for steps, transaction in ((slow, late), (fast, early)):
        for step in steps:
            step(transaction, table)
    early.commit()
    middle = table.metadata
    if total is None:
        with pytest.raises(ConcurrentModification):
            late.commit()
        assert table.metadata == middle
        return
    late.commit()
    after = table.snapshot
    assert after.info is not None
    numbers = after.live_files.data
    assert len(set(after.files["path"].to_pylist())) == after.num_files
    assert int(after.info.summary["total-records"]) == sum(numbers["record_count"].to_pylist()) == total
    if after.metadata.format_version == 3:
        spans = sorted(zip(numbers["first_row_id"].to_pylist(), numbers["record_count"].to_pylist(), strict=True))
        assert all(first + count <= second for (first, count), (second, _) in zip(spans, spans[1:], strict=False))
        assert after.metadata.next_row_id >= spans[-1][0] + spans[-1][1]


def test_an_attempt_that_is_lost_costs_a_list_and_no_manifest(table: OwnTable) -> None:
    late = begin(table)
    append(20)(late, table)
    folder = table.folder / "metadata"
    seen: list[set[str]] = []

    def others_first(loaded: Any) -> Any:
        """Whenever the slower one decides, another append comes in before it commits."""
        seen.append({path.name for path in folder.glob("*-m*.avro")})
        if len(seen) <= 2:
            early = begin(table)
            append(100 * len(seen))(early, table)
            early.commit()
        return (), ()

    late.change_metadata(others_first)
    late.commit()
    manifests = {path.name for path in folder.glob("*-m*.avro")}
    assert len(seen) == 3 and len(manifests) == 5  # two from the table, two from others, one from us
    info = table.snapshot.info
    assert info is not None and info.summary["total-records"] == "50"
    lists = [path.name for path in folder.glob(f"snap-{info.snapshot_id}-*.avro")]
    assert len(lists) == 1 and lists[0].startswith(f"snap-{info.snapshot_id}-3-")


def test_a_dropped_table_takes_no_rows(table: OwnTable) -> None:
    late = begin(table)
    append(20)(late, table)
    table.snapshot.storage.delete_tree()
    OwnTable(table.folder, columns(id="long"))
    with pytest.raises(ConcurrentDrop):
        late.commit()
    assert table.snapshot.num_files == 0


# The columns of a table that replaces one with a column `id`; if old rows can be added to it.
LATER: dict[str, tuple[dict[str, str], bool]] = {
    "the same columns": ({"id": "long"}, True),
    "one more": ({"id": "long", "s": "string"}, True),
    "one more that is NOT NULL": ({"id": "long", "s": "string!"}, False),
    "the same one NOT NULL": ({"id": "long!"}, False),
    "another of its name": ({"id": "string"}, False),
    "others": ({"other": "long"}, False),
}


@pytest.mark.parametrize("case", LATER)
def test_rows_that_were_written_for_a_table_that_was_replaced(table: OwnTable, case: str) -> None:
    types, fits = LATER[case]
    late, early, read = begin(table), begin(table), table.snapshot
    append(20)(late, table)
    for step in (read_all, remove(0), remove(1)):
        step(early, table)
    early.define(read.replace_definition("t", columns(**types), (), [], {}))
    early.commit()
    middle = table.metadata
    if fits:
        late.commit()
        assert table.snapshot.num_files == 1
        return
    with pytest.raises(IcebergConflict, match="changed its columns"):
        late.commit()
    assert table.metadata == middle


def test_rows_for_a_partition_spec_that_was_removed(table: OwnTable) -> None:
    field = {"source-id": 1, "field-id": 1000, "name": "id_bucket", "transform": "bucket[4]"}
    added = AddSpec({"spec-id": 1, "fields": [field]})
    late, early = begin(table), begin(table)
    append(20)(late, table)
    early.change_metadata(lambda metadata: ((), (added, SetDefaultSpec(LAST_ADDED), RemovePartitionSpecs((0,)))))
    early.commit()
    with pytest.raises(IcebergConflict, match="removed the partition spec"):
        late.commit()


def test_a_column_that_came_since_does_not_stop_an_append(table: OwnTable) -> None:
    late = begin(table)
    append(20)(late, table)
    table.alter(AddColumn(field=StructField("s", PrimitiveType.STRING)))
    late.commit()
    assert table.metadata["snapshots"][-1]["schema-id"] == 1
    assert table.snapshot.num_files == 3
