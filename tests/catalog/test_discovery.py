"""Table discovery: folders that are tables, their names, and the cost."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Container, Sequence
from pathlib import Path

import fsspec
import pytest

from catalog.conditions import LakeNotAvailable, TableAmbiguous
from catalog.discovery import discovery
from catalog.discovery.discovery import DEPTH_MAX, ServedFolder
from catalog.store.files import UNLISTED_MARK, Child, LocalTree, Tree
from catalog.store.remote import LISTING_TTL_S, RemoteTree, open_tree
from engine.delta.spec.paths import LogFileKind, parse_log_path
from tests.catalog.lakes import FIRST_VERSION
from tests.catalog.lakes import make_tables as table

VERSION_KINDS = (
    LogFileKind.COMMIT,
    LogFileKind.CHECKPOINT_CLASSIC,
    LogFileKind.CHECKPOINT_PART,
    LogFileKind.CHECKPOINT_V2,
)


def folder(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).mkdir(parents=True)


def listing(served: ServedFolder) -> dict[str, list[str]]:
    return {schema: [entry.name.table for entry in served.tables(schema)] for schema in served.schemas()}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "lake"
    table(
        root,
        "events",
        "shop/orders",
        "shop/Customers",
        "crm/eu/people",
        "crm/eu/de/people",
        "crm/accounts",
        "v1.2/t",
        "with space/my table",
        # not a table, nor the following ones
        "shop/orders/_change_data/inner",
        "shop/orders/inner",
        "_hidden/t",
        ".catalog/t",
        "shop/.t",
        "plain/day=1/t",
    )
    folder(root, "empty/deeper", "plain/parquet")
    (root / "README").write_text("")
    (root / "shop" / "file").mkdir()
    (root / "shop" / "file" / "_delta_log").write_text("a file is no log")
    return root


EXPECTED = {
    "crm": ["accounts"],
    "crm.eu": ["people"],
    "crm.eu.de": ["people"],
    "default": ["events"],
    "shop": ["Customers", "orders"],
    "v1.2": ["t"],
    "with space": ["my table"],
}


def test_every_table_is_listed_under_its_folder(lake: Path) -> None:
    assert listing(ServedFolder(LocalTree(str(lake)))) == EXPECTED


def test_the_same_on_another_scheme(lake: Path) -> None:
    url = f"memory://{uuid.uuid4().hex}/lake"
    fs = fsspec.filesystem("memory")
    for path, _, files in os.walk(lake):
        target = url + path.removeprefix(str(lake))
        fs.mkdirs(target, exist_ok=True)
        for name in files:
            fs.pipe_file(f"{target}/{name}", b"")
    served = ServedFolder(open_tree(url))
    assert listing(served) == EXPECTED
    assert served.find("SHOP", "customers") == served.find("shop", "Customers") is not None


FINDS = [
    ("default", "events", "events"),
    ("DEFAULT", "Events", "events"),
    ("shop", "orders", "shop/orders"),
    ("Shop", "ORDERS", "shop/orders"),
    ("shop", "customers", "shop/Customers"),
    ("crm", "accounts", "crm/accounts"),
    ("crm.eu", "people", "crm/eu/people"),
    ("CRM.EU.de", "People", "crm/eu/de/people"),
    ("v1.2", "T", "v1.2/t"),
    ("with space", "my table", "with space/my table"),
]


@pytest.mark.parametrize(("schema", "name", "path"), FINDS)
def test_a_table_is_found_by_its_name_in_any_case(lake: Path, schema: str, name: str, path: str) -> None:
    entry = ServedFolder(LocalTree(str(lake))).find(schema, name)
    assert entry is not None
    assert entry.location == f"{lake}/{path}"
    assert entry.format == "delta"


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("shop", "nothing"),
        ("nowhere", "orders"),
        ("default", "orders"),
        ("default", "shop"),
        ("default", "README"),
        ("shop", "file"),
        ("shop", "inner"),
        ("shop.orders", "inner"),
        ("shop", ".t"),
        ("_hidden", "t"),
        (".catalog", "t"),
        ("plain.day=1", "t"),
        ("plain", "parquet"),
        ("crm", "eu"),
        ("crm.", "accounts"),
        (".crm", "accounts"),
        ("crm..eu", "people"),
        ("", "events"),
        ("shop", ""),
        ("..", "lake"),
        ("shop", ".."),
        ("shop/..", "events"),
        ("default", "shop/orders"),
        ("default", "../lake/events"),
        ("shop", "orders\0"),
        ("shop", "x" * 300),
        ("shop", "_delta_log"),
        ("events", "_delta_log"),
    ],
)
def test_folder_without_a_log_is_not_a_table(lake: Path, schema: str, name: str) -> None:
    assert ServedFolder(LocalTree(str(lake))).find(schema, name) is None


@pytest.mark.parametrize(
    ("request_count", "found"),
    [("SHOP", "shop"), ("crm.EU", "crm.eu"), ("Default", "default"), ("empty", None), ("plain", None), ("x", None)],
)
def test_a_schema_is_a_folder_that_holds_a_table(lake: Path, request_count: str, found: str | None) -> None:
    served = ServedFolder(LocalTree(str(lake)))
    assert served.find_schema(request_count) == found
    assert bool(served.tables(request_count)) == (found is not None)


def test_changes_of_the_folder_are_seen_at_once(lake: Path) -> None:
    served = ServedFolder(LocalTree(str(lake)))
    assert served.find("shop", "new") is None
    assert listing(served) == EXPECTED
    folder(lake, "shop/new", "more/deep")
    assert listing(served) == EXPECTED
    table(lake, "shop/new", "more/deep")
    assert listing(served) == {**EXPECTED, "shop": ["Customers", "new", "orders"], "more": ["deep"]}
    assert served.find("shop", "NEW") is not None
    (lake / "shop/new/_delta_log" / FIRST_VERSION).unlink()
    (lake / "shop/new/_delta_log").rmdir()
    (lake / "shop/new").rmdir()
    os.rename(lake / "more", lake / "less")
    assert listing(served) == {**EXPECTED, "less": ["deep"]}
    assert served.find("shop", "new") is None


def test_stable_folder_is_listed_once_until_it_changes(lake: Path) -> None:
    os.utime(lake, ns=(0, 10**18))
    tree = LocalTree(str(lake))
    first = tree.children(str(lake))
    assert tree.children(str(lake)) is first
    table(lake, "another")
    assert Child("another", f"{lake}/another") in tree.children(str(lake))


def test_names_that_differ_only_in_case(tmp_path: Path) -> None:
    lake = tmp_path.resolve() / "lake"
    table(lake, "Shop/orders", "shop/orders", "shop/Orders", "shop/stock", "one/A", "one/a")
    served = ServedFolder(LocalTree(str(lake)))
    for schema, name in (("shop", "orders"), ("shop", "Orders"), ("Shop", "orders"), ("one", "A"), ("one", "a")):
        entry = served.find(schema, name)
        assert entry is not None
        assert entry.location == f"{lake}/{schema}/{name}"
    stock = served.find("SHOP", "STOCK")
    assert stock is not None
    assert stock.location == f"{lake}/shop/stock"
    with pytest.raises(TableAmbiguous, match="Shop.orders, shop.Orders, shop.orders"):
        served.find("SHOP", "orders")
    assert [entry.name.table for entry in served.tables("one")] == ["A", "a"]
    assert served.schemas() == ["one", "Shop"]


def test_a_table_at_the_top_wins_over_one_in_a_folder_called_default(tmp_path: Path) -> None:
    lake = tmp_path.resolve() / "lake"
    table(lake, "t", "default/t", "default/u")
    served = ServedFolder(LocalTree(str(lake)))
    assert [entry.location for entry in served.tables("default")] == [f"{lake}/t", f"{lake}/default/u"]
    for name in ("t", "T"):
        entry = served.find("default", name)
        assert entry is not None
        assert entry.location == f"{lake}/t"


def test_serving_the_folder_of_a_table_serves_that_table(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "orders"
    table(root, ".")
    folder(root, "day=1", "_change_data")
    served = ServedFolder(LocalTree(str(root)))
    assert listing(served) == {"default": ["orders"]}
    entry = served.find("default", "ORDERS")
    assert entry is not None
    assert entry.location == str(root)
    assert served.find_schema("default") == "default"
    assert served.find_schema("inner") is None
    assert served.tables("inner") == []


def test_log_in_served_folder_is_reported_once_and_hides_no_table(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lake = tmp_path.resolve() / "lake"
    table(lake, "shop/orders", "default/lake", "plain")
    served = ServedFolder(LocalTree(str(lake)))
    before = {"default": ["lake", "plain"], "shop": ["orders"]}
    assert listing(served) == before
    table(lake, ".")
    assert listing(served) == before  # the name is another table's
    os.rename(lake / "default/lake", lake / "default/pond")
    assert listing(served) == {"default": ["lake", "plain", "pond"], "shop": ["orders"]}
    for schema, name, path in (
        ("default", "LAKE", ""),
        ("shop", "orders", "/shop/orders"),
        ("default", "plain", "/plain"),
    ):
        entry = served.find(schema, name)
        assert entry is not None
        assert entry.location == f"{lake}{path}"
    assert caplog.text.count("is a table itself") == 1
    (lake / "_delta_log" / FIRST_VERSION).unlink()
    assert listing(served) == {"default": ["plain", "pond"], "shop": ["orders"]}


NO_VERSIONS = ["", ".00000000000000000000.json.0123.tmp", "_last_checkpoint", f"{0:020}.crc", "0.json", "x.json"]
NO_VERSIONS += [f"{0:020}.{9:020}.compacted.json"]
VERSIONS = [f"{7:020}.json", f"{7:020}.checkpoint.parquet", f"{7:020}.checkpoint.0000000001.0000000002.parquet"]
VERSIONS += [f"{7:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{end}" for end in ("json", "parquet")]


@pytest.mark.parametrize("scheme", ["local", "memory"])
@pytest.mark.parametrize(("names", "expected"), [(NO_VERSIONS, []), (VERSIONS, ["t"])], ids=["none", "some"])
def test_a_folder_is_a_table_if_its_log_holds_a_version(
    tmp_path: Path, scheme: str, names: list[str], expected: list[str]
) -> None:
    for number, name in enumerate(names):
        (tmp_path / f"{number}/default/t/_delta_log").mkdir(parents=True)
        path = parse_log_path(name)
        assert (path is not None and path.kind in VERSION_KINDS) == bool(expected)
        root = str(tmp_path / str(number))
        if scheme == "memory":
            root = f"memory://{uuid.uuid4().hex}"
            fsspec.filesystem("memory").mkdirs(f"{root}/default/t/_delta_log")
            if name:
                fsspec.filesystem("memory").pipe_file(f"{root}/default/t/_delta_log/{name}", b"")
        elif name:
            (tmp_path / f"{number}/default/t/_delta_log/{name}").touch()
        served = ServedFolder(open_tree(root))
        assert [entry.name.table for entry in served.tables("default")] == expected, name
        assert (served.find("default", "t") is not None) == bool(expected), name


def test_a_lake_that_is_gone_is_not_empty(tmp_path: Path) -> None:
    lake, away = tmp_path.resolve() / "lake", tmp_path.resolve() / "away"
    table(lake, "shop/orders")
    served = ServedFolder(LocalTree(str(lake)))
    queries: list[Callable[[], object]] = [
        served.schemas,
        lambda: served.tables("shop"),
        lambda: served.find("shop", "orders"),
        lambda: served.find_schema("shop"),
    ]

    def fail(reason: str) -> None:
        for ask in queries:
            with pytest.raises(LakeNotAvailable, match=reason):
                ask()

    os.rename(lake, away)
    fail("No such file")
    lake.mkdir()
    fail("another folder is in its place, which is empty")
    lake.rmdir()
    lake.touch()
    fail("Not a directory")
    lake.unlink()
    os.rename(away, lake)
    assert listing(served) == {"shop": ["orders"]}
    os.rename(lake, away)
    table(lake, "shop/other")  # another lake is moved there
    assert listing(served) == {"shop": ["other"]}


def test_links_are_followed_only_below_allowed_roots(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    table(root, "lake/shop/orders", "outside/t", "disk2/wide", "disk2/schema/t")
    os.symlink("../../outside/t", root / "lake/shop/escaped")
    os.symlink("../outside", root / "lake/escaped")
    os.symlink("../disk2/wide", root / "lake/wide")
    os.symlink(root / "disk2/schema", root / "lake/second")
    os.symlink("shop", root / "lake/alias")
    served = ServedFolder(LocalTree(str(root / "lake")), (str(root / "disk2"),))
    assert listing(served) == {"alias": ["orders"], "default": ["wide"], "second": ["t"], "shop": ["orders"]}
    for schema, name in (("shop", "escaped"), ("escaped", "t"), ("SHOP", "ESCAPED")):
        assert served.find(schema, name) is None
    entry = served.find("default", "wide")
    assert entry is not None
    assert entry.location == f"{root}/disk2/wide"


def test_link_loops_end(tmp_path: Path) -> None:
    lake = tmp_path.resolve() / "lake"
    table(lake, "a/t", "b/t")
    for link, target in {
        "a/self": ".",
        "a/up": "..",
        "a/other": "../b",
        "b/other": "../a",
        "gone": "x",
        "me": "me",
    }.items():
        os.symlink(target, lake / link)
    served = ServedFolder(LocalTree(str(lake)))
    assert listing(served) == {"a": ["t"], "a.other": ["t"], "b": ["t"], "b.other": ["t"]}
    assert served.find("a.self", "t") is None
    assert served.find("a.up.a", "t") is None
    assert served.find("gone", "t") is None


@pytest.mark.parametrize("path", ["nothing", "README", "x" * 300, "loop"])
def test_unlistable_folder_is_empty(lake: Path, path: str) -> None:
    os.symlink("loop", lake / "loop")
    tree = LocalTree(str(lake))
    assert tree.children(f"{lake}/{path}") == ()
    assert tree.child(f"{lake}/{path}", "t") is None
    assert tree.table_format(f"{lake}/{path}") is None


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    served = ServedFolder(LocalTree(str(tmp_path / "nothing")))
    assert listing(served) == {}
    assert served.find("default", "t") is None


def test_tables_deeper_than_the_limit_are_not_found(tmp_path: Path) -> None:
    lake = tmp_path.resolve() / "lake"
    deepest = [f"d{number}" for number in range(DEPTH_MAX)]
    table(lake, "/".join([*deepest, "t"]), "/".join([*deepest, "more", "u"]))
    served = ServedFolder(LocalTree(str(lake)))
    assert listing(served) == {".".join(deepest): ["t"]}
    assert served.find(".".join(deepest), "t") is not None
    assert served.find(".".join([*deepest, "more"]), "u") is None


def test_a_walk_ends_at_its_limit_and_says_so(
    lake: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(discovery, "FOLDERS_MAX", 3)
    served = ServedFolder(LocalTree(str(lake)))
    assert set(listing(served)) < set(EXPECTED)
    assert "more than 3 folders" in caplog.text
    assert served.find("with space", "my table") is not None  # a lookup does not walk


@pytest.mark.parametrize("remote", [False, True])
def test_a_folder_with_metadata_is_an_iceberg_table(tmp_path: Path, remote: bool) -> None:
    names = {
        "hinted": ["metadata/version-hint.text"],
        "versioned": ["metadata/v3.metadata.json"],
        "of_a_metastore": ["metadata/00001-a.gz.metadata.json"],
        "both": ["metadata/v1.metadata.json", f"_delta_log/{FIRST_VERSION}"],
        "neither": ["metadata/readme.txt", "data/a.parquet"],
    }
    url = f"memory://{uuid.uuid4().hex}/lake" if remote else str(tmp_path.resolve() / "lake")
    fs = fsspec.filesystem("memory" if remote else "file", auto_mkdir=True)
    for folder, files in names.items():
        for file in files:
            fs.pipe_file(f"{url}/shop/{folder}/{file}", b"")
    served = ServedFolder(RemoteTree(url) if remote else LocalTree(url))
    expected = {"both": "delta", "hinted": "iceberg", "of_a_metastore": "iceberg", "versioned": "iceberg"}
    assert {entry.name.table: entry.format for entry in served.tables("shop")} == expected
    found = served.find("shop", "hinted")
    assert found is not None and found.format == "iceberg" and served.find("shop", "neither") is None


class CountingTree:
    """Counts the listings and the questions."""

    def __init__(self, inner: Tree) -> None:
        self.root = inner.root
        self.listed: list[str] = []
        self.request_count = 0
        self._inner = inner

    def children(self, location: str) -> tuple[Child, ...]:
        self.listed.append(location)
        return self._inner.children(location)

    def child(self, location: str, name: str) -> Child | None:
        self.request_count += 1
        return self._inner.child(location, name)

    def table_format(self, location: str) -> str | None:
        self.request_count += 1
        return self._inner.table_format(location)

    def look_at(self, locations: Sequence[str], above: Container[str] = ()) -> None:
        self._inner.look_at(locations, above)

    def is_unlisted(self, location: str) -> bool:
        self.request_count += 1
        return self._inner.is_unlisted(location)

    def ensure_there(self) -> None:
        self._inner.ensure_there()

    def listed_format(self, location: str) -> str | None:
        return self.table_format(location)

    def is_listed(self, location: str) -> bool:
        return not self.is_unlisted(location)


def test_looking_up_a_name_lists_nothing_and_asks_little(lake: Path) -> None:
    for number in range(200):
        table(lake, f"shop/t{number}", f"s{number}/t")
    tree = CountingTree(LocalTree(str(lake)))
    assert ServedFolder(tree).find("shop", "t7")
    assert tree.listed == []
    assert tree.request_count <= 6


def test_other_spelling_lists_only_parent_folders(lake: Path) -> None:
    for number in range(200):
        table(lake, f"shop/t{number}", f"s{number}/t")
    tree = CountingTree(LocalTree(str(lake)))
    assert ServedFolder(tree).find("SHOP", "T7")
    assert tree.listed == [str(lake), f"{lake}/shop"]
    assert tree.request_count <= 8


def test_remote_listings_are_cached_and_new_tables_found_at_once() -> None:
    url, now = f"memory://{uuid.uuid4().hex}/lake", [0.0]
    fs = fsspec.filesystem("memory")
    fs.pipe_file(f"{url}/shop/one/_delta_log/{FIRST_VERSION}", b"")
    served = ServedFolder(RemoteTree(url, clock=lambda: now[0]))
    assert listing(served) == {"shop": ["one"]}
    fs.pipe_file(f"{url}/shop/two/_delta_log/{FIRST_VERSION}", b"")
    assert served.find("shop", "two") is not None
    assert listing(served) == {"shop": ["one"]}
    now[0] += LISTING_TTL_S
    assert listing(served) == {"shop": ["one", "two"]}


def test_a_folder_with_a_mark_is_not_listed_here_or_on_an_object_store(tmp_path: Path) -> None:
    lake, url = tmp_path, f"memory://{uuid.uuid4().hex}/lake"
    fs = fsspec.filesystem("memory")
    for name in ("shop/kept", "shop/dropped", "gone/dropped"):
        table(lake, name)
        fs.pipe_file(f"{url}/{name}/_delta_log/{FIRST_VERSION}", b"")
        if name.endswith("dropped"):
            (lake / name / UNLISTED_MARK).touch()
            fs.pipe_file(f"{url}/{name}/{UNLISTED_MARK}", b"")
    for tree in (LocalTree(str(lake)), RemoteTree(url)):
        served = ServedFolder(tree)
        assert served.find("shop", "dropped") is None
        assert listing(served) == {"shop": ["kept"]}
        assert served.find("SHOP", "DROPPED") is None and served.find_schema("gone") is None
