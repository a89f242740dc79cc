"""Limits per statement: the size of values in its text, and the number of files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.conditions import ScanLimitExceeded, ValueTooLarge
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest, with_changes
from engine.spark.file_lists import ScannedBytes
from engine.spark.session import ExecSession, SparkDriver, SparkOptions, _conf
from engine.sql.query.values import ExplainMode
from engine.tables.scan import Scan
from engine.types.schema import StructType
from tests.bench.sides import own_spark
from tests.engine.spark.scans import DataFile, write_scan

CONTEXT = StatementRequest(identity=Identity("ann"))


@pytest.fixture
def sales(tmp_path: Path) -> Scan:
    files = [DataFile(path=f"{name}.parquet", columns={"id": [1, 2]}) for name in "abc"]
    return write_scan(tmp_path / "sales", {"id": "long"}, files)


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "repeat('x', 1000000000)",
        "repeat(repeat('x', 100000), 100000)",
        "repeat('xyz', 1000 * 1000 * 1000)",
        "space(1000000000)",
        "rpad('a', 300000000, ' ')",
        "size(array_repeat(id, 100000000))",
        "size(sequence(1, 1000000000))",
        "size(sequence(1000000000, 0, -2))",
        "length(repeat('x', length(repeat('y', 1000000000))))",
    ],
)
def test_a_value_that_its_text_makes_too_large_is_refused(spark: ExecSession, sales: Scan, text: str) -> None:
    plan = ReadPlan(text=f"SELECT {text} FROM {sales.relation}", scans=(sales,))
    with pytest.raises(ValueTooLarge):
        spark.run_query(plan, CONTEXT)


@pytest.mark.spark
def test_large_values_that_are_no_bombs_are_made(spark: ExecSession, sales: Scan) -> None:
    text = (
        "SELECT length(repeat('x', 1000000)), size(sequence(1, 100000)), size(sequence(0, 9000000000, 1000000000)),"
        " length(repeat('x', CAST(id AS INT))), lpad('7', 3, '0'), length(repeat('', 2000000000))"
        f" FROM {sales.relation}"
    )
    result = spark.run_query(ReadPlan(text=text, scans=(sales,)), CONTEXT)
    rows = pa.Table.from_batches(result.batches(), result.schema).to_pylist()
    assert tuple(rows[0].values()) == (1_000_000, 100_000, 10, 1, "007", 0)
    result.close()


@pytest.mark.spark
def test_more_files_than_the_limit_are_refused_before_they_are_read(spark: ExecSession, sales: Scan) -> None:
    size = sum(sales.files["size"].to_pylist())
    text = f"SELECT count(*) FROM {sales.relation} a JOIN {sales.relation} b USING (id)"
    plan = ReadPlan(text=text, scans=(sales,))
    with pytest.raises(ScanLimitExceeded) as caught:
        spark.run_query(plan, with_changes(CONTEXT, scan_bytes_max=size - 1))
    assert (caught.value.sqlstate, caught.value.size, caught.value.limit) == ("54000", size, size - 1)
    few = with_changes(CONTEXT, scan_bytes_max=1)
    assert spark.explain(plan, ExplainMode.SIMPLE, "", few).has_rows  # reads nothing
    spark.run_query(plan, with_changes(CONTEXT, scan_bytes_max=size, pool="etl")).close()


def test_repeated_file_counts_once_for_scan_limit() -> None:
    files = pa.table({"path": ["a", "b", "c"], "size": [10, 20, 40]})
    scan = Scan(
        relation="s",
        label="s",
        table_root="/t",
        schema=StructType(()),
        partition_columns=(),
        files=files,
    )
    other, counted = replace(scan, relation="o"), ScannedBytes(70)
    for rows in (pa.array([0, 1]), pa.array([1]), pa.array([0, 2]), None):
        counted.add(scan, rows)
    with pytest.raises(ScanLimitExceeded):
        counted.add(other, pa.array([0]))
    ScannedBytes(0).add(scan, None)


def test_weighted_pools_share_jobs_fairly(tmp_path: Path) -> None:
    conf = _conf(SparkOptions(pools={"etl": 3}), tmp_path)
    written = Path(conf["spark.scheduler.allocation.file"].removeprefix("file://")).read_text()
    for name, weight in (("default", 1), ("etl", 3)):
        assert f'<pool name="{name}"><schedulingMode>FAIR</schedulingMode><weight>{weight}</weight></pool>' in written


@pytest.mark.spark
def test_statements_of_all_sessions_share_one_pool(spark_driver: SparkDriver) -> None:
    """Spark decides between pools, and one pool's stages, by their names as texts if none has a running task."""
    context = own_spark(spark_driver).sparkContext()
    assert context.getPoolForName("default").get().schedulingMode().toString() == "FAIR"
    pools, digits = set(), set()
    for session in (spark_driver.open_session(), spark_driver.open_session()):
        ran = StatementRequest(identity=Identity("ann"))
        session.run_query(ReadPlan(text="SELECT sum(id) FROM range(10)", scans=()), ran).close()
        context.listenerBus().waitUntilEmpty()
        store, jobs = context.statusStore(), context.statusTracker().getJobIdsForGroup(ran.statement_id)
        stage = store.job(jobs[0]).stageIds().head()
        pools.add(store.lastStageAttempt(stage).schedulingPool())
        digits.add(len(str(stage)))
        session.close()
    assert pools == {"default"}
    assert digits == {10}, "of the largest number that Spark can count up to"
