"""Vended credentials for one table's files: the files that they open, and their lifetime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from catalog.conditions import RestCatalogNotAvailable, RestSigningNotSupported
from catalog.entries import CatalogEntry
from catalog.names import ICEBERG, CatalogName
from catalog.rest.connections import RestPolicy, RestSecret
from catalog.rest.names import RestCatalogs
from catalog.rest.vended import (
    GivenCredentials,
    StorageOptions,
    VendedOptions,
    given_credentials,
    storage_options,
    vended_by,
)
from catalog.store.credentials import Credential, use_credentials
from engine.iceberg.manifests.decoded import Decoded
from engine.storage.storage import FsspecStorage
from engine.storage.vended_storage import VendedStorage, credentials_id_of
from tests.rest.conftest import RestServer
from tests.security.guarded_lake import GuardedLake

ROWS = pa.schema([("id", pa.int64())])
TOKEN = {"s3.access-key-id": "k", "s3.secret-access-key": "the-s3cret"}


@pytest.mark.parametrize(
    ("location", "config", "expected", "ends_ms"),
    [
        ("s3://b/t", TOKEN, {"key": "k", "secret": "the-s3cret", "client_kwargs": {}}, None),
        (
            "s3a://b/t",
            {
                **TOKEN,
                "s3.session-token": "s",
                "s3.endpoint": "http://h:1",
                "client.region": "r",
                "s3.path-style-access": "true",
                "s3.session-token-expires-at-ms": "5",
            },
            {
                "key": "k",
                "secret": "the-s3cret",
                "token": "s",
                "client_kwargs": {"endpoint_url": "http://h:1", "region_name": "r"},
                "config_kwargs": {"s3": {"addressing_style": "path"}},
            },
            5,
        ),
        ("gs://b/t", {"gcs.oauth2.token": "o", "gcs.project-id": "p"}, {"token": "o", "project": "p"}, None),
        ("gs://b/t", {"gcs.oauth2.token": "o", "gcs.oauth2.token-expires-at": "7"}, {"token": "o"}, 7),
        (
            "abfss://c@acc.dfs.core.windows.net/t",
            {
                "adls.sas-token.acc.dfs.core.windows.net": "x",
                "adls.sas-token-expires-at-ms.acc.dfs.core.windows.net": "8",
            },
            {"account_name": "acc", "sas_token": "x"},
            8,
        ),
        ("abfss://c@acc.dfs.core.windows.net/t", {"adls.sas-token.other": "x"}, None, None),
        ("s3://b/t", {"gcs.oauth2.token": "o", "s3.region": "r"}, None, None),
        ("/local/t", TOKEN, None, None),
    ],
)
def test_options_for_fsspec(location: str, config: dict[str, str], expected: Any, ends_ms: int | None) -> None:
    found = storage_options("t", location, GivenCredentials(config=config))
    assert (found and (dict(found.options), found.ends_ms)) == (expected and (expected, ends_ms))
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("location", "config", "expected"),
    [
        (
            "s3://b/t",
            {**TOKEN, "s3.session-token": "s", "s3.endpoint": "http://h:1", "s3.path-style-access": "TRUE"},
            {
                "fs.s3a.bucket.b.aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
                "fs.s3a.bucket.b.access.key": "k",
                "fs.s3a.bucket.b.secret.key": "the-s3cret",
                "fs.s3a.bucket.b.session.token": "s",
                "fs.s3a.bucket.b.endpoint": "http://h:1",
                "fs.s3a.bucket.b.path.style.access": "true",
            },
        ),
        (
            "s3a://b/t",
            {**TOKEN, "client.region": "r"},
            {
                "fs.s3a.bucket.b.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
                "fs.s3a.bucket.b.access.key": "k",
                "fs.s3a.bucket.b.secret.key": "the-s3cret",
                "fs.s3a.bucket.b.endpoint.region": "r",
            },
        ),
        (
            "abfss://c@acc.dfs.core.windows.net/t",
            {"adls.sas-token.acc.dfs.core.windows.net": "x"},
            {
                "fs.azure.account.auth.type.acc.dfs.core.windows.net": "SAS",
                "fs.azure.sas.fixed.token.acc.dfs.core.windows.net": "x",
            },
        ),
        ("wasbs://c@acc.blob.core.windows.net/t", {"adls.sas-token.acc": "x"}, None),
        ("gs://b/t", {"gcs.oauth2.token": "o"}, None),
    ],
)
def test_hadoop_settings(location: str, config: dict[str, str], expected: dict[str, str] | None) -> None:
    found = storage_options("t", location, GivenCredentials(config=config))
    assert found is not None
    assert (None if found.hadoop is None else dict(found.hadoop.settings)) == expected
    assert "s3cret" not in repr(found)


def test_vended_credentials_are_valid_while_used() -> None:
    given = StorageOptions(options={"key": "0"})
    one, two = (VendedOptions(given, lambda: given) for _ in range(2))
    assert one.credentials_id != two.credentials_id and vended_by(one.credentials_id) is given
    credentials_id = one.credentials_id
    del one
    with pytest.raises(KeyError):
        vended_by(credentials_id)


def test_the_longest_prefix_wins() -> None:
    body = {
        "config": {**TOKEN, "s3.region": "r"},
        "storage-credentials": [
            {"prefix": "s3://b/t", "config": {"s3.access-key-id": "near"}},
            {"prefix": "s3", "config": {"s3.access-key-id": "wide"}},
            {"prefix": "s3://b/t2", "config": {"s3.access-key-id": "other"}},
            {"config": {"s3.access-key-id": "none"}},
        ],
    }
    given = given_credentials(body)
    assert given.for_location("s3://b/t/x")["s3.access-key-id"] == "near"
    assert given.for_location("s3://b/u") == {**TOKEN, "s3.region": "r", "s3.access-key-id": "wide"}
    assert "s3cret" not in repr(given)
    assert given_credentials({"config": 3, "storage-credentials": "x"}) == GivenCredentials()


@pytest.mark.parametrize(
    ("prefix", "location", "is_for"),
    [
        ("s3://b/t1/", "s3://b/t1", True),
        ("s3://b/t1/", "s3a://b/t1", True),
        ("s3a://b/t1", "s3://b/t1/inside", True),
        ("s3://b/t1", "s3://b/t10", False),
        ("s3://b", "s3://b2/t", False),
        ("s3a://", "s3://b/t", True),
        ("s3a", "s3://b/t", True),
        ("gs:", "gcs://b/t", True),
        ("gs", "s3://b/t", False),
        ("abfs://c@acc.dfs.core.windows.net/", "abfss://c@acc.dfs.core.windows.net/t", True),
        ("", "s3://b/t", False),
    ],
)
def test_a_prefix_is_of_whole_segments(prefix: str, location: str, is_for: bool) -> None:
    given = GivenCredentials(by_prefix=((prefix, {"k": "v"}),))
    assert given.for_location(location) == ({"k": "v"} if is_for else {})


def test_the_deeper_prefix_wins_over_the_longer_scheme() -> None:
    given = GivenCredentials(by_prefix=(("s3://b/t", {"k": "deep"}), ("s3a://b/", {"k": "wide"})))
    assert given.for_location("s3a://b/t") == {"k": "deep"}


def test_remote_signing_is_refused() -> None:
    given = GivenCredentials(config={"s3.remote-signing-enabled": "true"})
    with pytest.raises(RestSigningNotSupported):
        storage_options("t", "s3://b/t", given)


def test_credentials_are_refreshed_before_expiry() -> None:
    now, requested = [0], [0]

    def ask() -> StorageOptions:
        requested[0] += 1
        if now[0] >= 3_000_000 and now[0] < 4_000_000:
            raise RestCatalogNotAvailable("c", "it is away")
        return StorageOptions(options={"key": str(requested[0])}, ends_ms=now[0] + 1_000_000)

    vended = VendedOptions(StorageOptions(options={"key": "0"}, ends_ms=1_000_000), ask, lambda: now[0])
    assert vended() == {"key": "0"} and requested == [0]
    now[0] = 699_999
    assert vended() == {"key": "0"}
    now[0] = 700_000
    assert vended() == {"key": "1"} and vended() == {"key": "1"} and requested == [1]
    now[0] = 2_400_000
    assert vended() == {"key": "2"}
    now[0] = 3_200_000
    assert vended() == {"key": "2"}  # which last until 3,400,000
    now[0] = 3_400_000
    with pytest.raises(RestCatalogNotAvailable):
        vended()
    now[0] = 4_000_000
    assert vended()["key"] not in {"1", "2"}


def test_credentials_without_expiry_are_requested_again() -> None:
    now, away = [0], [False]

    def ask() -> StorageOptions:
        if away[0]:
            raise RestCatalogNotAvailable("c", "it is away")
        return StorageOptions(options={"key": f"asked at {now[0]}"})

    vended = VendedOptions(StorageOptions(options={"key": "first"}), ask, lambda: now[0])
    now[0] = 899_999
    assert vended() == {"key": "first"}
    now[0] = 900_000
    assert vended() == {"key": "asked at 900000"}
    now[0], away[0] = 1_800_000, True
    assert vended() == {"key": "asked at 900000"}  # no response reports that they have ended
    now[0], away[0] = 1_810_000, False
    assert vended() == {"key": "asked at 1810000"}
    for now[0] in (1_810_001, 2_109_999):
        vended.take(StorageOptions(options={"key": "one more"}))
        assert vended() == {"key": "asked at 1810000"}  # a file system for each statement would be too many
    now[0] = 2_110_000
    vended.take(StorageOptions(options={"key": "newest"}, ends_ms=9_000_000))
    assert vended() == {"key": "newest"}
    now[0] = 3_000_000
    vended.take(StorageOptions(options={"key": "not needed"}))
    assert vended() == {"key": "newest"}


class Bucket(MemoryFileSystem):
    """A store where a key opens objects below its own folder."""

    protocol = "s3"
    cachable = False
    folders: ClassVar[dict[str, str]] = {}

    def __init__(self, key: str = "", **others: Any) -> None:
        super().__init__()
        self.key = key

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.removeprefix("s3://")))

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> bytes:
        folder = self.folders.get(self.key)
        if folder is None or not self._strip_protocol(path).startswith(f"/{folder}/"):
            raise PermissionError(path)
        return bytes(super().cat_file(path, *args, **kwargs))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    monkeypatch.setitem(vars(import_module("fsspec.registry"))["_registry"], "s3", Bucket)
    for table in ("one", "two"):
        MemoryFileSystem().pipe_file(f"/b/{table}/metadata/f", table.encode())
    Bucket.folders = {"key-1": "b/one", "key-2": "b/two"}
    yield Bucket
    use_credentials(())


def test_each_table_is_read_with_its_own(tmp_path: Path, server: RestServer, bucket: type[Bucket]) -> None:
    other = server.other_client()
    (tmp_path / "lake").mkdir()
    lake = GuardedLake(tmp_path / "lake", ("s3://b",), (server.options(vended_credentials=True),))
    found = {}
    for number, name in enumerate(("one", "two"), 1):
        other.create_table(f"a.{name}", ROWS, location=f"s3://b/{name}")
        server.vend(config={**TOKEN, "s3.access-key-id": f"key-{number}"})
        lake.do("root", f"DESCRIBE elsewhere.a.{name}")
        found[name] = lake.sources.formats[ICEBERG].load(f"iceberg-rest://elsewhere/a/{name}").storage
    assert [each.read_bytes("metadata/f") for each in found.values()] == [b"one", b"two"]
    one = found["one"]
    assert isinstance(one, FsspecStorage)
    with pytest.raises(OSError, match="two"):
        one.fs.cat_file("s3://b/two/metadata/f")
    path = lake.sources.formats[ICEBERG].folder("s3://b/one")
    with pytest.raises(OSError, match="one"):  # a path without credentials
        path.read_bytes("metadata/f")
    credential_ids = [credentials_id_of(each) for each in (*found.values(), path)]
    assert (
        credential_ids[0] and credential_ids[1] and credential_ids[0] != credential_ids[1] and credential_ids[2] is None
    )
    own = Credential(name="own", urls=("s3://b",), options={"key": "key-1"})
    use_credentials([own])
    again = GuardedLake(tmp_path / "lake", ("s3://b",), (server.options(vended_credentials=True),))
    ours = again.sources.formats[ICEBERG].load("iceberg-rest://elsewhere/a/one").storage
    assert ours.read_bytes("metadata/f") == b"one" and not isinstance(ours, VendedStorage)
    server.vend()


def test_credentials_loaded_with_table_replace_cached_ones(
    tmp_path: Path, server: RestServer, bucket: type[Bucket]
) -> None:
    """The table is the same, and so is its ETag."""
    address = "iceberg-rest://elsewhere/b/renewed"
    server.other_client().create_table("b.renewed", ROWS, location="s3://b/one")
    now = [0]
    catalogs = RestCatalogs([server.options(vended_credentials=True)], clock=lambda: now[0])
    for key, now[0] in (("key-1", 0), ("key-2", 300_000)):
        server.vend(config={**TOKEN, "s3.access-key-id": key})
        assert catalogs.load(address) is not None
        vended = catalogs.vended_options(address, "s3://b/one")
        assert vended is not None and vended()["key"] == key
    server.vend()
    server.other_client().drop_table("b.renewed")


def test_a_catalog_has_nothing_of_another_one_of_its_name(server: RestServer, bucket: type[Bucket]) -> None:
    """Its creator may have a table with the same name and location, and own it."""
    address = "iceberg-rest://away/b/same"
    server.other_client().create_table("b.same", ROWS, location="s3://b/one")
    secret = RestSecret(name="token", value="a-fixed-token", urls=(server.uri,))
    catalogs = RestCatalogs(policy=RestPolicy(secrets={"token": secret}))

    def made(**more: str) -> CatalogEntry:
        options = {"uri": server.uri, "token": "secret:token", "vended-credentials": "true", **more}
        return CatalogEntry(name=CatalogName("away"), owner="ann", rest=tuple(options.items()))

    def vended() -> VendedOptions | None:
        found = catalogs.vended_options(address, "s3://b/one")
        assert found is None or vended_by(found.credentials_id).options == found()
        return found

    server.vend(config={**TOKEN, "s3.access-key-id": "key-1"})
    catalogs.of([made()])
    first = vended()
    assert first is not None and vended() is first
    credentials_id = first.credentials_id
    catalogs.of([made(), replace(made(), name=CatalogName("more"))])
    assert vended() is first
    server.vend(config={**TOKEN, "s3.access-key-id": "key-2"})
    catalogs.of([made(scope="another")])
    second = vended()
    assert second is not None and second()["key"] == "key-2" and first()["key"] == "key-1"
    del first
    with pytest.raises(KeyError):
        vended_by(credentials_id)
    server.vend()
    catalogs.of([])
    catalogs.of([made()])
    assert vended() is None
    server.other_client().drop_table("b.same")


def test_decoded_files_require_credentials() -> None:
    decoded = Decoded(1000)
    one, two = decoded.apart("one"), decoded.apart("two")
    key = ("manifest", "s3://b/t", "s3://b/t/metadata/m.avro", 10)
    made = [each.get(key, partial(str, text), len) for each, text in ((one, "1"), (two, "2"), (decoded, "own"))]
    assert made == ["1", "2", "own"]
    assert [each.get(key, lambda: "none", len) for each in (one, two, decoded, decoded.apart(None))] == [*made, "own"]
    assert decoded.num_bytes == one.num_bytes == 5


def test_file_systems_are_not_cached(monkeypatch: pytest.MonkeyPatch, bucket: type[Bucket]) -> None:
    monkeypatch.setattr(bucket, "cachable", True)
    bucket.clear_instance_cache()
    keys = iter(["key-0", "key-1", "key-2", "key-1"])

    def ask() -> StorageOptions:
        return StorageOptions(options={"key": next(keys)}, ends_ms=0)

    storage = VendedStorage("s3://b/one", VendedOptions(ask(), ask))
    assert [storage.fs.key for _ in range(2)] == ["key-2", "key-1"]
    assert not bucket._cache


def test_credentials_are_vended_on_request_only(tmp_path: Path, server: RestServer, bucket: type[Bucket]) -> None:
    server.vend(config=TOKEN)
    server.other_client().create_table("b.unasked", ROWS, location="s3://b/unasked")
    client = server.client()
    assert client.load_credentials(("b",), "unasked") == GivenCredentials()
    asking = server.client(vended_credentials=True)
    given = asking.load_credentials(("b",), "unasked")
    assert given is not None and given.config == TOKEN and "s3cret" not in repr(asking.load(("b",), "unasked"))
    assert asking.credentials(("b",), "unasked").config == TOKEN
    reported = {"endpoints": ["GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"]}
    server.faults({"method": "GET", "contains": "/config", "status": 200, "body": reported})
    by_itself = server.client(vended_credentials=True)
    by_itself.ensure_answers()
    body = {"storage-credentials": [{"prefix": "s3://b", "config": {"s3.access-key-id": "new"}}]}
    server.faults({"method": "GET", "contains": "/unasked/credentials", "status": 200, "body": body})
    assert by_itself.credentials(("b",), "unasked").for_location("s3://b/unasked") == {"s3.access-key-id": "new"}
    server.vend()
