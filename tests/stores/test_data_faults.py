"""Faults of the store while Spark reads and writes data files over Hadoop's connector for S3, from Maven."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.store.credentials import Credential, use_credentials
from engine.main import LakeSession
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run
from tests.stores.s3_lake import BUCKET, S3Server
from tests.stores.test_data_requests import ACCESS, JARS, connected_spark, open_session

pytestmark = [pytest.mark.spark, pytest.mark.oracle, pytest.mark.slow]

# Longer than the connector waits for a byte.
HANG_S = 45
_numbers = itertools.count()
Fault = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the store's objects."""
    found = tmp_path_factory.mktemp("store")
    (found / BUCKET).mkdir()
    return found


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[S3Server]:
    server = S3Server(str(folder))
    client = {"endpoint_url": server.url, "region_name": "us-east-1"}
    options = {**ACCESS, "client_kwargs": client, "skip_instance_cache": True}
    use_credentials([Credential(name="store", urls=(f"s3a://{BUCKET}",), options=options)])
    yield server
    use_credentials([])
    server.stop()


@pytest.fixture(scope="module")
def driver(store: S3Server) -> Iterator[SparkDriver]:
    assert JARS.exists(), "make oracle and make test-slow get Hadoop's connector for S3, by Maven"
    found = connected_spark(store)
    yield found
    found.stop()


@pytest.fixture
def session(driver: SparkDriver, store: S3Server) -> Iterator[LakeSession]:
    store.fail()
    found = open_session(driver)
    run(found, "CREATE SCHEMA IF NOT EXISTS s")
    yield found
    store.fail()
    found.close()


@pytest.fixture
def table(session: LakeSession) -> str:
    name = f"s.t{next(_numbers)}"
    run(session, f"CREATE TABLE {name} AS SELECT id, sha2(CAST(id AS STRING), 512) AS h FROM range(0, 20000, 1, 2)")
    return name


def of_data(kind: str, method: str, count: int, skip: int = 0) -> Fault:
    return {
        "method": method,
        "path": r"\.parquet$",
        "kind": kind,
        "count": count,
        "skip": skip,
        "seconds": HANG_S,
    }


READS = [
    ("reset", 1, 0),
    ("reset", 3, 1),
    ("lose", 2, 0),
    ("hang", 1, 0),
    ("hang", 1, 1),
    ("late", 1, 0),
    ("503", 2, 0),
    ("500", 2, 0),
]


@pytest.mark.parametrize(("kind", "count", "skip"), READS)
def test_read_whose_requests_fail_for_a_while_has_all_rows(
    driver: SparkDriver, table: str, store: S3Server, kind: str, count: int, skip: int
) -> None:
    fresh = open_session(driver)
    store.fail(of_data(kind, "GET", count, skip))
    assert rows(fresh, f"SELECT count(h), sum(id) FROM {table}") == [(20_000, 199_990_000)]
    fresh.close()


def inserted(session: LakeSession, table: str) -> None:
    run(session, f"INSERT INTO {table} SELECT id, 'new' FROM range(20000, 30000, 1, 2)")


def updated(session: LakeSession, table: str) -> None:
    run(session, f"UPDATE {table} SET h = 'new' WHERE id >= 10000")


CHANGES = [(inserted, 30_000, 10_000), (updated, 20_000, 10_000)]


@pytest.mark.parametrize(("change", "count", "num_new"), CHANGES)
@pytest.mark.parametrize(("kind", "times"), [("reset", 2), ("lose", 2), ("hang", 1), ("late", 1), ("503", 2)])
def test_write_whose_requests_fail_for_a_while_loses_and_doubles_no_row(
    driver: SparkDriver,
    session: LakeSession,
    table: str,
    store: S3Server,
    change: Callable[[LakeSession, str], None],
    count: int,
    num_new: int,
    kind: str,
    times: int,
) -> None:
    store.fail(of_data(kind, "PUT", times))
    change(session, table)
    store.fail()
    fresh = open_session(driver)
    assert rows(fresh, f"SELECT count(*), count(DISTINCT id), count_if(h = 'new') FROM {table}") == [
        (count, count, num_new)
    ]
    fresh.close()


@pytest.mark.parametrize(
    ("format_", "kind"), [("delta", "reset"), ("delta", "500"), ("delta", "503"), ("delta", "403"), ("iceberg", "503")]
)
def test_read_whose_requests_fail_always_is_a_storage_error_with_the_file(
    driver: SparkDriver, session: LakeSession, store: S3Server, format_: str, kind: str
) -> None:
    table = f"s.t{next(_numbers)}"
    run(session, f"CREATE TABLE {table} USING {format_} AS SELECT id, CAST(id AS STRING) AS h FROM range(20000)")
    fresh = open_session(driver)
    store.fail(of_data(kind, "GET", 10_000))
    for text in (f"SELECT count(h), sum(id) FROM {table}", f"INSERT INTO {table} SELECT id + 1, h FROM {table}"):
        error = refuse(fresh, text)
        assert (error.condition, error.sqlstate) == ("STORAGE_ACCESS_FAILED", "58030") and ".parquet" in error.message
    store.fail()
    assert rows(fresh, f"SELECT count(h), sum(id) FROM {table}") == [(20_000, 199_990_000)]
    fresh.close()


def test_file_that_is_corrupt_or_missing_is_no_storage_error(
    driver: SparkDriver, table: str, folder: Path, store: S3Server
) -> None:
    fresh = open_session(driver)
    file = min((folder / BUCKET / "lake" / table.replace(".", "/")).glob("*.parquet"))
    data = file.read_bytes()
    for damaged in (data[:-20], b"x" * len(data), data[:100] + bytes(len(data) - 200) + data[-100:], b""):
        file.write_bytes(damaged)
        assert refuse(fresh, f"SELECT count(h), sum(id) FROM {table}").condition == "FAILED_READ_FILE.NO_HINT"
    file.unlink()
    assert refuse(fresh, f"SELECT count(h), sum(id) FROM {table}").condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    file.write_bytes(data)
    assert rows(fresh, f"SELECT count(h), sum(id) FROM {table}") == [(20_000, 199_990_000)]
    fresh.close()


@pytest.mark.parametrize("kind", ["reset", "503"])
def test_write_whose_requests_fail_always_has_a_named_error_and_changes_nothing(
    driver: SparkDriver, session: LakeSession, table: str, store: S3Server, kind: str
) -> None:
    fresh = open_session(driver)
    store.fail(of_data(kind, "PUT", 10_000))
    error = refuse(fresh, f"INSERT INTO {table} SELECT id, 'new' FROM range(20000, 30000)")
    assert error.sqlstate == "58030", error
    store.fail()
    assert rows(fresh, f"SELECT count(h), sum(id) FROM {table}") == [(20_000, 199_990_000)]
    fresh.close()
