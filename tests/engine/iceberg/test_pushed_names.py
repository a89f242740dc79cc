"""Filters on columns read by field id are pushed to row groups, even if their names differ in the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.iceberg.snapshot.column_names import pushable_names
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType
from engine.main import LakeSession
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import refuse, rows, run

CASES: dict[str, tuple[dict[int, dict[int, str]], dict[int, str]]] = {
    "plain": ({0: {1: "a", 2: "b"}}, {1: "a", 2: "b"}),
    "added": ({0: {1: "a"}, 1: {1: "a", 2: "b"}}, {1: "a", 2: "b"}),
    "renamed": ({0: {1: "a", 2: "b"}, 1: {1: "c", 2: "b"}}, {2: "b"}),
    "swapped": ({0: {1: "a", 2: "b"}, 1: {1: "b", 2: "a"}}, {}),
    "made again": ({0: {1: "a", 2: "b"}, 1: {2: "b"}, 2: {2: "b", 3: "a"}}, {2: "b"}),
    "but for case": ({0: {1: "a"}, 1: {2: "A"}}, {}),
    "a schema is gone": ({1: {1: "a"}}, {}),
    "one between is gone": ({0: {1: "a"}, 2: {1: "a"}}, {}),
    "spelled by writers": ({0: {1: "a b", 2: "é", 3: "c"}}, {3: "c"}),
}


def struct(names: dict[int, str]) -> StructOfType:
    long = SimpleType(Kind.LONG)
    return StructOfType(tuple(IcebergField(id=id, name=name, required=False, type=long) for id, name in names.items()))


@pytest.mark.parametrize("case", CASES)
def test_a_name_is_pushed_that_never_meant_another_column(case: str) -> None:
    schemas, expected = CASES[case]
    found = {
        schema_id: IcebergSchema(schema_id=schema_id, struct=struct(names)) for schema_id, names in schemas.items()
    }
    assert pushable_names(found) == expected


def broken_in_its_second_group(table: HandmadeTable, values: dict[str, Any]) -> dict[str, Any]:
    """Returns a file with two row groups, the second undecodable."""
    entry = table.data(values)
    path = table.folder / entry["file_path"].removeprefix(f"{table.location}/")
    pq.write_table(pq.read_table(path), path, row_group_size=10, compression="none", use_dictionary=False)
    group, data = pq.read_metadata(path).row_group(1), bytearray(path.read_bytes())
    start = group.column(0).data_page_offset
    data[start : start + 12] = b"\xff" * 12  # a page header
    path.write_bytes(data)
    return {**entry, "file_size_in_bytes": len(data)}


@pytest.mark.spark
def test_row_groups_are_left_out(session: LakeSession, lake: Path) -> None:
    columns = [{"id": 1, "name": "id", "required": False, "type": "long"}]
    table = HandmadeTable(lake / "groups", columns=columns)
    table.commit(broken_in_its_second_group(table, {"id": pa.array(range(20), pa.int64())}))
    assert rows(session, "SELECT count(*), sum(id) FROM groups WHERE id < 10") == [(10, 45)]
    refuse(session, "SELECT sum(id) FROM groups WHERE id < 11")
    table.evolve([{"id": 2, "name": "id", "required": False, "type": "long"}])
    assert rows(session, "SELECT count(*) FROM groups WHERE id IS NULL AND id + 1 IS NULL") == [(20,)]


@pytest.mark.spark
def test_a_join_leaves_out_files(session: LakeSession, lake: Path) -> None:
    """The join finds its keys at run time: the files without any of them no longer exist."""
    table = HandmadeTable(lake / "facts")
    files = []
    for first in range(0, 500, 100):  # few files are read sooner than a join can leave them out
        bounds: dict[str, Any] = {
            name: {1: value.to_bytes(8, "little")}
            for name, value in (("lower_bounds", first), ("upper_bounds", first + 9))
        }
        files.append(table.data({"id": pa.array(range(first, first + 10), pa.int64())}, **bounds))
    table.commit(*files)
    run(session, "CREATE TABLE few AS SELECT 3L AS id, 'x' AS name UNION ALL SELECT 4L, 'y'")
    for file in files[1:]:
        (table.folder / file["file_path"].removeprefix(f"{table.location}/")).unlink()
    query = "SELECT /*+ BROADCAST(few) */ sum(facts.id) FROM facts JOIN few ON facts.id = few.id WHERE few.name > 'a'"
    assert rows(session, query) == [(7,)]
    refuse(session, "SELECT sum(id) FROM facts")
