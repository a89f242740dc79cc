"""ANALYZE … FOR COLUMNS: distinct values are counted, shown, stored without harm to other readers, and used in
planning.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeEngine, LakeSession
from engine.pruning.estimates import DistinctCount
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import rows, run
from tests.engine.lake_sessions import table as table_of

pytestmark = pytest.mark.spark

FILE = "_delta_log/_gateway/column_statistics.json"


def counted(session: LakeSession, table: str) -> dict[str, str]:
    """Returns the distinct counts from DESCRIBE EXTENDED."""
    described = rows(session, f"DESCRIBE EXTENDED {table}")
    starts = [at for at, row in enumerate(described) if row[0] == "# Column Statistics"]
    return {row[0]: row[1] for row in described[starts[0] + 2 :]} if starts else {}


def folder(session: LakeSession) -> Path:
    ((location,),) = zip(table_of(session, "DESCRIBE DETAIL t")["location"].to_pylist(), strict=True)
    return Path(str(location).removeprefix("file:"))


def expected(session: LakeSession, text: str) -> int:
    """Returns Spark's estimated row count for a query."""
    ((plan,),) = rows(session, f"EXPLAIN COST {text}")
    found = re.search(r"Statistics\(sizeInBytes=[^,]*, rowCount=([^,)]*)", str(plan))
    assert found is not None, plan
    return round(float(found[1]))


@pytest.fixture
def table(session: LakeSession) -> LakeSession:
    run(session, "DROP TABLE IF EXISTS t")
    run(
        session,
        "CREATE TABLE t (id BIGINT, k INT, s STRING, m DECIMAL(9,2), a ARRAY<INT>, n STRUCT<x: INT>)",
    )
    values = (
        "id, CAST(id % 7 * 1000 AS INT), 's' || id % 5, CAST(id % 3 AS DECIMAL(9,2)), array(1), named_struct('x', 1)"
    )
    run(session, f"INSERT INTO t SELECT {values} FROM range(200)")
    return session


def test_counts_are_shown_and_no_version_is_made(table: LakeSession) -> None:
    before = DeltaTable(folder(table)).version()
    assert counted(table, "t") == {}
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS")
    assert counted(table, "t") == {}
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS S, n.x")
    assert counted(table, "t") == {"s": "5"}
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS k, m")
    assert counted(table, "t") == {"k": "7", "s": "5", "m": "3"}
    assert rows(table, "DESCRIBE EXTENDED t k")[-1] == ("distinct_count", "7")
    assert ("distinct_count", "7") not in rows(table, "DESCRIBE t k")
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert counted(table, "t").keys() == {"id", "k", "s", "m"} and abs(int(counted(table, "t")["id"]) - 200) < 20
    assert DeltaTable(folder(table)).version() == before and len(DeltaTable(folder(table)).to_pyarrow_table()) == 200
    run(table, "VACUUM t")
    assert (folder(table) / FILE).exists()


def test_another_server_finds_them(table: LakeSession) -> None:
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS k")
    assert load_snapshot(str(folder(table))).distinct_counts.columns == {"k": DistinctCount(7, 200)}


def test_joins_and_groups_are_planned_by_them(table: LakeSession) -> None:
    """Spark estimates a join by the larger distinct count, and groups by their distinct count."""
    join = "SELECT count(*) FROM t a JOIN t b ON a.s = b.s GROUP BY a.k, a.m"
    groups = "SELECT a.s, count(*) FROM t a JOIN t b ON a.id = b.id GROUP BY a.s"
    assert expected(table, groups) > 100
    before = expected(table, join)
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS s, k, m")
    assert expected(table, f"{groups} HAVING true") == 5
    assert expected(table, f"{join} HAVING true") == 21 < before
    assert len(rows(table, groups)) == 5
    for _ in range(10):
        run(table, "INSERT INTO t SELECT id, 1, 's', 1, NULL, NULL FROM range(300)")
    assert expected(table, groups) > 1000, "of so many rows nobody has counted any"


def test_columns_after_analysis(table: LakeSession) -> None:
    run(table, "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS k, s")
    run(table, "ALTER TABLE t RENAME COLUMN k TO kk")
    run(table, "ALTER TABLE t DROP COLUMN s")
    run(table, "ALTER TABLE t ADD COLUMN s STRING")
    assert counted(table, "t") == {"kk": "7"}
    file = folder(table) / FILE
    value = json.loads(file.read_text())
    column = value["columns"]["k"]
    odd: tuple[object, ...] = (
        [],
        {**value, "tableId": "another"},
        {**value, "columns": []},
        {**value, "columns": {"k": 7}},
        {**value, "columns": {"k": {**column, "type": "BIGINT"}}},
        {**value, "columns": {"k": {**column, "distinct": "7"}}},
        {**value, "columns": {"k": {**column, "distinct": 10**6}}},
    )
    for texts in (*map(json.dumps, odd), "no JSON"):
        file.write_text(texts)
        run(table, "INSERT INTO t (id) VALUES (1)")
        assert counted(table, "t") == {}, texts
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS kk")
    assert counted(table, "t") == {"kk": "7"}


def test_column_statistics_are_hidden_by_policies(engine: LakeEngine, table: LakeSession) -> None:
    run(table, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS k")
    run(table, "CREATE OR REPLACE FUNCTION few(k INT) RETURNS BOOLEAN RETURN k < 3000")
    run(table, "ALTER TABLE t SET ROW FILTER few ON (k)")
    other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    assert counted(other, "t") == {} and len(rows(other, "SELECT DISTINCT k FROM t")) == 3
    other.close()
    run(table, "ALTER TABLE t DROP ROW FILTER")
