"""Written manifests, read by us, pyiceberg and DuckDB: retained, rewritten and merged ones."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.iceberg.writing.manifest_list_writer import NewSnapshot, write_manifest_list
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.writing.commits import commit, entries, ids_by_all, loaded, staged

COLUMNS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "d", "required": False, "type": "date"},
    {"id": 3, "name": "s", "required": False, "type": "string"},
]
FIELDS = [
    {"source-id": 2, "field-id": 1000, "name": "d month", "transform": "month"},
    {"source-id": 3, "field-id": 1001, "name": "s", "transform": "identity"},
]


def _table(folder: Path, version: int) -> HandmadeTable:
    table = HandmadeTable(folder, version=version, columns=COLUMNS, specs=[{"spec-id": 0, "fields": FIELDS}])
    if version == 1:
        schema = {"type": "struct", "schema-id": 0, "fields": COLUMNS}
        table.extra |= {"schema": schema, "partition-spec": FIELDS}
    table.write()
    return table


def _files(table: HandmadeTable, *ids: int) -> pa.Table:
    """Returns a file with two rows for each id, in separate partitions."""
    rows = [table.data({"id": [id, -id], "d": pa.array([id, id], pa.date32()), "s": [f"s{id}"] * 2}) for id in ids]
    values = {
        "p1000": pa.array([None if id == 1 else id for id in ids], pa.int64()),
        "p1001": pa.array([b"" if id == 1 else f"s{id}".encode() for id in ids], pa.binary()),
    }
    return entries(rows, values=values)


def _bytes(table: HandmadeTable, path: str) -> bytes:
    return (table.folder / path.removeprefix(f"{table.location}/")).read_bytes()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_history_reads_alike(tmp_path: Path, version: int) -> None:
    table = _table(tmp_path, version)
    for number, ids in enumerate([(1, 2, 3), (4, 5)], 1001):
        manifests = staged(table, number)
        manifests.add(_files(table, *ids))
        commit(table, manifests)
    before = loaded(table)
    remaining = {each.path: _bytes(table, each.path) for each in before.manifests}

    manifests = staged(table, 1003)
    manifests.add(_files(table, 6))
    gone = before.live_files.data.filter(pa.compute.is_in(before.live_files.data["p1000"], pa.array([2, 3])))
    manifests.remove(gone)
    found = commit(table, manifests, "overwrite")
    assert (found.num_created, found.num_reused, found.num_replaced, found.missing) == (2, 1, 1, ())
    assert ids_by_all(table) == [sorted([1, -1, 4, -4, 5, -5, 6, -6])] * 3
    assert all(_bytes(table, path) == data for path, data in remaining.items())
    rewritten = next(each for each in loaded(table).manifests if each.deleted[0])
    assert (rewritten.added, rewritten.existing, rewritten.deleted) == ((0, 0), (1, 2), (2, 4))
    after = {row["p1000"]: row for row in loaded(table).live_files.data.to_pylist()}
    number = 1 if version > 1 else 0
    assert (after[None]["sequence_number"], after[None]["file_sequence_number"]) == (number, number)
    assert after[None]["snapshot_id"] == 1001
    if version == 3:
        known = {row["p1000"]: row["first_row_id"] for row in before.live_files.data.to_pylist()}
        assert {key: after[key]["first_row_id"] for key in (None, 4, 5)} == {key: known[key] for key in (None, 4, 5)}

    table.properties["commit.manifest.min-count-to-merge"] = "2"
    found = commit(table, staged(table, 1004), "replace")
    assert (len(found.manifests), found.num_replaced) == (1, 3)
    assert ids_by_all(table) == [sorted([1, -1, 4, -4, 5, -5, 6, -6])] * 3
    row_ids = {row["p1000"]: row["first_row_id"] for row in loaded(table).live_files.data.to_pylist()}
    assert row_ids == {key: after[key]["first_row_id"] for key in row_ids}
    assert table.snapshots[-1]["summary"]["total-records"] == "8"


def test_summaries_of_partitions_tell_nulls_and_bounds(tmp_path: Path) -> None:
    table = _table(tmp_path, 2)
    manifests = staged(table, 1001)
    manifests.add(_files(table, 3, 1, 2))
    commit(table, manifests)
    (manifest,) = loaded(table).manifests
    month, text = manifest.partitions
    assert (month.contains_null, month.lower, month.upper) == (True, b"\2\0\0\0", b"\3\0\0\0")
    assert (text.contains_null, text.contains_nan, text.lower, text.upper) == (False, False, b"", b"s3")


def test_the_example_of_row_ids(tmp_path: Path) -> None:
    """The specification's example in "First Row ID Assignment"."""
    table = _table(tmp_path, 3)
    manifests = staged(table, 1001)
    manifests.add(_files(table, 1))
    (one,) = manifests.on([]).manifests
    listed = [
        replace(one, added=(1, 100), existing=(1, 25)),
        replace(one, added=(0, 0), existing=(1, 100)),
        replace(one, added=(1, 125), existing=(1, 25)),
        replace(one, has_deletes=True),
        replace(one, first_row_id=7),
    ]
    new = NewSnapshot(snapshot_id=1001, parent_id=None, sequence_number=1, next_row_id=1000)
    written = write_manifest_list(manifests.storage, manifests.table, listed, new)
    assert [each.first_row_id for each in written.manifests] == [1000, 1125, 1225, None, 7]
    assert (written.first_row_id, written.added_rows) == (1000, 375)


def test_another_attempt_writes_no_manifest_again(tmp_path: Path) -> None:
    table = _table(tmp_path, 2)
    manifests = staged(table, 1001)
    manifests.add(_files(table, 1, 2))
    commit(table, manifests)
    first = loaded(table)
    late = staged(table, 1003)
    late.add(_files(table, 3))
    late.remove(first.live_files.data.slice(0, 1))
    late.on(first.manifests)
    written = {path: _bytes(table, f"{table.location}/{path}") for path in late.written}
    other = staged(table, 1002)
    other.add(_files(table, 4))
    commit(table, other)
    commit(table, late, "overwrite")
    assert set(late.written) == set(written)
    assert all(_bytes(table, f"{table.location}/{path}") == data for path, data in written.items())
    assert sorted(map(abs, ids_by_all(table)[0])) == sorted(map(abs, ids_by_all(table)[1]))
    assert {row["sequence_number"] for row in loaded(table).live_files.data.to_pylist()} == {1, 2, 3}


def test_missing_file_is_reported(tmp_path: Path) -> None:
    table = _table(tmp_path, 2)
    manifests = staged(table, 1001)
    manifests.add(_files(table, 1, 2))
    commit(table, manifests)
    gone = loaded(table).live_files.data.slice(0, 1)
    for number, missing in ((1002, ()), (1003, tuple(gone["file_path"].to_pylist()))):
        again = staged(table, number)
        again.remove(gone)
        assert commit(table, again, "delete").missing == missing


def test_manifests_are_cut_at_their_target_size(tmp_path: Path) -> None:
    table = _table(tmp_path, 2)
    table.properties |= {
        "commit.manifest.target-size-bytes": "5000",
        "write.manifest.compression-codec": "uncompressed",
    }
    (file,) = _files(table, 2).to_pylist()
    paths = [f"{table.location}/data/{'x' * 100}{number}.parquet" for number in range(2000)]
    manifests = staged(table, 1001)
    manifests.add(
        entries(
            [file | {"file_path": path} for path in paths],
            values={"p1000": pa.array([5] * 2000), "p1001": pa.array([b"a"] * 2000)},
        )
    )
    found = commit(table, manifests)
    assert len(found.manifests) > 3
    assert sum(each.added[0] or 0 for each in found.manifests) == 2000
    assert sorted(loaded(table).live_files.data["file_path"].to_pylist()) == sorted(paths)


def test_deletes_of_a_data_file_go_with_it(tmp_path: Path) -> None:
    table = HandmadeTable(tmp_path, version=3)
    table.write()
    manifests = staged(table, 1001)
    data = [table.data({"id": [number, 2]}) for number in range(3)]
    manifests.add(entries(data))
    commit(table, manifests)
    manifests = staged(table, 1002)
    paths = [each["file_path"] for each in data]
    manifests.add(entries(table.vectors({paths[0]: [0], paths[1]: [1]})))
    assert commit(table, manifests, "delete").added.dvs == 2
    manifests = staged(table, 1003)
    live = loaded(table).live_files
    manifests.remove(live.data.slice(0, 1))
    found = commit(table, manifests, "delete")
    assert (found.removed.dvs, found.removed.data_files, found.removed.position_deletes) == (1, 1, 1)
    assert loaded(table).live_files.deletes["referenced_data_file"].to_pylist() == [paths[1]]
    assert table.snapshots[-1]["summary"]["total-delete-files"] == "1"


def test_deletes_that_still_apply_stay(tmp_path: Path) -> None:
    """A delete manifest is rewritten: entries older than every data file are removed, but not those for a file in a
    manifest that is rewritten too.
    """
    table = HandmadeTable(tmp_path)
    table.write()
    first, second, third = (table.data({"id": [number, 10 + number]}) for number in range(3))
    steps = [
        [first, second],
        [
            table.equality({"id": [10]}, [1]),
            table.positions([second["file_path"]], [0], referenced_data_file=second["file_path"]),
        ],
        [third],
    ]
    for number, files in enumerate(steps, 1001):
        manifests = staged(table, number)
        manifests.add(entries(files))
        commit(table, manifests)
    for number, gone, deletes in ((1004, "second", 1), (1005, "first", 1)):
        manifests = staged(table, number)
        data = loaded(table).live_files.data
        path = {"second": second, "first": first}[gone]["file_path"]
        manifests.remove(data.filter(pa.compute.equal(data["file_path"], path)))
        commit(table, manifests, "delete")
        assert loaded(table).live_files.deletes.num_rows == deletes


def test_several_partition_fields_have_the_same_type(tmp_path: Path) -> None:
    kinds = {"price": "decimal(9, 2)", "paid": "decimal(9, 2)", "key": "uuid", "other": "uuid"}
    columns: list[dict[str, Any]] = [
        {"id": id, "name": name, "required": False, "type": kind} for id, (name, kind) in enumerate(kinds.items(), 2)
    ]
    fields = [
        {"source-id": each["id"], "field-id": 998 + each["id"], "name": each["name"], "transform": "identity"}
        for each in columns
    ]
    table = HandmadeTable(tmp_path, columns=[COLUMNS[0], *columns], specs=[{"spec-id": 0, "fields": fields}])
    table.write()
    values = [b"\xfe\0", b"\2\0", bytes(range(16)), bytes(range(1, 17))]
    rows = {
        "id": [1, 2],
        **{
            name: pa.array([Decimal(text)] * 2, pa.decimal128(9, 2))
            for name, text in (("price", "-5.12"), ("paid", "5.12"))
        },
        **{
            name: pa.array([value] * 2, pa.binary(16)) for name, value in zip(("key", "other"), values[2:], strict=True)
        },
    }
    manifests = staged(table, 1001)
    manifests.add(
        entries([table.data(rows)], values={f"p{1000 + at}": pa.array([each]) for at, each in enumerate(values)})
    )
    commit(table, manifests)
    assert ids_by_all(table) == [[1, 2]] * 3
