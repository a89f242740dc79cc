"""Paths that a client may name. Each row in the tables below is an attempt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from catalog.conditions import PathNotAllowed, RestTableInLake, StorageNotAvailable
from catalog.rest.places import RestPlaces
from catalog.roots import (
    AllowedRoots,
    canonical_location,
    configured_location,
    is_below,
    is_same,
    may_be_below,
    overlap,
)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """`lake` is allowed, `secret` is not; links lead from one into the other and back."""
    root = tmp_path / "disk"
    for folder in ("lake/shop/orders", "lake/a%20b", "lake/a b", "lake/%2e%2e", "secret/t", "lake-2/t", "more/t"):
        (root / folder).mkdir(parents=True)
    links: dict[str, str | Path] = {
        "lake/out": "../secret",
        "lake/out_absolute": root / "secret",
        "lake/shop/up": "../..",
        "lake/in": "shop",
        "lake/loop": "loop",
        "secret/lake": "../lake",
        "way": "lake",
    }
    for link, target in links.items():
        os.symlink(target, root / link)
    return root.resolve()


ALLOWED = [
    ("{lake}", "{lake}"),
    ("{lake}/", "{lake}"),
    ("{lake}/shop/orders", "{lake}/shop/orders"),
    ("{lake}/shop/orders/", "{lake}/shop/orders"),
    ("{lake}//shop///orders", "{lake}/shop/orders"),
    ("//{lake}/shop", "{lake}/shop"),
    ("{lake}/shop/../shop/./orders", "{lake}/shop/orders"),
    ("{lake}/not/there/yet", "{lake}/not/there/yet"),
    ("file:{lake}/shop", "{lake}/shop"),
    ("file://{lake}/shop", "{lake}/shop"),
    ("FILE:///{lake}/shop", "{lake}/shop"),
    ("file://localhost{lake}/shop", "{lake}/shop"),
    ("{lake}/in/orders", "{lake}/shop/orders"),
    ("{disk}/way/shop", "{lake}/shop"),
    ("{disk}/secret/lake/shop", "{lake}/shop"),
    ("{lake}/shop/up/lake/shop", "{lake}/shop"),
    ("{lake}/a%20b", "{lake}/a%20b"),
    ("file:{lake}/a%20b", "{lake}/a%20b"),
    ("{lake}/a b", "{lake}/a b"),
    ("{lake}/%2e%2e/secret", "{lake}/%2e%2e/secret"),
    ("{disk}/more/t", "{disk}/more/t"),
]

REFUSED = [
    "",
    "/",
    "orders",
    "./orders",
    "shop/../../secret/t",
    "{disk}",
    "{disk}/secret/t",
    "{disk}/lake-2/t",
    "{lake}-2/t",
    "{lake}/../secret/t",
    "{lake}/shop/../../secret/t",
    "{lake}/out",
    "{lake}/out/t",
    "{lake}/out_absolute/t",
    "{lake}/shop/up/secret/t",
    "{lake}/out/../secret/t",
    "{lake}/not/there/../../../secret",
    "{lake}\0/../secret",
    "/etc/passwd",
    "~/lake",
    "file:orders",
    "file:../secret",
    "file://host{lake}/shop",
    "file:{lake}/../secret/t",
    "file:",
    "file://",
    "C:\\lake",
    "s3://bucket/t",
    "memory://{lake}",
    "zip://t::file://{disk}/secret/t.zip",
    "simplecache::file://{disk}/secret/t",
    "filecache::{lake}",
    "local://{lake}/shop",
    "hdfs:{lake}",
]


def fill(text: str, disk: Path) -> str:
    return text.replace("{lake}", f"{disk}/lake").replace("{disk}", str(disk))


@pytest.mark.parametrize(("path", "location"), ALLOWED)
def test_a_path_below_a_root_becomes_its_one_location(disk: Path, path: str, location: str) -> None:
    roots = AllowedRoots([f"{disk}/way", f"{disk}/more"])
    assert roots.ensure_allowed(fill(path, disk)) == fill(location, disk)


@pytest.mark.parametrize("path", REFUSED)
def test_path_outside_the_roots_is_refused(disk: Path, path: str) -> None:
    with pytest.raises(PathNotAllowed) as caught:
        AllowedRoots([f"{disk}/lake", f"{disk}/more"]).ensure_allowed(fill(path, disk))
    assert caught.value.sqlstate == "42501"


def test_a_link_loop_leads_nowhere_and_hurts_nobody(disk: Path) -> None:
    assert AllowedRoots([f"{disk}/lake"]).ensure_allowed(f"{disk}/lake/loop/t").startswith(f"{disk}/lake/loop")


def test_the_refusal_is_the_same_whether_or_not_something_is_there(disk: Path) -> None:
    messages = set()
    for name in ("t", "nothing"):
        with pytest.raises(PathNotAllowed) as caught:
            AllowedRoots([f"{disk}/lake"]).ensure_allowed(f"{disk}/secret/{name}")
        messages.add(str(caught.value).replace(f"/secret/{name} ", ""))
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("s3://bucket/lake/t", "s3://bucket/lake/t"),
        ("S3://bucket/lake/t/", "s3://bucket/lake/t"),
        ("s3://bucket/lake", "s3://bucket/lake"),
        ("s3://bucket/lake/a%2Fb", "s3://bucket/lake/a%2Fb"),
        ("memory:///lake/t", "memory:///lake/t"),
    ],
)
def test_locations_on_other_schemes(path: str, location: str) -> None:
    assert AllowedRoots(["s3://bucket/lake", "memory:///lake"]).ensure_allowed(path) == location


@pytest.mark.parametrize(
    "path",
    [
        "s3://bucket/lake2/t",
        "s3://bucket",
        "s3://other/lake/t",
        "gs://bucket/lake/t",
        "s3://bucket/lake/../secret",
        "s3://bucket/lake/./t",
        "s3://bucket/lake//t",
        "s3:/bucket/lake/t",
        "s3:bucket/lake/t",
        "s3://",
        "memory://lake/t",
        "s3://bucket/lake/t::file:///etc",
    ],
)
def test_refused_on_other_schemes(path: str) -> None:
    with pytest.raises(PathNotAllowed):
        AllowedRoots(["s3://bucket/lake", "memory:///lake"]).ensure_allowed(path)


def test_no_roots_allow_no_path_and_the_root_folder_allows_every_path() -> None:
    with pytest.raises(PathNotAllowed):
        AllowedRoots([]).ensure_allowed("/data")
    assert AllowedRoots(["/"]).ensure_allowed("/no/such/folder") == "/no/such/folder"


@pytest.mark.parametrize("path", ["/a/../b", "file:///b", "//b", "/b/"])
def test_a_location_is_its_own_canonical_form(path: str) -> None:
    assert canonical_location(path) == canonical_location(canonical_location(path)) == "/b"


def test_an_operator_may_write_a_relative_path(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(disk)
    assert configured_location("lake/shop") == configured_location("./way/shop/") == f"{disk}/lake/shop"
    assert configured_location(f"file:{disk}/lake") == f"{disk}/lake"
    assert configured_location("s3://bucket/lake/") == "s3://bucket/lake"


@pytest.mark.parametrize("path", ["s3:/bucket", "file:lake", "s3://bucket/../x", "lake\0"])
def test_invalid_configured_location_is_reported(path: str) -> None:
    with pytest.raises(StorageNotAvailable):
        AllowedRoots([path])


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("s3a://b/t", "s3://b/t", "same"),
        ("s3n://b/t/x", "s3a://b/t", "below"),
        ("gcs://b/t/x", "gs://b/t", "below"),
        ("abfss://c@a/t/x", "abfs://c@a/t", "below"),
        ("abfss://c@a.dfs.core.windows.net/t/x", "wasbs://c@a.blob.core.windows.net/t", "below"),
        ("wasb://c@A.blob.core.windows.net/t", "az://c@a.dfs.core.windows.net/t", "same"),
        ("abfss://c@a.dfs.core.windows.net/t", "abfss://c@a.dfs.core.chinacloudapi.cn/t", "apart"),
        ("abfss://c@a.dfs.core.windows.net/t", "abfss://d@a.dfs.core.windows.net/t", "apart"),
        ("az://c/t/x", "abfs://c/t", "below"),
        ("az://c/t10", "abfss://c@a/t1", "apart"),
        ("az://c/t", "s3://c@a/t", "apart"),
        ("s3a://b", "s3://b", "same"),
        ("s3a://b/t", "s3://b", "below"),
        ("s3://b/t10", "s3a://b/t1", "apart"),
        ("s3a://b/t", "s3://c/t", "apart"),
        ("gs://b/t", "s3://b/t", "apart"),
        ("/b/t/x", "/b/t", "below"),
        ("/b/t", "/b/t", "same"),
        ("/b", "/", "below"),
    ],
)
def test_folders_are_compared_by_the_store_that_they_are_in(one: str, other: str, relation: str) -> None:
    assert is_same(one, other) is is_same(other, one) is (relation == "same")
    assert is_below(one, other) is (relation == "below") and not is_below(other, one)
    assert overlap(one, other) is overlap(other, one) is (relation != "apart")


@pytest.mark.parametrize(
    ("one", "other"),
    [("az://c/t", "abfss://c@a.dfs.core.windows.net/t"), ("wasbs://c@a.blob.core.windows.net", "az://c/x")],
)
def test_a_container_without_an_account_may_be_that_of_any(one: str, other: str) -> None:
    """A path that is denied for it does not reveal anybody's privilege."""
    assert overlap(one, other) and overlap(other, one) and overlap(f"{one}/x", other)
    assert not is_same(one, other) and not is_below(other, one) and not is_below(one, other)
    assert may_be_below(f"{one}/x/y", other) and not may_be_below(one, f"{other}/x/y")


def test_a_folder_of_the_server_is_reserved_however_it_is_spelled() -> None:
    places = RestPlaces(["s3://b/lake"])
    assert places.is_reserved("s3a://b/lake") and places.is_reserved("s3a://b/lake/t")
    assert not places.is_reserved("s3a://b/lake2")
    for location in ("s3a://b/lake/t", "s3a://b"):
        with pytest.raises(RestTableInLake):
            places.ensure_allowed("t", location)
