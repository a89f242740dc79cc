"""File writes: exactly the successful attempts' files, in place, and none from a failed job."""

from __future__ import annotations

import datetime as dt
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.conditions import RelationNotBound, SparkFailure, StatementCancelled
from engine.planning.plans.file_writes import WriteTarget, WrittenFile, partition_values
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession, SparkDriver
from engine.tables.scan import Scan
from tests.engine.spark.scans import DataFile, list_files, rows, write_scan


def write(
    spark: ExecSession, text: str, target: WriteTarget, *scans: Scan, request: StatementRequest | None = None
) -> tuple[WrittenFile, ...]:
    return spark.write_files(
        ReadPlan(text=text, scans=scans), target, request or StatementRequest(identity=Identity("alice"))
    )


def files_below(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.spark
def test_answers_the_files_that_are_there(spark: ExecSession, tmp_path: Path) -> None:
    folder = tmp_path / "a table%20#1"
    text = "SELECT id, cast(id AS string) AS s FROM range(0, 1000, 1, 3)"
    written = write(spark, text, WriteTarget(folder=str(folder)))
    assert {file.path for file in written} == files_below(folder)
    assert len(written) == 3
    for file in written:
        status = (folder / file.path).stat()
        assert (file.size, file.modification_time) == (status.st_size, status.st_mtime_ns // 1_000_000)
    table = pa.concat_tables(pq.read_table(folder / file.path) for file in written)
    assert sorted(table.column("id").to_pylist()) == list(range(1000))


@pytest.mark.spark
def test_values_that_are_longer_than_names_of_folders(spark: ExecSession, tmp_path: Path) -> None:
    long = ["x" * 300, "x" * 301, "ü" * 200, "x" * 200]
    text = f"SELECT * FROM VALUES {', '.join(f'({n}, {each!r})' for n, each in enumerate(long))} t(id, s)"
    written = write(spark, text, WriteTarget(folder=str(tmp_path), partition_columns=("s",)))
    assert {file.path for file in written} == files_below(tmp_path)
    found = {file.partition_values["s"]: pq.read_table(tmp_path / file.path)["id"].to_pylist() for file in written}
    assert found == {each: [n] for n, each in enumerate(long)}


@pytest.mark.spark
def test_partition_columns_become_folders(spark: ExecSession, tmp_path: Path) -> None:
    """In the requested order, not the query's; odd values are escaped and read back."""
    values = "(1, 'a b/c=%', DATE '2024-05-01'), (2, NULL, NULL), (3, 'ü:', DATE '0001-01-01')"
    text = f"SELECT * FROM VALUES {values} t(id, s, d)"
    written = write(spark, text, WriteTarget(folder=str(tmp_path), partition_columns=("d", "s")))
    by_values = {tuple(file.partition_values.items()): file for file in written}
    assert set(by_values) == {
        (("d", "2024-05-01"), ("s", "a b/c=%")),
        (("d", None), ("s", None)),
        (("d", "0001-01-01"), ("s", "ü:")),
    }
    assert {file.path for file in written} == files_below(tmp_path)
    assert pq.read_schema(tmp_path / written[0].path).names == ["id"]
    back = list_files(
        tmp_path,
        {"id": "integer", "s": "string", "d": "date"},
        [(file.path, file.size, file.modification_time, list(file.partition_values.items())) for file in written],
        partition_columns=("d", "s"),
    )
    assert rows(spark, "SELECT * FROM __scan_0 ORDER BY id", back) == [
        (1, "a b/c=%", dt.date(2024, 5, 1)),
        (2, None, None),
        (3, "ü:", dt.date(1, 1, 1)),
    ]


@pytest.mark.spark
def test_two_writes_into_one_folder_do_not_meet(spark: ExecSession, tmp_path: Path) -> None:
    target = WriteTarget(folder=str(tmp_path))
    first = write(spark, "SELECT 1 AS a", target)
    second = write(spark, "SELECT 2 AS a", target)
    assert {file.path for file in first + second} == files_below(tmp_path)
    assert not {file.path for file in first} & {file.path for file in second}


@pytest.mark.spark
def test_writes_from_a_table_into_another(spark: ExecSession, tmp_path: Path) -> None:
    scan = write_scan(tmp_path / "from", {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [1, 2, 3]})])
    (written,) = write(spark, "SELECT id FROM __scan_0 WHERE id > 1", WriteTarget(folder=str(tmp_path / "to")), scan)
    assert pq.read_table(tmp_path / "to" / written.path).column("id").to_pylist() == [2, 3]


@pytest.mark.spark
def test_timestamps_are_written_in_microseconds(spark: ExecSession, tmp_path: Path) -> None:
    (written,) = write(spark, "SELECT TIMESTAMP '2024-05-01 10:00:00.123456' AS t", WriteTarget(folder=str(tmp_path)))
    column = pq.ParquetFile(tmp_path / written.path).schema.column(0)
    assert (column.physical_type, column.logical_type.to_json().count("microseconds")) == ("INT64", 1)


def wait_for_tasks(driver: SparkDriver) -> None:
    """Waits for a failed job's tasks, for which Spark does not wait."""
    jvm: Any = driver.process.gateway.jvm
    scheduler = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get().sparkContext().taskScheduler()
    as_java = jvm.scala.jdk.javaapi.CollectionConverters.asJava
    while any(as_java(scheduler.runningTasksByExecutors()).values()):
        time.sleep(0.01)


# Partition 0 fails immediately. The others have ended, or end later: a task with few rows does not check if it is
# killed.
@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "SELECT IF(id < 2000, id, raise_error('no')) AS id FROM range(0, 2001, 1, 8)",
        "SELECT IF(id > 0, crc32(repeat(string(id), 2000000)), raise_error('no')) AS id FROM range(0, 100, 1, 2)",
    ],
    ids=["after the others", "before the other"],
)
def test_a_row_that_fails_leaves_nothing(
    spark: ExecSession, spark_driver: SparkDriver, tmp_path: Path, text: str
) -> None:
    """A constraint is a raising expression inside the job."""
    with pytest.raises(SparkFailure) as failed:
        write(spark, text, WriteTarget(folder=str(tmp_path)))
    assert (failed.value.condition, failed.value.message.split("\n")[0]) == ("USER_RAISED_EXCEPTION", "no")
    wait_for_tasks(spark_driver)
    assert files_below(tmp_path) == set()


@pytest.mark.spark
def test_a_cancelled_write_leaves_nothing(spark: ExecSession, spark_driver: SparkDriver, tmp_path: Path) -> None:
    request = StatementRequest(identity=Identity("alice"))
    threading.Timer(1.5, request.cancel.cancel).start()
    with pytest.raises(StatementCancelled):
        write(
            spark,
            "SELECT id FROM range(0, 1000000000000, 1, 2) WHERE hash(id) % 100 = 1",
            WriteTarget(folder=str(tmp_path)),
            request=request,
        )
    wait_for_tasks(spark_driver)
    assert files_below(tmp_path) == set()


@pytest.mark.spark
def test_is_guarded_like_a_query(spark: ExecSession, tmp_path: Path) -> None:
    with pytest.raises(RelationNotBound):
        write(spark, "SELECT * FROM parquet.`/tmp`", WriteTarget(folder=str(tmp_path)))


@pytest.mark.parametrize(
    ("folders", "values"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a=__HIVE_DEFAULT_PARTITION__/b=x%3Dy", {"a": None, "b": "x=y"}),
        ("a%2Fb=c%25", {"a/b": "c%"}),
        ("a=b=c", {"a": "b=c"}),
    ],
)
def test_partition_values_of_folders(folders: str, values: dict[str, str | None]) -> None:
    assert partition_values(folders) == values
