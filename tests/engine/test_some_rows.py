"""LIMIT without an order reads the files that have as many rows, and never answers fewer than there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.bench.sides import own_spark
from tests.engine.lake_sessions import run

pytestmark = pytest.mark.spark

# Partition, first id, end id.
FILES = (("a", 0, 6), ("a", 6, 56), ("b", 56, 556), ("b", 556, 562))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("some_rows")


@pytest.fixture(scope="module")
def lake(spark_driver: SparkDriver, folder: Path) -> Iterator[LakeSession]:
    """Yields a session over `parts` with `FILES`, where a deletion vector deletes one row, and `plain` with the same
    rows.
    """
    for name, partitions in (("parts", ["p"]), ("plain", None)):
        for partition, start, end in FILES:
            ids = pa.array(range(start, end), pa.int64())
            rows = pa.table({"id": ids, "p": pa.array([partition] * len(ids))})
            write_deltalake(folder / "default" / name, rows, mode="append", partition_by=partitions)
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "ALTER TABLE parts SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    run(session, "DELETE FROM parts WHERE id = 0")
    yield session
    session.close()


def answered(session: LakeSession, text: str) -> tuple[list[dict[str, Any]], list[int]]:
    """Returns the rows, and the number of files read per table."""
    request = StatementRequest(identity=Identity("ann"))
    result = session.execute(text, request)
    rows = pa.Table.from_batches(result.batches(), result.schema).to_pylist()
    result.close()
    return rows, [read.files for read in request.profile.reads]


CASES = (
    # a query, how many rows it answers, how many files it reads
    ("SELECT * FROM plain LIMIT 1", 1, 1),
    ("SELECT id + 1 AS n FROM plain LIMIT 50", 50, 1),
    ("SELECT * FROM plain LIMIT 551", 551, 3),
    ("SELECT * FROM plain LIMIT 562", 562, 4),
    ("SELECT * FROM plain LIMIT 1000", 562, 4),
    ("SELECT * FROM parts LIMIT 561", 561, 4),
    ("SELECT id FROM parts LIMIT 5", 5, 1),
    ("SELECT id FROM parts WHERE p = 'a' LIMIT 6", 6, 1),
    ("SELECT id FROM parts WHERE p = 'a' LIMIT 51", 51, 2),
    ("SELECT id FROM parts WHERE p = 'a' LIMIT 100", 55, 2),
    ("SELECT id FROM plain WHERE id >= 6 LIMIT 20", 20, 1),
    ("SELECT id FROM plain WHERE id > 6 LIMIT 20", 20, 1),  # the two files whose rows are all matched
    ("SELECT id FROM plain WHERE id > 555 LIMIT 7", 6, 1),
    ("SELECT id FROM plain WHERE id % 2 = 0 LIMIT 4", 4, 4),  # which rows have it is not known
    ("SELECT * FROM plain LIMIT 5 OFFSET 3", 5, 4),
    ("SELECT * FROM plain ORDER BY id LIMIT 3", 3, 4),
    ("SELECT count(*) FROM (SELECT * FROM plain LIMIT 7)", 1, 4),
)


@pytest.mark.parametrize(("text", "rows", "files"), CASES, ids=[text for text, _, _ in CASES])
def test_files_with_enough_rows_are_read(lake: LakeSession, text: str, rows: int, files: int) -> None:
    for _ in range(2):  # the second run uses a cached plan
        found, read = answered(lake, text)
        assert (len(found), read) == (rows, [files])
        assert len({tuple(row.values()) for row in found}) == rows


def test_a_subquery_over_the_same_table_reads_all_of_it(lake: LakeSession) -> None:
    for _ in range(2):
        rows, _ = answered(lake, "SELECT id, (SELECT max(id) FROM plain) AS most FROM plain LIMIT 3")
        assert [row["most"] for row in rows] == [561] * 3


def test_a_count_that_is_too_high_loses_no_rows(lake: LakeSession, folder: Path, spark_driver: SparkDriver) -> None:
    table = folder / "default" / "wrong"
    for start in (0, 10):
        write_deltalake(table, pa.table({"id": pa.array(range(start, start + 10), pa.int64())}), mode="append")
    commit = table / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            statistics = json.loads(action["add"]["stats"])
            action["add"]["stats"] = json.dumps(statistics | {"numRecords": 1000})
    commit.write_text("\n".join(map(json.dumps, actions)))
    assert DeltaTable(table).version() == 1
    for limit, expected in ((15, 15), (30, 20), (9, 9)):
        rows, _ = answered(lake, f"SELECT id FROM wrong LIMIT {limit}")
        assert len({row["id"] for row in rows}) == len(rows) == expected
    request = StatementRequest(identity=Identity("ann"))
    lake.execute("SELECT id + 1 FROM wrong LIMIT 16", request).close()
    spark = own_spark(spark_driver).sparkContext()
    spark.listenerBus().waitUntilEmpty()
    assert len(spark.statusTracker().getJobIdsForGroup(request.statement_id)) == 3, "all files are not for one task"
