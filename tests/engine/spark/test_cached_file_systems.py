"""File systems with vended credentials: cached and closed ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.spark.session import SparkDriver

pytestmark = pytest.mark.spark

MINUTE, HOUR = 60_000, 3_600_000
NOW = 1_700_000_000_000
MANY = 3


@dataclass(frozen=True, kw_only=True)
class Case:
    # Cached ones, by credential expiry and last use, in milliseconds from now.
    expirations: dict[str, tuple[int, int]]
    # Requested ones, an hour ago, with credentials until the given end.
    expected: dict[str, int]
    over: set[str]


CASES: dict[str, Case] = {
    "in use": Case(expirations={"a": (HOUR, -MINUTE)}, expected={}, over=set()),
    "just ended": Case(expirations={"a": (-MINUTE, -MINUTE)}, expected={}, over=set()),
    "ended": Case(expirations={"a": (-11 * MINUTE, -MINUTE), "b": (HOUR, 0)}, expected={}, over={"a"}),
    "ended, and extended": Case(expirations={"a": (-11 * MINUTE, -2 * HOUR)}, expected={"a": HOUR}, over=set()),
    "extended by none": Case(expirations={"a": (HOUR, -2 * HOUR)}, expected={"a": -HOUR}, over=set()),
    "idle": Case(expirations={"a": (HOUR, -7 * HOUR), "b": (HOUR, -5 * HOUR)}, expected={}, over={"a"}),
    "idle but for now": Case(expirations={"a": (HOUR, -7 * HOUR)}, expected={"a": HOUR}, over=set()),
    "many": Case(
        expirations={"a": (HOUR, -11 * MINUTE), "b": (HOUR, -9 * MINUTE), "c": (HOUR, -HOUR)},
        expected={},
        over={"a", "c"},
    ),
}


def cached_at(driver: SparkDriver, folder: Path, name: str) -> Any:
    """Returns a file system that removes a file when it is closed."""
    jvm = driver.process.gateway.jvm
    opened = jvm.org.apache.hadoop.fs.RawLocalFileSystem()
    opened.initialize(jvm.java.net.URI("file:///"), jvm.org.apache.hadoop.conf.Configuration())
    (folder / name).touch()
    opened.deleteOnExit(jvm.org.apache.hadoop.fs.Path(str(folder / name)))
    return opened


@pytest.mark.parametrize("name", CASES)
def test_file_systems_over_the_limit_are_closed(spark_driver: SparkDriver, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    systems = spark_driver.process.gateway.jvm.deltagateway.cache.FileSystemCache(MANY)
    for key, (ends, used) in case.expirations.items():
        systems.keep(key, cached_at(spark_driver, tmp_path, key), NOW + ends, NOW + used)
    for key, ends in case.expected.items():
        assert systems.find(key, NOW + ends, NOW - HOUR) is not None
    systems.close(systems.takeOver(NOW))
    assert case.expirations.keys() - {path.name for path in tmp_path.iterdir()} == case.over
    found = {key for key in case.expirations if systems.find(key, NOW, NOW) is not None}
    assert found == case.expirations.keys() - case.over


def test_file_system_that_fails_to_close_does_not_prevent_closing_others(
    spark_driver: SparkDriver, tmp_path: Path
) -> None:
    jvm = spark_driver.process.gateway.jvm
    systems = jvm.deltagateway.cache.FileSystemCache(MANY)
    broken = jvm.org.apache.hadoop.fs.FilterFileSystem()  # without an underlying file system
    for key, opened in {"x": broken, "a": cached_at(spark_driver, tmp_path, "a"), "y": broken}.items():
        systems.keep(key, opened, NOW - HOUR, NOW)
    systems.close(systems.takeOver(NOW))
    assert list(tmp_path.iterdir()) == []
