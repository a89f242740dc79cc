"""Settings that Spark is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.spark.session import SparkOptions, _conf

MIB, GIB = 1 << 20, 1 << 30
HEADER = 16


@pytest.mark.parametrize(
    ("memory", "page"),
    [
        ("700m", 2 * MIB),
        ("2g", 2 * MIB),
        ("16384", 2 * MIB),  # in MiB, as Java's memory in Spark
        ("16G", 2 * MIB),
        ("17g", 4 * MIB),
        ("64gb", 8 * MIB),
        ("1t", 128 * MIB),
    ],
)
def test_pages_are_small_and_all_of_a_task_hold_the_heap(memory: str, page: int, tmp_path: Path) -> None:
    conf = _conf(SparkOptions(driver_memory=memory), tmp_path)
    assert int(conf["spark.buffer.pageSize"]) == page - HEADER


def test_on_a_cluster_spark_chooses_the_size_of_pages(tmp_path: Path) -> None:
    assert "spark.buffer.pageSize" not in _conf(SparkOptions(master="spark://host:7077"), tmp_path)


def test_java_has_its_temporary_files_in_the_folder_that_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "with a blank"
    folder.mkdir()
    assert f'"-Djava.io.tmpdir={folder}/spark"' in _conf(SparkOptions(), folder)["spark.driver.extraJavaOptions"]


def test_a_configuration_wins_over_the_gateways_own(tmp_path: Path) -> None:
    given = {"spark.buffer.pageSize": "1m", "spark.driver.extraJavaOptions": "-XX:Tier4InvocationThreshold=1"}
    conf = _conf(SparkOptions(conf=given), tmp_path)
    assert conf["spark.buffer.pageSize"] == "1m"
    assert conf["spark.driver.extraJavaOptions"].endswith("-XX:Tier4InvocationThreshold=1")  # Java takes the last one
