"""`delta-gateway serve URL` over stores in processes of their own: an S3 with Hadoop's connector, and HDFS."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from catalog.store.credentials import Credential, use_credentials
from engine.spark.connectors import installed_jars
from gateway.cli.credentials import main as keep_credentials
from tests.clients.drivers import java
from tests.engine.lake_sessions import rows, run
from tests.gateway.test_serve_process import submit
from tests.paths import ROOT
from tests.server_process import ServerProcess
from tests.stores.s3_lake import BUCKET, S3Server
from tests.stores.test_data_requests import ACCESS, KEYS, connected_spark, open_session

S3_JARS, HDFS_JAR = ROOT / ".oracle-s3a", ROOT / ".oracle-hdfs" / "minicluster.jar"
pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.spark]
STATEMENTS = (
    "CREATE SCHEMA s",
    "CREATE TABLE s.a (id BIGINT, v STRING)",
    "INSERT INTO s.a SELECT id, CAST(id AS STRING) FROM range(1000)",
    "DELETE FROM s.a WHERE id % 2 = 1",
    "OPTIMIZE s.a",
    "CREATE TABLE s.i (id BIGINT) USING iceberg",
    "INSERT INTO s.i SELECT id FROM s.a",
)


@pytest.fixture
def stopped() -> Iterator[list[ServerProcess]]:
    started: list[ServerProcess] = []
    yield started
    for process in started:
        process.popen.kill()
        process.end()


def read_and_write(ports: dict[str, int]) -> None:
    for text in STATEMENTS:
        answer = submit(ports, text)
        assert answer["status"]["state"] == "SUCCEEDED", (text, answer["status"])
    for table in ("a", "i"):
        answer = submit(ports, f"SELECT count(*), sum(id) FROM s.{table}")
        assert answer["result"]["data_array"] == [["500", "249500"]], answer["status"]
    assert submit(ports, "DROP TABLE s.a")["status"]["state"] == "SUCCEEDED"
    assert [row[1] for row in submit(ports, "SHOW TABLES IN s")["result"]["data_array"]] == ["i"]


@pytest.mark.parametrize("place", ["the configuration", "the catalog"])
def test_lake_on_s3_is_read_and_written_with_the_installed_connector(
    tmp_path: Path, stopped: list[ServerProcess], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """With a credential in the configuration, or encrypted in the catalog."""
    assert installed_jars(S3_JARS), "make test-slow gets Hadoop's connector for S3, by Maven"
    store = S3Server()
    try:
        config = tmp_path / "gateway.toml"
        if place == "the catalog":
            config.write_text(catalog_credential(tmp_path, store.url, monkeypatch, config))
        else:
            config.write_text(configured_credential(tmp_path, store.url))
        conf = f'{{"spark.driver.extraClassPath" = "{":".join(map(str, installed_jars(S3_JARS)))}"}}'
        stopped.append(ServerProcess(tmp_path, "--config", str(config), GATEWAY_SPARK_CONF=conf))
        read_and_write(stopped[0].ports())
        assert KEYS["s3.secret-access-key"] not in stopped[0].output
    finally:
        store.stop()


def configured_credential(folder: Path, endpoint: str) -> str:
    """Returns settings for a lake and a catalog in the store."""
    for name in ("secret-access-key", "session-token"):
        (folder / name).write_text(KEYS[f"s3.{name}"])
        (folder / name).chmod(0o600)
    return f"""
[lake]
folder = "s3a://{BUCKET}/lake"
catalog_folder = "s3a://{BUCKET}/catalog"
[[storage.credentials]]
name = "lake"
urls = ["s3://{BUCKET}"]
access_key_id = "{KEYS["s3.access-key-id"]}"
secret_access_key = "file:{folder}/secret-access-key"
session_token = "file:{folder}/session-token"
endpoint = "{endpoint}"
region = "us-east-1"
"""


def catalog_credential(folder: Path, endpoint: str, patch: pytest.MonkeyPatch, config: Path) -> str:
    """Adds a credential to a local catalog; returns the settings for it, and for a lake in the store."""
    settings = f"""
[lake]
folder = "s3://{BUCKET}/lake"
catalog_folder = "{folder}/catalog"
[storage]
credentials_key = "file:{folder}/key"
"""
    config.write_text(settings)
    assert keep_credentials(["key", str(folder / "key")]) == 0
    fields = {
        "access_key_id": KEYS["s3.access-key-id"],
        "secret_access_key": KEYS["s3.secret-access-key"],
        "session_token": KEYS["s3.session-token"],
        "endpoint": endpoint,
        "region": "us-east-1",
    }
    patch.setattr("sys.stdin", io.StringIO("".join(f'{name} = "{value}"\n' for name, value in fields.items())))
    assert keep_credentials(["add", "lake", "--url", f"s3://{BUCKET}", "--config", str(config)]) == 0
    return settings


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """Yields the URL of a NameNode."""
    assert HDFS_JAR.exists(), "make test-slow gets the servers of HDFS, by Maven"
    path = f"{HDFS_JAR}:{Path(pyspark.__file__).parent / 'jars'}/*"
    command = [java(), "-Xmx300m", "-cp", path, str(Path(__file__).parent / "hdfs" / "MiniHdfs.java"), str(folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield f"hdfs://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def test_lake_on_hdfs_is_read_and_written_without_a_connector(tmp_path: Path, stopped: list[ServerProcess]) -> None:
    with hdfs(tmp_path / "hdfs") as url:
        stopped.append(ServerProcess(tmp_path, f"{url}/lake", GATEWAY_LAKE_CATALOG_FOLDER=f"{url}/catalog"))
        read_and_write(stopped[0].ports())


def test_executors_in_other_processes_get_the_installed_connector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "share" / "delta-gateway").mkdir(parents=True)
    (tmp_path / "share" / "delta-gateway" / "connectors").symlink_to(S3_JARS)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    store = S3Server()
    options = {**ACCESS, "client_kwargs": {"endpoint_url": store.url}, "skip_instance_cache": True}
    use_credentials([Credential(name="store", urls=(f"s3a://{BUCKET}",), options=options)])
    driver = connected_spark(store, ACCESS, "local-cluster[1,1,1024]", **{"spark.driver.extraClassPath": ""})
    try:
        session = open_session(driver)
        for text in STATEMENTS[:4]:
            run(session, text)
        assert rows(session, "SELECT count(*), sum(id) FROM s.a") == [(500, 249_500)]
        session.close()
    finally:
        driver.stop()
        use_credentials([])
        store.stop()
