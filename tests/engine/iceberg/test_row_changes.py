"""DELETE, UPDATE and MERGE of Iceberg tables: after each, every reader finds the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.writing.commits import commit, entries, staged
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

COLUMNS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "name", "required": False, "type": "string"},
]
MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")


def _new(lake: Path, name: str, version: int, mode: str, **properties: str) -> HandmadeTable:
    """Three files of four rows."""
    settings = dict.fromkeys(MODES, mode) | properties
    table = HandmadeTable(lake / name, columns=COLUMNS, version=version, properties=settings)
    table.write()
    manifests = staged(table, 1001)
    files = [
        table.data({"id": list(range(start, start + 4)), "name": [f"n{id}" for id in range(start, start + 4)]})
        for start in (0, 4, 8)
    ]
    manifests.add(entries(files))
    commit(table, manifests)
    return table


def _newest(lake: Path, name: str) -> Path:
    return max((lake / name / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))


def read_by_all(session: LakeSession, lake: Path, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, if we, pyiceberg and DuckDB agree."""
    path = _newest(lake, name)
    ours = sorted(rows(session, f"SELECT * FROM {name}"), key=str)
    theirs = open_duckdb().execute(f"SELECT * FROM iceberg_scan('{path}')").fetchall()
    found = StaticTable.from_metadata(str(path)).scan().to_arrow()
    assert sorted(theirs, key=str) == ours
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=str) == ours
    return ours


@pytest.mark.parametrize(
    ("version", "mode"), [(2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]
)
def test_rows_are_changed(session: LakeSession, lake: Path, version: int, mode: str) -> None:
    name = f"changed{version}{mode[:4]}"
    _new(lake, name, version, mode)
    expected = {id: f"n{id}" for id in range(12)}
    run(session, f"DELETE FROM {name} WHERE id IN (1, 5) OR id >= 8")
    expected = {id: each for id, each in expected.items() if id not in (1, 5) and id < 8}
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    run(session, f"UPDATE {name} SET name = upper(name) WHERE id % 2 = 0")
    expected |= {id: f"N{id}" for id in expected if id % 2 == 0}
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    run(
        session,
        f"MERGE INTO {name} AS t USING (SELECT id + 2 AS id FROM range(8)) AS s ON t.id = s.id"
        " WHEN MATCHED AND t.id = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new')",
    )
    expected |= {id: "m" if id in expected else "new" for id in range(2, 10)}
    del expected[4]
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    run(session, f"DELETE FROM {name}")
    assert read_by_all(session, lake, name) == []
