"""Queries whose first rows are read before the last are computed."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from catalog.conditions import ResultTooLarge, StatementCancelled
from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.spark.session import ExecSession, SparkDriver
from tests.engine.spark.scans import query

pytestmark = pytest.mark.spark

# Takes about a millisecond. A query that ends immediately has no rows to stream before its end.
SLOW_ROW = "aggregate(sequence(1L, 20000L), id, (a, b) -> greatest(a, b))"
# The rows from 50,000 on are slow.
SLOW = f"SELECT if(id < 50000, id, {SLOW_ROW}) AS n "


class Run:
    """A query on a separate thread, which announces its first rows."""

    def __init__(self, spark: ExecSession, text: str, result_bytes_max: int = 1 << 30) -> None:
        self.streams: list[ResultStream] = []
        self._changed = threading.Condition()
        self.columns: list[str] = []
        self.context = StatementRequest(
            identity=Identity("ann"),
            on_columns=self._tell_columns,
            on_rows=self._tell,
            result_bytes_max=result_bytes_max,
        )
        self.outcome: ResultStream | BaseException | None = None
        self._spark, self._text = spark, text
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _tell(self, stream: ResultStream) -> None:
        with self._changed:
            self.streams.append(stream)
            self._changed.notify_all()

    def _tell_columns(self, stream: ResultStream) -> None:
        with self._changed:
            self.columns = stream.schema.names
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            self.outcome = self._spark.stream_query(ReadPlan(text=self._text, scans=()), self.context)
        except SqlError as error:
            self.outcome = error
        with self._changed:
            self._changed.notify_all()

    def stream(self) -> ResultStream:
        """Returns the announced rows' stream, or the complete one if the query ended first."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.streams or self.outcome is not None, 60)
        stream = self.streams[0] if self.streams else self.outcome
        assert isinstance(stream, ResultStream), stream
        return stream

    def wait_for_columns(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.columns or self.outcome is not None, 60)

    def end(self) -> ResultStream | BaseException | None:
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.outcome


def test_columns_are_known_before_the_first_row(spark: ExecSession) -> None:
    run = Run(spark, f"SELECT sum({SLOW_ROW}) AS n, 1 AS one FROM range(0, 1000000, 1, 2)")
    run.wait_for_columns()
    assert (run.columns, run.streams, run.outcome) == (["n", "one"], [], None)
    run.context.cancel.cancel()
    assert isinstance(run.end(), StatementCancelled)


def test_the_first_rows_are_there_while_the_others_are_computed(spark: ExecSession, spark_driver: SparkDriver) -> None:
    run = Run(spark, SLOW + "FROM range(0, 100000, 1, 2)")
    batches = run.stream().batches()
    first = next(batches)
    assert run.outcome is None and run.thread.is_alive()
    assert first.column(0).to_pylist() == list(range(first.num_rows))
    run.context.cancel.cancel()
    with pytest.raises(StatementCancelled):
        list(batches)
    assert isinstance(run.end(), StatementCancelled)
    assert not list(spark_driver.spool_dir.iterdir())


@pytest.mark.parametrize("partitions", [1, 7])
def test_all_rows_come_once_and_in_order(spark: ExecSession, spark_driver: SparkDriver, partitions: int) -> None:
    text = f"SELECT id, repeat('x', 20) AS s FROM range(0, 400000, 1, {partitions}) WHERE id % 5 <> 3"
    text += f" AND (id < 399700 OR {SLOW_ROW} > 0)"
    run = Run(spark, text)
    seen = pa.Table.from_batches(run.stream().batches())
    assert run.end() is run.streams[0] and len(run.streams) == 1
    assert seen.equals(query(spark, text))
    assert not list(spark_driver.spool_dir.iterdir())


def test_partitions_that_fit_in_memory_come_before_those_in_files(spark: ExecSession) -> None:
    """The first two have few rows, the third none, the fourth many. Repeated many times, since tasks end while others
    write.
    """
    streams = 0
    for minimum in range(20):
        text = "SELECT id FROM range(0, 400000, 1, 4) WHERE id < 3 OR id BETWEEN 100000 AND 100005 OR id > 300000"
        text += f" AND (id < 399990 OR {SLOW_ROW} > {-minimum})"
        run = Run(spark, text)
        seen = [row for batch in run.stream().batches() for row in batch.column(0).to_pylist()]
        run.end()
        streams += len(run.streams)
        assert len(run.streams) <= 1
        assert seen == [0, 1, 2, *range(100000, 100006), *range(300001, 400000)]
    assert streams, "each query had ended before it told of rows"


def test_small_result_is_not_streamed(spark: ExecSession) -> None:
    run = Run(spark, "SELECT id FROM range(0, 1000, 1, 3)")
    result = run.end()
    assert isinstance(result, ResultStream) and not run.streams
    assert sum(batch.num_rows for batch in result.batches()) == 1000


def test_a_failure_after_the_first_rows_is_that_of_the_result(spark: ExecSession, spark_driver: SparkDriver) -> None:
    failing = f"if(id < 89700, id, if(id < 90000, {SLOW_ROW}, raise_error('no row ' || id)))"
    run = Run(spark, f"SELECT {failing} AS n FROM range(0, 100000, 1, 1)")
    batches = run.stream().batches()
    with pytest.raises(SqlError) as failed:
        list(batches)
    assert run.end() is failed.value and "no row 9" in str(failed.value)
    assert not list(spark_driver.spool_dir.iterdir())


def test_a_result_that_grows_over_its_limit_fails(spark: ExecSession) -> None:
    text = "SELECT repeat('x', 100) AS s FROM range(0, 200000, 1, 1) "
    text += f"WHERE id NOT BETWEEN 20000 AND 20300 OR {SLOW_ROW} > 0"
    run = Run(spark, text, result_bytes_max=4_000_000)
    with pytest.raises(ResultTooLarge):
        list(run.stream().batches())
    assert isinstance(run.end(), ResultTooLarge)
