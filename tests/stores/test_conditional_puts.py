"""Conditional puts are tried at the start: a store that ignores the condition is read and not written."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from catalog.conditions import StorageNotAvailable
from catalog.store import conditional_put
from catalog.store.conditional_put import ensure_package, reason_against_puts
from engine.main import EngineOptions, verify_stores
from engine.storage.storage import open_storage
from tests.stores.s3_lake import BUCKET, S3Lake, S3Server, s3_server

PLACE = "lake0"
LAKE, CATALOG = f"s3://{BUCKET}/{PLACE}/lake", f"s3://{BUCKET}/{PLACE}/catalog"
OPTIONS = EngineOptions(lake_folder=LAKE, catalog_folder=CATALOG)
IGNORED = "its store ignores the condition of a conditional put"


@pytest.fixture
def unconditional() -> Iterator[S3Server]:
    with s3_server(None, "--unconditional") as server:
        yield server
    conditional_put._unconditional.clear()


@pytest.fixture
def store() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


def test_store_with_conditional_puts_is_written_and_keeps_no_probe(store: S3Server) -> None:
    verify_stores(OPTIONS)
    sent = store.requests()
    assert [(method, status) for method, _, status in sent] == [("PUT", 200), ("PUT", 412), ("DELETE", 204)] * 2
    lake = S3Lake(PLACE)
    lake.answer("CREATE SCHEMA s")
    lake.answer("CREATE TABLE s.a (id BIGINT)")
    assert lake.names("s") == ["a"]
    assert {path.split("/")[-1][:9] for method, path, _ in sent} == {".gateway-"}


def test_store_that_ignores_conditions_is_read_and_writes_name_the_reason(
    unconditional: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    before = S3Lake(PLACE)
    before.answer("CREATE SCHEMA s")
    before.answer("CREATE TABLE s.a (id BIGINT)")
    with caplog.at_level(logging.WARNING):
        verify_stores(OPTIONS)
    assert [record.getMessage() for record in caplog.records] == [
        f"{LAKE} is read-only: {IGNORED}",
    ]
    lake = S3Lake(PLACE)
    assert lake.names("s") == ["a"]
    assert lake.rows("SHOW COLUMNS IN s.a") == [("id",)]
    error = lake.refuse("ALTER TABLE s.a ADD COLUMNS (x INT)")
    assert (error.condition, error.sqlstate) == ("STORAGE_NOT_WRITABLE", "0A000")
    assert IGNORED in error.full_message
    assert BUCKET in error.full_message
    error = lake.refuse("CREATE SCHEMA more")
    assert (error.condition, IGNORED in error.full_message) == ("CATALOG_NOT_WRITABLE", True)
    assert lake.rows("SHOW COLUMNS IN s.a") == [("id",)]
    assert lake.rows("SHOW SCHEMAS LIKE 'more'") == []
    puts = [path for method, path, _ in unconditional.requests() if method == "PUT" and "more" in path]
    assert puts == []


def test_other_spelling_of_the_scheme_is_the_same_store(unconditional: S3Server) -> None:
    verify_stores(EngineOptions(lake_folder=LAKE))
    assert reason_against_puts(f"s3a://{BUCKET}/elsewhere") == IGNORED
    assert reason_against_puts("s3://other/lake") is None
    assert reason_against_puts("webhdfs://host/lake") == "the scheme has no atomic put-if-absent"


@pytest.mark.parametrize("status", ["403", "503"])
def test_store_that_does_not_answer_a_put_is_left_to_the_statements(store: S3Server, status: str) -> None:
    store.fail({"method": "PUT", "path": ".", "kind": status, "count": 1000})
    verify_stores(OPTIONS)
    store.fail()
    assert reason_against_puts(LAKE) is None
    lake = S3Lake(PLACE)
    lake.answer("CREATE SCHEMA s")
    assert ("s",) in lake.rows("SHOW SCHEMAS")


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("s3://b/lake", "s3fs", "s3"),
        ("s3a://b/lake", "s3fs", "s3"),
        ("gs://b/lake", "gcsfs", "gcs"),
        ("abfss://c@a.dfs.core.windows.net/lake", "adlfs", "azure"),
        ("hdfs://host/lake", "hdfs_native", "hdfs"),
    ],
)
def test_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, package: str, extra: str
) -> None:
    ensure_package(url)
    monkeypatch.setattr(conditional_put, "find_spec", lambda name: None)
    with pytest.raises(StorageNotAvailable) as caught:
        open_storage(url)
    assert f"the Python package {package} is not installed (pip install 'delta-gateway[{extra}]')" in str(caught.value)
