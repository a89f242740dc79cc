"""One Spark for the test process, started when the first test uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from engine.spark.session import ExecSession, SparkDriver, SparkOptions, Supervision
from engine.sql.dialect.functions import ALLOWED_TABLE_FUNCTIONS, CALLABLE_FUNCTIONS

_PATIENT = Supervision(silent_s=30, wait_s=250)
# Most classes run for seconds: a second compiler takes more time than it gives. With it alone, Java reserves 48 MB for
# code, which tests fill in a minute; from then on it compiles nothing any more.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
_SMALL = {"spark.sql.shuffle.partitions": "4", "spark.driver.extraJavaOptions": QUICK_JAVA}
# For comparison sessions in stock Spark: small inputs need neither compiled code nor parallel shuffles. Filters are not
# pushed into files, since Spark loses NaN and -0 there.
INTERPRETED = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.parquet.filterPushdown": "false",
}


def start_spark(
    *,
    local_dir: str | None = None,
    master: str = "local[2]",
    conf: Mapping[str, str] = _SMALL,
    driver_memory: str = "1g",
    column_cache_percent: int = 12,
    supervision: Supervision = _PATIENT,
    progress: Callable[[str], None] = lambda step: None,
) -> SparkDriver:
    """Returns a small Spark; whoever starts it stops it."""
    return SparkDriver.start(
        SparkOptions(
            master=master,
            driver_memory=driver_memory,
            column_cache_percent=column_cache_percent,
            local_dir=local_dir,
            conf=conf,
            supervision=supervision,
        ),
        allowed_functions=CALLABLE_FUNCTIONS,
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
    """Yields a session with Spark's own settings."""
    session = spark_driver.open_session()
    yield session
    session.close()
