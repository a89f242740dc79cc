"""A lake with change data feeds: `shop.sales`, written by deltalake, and the tables in `LOGGED`, written action by
action.
"""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.engine.feed_tables import FEATURES, FEED, LEGACY, MAPPED, FeedTable, column, inline, mapped


def set_commit_times(table: Path) -> None:
    """Sets file times to commit times, which other readers show."""
    for commit in sorted((table / "_delta_log").glob("*.json")):
        actions = (json.loads(line) for line in commit.read_text().splitlines())
        stamp = next(action["commitInfo"]["timestamp"] for action in actions if "commitInfo" in action)
        os.utime(commit, ns=(stamp * 1_000_000, stamp * 1_000_000))


def sales(*values: tuple[int, str | None, int]) -> pa.Table:
    ids, names, days = zip(*values, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array(names, pa.string()),
            "day": pa.array([date(2024, 1, day) for day in days], pa.date32()),
        }
    )


def write_sales(table: Path) -> None:
    """0 creates, 1 appends, 2 updates, 3 deletes, 4 merges, 5 overwrites, 6 deletes a whole partition, 7 compacts."""
    first = sales((1, "a", 1), (2, "b", 1), (3, None, 2), (4, "d", 2))
    write_deltalake(table, first, partition_by=["day"], configuration=FEED)
    write_deltalake(table, sales((5, "e", 3), (6, "f", 3)), mode="append")
    DeltaTable(table).update(updates={"name": "'x'"}, predicate="id % 2 = 0")
    DeltaTable(table).delete("id = 3")
    merge = DeltaTable(table).merge(sales((1, "merged", 1), (9, "new", 1)), "s.id = t.id", "s", "t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    write_deltalake(table, sales((7, "g", 2)), mode="overwrite", predicate="day = '2024-01-02'")
    DeltaTable(table).delete("day = '2024-01-03'")
    write_deltalake(table, sales((8, "h", 2)), mode="append")
    DeltaTable(table).optimize.compact()
    set_commit_times(table)


def write_vectors(folder: Path) -> None:
    """One file whose vector changes, in each commit in another way."""
    table = FeedTable(folder)
    ids = {"id": pa.array(range(10), pa.int64())}
    more = {"id": pa.array(range(100, 105), pa.int64())}
    stored, shared = table.vector_file([1, 2], [2, 3])
    table.commit({"protocol": FEATURES}, table.metadata(column("id", "long")), table.add("f", ids))
    table.commit(table.remove("f"), table.add("f", deletionVector=stored))
    table.commit(table.remove("f", deletionVector=stored), table.add("f", deletionVector=shared))
    table.commit(table.remove("f", deletionVector=shared), table.add("f"))
    table.commit(table.add("g", more, deletionVector=inline(0, 4)))
    table.commit(table.remove("g", deletionVector=inline(0, 4)), table.remove("f"))
    table.commit(table.add("f"), table.add("g"))
    table.commit(table.add("h", ids, dataChange=False), table.remove("f", dataChange=False))
    metrics = dict.fromkeys(("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"), "0")
    table.commit(
        {"commitInfo": {"operation": "MERGE", "operationMetrics": metrics}},
        table.remove("g"),
        table.add("k", more),
    )
    reported = {"id": pa.array([3, 3], pa.int64()), "_change_type": ["update_preimage", "update_postimage"]}
    table.commit(table.remove("h"), table.add("l", ids), table.cdc("_change_data/c", reported))
    table.commit(table.remove("l"), table.add("l"))
    table.commit(table.remove("k"), table.add("k", deletionVector=inline(1)), table.add("m", {"id": more["id"][:1]}))


A = pa.array([1, 2], pa.int64())
CHANGE_TYPES = ["delete", "insert"]


def write_partitions(folder: Path) -> None:
    """Partition values in every commit come from the log, not from folders or files."""
    table = FeedTable(folder)
    file, value = "day=1999-01-01/a%20b", {"day": "2024-02-29"}
    table.commit({"protocol": LEGACY}, table.metadata(column("day", "date"), column("id", "long"), partitions=["day"]))
    table.commit(table.add(file, {"id": A}, partitionValues=value))
    reported = {"id": A, "_change_type": CHANGE_TYPES, "day": [date(1970, 1, 1)] * 2}
    table.commit(table.cdc("_change_data/day=x/c", reported, partitionValues={"day": None}))
    table.commit({"remove": {"path": file, "dataChange": True, "partitionValues": value}})


def write_mapped(folder: Path) -> None:
    """Mapping is switched on, a column is added, then one renamed and one dropped."""
    table = FeedTable(folder)
    by_name = {**FEED, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    a, b, c = mapped("a", "a", 1), mapped("b", "b", 2), mapped("c", "col-1", 3)
    table.commit({"protocol": LEGACY}, table.metadata(column("a", "long"), column("b", "long")))
    table.commit(table.add("f", {"a": A, "b": A}))
    table.commit({"protocol": MAPPED}, table.metadata(a, b, configuration=by_name))
    table.commit(table.metadata(a, b, c, configuration=by_name), table.add("g", {"a": A, "b": A, "col-1": A}))
    table.commit(table.cdc("_change_data/c", {"a": A, "col-1": A, "_change_type": CHANGE_TYPES}))
    table.commit(table.metadata(a, mapped("z", "b", 2), c, configuration=by_name))
    table.commit(table.add("h", {"a": A, "b": A, "col-1": A}))
    table.commit(table.metadata(a, c, configuration=by_name), table.remove("h"))


def write_by_id(folder: Path) -> None:
    """Column mapping by field id; the column `_change_type` has no id."""
    table = FeedTable(folder)
    by_id = {**FEED, "delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "3"}
    inner = {"type": "struct", "fields": [mapped("y", "col-3", 3)]}
    columns = mapped("x", "col-1", 1), mapped("s", "col-2", 2, inner)
    y = pa.field("any", pa.int64(), metadata={"PARQUET:field_id": "3"})
    fields = [
        pa.field("other", pa.int64(), metadata={"PARQUET:field_id": "1"}),
        pa.field("another", pa.struct([y]), metadata={"PARQUET:field_id": "2"}),
    ]
    data = pa.table([A, [{"any": 5}, {"any": None}]], pa.schema(fields))
    table.commit({"protocol": MAPPED}, table.metadata(*columns, configuration=by_id))
    table.commit(table.add("f", data))
    table.commit(table.cdc("_change_data/c", data.append_column("_change_type", [CHANGE_TYPES])))


def write_widened(folder: Path) -> None:
    table = FeedTable(folder)
    widened = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    table.commit({"protocol": FEATURES}, table.metadata(column("a", "integer")))
    table.commit(table.add("f", {"a": pa.array([1, 2], pa.int32())}))
    table.commit(table.metadata(column("a", "long", **widened), column("s", "string")), table.add("g", {"a": A}))
    table.commit(table.remove("f"))


def write_switched(folder: Path) -> None:
    """The feed is disabled at first, enabled from version 2, and disabled from version 5."""
    table = FeedTable(folder)
    columns = (column("a", "long"),)
    table.commit({"protocol": LEGACY}, table.metadata(*columns, configuration={}), table.add("f", {"a": A}))
    table.commit(table.add("g", {"a": A}))
    table.commit(table.metadata(*columns))
    table.commit(table.remove("f"))
    table.commit({"commitInfo": {"operation": "WRITE"}})
    table.commit(table.metadata(*columns, configuration={}), table.remove("g"))


def write_replaced(folder: Path) -> None:
    """A column changes its type and back, and a file lacks a column that the log need not mention."""
    table = FeedTable(folder)
    table.commit({"protocol": LEGACY}, table.metadata(column("a", "long"), column("p", "string"), partitions=["p"]))
    table.commit(table.add("f", {"a": A}, partitionValues={"p": "x"}))
    table.commit(table.metadata(column("a", "string"), column("p", "string"), partitions=["p"]))
    table.commit(table.metadata(column("a", "long"), column("p", "string"), partitions=["p"]))
    table.commit({"remove": {"path": "f", "dataChange": True}})
    table.commit(table.add("g", {"a": A}, partitionValues={"p": "y"}))
    table.commit(table.remove("g", partitionValues={"p": "y"}))
    (folder / "g").unlink()


def write_counted(folder: Path) -> None:
    """Writes statistics for added files; version 3's do not hold for the row that version 3 deletes."""
    table = FeedTable(folder)
    files = {name: {"id": pa.array(ids, pa.int64())} for name, ids in (("f", [1, 2]), ("g", [11, 12]))}

    def counts(low: int, high: int, nulls: int = 0) -> str:
        bounds = {"minValues": {"id": low}, "maxValues": {"id": high}}
        return json.dumps({"numRecords": 2, **bounds, "nullCount": {"id": nulls}})

    table.commit({"protocol": FEATURES}, table.metadata(column("id", "long")))
    table.commit(table.add("f", files["f"], stats=counts(1, 2)), table.add("g", files["g"], stats=counts(11, 12)))
    table.commit(table.remove("f", stats=counts(1, 2)))
    table.commit(table.remove("g"), table.add("g", deletionVector=inline(0), stats=counts(12, 12)))
    table.commit(table.cdc("_change_data/c", {"id": A, "_change_type": CHANGE_TYPES}))


LOGGED = {
    "counted": write_counted,
    "vectors": write_vectors,
    "partitions": write_partitions,
    "mapped": write_mapped,
    "by_id": write_by_id,
    "widened": write_widened,
    "switched": write_switched,
    "replaced": write_replaced,
}
