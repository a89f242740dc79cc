"""Null counts for arrays and maps: written into statistics, and used by reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import actions, run

pytestmark = pytest.mark.spark

COLUMNS = "id INT, l ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<l: ARRAY<STRUCT<x: INT>>, t: STRUCT<m: MAP<INT, INT>>>"
ROWS = {
    # part -> rows
    1: [
        "1, array(), map(), named_struct('l', array(), 't', named_struct('m', map()))",
        "2, array(1, NULL), map('a', NULL), named_struct('l', NULL, 't', NULL)",
    ],
    2: [
        "3, NULL, NULL, NULL",
        "4, NULL, map('a', 1), named_struct('l', array(NULL), 't', named_struct('m', NULL))",
        "5, array(2), NULL, named_struct('l', NULL, 't', named_struct('m', map(1, 1)))",
    ],
    3: ["6, NULL, NULL, NULL", "7, NULL, NULL, named_struct('l', NULL, 't', NULL)"],
}
COUNTS = {
    1: {"l": 0, "m": 0, "s.l": 1, "s.t.m": 1},
    2: {"l": 2, "m": 2, "s.l": 2, "s.t.m": 2},
    3: {"l": 2, "m": 2, "s.l": 2, "s.t.m": 2},
}
LAYOUTS = {
    "plain": ("", ""),
    "parted": (", p INT", "PARTITIONED BY (p)"),
    "mapped": (", p INT", "PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"),
}


def _at(tree: Any, path: str) -> Any:
    for name in path.split("."):
        tree = tree[name]
    return tree


@pytest.fixture(scope="module", params=LAYOUTS)
def table(request: pytest.FixtureRequest, engine: Any) -> str:
    """Creates a table with three files, from three INSERTs or from one."""
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    columns, layout = LAYOUTS[request.param]
    run(session, f"CREATE TABLE {request.param} ({COLUMNS}{columns}) {layout}")
    if columns:
        rows = ", ".join(f"({row}, {part})" for part, found in ROWS.items() for row in found)
        run(session, f"INSERT INTO {request.param} VALUES {rows}")
    else:
        for found in ROWS.values():
            run(session, f"INSERT INTO {request.param} SELECT * FROM VALUES {', '.join(f'({row})' for row in found)}")
    session.close()
    return str(request.param)


def _by_logical_name(lake: Path, table: str) -> dict[int, Any]:
    """Returns each part's statistics by logical name."""
    schema = json.loads(next(a["metaData"] for a in actions(lake, table, 0) if "metaData" in a)["schemaString"])
    found = {}
    for version in range(1, len(list((lake / "default" / table / "_delta_log").glob("*.json")))):
        for add in (action["add"] for action in actions(lake, table, version) if "add" in action):
            stats = _renamed(json.loads(add["stats"])["nullCount"], schema["fields"])
            part = int(next(iter(add["partitionValues"].values()), version))
            found[part] = {path: _at(stats, path) for path in COUNTS[part]}
    return found


def _renamed(counts: Any, fields: list[dict[str, Any]]) -> Any:
    renamed = {}
    for field in fields:
        name = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
        if name in counts:
            inner = isinstance(counts[name], dict)
            renamed[field["name"]] = _renamed(counts[name], field["type"]["fields"]) if inner else counts[name]
    return renamed


def test_files_say_how_many_are_null(lake: Path, table: str) -> None:
    """An empty array and an array with nulls are values; a null struct's fields are null."""
    assert _by_logical_name(lake, table) == COUNTS


@pytest.mark.parametrize(
    ("condition", "ids", "files"),
    [
        ("l IS NULL", [3, 4, 6, 7], 2),
        ("l IS NOT NULL", [1, 2, 5], 2),
        ("m IS NULL", [3, 5, 6, 7], 2),
        ("m IS NOT NULL", [1, 2, 4], 2),
        ("s.l IS NULL", [2, 3, 5, 6, 7], 3),
        ("s.t.m IS NOT NULL", [1, 5], 2),
        ("size(l) = 0", [1], None),
    ],
)
def test_conditions_leave_out_files_by_them(
    session: LakeSession, table: str, condition: str, ids: list[int], files: int | None
) -> None:
    request = StatementRequest(identity=Identity("ann"))
    result = session.execute(f"SELECT id FROM {table} WHERE {condition}", request)
    found = pa.Table.from_batches(result.batches(), result.schema)["id"].to_pylist()
    result.close()
    assert sorted(found) == ids
    (read,) = request.profile.reads
    assert files in (None, read.files)
