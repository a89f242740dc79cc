"""Column mapping set to none, or unset: the rows stay under their current names, in files without ids."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of

MODE = "delta.columnMapping.mode"
MAPPING_REMOVALS = {
    "set": f"SET TBLPROPERTIES ('{MODE}' = 'none')",
    "unset": f"UNSET TBLPROPERTIES ('{MODE}')",
    "set beside another": "SET TBLPROPERTIES ('DELTA.columnmapping.MODE' = 'NONE', 'mine' = '1')",
}


@pytest.mark.diagonals("removal", "mode", "layout", step=3)
@pytest.mark.parametrize("removal", MAPPING_REMOVALS)
@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("layout", ["", "PARTITIONED BY (p)"])
def test_the_mapping_goes_and_the_rows_stay(
    lake: Path, session: LakeSession, removal: str, mode: str, layout: str
) -> None:
    name = f"unmapped_{mode}_{removal.replace(' ', '_')}_{len(layout)}"
    run(
        session, f"CREATE TABLE {name} (a INT, p STRING, s STRUCT<x: INT>) {layout} TBLPROPERTIES ('{MODE}' = '{mode}')"
    )
    run(session, f"INSERT INTO {name} VALUES (1, 'u v', named_struct('x', 2)), (3, NULL, NULL)")
    run(session, f"ALTER TABLE {name} RENAME COLUMN a TO b")
    run(session, f"ALTER TABLE {name} RENAME COLUMN s.x TO y")
    run(session, f"ALTER TABLE {name} ADD COLUMN c INT")
    run(session, f"ALTER TABLE {name} {MAPPING_REMOVALS[removal]}")
    expected = [(1, "u v", {"y": 2}, None), (3, None, None, None)]
    assert rows(session, f"SELECT * FROM {name} ORDER BY b") == expected
    found = DeltaTable(lake / "default" / name)
    for path in found.file_uris():
        stored = pq.read_schema(unquote(path))
        assert "b" in stored.names and all(field.metadata is None for field in stored)
    committed = actions(lake, name, 5)
    assert not any(action["add"]["dataChange"] for action in committed if "add" in action)
    (metadata,) = [action["metaData"] for action in committed if "metaData" in action]
    assert "delta.columnMapping" not in metadata["schemaString"]
    assert metadata["configuration"] == {
        **({} if removal == "unset" else {MODE: "none"}),
        **({"mine": "1"} if "beside" in removal else {}),
    }
    (history,) = table(session, f"DESCRIBE HISTORY {name} LIMIT 1").to_pylist()
    assert history["operation"] == ("SET TBLPROPERTIES" if "beside" in removal else "REMOVE COLUMN MAPPING")
    assert int(dict(history["operationMetrics"])["numAddedFiles"]) == len(found.file_uris())
    run(session, f"INSERT INTO {name} VALUES (5, 'w', NULL, 6)")
    run(session, f"ALTER TABLE {name} SET TBLPROPERTIES ('{MODE}' = 'name')")
    assert rows(session, f"SELECT * FROM {name} ORDER BY b") == [*expected, (5, "w", None, 6)]


def test_names_that_only_the_mapping_allows_hold_it(lake: Path, session: LakeSession) -> None:
    run(session, f"CREATE TABLE odd_names (`a b` INT) TBLPROPERTIES ('{MODE}' = 'name')")
    error = refuse(session, f"ALTER TABLE odd_names {MAPPING_REMOVALS['set']}")
    assert error.condition == "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"
    assert version_of(lake, "odd_names") == 0


@pytest.mark.parametrize("removal", ["set", "unset"])
def test_a_table_without_mapping_is_left_as_it_is(lake: Path, session: LakeSession, removal: str) -> None:
    name = f"never_mapped_{removal}"
    run(session, f"CREATE TABLE {name} AS SELECT 1 AS a")
    run(session, f"ALTER TABLE {name} {MAPPING_REMOVALS[removal]}")
    assert version_of(lake, name) == (1 if removal == "set" else 0)
    assert rows(session, f"SELECT a FROM {name}") == [(1,)]
