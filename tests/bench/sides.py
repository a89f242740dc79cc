"""Two sides for a measurement in one Spark: the gateway's pipeline, and Spark's own reader on the same files."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver, SparkOptions
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS
from engine.tables.scan import TableRead


@contextmanager
def two_core_spark(memory: str = "2g", shuffle_partitions: int = 4) -> Iterator[SparkDriver]:
    """Yields a Spark with two cores, which ends with the block."""
    driver = SparkDriver.start(
        SparkOptions(
            master="local[2]", driver_memory=memory, conf={"spark.sql.shuffle.partitions": str(shuffle_partitions)}
        ),
        allowed_functions=ALLOWED_FUNCTIONS,
        allowed_table_functions=ALLOWED_TABLE_FUNCTIONS,
    )
    try:
        yield driver
    finally:
        driver.stop()


def open_lake(driver: SparkDriver, folder: Path) -> LakeSession:
    """Returns a session over a folder's tables."""
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), driver)
    return engine.open_session(Identity("bench"), settings={}, catalog=None, schema=None)


def run(session: LakeSession, text: str) -> tuple[pa.Table, tuple[TableRead, ...]]:
    """Returns a statement's rows, and its table reads."""
    request = StatementRequest(identity=Identity("bench"))
    result = session.execute(text, request)
    rows = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return rows, request.profile.reads


def own_spark(driver: SparkDriver) -> Any:
    """Spark's own session (a Java object), which no guard watches."""
    return driver.process.gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()


def alternate(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int, warm: int = 2) -> tuple[float, float]:
    """Returns two actions' medians in ms, alternating, after `warm` warm-up rounds.

    The first one changes each round: Java code compiled during one action is already compiled for the other.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(repeat + warm):
        sides = [(times[0], ours), (times[1], theirs)]
        for spent, work in reversed(sides) if number % 2 else sides:
            spent.append(once(work))
    return statistics.median(times[0][warm:]), statistics.median(times[1][warm:])


def median(work: Callable[[], Any], repeat: int) -> float:
    """In ms."""
    return statistics.median(once(work) for _ in range(repeat))


def collect(spark: Any, text: str) -> None:
    """Runs a query in a Spark session of the JVM and fetches its rows."""
    spark.sql(text).collectAsList()


def once(work: Callable[[], Any]) -> float:
    """In ms."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000
