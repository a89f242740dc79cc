"""Data files on a real MinIO that Spark reads and writes over Hadoop's connector: the requests for a file, and their
faults in a proxy.

After each fault a reader of another project, or a server without cached state, reads the rows, and each cell is
compared.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run
from tests.stores.s3_lake import BUCKET, MINIO_KEYS, S3Server, minio_server
from tests.stores.test_data_requests import JARS, connected_spark, open_session

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.minio]

# The shortest time that the connector accepts, and a longer one.
TIMEOUT_S, HANG_S = 15, 20
DATA = re.compile(r"lake/s/\w+/(?!_delta_log/|metadata/).*\.(parquet|bin)$")
_numbers = itertools.count()
Fault = dict[str, Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with minio_server(tmp_path_factory.mktemp("minio"), TIMEOUT_S) as server:
        yield server


@pytest.fixture(scope="module")
def driver(store: S3Server) -> Iterator[SparkDriver]:
    assert JARS.exists(), "make oracle and make test-slow get Hadoop's connector for S3, by Maven"
    found = connected_spark(
        store,
        MINIO_KEYS,
        **{
            "spark.hadoop.fs.s3a.connection.timeout": f"{TIMEOUT_S}s",
            "spark.hadoop.fs.s3a.connection.request.timeout": f"{TIMEOUT_S}s",
            "spark.hadoop.fs.s3a.multipart.size": "5M",
        },
    )
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


def data_requests(store: S3Server) -> list[tuple[str, str, int]]:
    return [each for each in store.requests() if DATA.search(each[1])]


def test_small_file_is_read_by_one_ranged_request_and_written_by_three(session: LakeSession, store: S3Server) -> None:
    for format_ in ("delta", "iceberg"):
        table = f"s.t{next(_numbers)}"
        run(session, f"CREATE TABLE {table} (id BIGINT, s STRING) USING {format_}")
        for text in ("VALUES (1, 'x')", "SELECT id, 'y' FROM range(10, 12, 1, 1)"):
            store.requests()
            run(session, f"INSERT INTO {table} {text}")
            sent = data_requests(store)
            assert [(method, status) for method, _, status in sent] == [("PUT", 200), ("HEAD", 200), ("GET", 206)]
        assert sorted(rows(session, f"SELECT * FROM {table}")) == [(1, "x"), (10, "y"), (11, "y")]
        sent = data_requests(store)
        assert [(method, status) for method, _, status in sent] == [("GET", 206)] * 2
        assert len({path for _, path, _ in sent}) == 2


LARGE = (
    "SELECT /*+ COALESCE(1) */ id, sha2(CAST(id AS STRING), 512) AS a, sha2(CAST(id + 1 AS STRING), 512) AS b, "
    "sha2(CAST(id + 2 AS STRING), 512) AS c FROM range(260000)"
)


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_file_of_50_mb_is_read_by_its_end_and_one_request_for_adjacent_columns(
    session: LakeSession, store: S3Server, format_: str
) -> None:
    table = f"s.t{next(_numbers)}"
    run(session, f"CREATE TABLE {table} USING {format_} AS {LARGE}")
    ((size,),) = rows(session, f"SELECT sum(_metadata.file_size) / count(*) FROM {table}")
    assert size > 50e6
    for query, expected, requests in (
        ("SELECT sum(id + 1) FROM {}", 33_800_130_000, 2),
        ("SELECT sum(length(b)) FROM {}", 33_280_000, 2),
        ("SELECT sum(length(b) + length(c)) FROM {}", 66_560_000, 2),
        ("SELECT sum(length(a) + length(b) + length(c)) FROM {} WHERE id + 1 > 0", 99_840_000, 2),
        # More than 1 MB of other columns between two is not read for the sake of a request.
        ("SELECT sum(length(b)) FROM {} WHERE id + 1 > 0", 33_280_000, 3),
    ):
        store.requests()
        assert rows(session, query.format(table)) == [(expected,)]
        sent = data_requests(store)
        assert [(method, status) for method, _, status in sent] == [("GET", 206)] * requests, query


# --- Faults ---


def hash_of(number: int) -> str:
    return hashlib.sha512(str(number).encode()).hexdigest()


class Model:
    """A table's rows as they should be, and statements that change both."""

    def __init__(self, session: LakeSession, store: S3Server, format_: str) -> None:
        self.format = format_
        keys = {"aws_access_key_id": MINIO_KEYS["key"], "aws_secret_access_key": MINIO_KEYS["secret"]}
        self.options = {**keys, "aws_endpoint": store.url, "aws_region": "us-east-1", "aws_allow_http": "true"}
        self.table = f"t{next(_numbers)}"
        query = "SELECT id, sha2(CAST(id AS STRING), 512) AS h FROM range(0, 2000, 1, 2)"
        run(session, f"CREATE TABLE s.{self.table} USING {format_} AS {query}")
        self.rows = {id: hash_of(id) for id in range(2000)}

    def statement(self, kind: str, number: int) -> tuple[str, dict[int, str]]:
        """Returns a statement, and the rows after it."""
        table, before = f"s.{self.table}", self.rows
        match kind:
            case "INSERT":
                new = range(10_000 * (number + 1), 10_000 * (number + 1) + 300)
                text = f"INSERT INTO {table} SELECT id, 'new' FROM range({new.start}, {new.stop}, 1, 2)"
                return text, {**before, **dict.fromkeys(new, "new")}
            case "UPDATE":
                text = f"UPDATE {table} SET h = 'u{number}' WHERE id % 7 = {number % 7}"
                return text, {id: f"u{number}" if id % 7 == number % 7 else h for id, h in before.items()}
            case "DELETE":
                text = f"DELETE FROM {table} WHERE id % 50 = {number}"
                return text, {id: h for id, h in before.items() if id % 50 != number}
            case "MERGE":
                source = range(1900, 2000 + 100 * (number + 1))
                text = (
                    f"MERGE INTO {table} t USING (SELECT id FROM range({source.start}, {source.stop}, 1, 2)) x "
                    f"ON t.id = x.id WHEN MATCHED THEN UPDATE SET h = 'm{number}' "
                    f"WHEN NOT MATCHED THEN INSERT (id, h) VALUES (x.id, 'i{number}')"
                )
                merged = {id: f"m{number}" if id in before else f"i{number}" for id in source}
                return text, {**before, **merged}
            case _:
                return f"OPTIMIZE {table}", before

    def ensure_stored(self, driver: SparkDriver) -> None:
        """Compares each cell, as a server without cached state and, for Delta, as deltalake reads them."""
        if self.format == "delta":
            read = DeltaTable(f"s3://{BUCKET}/lake/s/{self.table}", storage_options=self.options).to_pyarrow_table()
            self._ensure_same(list(zip(read["id"].to_pylist(), read["h"].to_pylist(), strict=True)))
        fresh = open_session(driver)
        self._ensure_same(rows(fresh, f"SELECT id, h FROM s.{self.table}"))
        fresh.close()

    def _ensure_same(self, found: list[tuple[Any, ...]]) -> None:
        expected = Counter(self.rows.items())
        actual = Counter(found)
        # Without the lists, whose comparison takes minutes to print.
        assert (sorted(actual - expected)[:3], sorted(expected - actual)[:3]) == ([], [])


# Failed requests for each statement and fault.
FAILED_MAX = 4
STATEMENTS = [
    *(("delta", kind) for kind in ("INSERT", "UPDATE", "DELETE", "MERGE", "OPTIMIZE")),
    *(("iceberg", kind) for kind in ("INSERT", "UPDATE", "MERGE")),
]


def of_data(kind: str, methods: str, number: int, count: int = 1) -> Fault:
    fault = {"method": methods, "path": DATA.pattern, "kind": kind, "seconds": HANG_S}
    return {**fault, "skip": number, "count": count}


@pytest.mark.parametrize("fault", ["cut", "reset", "lose", "503"])
@pytest.mark.parametrize(("format_", "kind"), STATEMENTS)
def test_statement_each_of_whose_data_requests_failed_once_loses_and_doubles_no_row(
    session: LakeSession, driver: SparkDriver, store: S3Server, format_: str, kind: str, fault: str
) -> None:
    model = Model(session, store, format_)
    number, requests = 0, 1
    while number < min(requests, FAILED_MAX):
        if kind == "OPTIMIZE":  # of two files
            text, model.rows = model.statement("INSERT", number)
            run(session, text)
        text, after = model.statement(kind, number)
        store.fail(of_data(fault, "GET HEAD PUT POST", number))
        store.requests()
        run(session, text)
        requests = len(data_requests(store)) - 1
        store.fail()
        model.rows = after
        model.ensure_stored(driver)
        number += 1
    assert number > 1


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("fault", ["hang", "late"])
def test_statement_one_of_whose_data_requests_has_no_answer_for_a_while_loses_and_doubles_no_row(
    session: LakeSession, driver: SparkDriver, store: S3Server, method: str, fault: str
) -> None:
    model = Model(session, store, "delta")
    for kind in ("UPDATE", "MERGE"):
        text, model.rows = model.statement(kind, 1)
        store.fail(of_data(fault, method, 0))
        run(session, text)
        store.fail()
        model.ensure_stored(driver)


# Methods, and the number of requests before the one that fails.
PARTS = [("POST", 0), ("PUT", 1), ("POST", 1)]


@pytest.mark.parametrize(("method", "number"), PARTS, ids=["begin", "a part", "end"])
@pytest.mark.parametrize("fault", ["lose", "reset", "503"])
def test_file_written_in_parts_one_of_whose_requests_failed_is_whole_or_absent(
    session: LakeSession, driver: SparkDriver, store: S3Server, method: str, number: int, fault: str
) -> None:
    model = Model(session, store, "delta")
    new = range(100_000, 160_000)
    hashes = "concat(sha2(CAST(id AS STRING), 512), sha2(CAST(-id AS STRING), 512))"
    query = f"SELECT /*+ COALESCE(1) */ id, {hashes} FROM range({new.start}, {new.stop})"
    store.requests()
    store.fail(of_data(fault, method, number))
    if (fault, method, number) == ("lose", "POST", 1):
        # The connector repeats the request, and MinIO does not know the upload any more.
        assert refuse(session, f"INSERT INTO s.{model.table} {query}").sqlstate == "58030"
    else:
        run(session, f"INSERT INTO s.{model.table} {query}")
        model.rows |= {id: hash_of(id) + hash_of(-id) for id in new}
    store.fail()
    assert [each[0] for each in data_requests(store)].count("POST") > 1
    model.ensure_stored(driver)


@pytest.mark.parametrize(("method", "fault"), [("PUT", "503"), ("GET", "cut")])
def test_statement_whose_data_requests_fail_always_has_a_named_error_and_changes_nothing(
    session: LakeSession, driver: SparkDriver, store: S3Server, method: str, fault: str
) -> None:
    model = Model(session, store, "delta")
    text, after = model.statement("UPDATE", 1)
    store.fail(of_data(fault, method, 0, 10_000))
    error = refuse(session, text)
    assert error.sqlstate == "58030", error
    store.fail()
    model.ensure_stored(driver)
    run(session, text)
    model.rows = after
    model.ensure_stored(driver)
