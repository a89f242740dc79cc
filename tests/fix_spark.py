"""One Spark for the test process, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from engine.exec.session import ExecSession, SparkDriver, SparkOptions
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS

_SMALL = {"spark.sql.shuffle.partitions": "4"}


def start_spark(
    *,
    local_dir: str | None = None,
    master: str = "local[2]",
    conf: Mapping[str, str] = _SMALL,
    progress: Callable[[str], None] = lambda step: None,
) -> SparkDriver:
    """A small Spark; whoever starts it stops it."""
    return SparkDriver.start(
        SparkOptions(master=master, driver_memory="1g", local_dir=local_dir, conf=conf),
        allowed_functions=ALLOWED_FUNCTIONS,
        allowed_table_functions=ALLOWED_TABLE_FUNCTIONS,
        progress=progress,
    )


@pytest.fixture(scope="session")
def spark_driver() -> Iterator[SparkDriver]:
    driver = start_spark()
    yield driver
    driver.stop()


@pytest.fixture
def spark(spark_driver: SparkDriver) -> Iterator[ExecSession]:
    """A session with Spark's own settings."""
    session = spark_driver.open_session()
    yield session
    session.close()
