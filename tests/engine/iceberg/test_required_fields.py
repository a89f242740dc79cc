"""Structs with required fields: written by every statement; NULL if the struct itself may be null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_row_changes import MODES, newest_metadata
from tests.engine.iceberg.writing.commits import commit, entries, staged
from tests.engine.lake_sessions import refuse, rows, run
from tests.samples import with_slow

pytestmark = pytest.mark.spark

STRUCT = "STRUCT<a: INT NOT NULL, b: STRING>"
SHAPES = [
    # type, a value, the same in Python, a value with an invalid NULL, its path
    (STRUCT, "named_struct('a', 1, 'b', NULL)", {"a": 1, "b": None}, "named_struct('a', NULL, 'b', 'x')", "s.a"),
    (
        f"STRUCT<i: {STRUCT}>",
        "named_struct('i', named_struct('a', 1, 'b', 'x'))",
        {"i": {"a": 1, "b": "x"}},
        "named_struct('i', named_struct('a', NULL, 'b', 'x'))",
        "s.i.a",
    ),
    (f"STRUCT<i: {STRUCT}>", "named_struct('i', NULL)", {"i": None}, None, None),
    (f"STRUCT<i: {STRUCT} NOT NULL>", "NULL", None, "named_struct('i', NULL)", "s.i"),
    (
        f"ARRAY<{STRUCT}>",
        "array(named_struct('a', 1, 'b', NULL), NULL)",
        [{"a": 1, "b": None}, None],
        "array(named_struct('a', NULL, 'b', 'x'))",
        "s.element.a",
    ),
    (
        f"ARRAY<STRUCT<i: {STRUCT}>>",
        "array(named_struct('i', NULL), named_struct('i', named_struct('a', 1, 'b', 'x')))",
        [{"i": None}, {"i": {"a": 1, "b": "x"}}],
        "array(named_struct('i', named_struct('a', NULL, 'b', 'x')))",
        "s.element.i.a",
    ),
    (
        f"MAP<STRING, {STRUCT}>",
        "map('k', named_struct('a', 1, 'b', 'x'))",
        [("k", {"a": 1, "b": "x"})],
        "map('k', named_struct('a', NULL, 'b', 'x'))",
        "s.value.a",
    ),
]
# Shapes where pyiceberg reads NULL as an empty list or map, for any writer.
EMPTY = (4, 5, 6)


def _plain(value: Any) -> Any:
    """Returns structs and maps as lists with names and values: readers return dicts, or lists of pairs."""
    if isinstance(value, dict):
        return [[name, _plain(each)] for name, each in value.items()]
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def read_alike(session: LakeSession, lake: Path, name: str) -> list[Any]:
    """Returns a table's rows, if we, pyiceberg and DuckDB agree."""
    path = newest_metadata(lake, name)
    ours: list[Any] = _plain(rows(session, f"SELECT * FROM {name} ORDER BY id"))
    assert _plain(open_duckdb().execute(f"SELECT * FROM iceberg_scan('{path}') ORDER BY id").fetchall()) == ours
    found = StaticTable.from_metadata(str(path)).scan().to_arrow().sort_by("id")
    assert _plain(list(zip(*(column.to_pylist() for column in found.columns), strict=True))) == ours
    return ours


@pytest.mark.parametrize(
    ("number", "mode"),
    with_slow([*((number, "copy-on-write") for number in range(len(SHAPES))), (1, "merge-on-read")], slow=(1, 2, 5)),
)
def test_statements_write_structs_with_required_fields(
    session: LakeSession, lake: Path, number: int, mode: str
) -> None:
    type_, good, shown, bad, path = SHAPES[number]
    name = f"required{number}{mode[:4]}"
    settings = ", ".join(f"'{key}' = '{mode}'" for key in MODES)
    run(session, f"CREATE TABLE {name} (id INT, s {type_}) USING iceberg TBLPROPERTIES ({settings})")
    run(session, f"INSERT INTO {name} VALUES (1, {good}), (2, NULL)")
    run(session, f"INSERT INTO {name} SELECT id + 2, s FROM {name}")
    run(session, f"UPDATE {name} SET id = id + 10 WHERE id IN (1, 2)")
    run(session, f"UPDATE {name} SET s = NULL WHERE id = 3")
    run(session, f"UPDATE {name} SET s = {good} WHERE id = 4")
    run(
        session,
        f"MERGE INTO {name} t USING (SELECT * FROM {name}) x ON t.id = x.id AND x.id = 11"
        " WHEN MATCHED THEN UPDATE SET id = 21 WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id + 100, x.s)",
    )
    run(session, f"DELETE FROM {name} WHERE id = 103")
    run(session, f"CALL system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    expected = [(3, None), (4, shown), (12, None), (21, shown), (104, shown), (112, None)]
    if number in EMPTY:
        run(session, f"DELETE FROM {name} WHERE s IS NULL")
        expected = [row for row in expected if row[1] is not None]
    assert read_alike(session, lake, name) == _plain(expected)
    if bad is None:
        return
    for statement in (
        f"INSERT INTO {name} VALUES (5, {bad})",
        f"INSERT INTO {name} SELECT 5, {bad} FROM range(2)",
        f"UPDATE {name} SET s = {bad}",
        f"MERGE INTO {name} t USING range(1) x ON t.id = x.id WHEN NOT MATCHED THEN INSERT (id, s) VALUES (1, {bad})",
    ):
        error = refuse(session, statement)
        assert (error.condition, f"column: {path}." in str(error)) == ("NOT_NULL_ASSERT_VIOLATION", True)
    assert rows(session, f"SELECT * FROM {name} ORDER BY id") == expected


def test_field_of_null_struct_is_assigned_only_with_its_required_siblings(session: LakeSession) -> None:
    run(session, "CREATE TABLE sided (id INT, s STRUCT<a: INT NOT NULL, b: INT>) USING iceberg")
    run(session, "INSERT INTO sided VALUES (1, NULL)")
    assert "column: s.a." in str(refuse(session, "UPDATE sided SET s.b = 2"))
    run(session, "UPDATE sided SET s.b = 2, s.a = 1")
    assert rows(session, "SELECT * FROM sided") == [(1, {"a": 1, "b": 2})]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_table_of_another_writer_with_a_required_field_is_changed(
    session: LakeSession, lake: Path, version: int
) -> None:
    inner = {"id": 3, "name": "a", "required": True, "type": "int"}
    columns = [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "s", "required": False, "type": {"type": "struct", "fields": [inner]}},
    ]
    name = f"others{version}"
    table = HandmadeTable(lake / name, columns=columns, version=version)
    table.write()
    manifests = staged(table, 1001)
    type_ = pa.struct([pa.field("a", pa.int32(), nullable=False, metadata={"PARQUET:field_id": "3"})])
    values = pa.array([{"a": 1}, None], type_)
    manifests.add(entries([table.data({"id": [1, 2], "s": values})]))
    commit(table, manifests)
    run(session, f"UPDATE {name} SET id = id + 10")
    run(session, f"INSERT INTO {name} SELECT id + 10, s FROM {name}")
    assert read_alike(session, lake, name) == _plain([(11, {"a": 1}), (12, None), (21, {"a": 1}), (22, None)])


def test_delta_table_demands_the_parent_of_a_required_field(session: LakeSession) -> None:
    run(session, f"CREATE TABLE demanding (id INT, s {STRUCT})")
    run(session, "INSERT INTO demanding VALUES (1, named_struct('a', 1, 'b', 'x'))")
    run(session, "UPDATE demanding SET id = 2")
    error = refuse(session, "UPDATE demanding SET s = NULL")
    assert (error.condition, "column: s.a." in str(error)) == ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", True)
