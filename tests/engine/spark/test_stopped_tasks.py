"""Tasks end soon after their statement is canceled, for any computation; unstoppable ones are reported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

from catalog.conditions import StatementCancelled
from engine.planning.plans.file_writes import WriteTarget
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.jvm_statistics import read_jvm_statistics
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession, SparkDriver
from engine.sql.query.values import ExplainMode
from tests.engine.spark.scans import DataFile, rows, write_scan
from tests.gateway.http.conftest import eventually

pytestmark = pytest.mark.spark

MANY = "range(0, 1000000000000, 1, 2)"
DIGEST = "sha2(cast(id AS string), 256)"
LONG = {
    "range below an aggregate that is not generated code": f"SELECT max({DIGEST}) AS m FROM {MANY}",
    "rows of a range": f"SELECT {DIGEST} AS m FROM {MANY}",
    "sort": f"SELECT id FROM {MANY} ORDER BY {DIGEST}",
    "window over one partition": f"SELECT id, row_number() OVER (ORDER BY id % 7) AS n FROM {MANY}",
    "aggregate of objects": f"SELECT size(collect_list(id % 2)) AS n FROM {MANY}",
    "aggregate with keys": f"SELECT id % 1000 AS k, max({DIGEST}) AS m FROM {MANY} GROUP BY 1",
    "elements of one array": (
        "SELECT max(sha2(cast(x + y AS string), 256)) AS m FROM (SELECT explode(sequence(1, 1000000)) AS x "
        "FROM range(0, 2, 1, 2)) LATERAL VIEW explode(sequence(1, 1000000)) AS y"
    ),
    "lambda function in one row": (
        "SELECT aggregate(sequence(1L, 100000L), id, (a, x) -> a + aggregate(sequence(1L, 100000L), x, (b, y) -> "
        "greatest(b, y))) AS n FROM range(0, 2, 1, 2)"
    ),
    "lambda functions of a map and a comparison": (
        "SELECT transform_values(map_from_arrays(sequence(1, 50000 + id), sequence(1, 50000 + id)), (k, v) -> "
        "array_sort(sequence(1, 50000), (l, r) -> CAST(r - l AS INT))) AS n FROM range(0, 2, 1, 2)"
    ),
    "join with a condition that no row meets": (
        f"SELECT a.id FROM {MANY} a JOIN range(0, 1000000, 1, 2) b ON a.id % 3 = b.id % 3 AND a.id * b.id < 0"
    ),
}


Runner = Callable[[StatementRequest], object]


class Run:
    """A statement on a separate thread."""

    def __init__(self, run: Runner) -> None:
        self.context = StatementRequest(identity=Identity("ann"), on_rows=lambda _: None)
        self.error: BaseException | None = None
        self._run = run
        self.thread = threading.Thread(target=self._end)
        self.thread.start()

    def _end(self) -> None:
        try:
            self._run(self.context)
        except BaseException as error:  # noqa: BLE001  the test looks at it
            self.error = error


def tasks_running(driver: SparkDriver) -> int:
    return read_jvm_statistics(driver.process.driver.jvmStatistics()).tasks_running


def results(spark: ExecSession, folder: Path, plan: ReadPlan) -> Iterator[tuple[str, Runner]]:
    yield "whole", lambda context: spark.run_query(plan, context)
    yield "streamed", lambda context: spark.stream_query(plan, context)
    yield "written", lambda context: spark.write_files(plan, WriteTarget(folder=str(folder)), context)


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_cancelled_statement_frees_its_slots(
    spark: ExecSession, spark_driver: SparkDriver, tmp_path: Path, text: str
) -> None:
    for form, run in results(spark, tmp_path, ReadPlan(text=text, scans=())):
        running = Run(run)
        assert eventually(lambda: tasks_running(spark_driver) > 0), form
        running.context.cancel.cancel()
        running.thread.join(60)
        assert isinstance(running.error, StatementCancelled), form
        assert eventually(lambda: tasks_running(spark_driver) == 0), form
        assert eventually(lambda: spark_driver.process.driver.leftStatements() == ""), form
        assert not list(tmp_path.glob("**/*.parquet")), form
    assert rows(spark, "SELECT count(*) FROM range(0, 10, 1, 2)") == [(10,)]


def test_cancelled_statement_ends_within_a_batch_of_a_file(
    spark: ExecSession, spark_driver: SparkDriver, tmp_path: Path
) -> None:
    """Spark checks once per batch, with thousands of rows, which take minutes here."""
    scan = write_scan(tmp_path, {"id": "long"}, [DataFile(path="f.parquet", columns={"id": pa.array(range(4000))})])
    slow = "aggregate(sequence(1L, 5000000L), id, (a, x) -> greatest(a, x))"
    plan = ReadPlan(text=f"SELECT max({slow}) AS m FROM __scan_0", scans=(scan,))
    running = Run(lambda context: spark.run_query(plan, context))
    assert eventually(lambda: tasks_running(spark_driver) > 0), running.error
    running.context.cancel.cancel()
    running.thread.join(60)
    assert eventually(lambda: tasks_running(spark_driver) == 0)


def test_killed_tasks_harm_no_other_reader_of_the_same_file(
    spark: ExecSession, spark_driver: SparkDriver, tmp_path: Path
) -> None:
    """Decoded columns are cached and shared, and a reader may be ended while it fills the cache."""
    ids = range(200_000)
    columns = {"id": pa.array(ids), "s": pa.array([f"text {id % 1000}" for id in ids])}
    total = sum(ids)
    for round_number in range(40):
        path = f"{round_number // 4}.parquet"
        scan = write_scan(tmp_path, {"id": "long", "s": "string"}, [DataFile(path=path, columns=columns)])
        plan = ReadPlan(text="SELECT id, s, sha2(s, 512) AS h FROM __scan_0 ORDER BY h", scans=(scan,))
        running = Run(lambda context, plan=plan: spark.run_query(plan, context))  # type: ignore[misc]
        running.thread.join(round_number % 8 * 0.03)
        running.context.cancel.cancel()
        text = "SELECT sum(id), count(DISTINCT s), max(length(s)) FROM __scan_0"
        assert rows(spark, text, scan) == [(total, 1000, 8)], round_number
        running.thread.join(60)
        assert running.error is None or isinstance(running.error, StatementCancelled), running.error
    assert eventually(lambda: tasks_running(spark_driver) == 0)


def test_explain_shows_no_checks(spark: ExecSession) -> None:
    plan = ReadPlan(text=f"SELECT transform(array(id), x -> x + 1) FROM {MANY} ORDER BY 1", scans=())
    spark.set_setting("spark.sql.adaptive.enabled", "false")
    for mode in set(ExplainMode) - {ExplainMode.CODEGEN, ExplainMode.FORMATTED}:
        stream = spark.explain(plan, mode, "", StatementRequest(identity=Identity("ann")))
        text = pa.Table.from_batches(stream.batches(), stream.schema).column(0).to_pylist()[0]
        assert "Range" in text and "Checked" not in text, text


def test_task_that_waits_is_interrupted(spark_driver: SparkDriver) -> None:
    """It waits for an external event, and checks nothing meanwhile."""
    driver, jvm = spark_driver.process.driver, spark_driver.process.gateway.jvm
    session = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    context = session.sparkContext()

    def wait() -> None:
        context.setJobGroup("waiting", "", False)
        text = "SELECT java_method('java.lang.Thread', 'sleep', id) FROM range(1000000000000, 1000000000001, 1, 1)"
        with pytest.raises(Py4JJavaError, match="cancelled"):
            session.sql(text).collectAsList()

    assert eventually(lambda: tasks_running(spark_driver) == 0)  # earlier tests' tasks may still end
    thread = threading.Thread(target=wait)
    thread.start()
    assert eventually(lambda: tasks_running(spark_driver) == 1)
    context.cancelJobGroup("waiting")
    thread.join(60)
    # The server's own beat looks as well, so how many looks it takes here is not known.
    assert eventually(lambda: driver.leftStatements() == "" and tasks_running(spark_driver) == 0)
