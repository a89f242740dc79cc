"""Requests for data files that Spark reads and writes over Hadoop's connector for S3, which comes from Maven."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from catalog.errors import SqlError
from catalog.store.credentials import Credential, use_credentials
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.connectors import installed_jars
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run
from tests.fix_spark import QUICK_JAVA, start_spark
from tests.paths import ROOT
from tests.rest.s3_keys import give_out
from tests.stores.s3_lake import BUCKET, S3Server

JARS = ROOT / ".oracle-s3a"
pytestmark = [pytest.mark.spark, pytest.mark.oracle]

LARGE = "SELECT id, sha2(CAST(id AS STRING), 512) AS h, sha2(CAST(id + 1 AS STRING), 512) AS g FROM range(100000)"
_numbers = itertools.count()
KEYS = give_out(BUCKET, 36_000)
ACCESS = {"key": KEYS["s3.access-key-id"], "secret": KEYS["s3.secret-access-key"], "token": KEYS["s3.session-token"]}


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


def connected_spark(
    store: S3Server, keys: Mapping[str, str] = ACCESS, master: str = "local[2]", **conf: str
) -> SparkDriver:
    """Starts Spark with the connector for the store."""
    provider = "TemporaryAWSCredentialsProvider" if "token" in keys else "SimpleAWSCredentialsProvider"
    settings = {
        "endpoint": store.url,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "access.key": keys["key"],
        "secret.key": keys["secret"],
        **({"session.token": keys["token"]} if "token" in keys else {}),
        "aws.credentials.provider": f"org.apache.hadoop.fs.s3a.{provider}",
    }
    return start_spark(
        master=master,
        conf={
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.extraJavaOptions": QUICK_JAVA,
            "spark.driver.extraClassPath": ":".join(map(str, installed_jars(JARS))),
            **{f"spark.hadoop.fs.s3a.bucket.{BUCKET}.{name}": value for name, value in settings.items()},
            **conf,
        },
    )


def open_session(driver: SparkDriver) -> LakeSession:
    """Returns a session in a server without cached state."""
    options = EngineOptions(lake_folder=f"s3a://{BUCKET}/lake", catalog_folder=f"s3a://{BUCKET}/catalog")
    engine = LakeEngine(open_sources(options), driver)
    return engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)


@pytest.fixture(scope="module")
def session(driver: SparkDriver) -> Iterator[LakeSession]:
    found = open_session(driver)
    run(found, "CREATE SCHEMA s")
    for format_ in ("delta", "iceberg"):
        run(found, f"CREATE TABLE s.small_{format_} (id BIGINT, s STRING) USING {format_}")
        for number in range(3):
            run(found, f"INSERT INTO s.small_{format_} VALUES ({number}, 'x')")
        run(
            found,
            f"CREATE TABLE s.large_{format_} USING {format_} AS {LARGE.replace('SELECT', 'SELECT /*+ COALESCE(1) */')}",
        )
    yield found
    found.close()


@pytest.mark.parametrize(
    ("query", "expected", "requests"),
    [
        ("SELECT sum(id + 1), max(s) FROM s.small_{}", (6, "x"), 1),
        ("SELECT sum(id + 1) FROM s.large_{}", (5_000_050_000,), 2),
        ("SELECT sum(length(h) + length(g)) FROM s.large_{}", (25_600_000,), 2),
        ("SELECT sum(length(h)), sum(id) FROM s.large_{} WHERE id % 1000 = 7", (12_800, 4_950_700), 2),
    ],
    ids=["small files", "one column", "two columns", "a condition"],
)
@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_a_file_is_read_by_one_or_two_requests(
    session: LakeSession, store: S3Server, format_: str, query: str, expected: tuple[object, ...], requests: int
) -> None:
    store.requests()
    assert rows(session, query.format(format_)) == [expected]
    sent = [each for each in store.requests() if each[1].endswith(".parquet")]
    assert {(method, status) for method, _, status in sent} == {("GET", 206)}
    assert max(Counter(path for _, path, _ in sent).values()) <= requests, sent


def changed(log: Path, change: Callable[[int], int]) -> None:
    """Changes the sizes in a table's versions."""
    for version in log.glob("*.json"):
        lines = [json.loads(line) for line in version.read_text().splitlines()]
        for line in lines:
            if "add" in line:
                line["add"]["size"] = change(line["add"]["size"])
        version.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.parametrize("change", [(1, -1), (1, 1), (0.5, 0), (2, 0), (1, 3_000_000), (0, 8)])
@pytest.mark.parametrize("source", [LARGE, "SELECT id, 'x' AS h, 'y' AS g FROM range(100000)"], ids=["large", "small"])
def test_wrong_length_in_log_is_requested_from_store(
    session: LakeSession, driver: SparkDriver, store: S3Server, folder: Path, source: str, change: tuple[float, int]
) -> None:
    factor, more = change
    name = f"wrong_{next(_numbers)}"
    run(session, f"CREATE TABLE s.{name} AS {source.replace('SELECT', 'SELECT /*+ COALESCE(1) */')}")
    changed(folder / BUCKET / "lake/s" / name / "_delta_log", lambda size: int(factor * size) + more)
    fresh = open_session(driver)
    store.requests()
    assert rows(fresh, f"SELECT count(h), sum(id) FROM s.{name}") == [(100_000, 4_999_950_000)]
    assert "HEAD" in {method for method, path, _ in store.requests() if path.endswith(".parquet")}
    fresh.close()


@pytest.mark.parametrize("damage", ["gone", "cut", "of zeros"])
def test_a_file_that_is_damaged_is_named(session: LakeSession, driver: SparkDriver, folder: Path, damage: str) -> None:
    run(session, "CREATE OR REPLACE TABLE s.damaged AS SELECT /*+ COALESCE(1) */ id FROM range(100000)")
    table = folder / BUCKET / "lake/s/damaged"
    path = max(table.glob("*.parquet"), key=lambda each: each.stat().st_mtime)
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-100] if damage == "cut" else bytes(len(data)))
    with pytest.raises(SqlError, match=path.name):
        run(open_session(driver), "SELECT sum(id + 1) FROM s.damaged")
