"""Columns that are added with required fields, and dropped after they were partitioned by: other readers agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.test_required_fields import read_alike
from tests.engine.iceberg.test_row_changes import newest_metadata
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

ADDED: list[tuple[str, str, dict[str, Any]]] = [
    # the column, a value, the same as Python shows it
    ("t STRUCT<x: INT NOT NULL, y: STRING>", "named_struct('x', 2, 'y', NULL)", {"x": 2, "y": None}),
    ("t STRUCT<i: STRUCT<x: INT NOT NULL> NOT NULL>", "named_struct('i', named_struct('x', 1))", {"i": {"x": 1}}),
]


@pytest.mark.parametrize(("number", "version"), [(0, 1), (0, 2), (1, 3)])
def test_optional_struct_with_required_fields_is_added(
    session: LakeSession, lake: Path, number: int, version: int
) -> None:
    added, value, shown = ADDED[number]
    name = f"added{number}v{version}"
    run(session, f"CREATE TABLE {name} (id INT) USING iceberg TBLPROPERTIES ('format-version' = '{version}')")
    run(session, f"INSERT INTO {name} VALUES (1), (2)")
    run(session, f"ALTER TABLE {name} ADD COLUMN {added}")
    run(session, f"INSERT INTO {name} VALUES (3, {value})")
    assert read_alike(session, lake, name) == [[1, None], [2, None], [3, [*map(_pair, shown.items())]]]
    run(session, f"UPDATE {name} SET id = id + 10 WHERE id <> 2")
    assert rows(session, f"SELECT * FROM {name} ORDER BY id") == [(2, None), (11, None), (13, shown)]
    assert read_alike(session, lake, name) == [[2, None], [11, None], [13, [*map(_pair, shown.items())]]]


def _pair(item: tuple[str, object]) -> list[object]:
    name, value = item
    return [name, [*map(_pair, value.items())] if isinstance(value, dict) else value]


def test_struct_with_required_fields_is_added_to_a_struct_and_in_lists(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE inner_ones (id INT, s STRUCT<a: INT>) USING iceberg")
    run(session, "INSERT INTO inner_ones VALUES (1, named_struct('a', 1)), (2, NULL)")
    run(session, "ALTER TABLE inner_ones ADD COLUMN s.u STRUCT<x: INT NOT NULL>")
    run(session, "ALTER TABLE inner_ones ADD COLUMN l ARRAY<STRUCT<x: INT NOT NULL>>")
    run(session, "UPDATE inner_ones SET id = id + 10")
    expected = [(11, {"a": 1, "u": None}, None), (12, None, None)]
    assert rows(session, "SELECT * FROM inner_ones ORDER BY id") == expected
    path = newest_metadata(lake, "inner_ones")
    assert open_duckdb().execute(f"SELECT * FROM iceberg_scan('{path}') ORDER BY id").fetchall() == expected
    for column in ("n INT NOT NULL", "n STRUCT<x: INT NOT NULL> NOT NULL", "s.u.y INT NOT NULL", "s.y INT NOT NULL"):
        error = refuse(session, f"ALTER TABLE inner_ones ADD COLUMN {column}")
        assert f"The column {column.split()[0]} cannot be added as NOT NULL" in str(error)


def test_delta_table_has_no_added_struct_with_required_fields(session: LakeSession) -> None:
    """Existing rows would need a value for it."""
    run(session, "CREATE TABLE kept_delta (id INT)")
    error = refuse(session, "ALTER TABLE kept_delta ADD COLUMN t STRUCT<x: INT NOT NULL>")
    assert "The column t.x cannot be added as NOT NULL" in str(error)


def _read_by_both(session: LakeSession, lake: Path, name: str) -> list[tuple[Any, ...]]:
    """Returns a table's rows, if we and pyiceberg agree. DuckDB 1.5 aborts on such tables, also on Java's."""
    found = StaticTable.from_metadata(str(newest_metadata(lake, name))).scan().to_arrow().sort_by("id")
    ours = rows(session, f"SELECT * FROM {name} ORDER BY id")
    assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == ours
    return ours


@pytest.mark.parametrize(
    ("version", "mode", "terms"),
    [
        (1, "copy-on-write", "d, bucket(2, e)"),
        (2, "merge-on-read", "d, bucket(2, e)"),
        (2, "copy-on-write", "bucket(2, d)"),
        (3, "merge-on-read", "truncate(10, d)"),
    ],
)
def test_column_of_an_earlier_spec_is_dropped(
    session: LakeSession, lake: Path, version: int, mode: str, terms: str
) -> None:
    name = f"dropped{version}{mode[:4]}"
    settings = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    run(
        session,
        f"CREATE TABLE {name} (id INT, d INT, e INT) USING iceberg PARTITIONED BY ({terms})"
        f" TBLPROPERTIES ('format-version' = '{version}', {settings})",
    )
    run(session, f"INSERT INTO {name} SELECT id, id % 3, id % 2 FROM range(12)")
    assert refuse(session, f"ALTER TABLE {name} DROP COLUMN d").condition == "ICEBERG_COLUMN_IN_USE"
    run(session, f"ALTER TABLE {name} DROP PARTITION FIELD {terms.replace(', bucket(2, e)', '')}")
    run(session, f"INSERT INTO {name} VALUES (20, 1, 1)")
    run(session, f"ALTER TABLE {name} DROP COLUMN d")
    expected = [*((id, id % 2) for id in range(12)), (20, 1)]
    assert _read_by_both(session, lake, name) == sorted(expected)
    run(session, f"INSERT INTO {name} VALUES (21, 0)")
    run(session, f"DELETE FROM {name} WHERE id IN (3, 4)")
    run(session, f"UPDATE {name} SET e = 9 WHERE id = 5")
    run(session, f"DELETE FROM {name} WHERE id = 6")
    expected = [row for row in [*expected, (21, 0)] if row[0] not in (3, 4, 5, 6)] + [(5, 9)]
    assert _read_by_both(session, lake, name) == sorted(expected)
    assert sum(row[0] for row in rows(session, f"SELECT record_count FROM {name}.files WHERE content = 0")) >= 11
    run(session, f"ALTER TABLE {name} ADD COLUMN {'d' if version > 1 else 'another'} STRING")
    run(session, f"CALL system.rewrite_manifests(table => '{name}')")
    assert _read_by_both(session, lake, name) == sorted((*row, None) for row in expected)
    run(session, f"CALL system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    assert _read_by_both(session, lake, name) == sorted((*row, None) for row in expected)
