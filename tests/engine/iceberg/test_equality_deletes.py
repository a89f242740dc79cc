"""DELETE, UPDATE, MERGE and REPLACE with active equality deletes: deleted rows stay deleted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.binding.bound import BoundTable
from engine.execution.writes.dml.equality_deletes import resolve_equality_deletes
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.spark.execution_context import ExecutionContext
from engine.tables.snapshot import TableSnapshot
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_row_changes import MODES
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

COLUMNS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "kind", "required": False, "type": "string"},
    {"id": 3, "name": "n", "required": False, "type": "int"},
]
SPECS = [
    {"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"source-id": 2, "field-id": 1000, "name": "kind", "transform": "identity"}]},
]


def _ints(values: Iterable[int | None]) -> pa.Array:
    return pa.array(values, pa.int32())


def _n(id: int) -> int | None:
    return None if id % 4 == 0 else id


def _new(lake: Path, name: str, version: int, mode: str) -> dict[int, tuple[str | None, int | None]]:
    """Two commits' rows, with deletes between them: global and per partition, with nulls, and for rows already deleted
    by position. DuckDB cannot read them: it does not compare nulls, and applies one partition's delete to all.
    """
    extra = {"next-row-id": 1000} if version == 3 else {}
    table = HandmadeTable(
        lake / name,
        columns=COLUMNS,
        version=version,
        specs=SPECS,
        partition=[(1000, "kind", "string")],
        properties=dict.fromkeys(MODES, mode),
        extra=extra,
    )

    def data(ids: range, kind: str | None) -> Any:
        first: dict[str, Any] = {"first_row_id": ids.start} if version == 3 else {}
        counts: dict[str, Any] = {"value_counts": {1: len(ids), 2: len(ids), 3: len(ids)}}
        values = {"id": list(ids), "kind": [kind] * len(ids), "n": _ints(_n(id) for id in ids)}
        return table.data(values, partition={"kind": kind}, **first, **counts)

    first = data(range(10), "a")
    table.commit(first, data(range(10, 20), None), spec=1)
    table.commit(table.equality({"n": _ints([3, 7, None])}, [3], {"n": 3}), operation="delete")
    table.commit(table.equality({"id": [1, 11]}, [1], {"id": 1}, partition={"kind": "a"}), spec=1, operation="delete")
    if version == 2:
        deleted = [table.positions([first["file_path"]] * 2, [2, 3], partition={"kind": "a"})]
    else:
        deleted = table.vectors({first["file_path"]: [2, 3]}, partition={"kind": "a"})
    table.commit(*deleted, spec=1, operation="delete")
    table.commit(data(range(20, 28), "a"), spec=1)
    gone = {0, 1, 2, 3, 4, 7, 8, 12, 16}
    kinds = dict.fromkeys(range(10), "a") | dict.fromkeys(range(10, 20)) | dict.fromkeys(range(20, 28), "a")
    return {id: (kind, _n(id)) for id, kind in kinds.items() if id not in gone}


def _read(session: LakeSession, name: str) -> dict[int, tuple[str | None, int | None]]:
    found = rows(session, f"SELECT id, kind, n FROM {name}")
    assert len({id for id, _, _ in found}) == len(found)
    return {id: (kind, n) for id, kind, n in found}


@pytest.mark.parametrize(("version", "mode"), [(2, "merge-on-read"), (3, "copy-on-write")])
def test_rows_are_changed_beside_equality_deletes(session: LakeSession, lake: Path, version: int, mode: str) -> None:
    name = f"keyed{version}{mode[:4]}"
    expected = _new(lake, name, version, mode)
    assert _read(session, name) == expected
    assert run(session, f"DELETE FROM {name} WHERE id IN (1, 3, 5, 13)") == 2
    expected = {id: row for id, row in expected.items() if id not in (5, 13)}
    assert _read(session, name) == expected
    assert run(session, f"UPDATE {name} SET n = 100 WHERE id IN (1, 2, 3, 6, 7, 24)") == 2
    expected |= {id: (expected[id][0], 100) for id in (6, 24)}
    assert _read(session, name) == expected
    merged = run(
        session,
        f"MERGE INTO {name} AS t USING (SELECT id FROM range(8, 12)) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET kind = 'm' WHEN NOT MATCHED THEN INSERT (id, kind, n) VALUES (s.id, 'new', 0)",
    )
    assert merged == 4
    expected |= {id: ("m", expected[id][1]) if id in expected else ("new", 0) for id in range(8, 12)}
    assert _read(session, name) == expected
    run(session, f"INSERT INTO {name} REPLACE WHERE id > 13 AND id < 18 SELECT 15L, 'r', 0")
    expected = {id: row for id, row in expected.items() if not 13 < id < 18} | {15: ("r", 0)}
    assert _read(session, name) == expected


def test_a_rewrite_resolves_them_and_keeps_row_ids(session: LakeSession, lake: Path) -> None:
    expected = _new(lake, "resolved", 3, "copy-on-write")
    options = "options => map('rewrite-all', 'true')"
    (answer,) = rows(session, f"CALL system.rewrite_data_files(table => 'resolved', {options})")
    assert answer[4] == 3
    assert _read(session, "resolved") == expected
    assert rows(session, "SELECT count(*) FROM resolved.delete_files") == [(0,)]
    assert all(id == row_id for id, row_id in rows(session, "SELECT id, _metadata.row_id FROM resolved"))


def test_explain_runs_nothing(session: LakeSession, lake: Path) -> None:
    _new(lake, "explained", 2, "copy-on-write")
    (text,) = rows(session, "EXPLAIN DELETE FROM explained WHERE id = 5")[0]
    assert "files with other rows are written again" in text


def test_another_writers_appends_do_not_repeat_the_search(
    session: LakeSession, lake: Path, engine: LakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that never pauses appends each time the deleted rows are searched."""
    expected = _new(lake, "contended", 2, "copy-on-write")
    other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    searches = []

    def resolve(table: BoundTable, context: ExecutionContext) -> TableSnapshot:
        searches.append(table.snapshot.version)
        run(other, f"INSERT INTO contended (id, kind, n) VALUES ({100 + len(searches)}, 'other', 0)")
        assert len(searches) < 10, "it never ends"
        return resolve_equality_deletes(table, context)

    monkeypatch.setattr("engine.execution.execute.resolve_equality_deletes", resolve)
    assert run(session, "DELETE FROM contended WHERE id = 5") == 1
    added = {100 + number: ("other", 0) for number in range(1, len(searches) + 1)}
    assert _read(session, "contended") == {id: row for id, row in expected.items() if id != 5} | added
    other.close()
