"""One Spark for the test process, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.exec.session import ExecSession, SparkDriver, SparkOptions
from engine.sql.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS

SPARK_OPTIONS = SparkOptions(master="local[2]", driver_memory="1g", conf={"spark.sql.shuffle.partitions": "4"})


@pytest.fixture(scope="session")
def spark_driver() -> Iterator[SparkDriver]:
    driver = SparkDriver.start(
        SPARK_OPTIONS, allowed_functions=ALLOWED_FUNCTIONS, allowed_table_functions=ALLOWED_TABLE_FUNCTIONS
    )
    yield driver
    driver.stop()


@pytest.fixture
def spark(spark_driver: SparkDriver) -> Iterator[ExecSession]:
    """A session with Spark's own settings."""
    session = spark_driver.open_session()
    yield session
    session.close()
