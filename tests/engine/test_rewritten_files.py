"""UPDATE without deletion vectors: copy-on-write leaves other rows unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run
from tests.handmade import Part, column, protocol, write_table

pytestmark = pytest.mark.spark


def files_of(lake: Path, name: str, version: int) -> tuple[list[str], list[str]]:
    """Returns the files that a version added and removed."""
    log = actions(lake, name, version)
    return (
        [action["add"]["path"] for action in log if "add" in action],
        [action["remove"]["path"] for action in log if "remove" in action],
    )


def metrics(lake: Path, name: str, version: int) -> dict[str, int]:
    (info,) = [action["commitInfo"] for action in actions(lake, name, version) if "commitInfo" in action]
    return {key: int(value) for key, value in info["operationMetrics"].items()}


def test_a_file_comes_for_each_that_goes_with_its_rows_in_order(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE parts (k INT, p STRING) PARTITIONED BY (p)")
    for p in ("a", "", "c"):
        run(session, f"INSERT INTO parts SELECT /*+ COALESCE(1) */ CAST(id AS INT), '{p}' FROM range(10)")
    assert run(session, "UPDATE parts SET k = -k WHERE k % 3 = 1 AND coalesce(p, 'b') < 'c'") == 6
    added, removed = files_of(lake, "parts", 4)
    assert len(added) == len(removed) == 2 and sorted(map(folder, added)) == sorted(map(folder, removed))
    for path in added:
        found = pq.read_table(lake / "default" / "parts" / path.replace("%25", "%"), partitioning=None)
        assert found["k"].to_pylist() == [0, -1, 2, 3, -4, 5, 6, -7, 8, 9]
    reported = metrics(lake, "parts", 4)
    assert (reported["numUpdatedRows"], reported["numCopiedRows"], reported["numAddedFiles"]) == (6, 14, 2)
    assert run(session, "UPDATE parts SET p = 'd' WHERE k = 9") == 3
    assert rows(session, "SELECT p, count(*), sum(k) FROM parts GROUP BY p ORDER BY p") == [
        (None, 9, 12),
        ("a", 9, 12),
        ("c", 9, 36),
        ("d", 3, 27),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM {t} WHERE k % 3 = 1",
        "MERGE INTO {t} AS t USING (SELECT explode(array(1, 4, 7)) AS k) AS s ON t.k = s.k WHEN MATCHED THEN DELETE",
    ],
)
def test_rows_that_stay_are_copied_file_by_file(session: LakeSession, lake: Path, text: str) -> None:
    """Rows in one partition keep their order: nothing is shuffled."""
    name = f"copied_{text.partition(' ')[0].lower()}"
    run(session, f"CREATE TABLE {name} (k INT, p STRING) PARTITIONED BY (p)")
    for p in ("a", "", "c"):
        run(session, f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ CAST(id AS INT), '{p}' FROM range(10)")
    assert run(session, text.format(t=name)) == 9
    added, removed = files_of(lake, name, 4)
    assert len(removed) == 3 and sorted(map(folder, added)) == sorted(map(folder, removed))
    for path in added:
        found = pq.read_table(lake / "default" / name / path.replace("%25", "%"), partitioning=None)
        assert found["k"].to_pylist() == [0, 2, 3, 5, 6, 8, 9]
    expected = [(p, 7, 33) for p in (None, "a", "c")]
    assert rows(session, f"SELECT p, count(*), sum(k) FROM {name} GROUP BY p ORDER BY p") == expected


def folder(path: str) -> str:
    return path.partition("/")[0]


RULED = {
    "delta.constraints.positive": "n > 0",
    "delta.constraints.odd": "10 / (n - 7) <> 1000",
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
}


def write_ruled(root: Path) -> None:
    """Writes rows that violate the constraints, some deleted by a vector, and one with a materialized row id."""
    vector = inline_deletion_vector(np.array([0, 3], np.uint64))
    columns = [
        column("k", "integer"),
        {**column("n", "integer"), "nullable": False},
        {**column("v", "string"), "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}},
        {**column("c", "string"), "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}},
        column("w", "string"),
        column("g", "integer", delta_generationExpression="CAST(w AS INT)"),
        column("s", {"type": "struct", "fields": [{**column("x", "integer"), "nullable": False}]}),
    ]
    rows_of: dict[str, Any] = {
        "k": pa.array([0, 1, 2, 3, 4, 5], pa.int32()),
        "n": pa.array([1, 0, None, 1, 7, 3], pa.int32()),
        "v": ["1", "much too long", None, "1", "xx", "5"],
        "c": ["1  ", "longer", "1", "1  ", None, "5  "],
        "w": ["1", "no number", None, "1", "4", "5"],
        "g": pa.array([1, 99, 98, 1, None, 5], pa.int32()),
        "s": pa.array([{"x": 1}, {"x": None}, None, {"x": 1}, {"x": 4}, {"x": 5}], pa.struct([("x", pa.int32())])),
        "_row_id": pa.array([None, None, 100, None, None, None], pa.int64()),
        "_row_version": pa.array([None, None, 0, None, None, None], pa.int64()),
    }
    keys = {
        "baseRowId": 10,
        "defaultRowCommitVersion": 0,
        "stats": '{"numRecords":6}',
        "deletionVector": {
            "storageType": vector.storage_type,
            "pathOrInlineDv": vector.path_or_inline_dv,
            "sizeInBytes": vector.size_in_bytes,
            "cardinality": vector.cardinality,
        },
    }
    writer = ("rowTracking", "domainMetadata", "checkConstraints", "generatedColumns", "invariants")
    write_table(
        root,
        columns,
        [Part(name="a.parquet", rows=pa.table(rows_of), keys=keys)],
        configuration=RULED,
        table_protocol=protocol("deletionVectors", writer=writer),
    )


def test_copied_rows_may_violate_constraints(session: LakeSession, lake: Path) -> None:
    write_ruled(lake / "default" / "ruled")
    query = "SELECT k, n, v, c, w, g, s.x, _metadata.row_id, _metadata.row_commit_version FROM ruled ORDER BY k"
    before = {row[0]: row for row in rows(session, query)}
    assert sorted(before) == [1, 2, 4, 5]
    assert run(session, "UPDATE ruled SET v = string(60 div n), s.x = n WHERE k = 5") == 1
    assert rows(session, query) == [before[1], before[2], before[4], (5, 3, "20", "5  ", "5", 5, 3, 15, 1)]
    assert run(session, "UPDATE ruled SET w = c, c = 'a' WHERE n = 3") == 1
    assert rows(session, query) == [before[1], before[2], before[4], (5, 3, "20", "a  ", "5  ", 5, 3, 15, 2)]
    assert [len(files) for files in files_of(lake, "ruled", 2)] == [1, 1]
    for change, condition in (
        ("n = -1", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ("n = NULL", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),  # before NOT NULL, as in Delta
        ("s = named_struct('x', NULL)", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"),
        ("v = 'long'", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
        ("g = 6", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
    ):
        assert refuse(session, f"UPDATE ruled SET {change} WHERE k = 5").condition == condition, change
    assert len(rows(session, query)) == 4


def test_rows_of_row_scan_are_distinguished(session: LakeSession, lake: Path) -> None:
    """Spark's vectorized reader does not support more than 100 columns."""
    columns = ", ".join(f"id + {number} AS c{number}" for number in range(101))
    run(session, f"CREATE TABLE wide AS SELECT /*+ COALESCE(1) */ {columns} FROM range(50)")
    assert run(session, "UPDATE wide SET c100 = (SELECT -1) WHERE c0 % 10 = 4") == 5
    assert run(session, "UPDATE wide SET c100 = CAST(round(-2 - rand()) AS BIGINT) WHERE c0 IN (SELECT 7)") == 1
    expected = [(k, {4: -1}.get(k % 10, k + 100)) for k in range(50) if k != 7]
    assert rows(session, "SELECT c0, c100 FROM wide WHERE c0 <> 7 ORDER BY c0") == expected
    assert rows(session, "SELECT c100 IN (-2, -3), c99 FROM wide WHERE c0 = 7") == [(True, 106)]
    assert [len(files) for files in files_of(lake, "wide", 2)] == [1, 1]


def test_columns_of_all_kinds_keep_the_values_of_rows_that_stay(session: LakeSession) -> None:
    run(
        session,
        "CREATE TABLE odd (`a.b` INT, v VOID, m MAP<STRING, INT>, l ARRAY<STRUCT<x: INT NOT NULL>>, "
        "s STRUCT<y: INT, z: STRING>, t STRING, w VARIANT)",
    )
    values = "map('k', id), array(named_struct('x', id)), named_struct('y', id, 'z', 'z'), 'T', parse_json(string(id))"
    run(session, f"INSERT INTO odd SELECT /*+ COALESCE(1) */ id, NULL, {values} FROM range(4)")
    query = "SELECT `a.b`, v, m['k'], l[0].x, s.y, s.z, t, CAST(w AS INT) FROM odd ORDER BY `a.b`"
    expected: list[tuple[object, ...]] = [(k, None, k, k, k, "z", "T", k) for k in range(4)]
    assert rows(session, query) == expected
    assert run(session, "UPDATE odd SET m = map('k', 9), s.y = m['k'] + 5, v = NULL WHERE t = 'T' AND `a.b` = 2") == 1
    expected[2] = (2, None, 9, 2, 7, "z", "T", 2)
    assert rows(session, query) == expected
    assert run(session, "UPDATE odd SET l = NULL, w = parse_json('8'), t = 5, `a.b` = `a.b` + 40L WHERE `a.b` = 3") == 1
    expected[3] = (43, None, 3, None, 3, "z", "5", 8)
    assert rows(session, query) == expected
