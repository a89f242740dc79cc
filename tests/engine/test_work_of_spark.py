"""Row groups read and tasks run per statement, from Spark's own metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import run

pytestmark = pytest.mark.spark

GROUP, FILES, ROWS = 1000, 4, 20_000


@dataclass(frozen=True)
class Work:
    """Spark's work for a statement; `records` are rows read from files, before any filter."""

    records: int
    jobs: int
    tasks: int


@pytest.fixture(scope="module")
def lake(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeSession]:
    """Yields a session over `facts`, with `FILES` files and `GROUP` rows per row group, and `few`, with two ids per
    kind.
    """
    folder = tmp_path_factory.mktemp("row_groups")
    groups = WriterProperties(max_row_group_size=GROUP)
    for start in range(0, ROWS, ROWS // FILES):
        ids = pa.array(range(start, start + ROWS // FILES), pa.int64())
        write_deltalake(
            folder / "default" / "facts", pa.table({"id": ids, "x": ids}), mode="append", writer_properties=groups
        )
    kinds = {"id": [3, ROWS - 1, 1, None], "kind": ["a", "a", "b", "b"]}
    write_deltalake(folder / "default" / "few", pa.table(kinds, pa.schema([("id", pa.int64()), ("kind", pa.string())])))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield session
    session.close()


def worked(driver: SparkDriver, session: LakeSession, text: str) -> tuple[list[tuple[object, ...]], Work]:
    """Returns a query's rows, and Spark's work for it."""
    request = StatementRequest(identity=Identity("ann"))
    result = session.execute(text, request)
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    spark = (
        driver.process.gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get().sparkContext()
    )
    spark.listenerBus().waitUntilEmpty()
    store = spark.statusStore()
    jobs = [store.job(each) for each in spark.statusTracker().getJobIdsForGroup(request.statement_id)]
    stages = {job.stageIds().apply(at) for job in jobs for at in range(job.stageIds().size())}
    read = sum(store.lastStageAttempt(stage).inputRecords() for stage in stages)
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return rows, Work(records=read, jobs=len(jobs), tasks=sum(job.numCompletedTasks() for job in jobs))


def test_point_lookup_reads_one_row_group_in_one_task(spark_driver: SparkDriver, lake: LakeSession) -> None:
    rows, work = worked(spark_driver, lake, "SELECT x FROM facts WHERE id = 7777")
    assert rows == [(7777,)]
    assert work.tasks == 1 and 0 < work.records <= GROUP


def test_a_selective_join_reads_the_row_groups_of_its_keys(spark_driver: SparkDriver, lake: LakeSession) -> None:
    text = "SELECT sum(f.x), count(*) FROM facts f JOIN few d ON f.id = d.id WHERE d.kind = '{}'"
    rows, work = worked(spark_driver, lake, text.format("a"))
    assert rows == [(ROWS + 2, 2)]
    assert 2 <= work.records <= 2 * GROUP + 4
    rows, work = worked(spark_driver, lake, text.format("b"))
    assert rows == [(1, 1)]
    assert work.records <= GROUP + 4


def test_small_tables_are_joined_in_one_task(spark_driver: SparkDriver, lake: LakeSession) -> None:
    text = "SELECT a.kind, count(*) FROM few a LEFT JOIN few b ON a.id = b.id JOIN few c ON a.id = c.id GROUP BY a.kind"
    rows, work = worked(spark_driver, lake, text)
    assert sorted(rows) == [("a", 2), ("b", 1)]
    assert (work.jobs, work.tasks) == (1, 1)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("SELECT kind, count(*) AS c FROM few GROUP BY ROLLUP (kind)", [("a", 2), ("b", 2)]),
        ("SELECT kind, count(DISTINCT id) - count(DISTINCT kind) AS c FROM few GROUP BY kind", [("a", 1), ("b", 0)]),
    ],
)
@pytest.mark.parametrize("end", ["LIMIT 9", "ORDER BY kind", "UNION ALL SELECT kind, 1 FROM few WHERE id = -1 LIMIT 9"])
def test_expanded_rows_are_joined_in_one_task(
    spark_driver: SparkDriver, lake: LakeSession, rows: str, expected: list[tuple[str, int]], end: str
) -> None:
    text = f"SELECT kind, c FROM ({rows}) JOIN (SELECT DISTINCT kind FROM few) USING (kind) {end}"
    found, work = worked(spark_driver, lake, text)
    assert sorted(found, key=str) == expected
    assert (work.jobs, work.tasks) == (1, 1)


@pytest.fixture(scope="module")
def orders(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeSession]:
    """Yields a session over `items`, with eight rows for each of 100,000 orders, unordered in one file of some 11 MB,
    and `parts`.
    """
    folder = tmp_path_factory.mktemp("looked_up")
    random = np.random.default_rng(7)
    items, parts = 800_000, 500
    columns = {
        "id": np.repeat(np.arange(items // 8, dtype=np.int64), 8),
        "part": random.integers(0, parts, items),
        "wide": random.integers(0, 1 << 62, items),
    }
    shuffled = random.permutation(items)
    write_deltalake(
        folder / "default" / "items", pa.table({name: column[shuffled] for name, column in columns.items()})
    )
    names = {"part": range(parts), "name": [f"part {part}" for part in range(parts)]}
    write_deltalake(folder / "default" / "parts", pa.table(names))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield session
    session.close()


@pytest.mark.parametrize(
    ("condition", "count", "in_one_task"),
    [
        ("id = 4711", 8, True),
        ("id IN (1, 2, 99999, 100000)", 24, True),
        ("id = 50000 AND wide = 7", 0, True),
        ("part = 3", None, False),  # by minimum and maximum values, 1,600 rows
        ("id < 90000", None, False),
        ("name = 'part 3'", None, False),  # rows of the small side
    ],
)
def test_point_lookup_is_joined_in_one_task(
    spark_driver: SparkDriver, orders: LakeSession, condition: str, count: int | None, in_one_task: bool
) -> None:
    text = f"SELECT id, wide, name FROM items JOIN parts USING (part) WHERE {condition} ORDER BY wide"
    rows, work = worked(spark_driver, orders, text)
    assert (work.tasks == 1) == in_one_task
    assert count is None or len(rows) == count
    for setting in ("shuffle.partitions = 3", "adaptive.enabled = true"):
        run(orders, f"SET spark.sql.{setting}")
    again, others = worked(spark_driver, orders, text)
    for setting in ("shuffle.partitions", "adaptive.enabled"):
        run(orders, f"RESET spark.sql.{setting}")
    assert again == rows and others.tasks != 1  # none, if a join detects an empty side
