"""Names compare folded and keep their spelling; patterns select as their clients expect."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.conditions import InvalidName, TooManyNameParts
from catalog.errors import SqlError
from catalog.names import (
    CatalogName,
    SchemaName,
    TableName,
    ensure_new_part,
    ensure_valid_part,
    jdbc_matcher,
    like_matcher,
    path_of,
)

CURRENT = SchemaName("spark_catalog", "shop")


def test_names_that_differ_in_case_are_one_key_and_keep_their_spelling() -> None:
    assert TableName("Spark_Catalog", "Shop", "Orders") == TableName("spark_catalog", "SHOP", "oRDERS")
    assert {TableName("c", "s", "Ä"): 1}[TableName("C", "S", "ä")] == 1
    assert str(TableName("c", "Shop", "Or`ders")) == "`c`.`Shop`.`Or``ders`"


def test_names_that_differ_in_where_the_dots_are_differ() -> None:
    assert TableName("c", "a.b", "t") != TableName("c", "a", "b.t")


@pytest.mark.parametrize("alias", ["hive_metastore", "HIVE_METASTORE"])
def test_the_alias_of_the_default_catalog_is_that_catalog(alias: str) -> None:
    assert CatalogName(alias) == CatalogName("spark_catalog")
    assert str(CatalogName(alias)) == "`spark_catalog`"
    assert SchemaName(alias, "s").catalog == TableName(alias, "s", "t").catalog == "spark_catalog"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("t",), ("spark_catalog", "shop", "t")),
        (("s", "t"), ("spark_catalog", "s", "t")),
        (("c", "s", "t"), ("c", "s", "t")),
        (("a.b", "t"), ("spark_catalog", "a.b", "t")),
        (("hive_metastore", "s", "t"), ("spark_catalog", "s", "t")),
    ],
)
def test_missing_parts_come_from_the_current_schema(parts: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert TableName.from_parts(parts, CURRENT).parts == expected


def test_schema_parts() -> None:
    assert SchemaName.from_parts(("s",), "c").parts == ("c", "s")
    assert SchemaName.from_parts(("d", "s"), "c").parts == ("d", "s")


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(TooManyNameParts, match="`a`.`b`.`c`.`d`"):
        TableName.from_parts(("a", "b", "c", "d"), CURRENT)
    with pytest.raises(TooManyNameParts):
        SchemaName.from_parts(("a", "b", "c"), "c")


VALID = ["orders", "Ördern", "with space", "v1.2", "a-b", "0", "x" * 255, "a`b", "_raw", "a=1", "50%", "a%20b", "t.."]
VALID += ["ä" * 127, "_delta_logs", "x..y"]


@pytest.mark.parametrize("part", VALID)
def test_valid_parts(part: str) -> None:
    ensure_valid_part(part)
    ensure_new_part(part)


INVALID = [
    "",
    ".",
    "..",
    "...",
    ".catalog",
    "../../x/y",
    "/a",
    "a/b",
    "a/..",
    "..\\x",
    "a\\b",
    "a\nb",
    "a\0b",
    "a\x7fb",
]
INVALID += ["\x1b[0m", "\u202e", "\ud800", "x" * 256, "_delta_log", "_DELTA_LOG", "_change_data", "_delta_index"]


@pytest.mark.parametrize("ensure", [ensure_valid_part, ensure_new_part])
@pytest.mark.parametrize("part", INVALID)
def test_invalid_parts(part: str, ensure: Callable[[str], None]) -> None:
    with pytest.raises(InvalidName) as caught:
        ensure(part)
    assert isinstance(caught.value, SqlError)
    assert caught.value.name == part


INVALID_IF_NEW = ["%2e%2e", "%2E.", "a%2fb", "a%2Fb", "a%5cb", "a%00b", "%2Ehidden", "%5fdelta_log", "a%0ab", "ä" * 128]


@pytest.mark.parametrize("part", INVALID_IF_NEW)
def test_parts_that_nothing_new_may_have(part: str) -> None:
    ensure_valid_part(part)
    with pytest.raises(InvalidName) as caught:
        ensure_new_part(part)
    assert caught.value.name == part


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("delta", "/data/t"), "/data/t"),
        (("DELTA", "s3://b/t"), "s3://b/t"),
        (("delta", "file:/data/t"), "file:/data/t"),
        (("delta", "orders"), None),
        (("orders",), None),
        (("parquet", "/data/t"), None),
        (("c", "delta", "/data/t"), None),
    ],
)
def test_path_differs_from_name_in_schema_called_delta(parts: tuple[str, ...], path: str | None) -> None:
    assert path_of(parts) == path


NAMES = ["orders", "Order_Items", "stock", "a.b", "x%y", "back\\slash", "o_d"]


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        (None, NAMES),
        ("*", NAMES),
        ("ORDERS", ["orders"]),
        ("order*", ["orders", "Order_Items"]),
        ("*s", ["orders", "Order_Items"]),
        ("stock|orders", ["orders", "stock"]),
        (" stock | a.b ", ["stock", "a.b"]),
        ("a_b", []),
        ("a.b", ["a.b"]),
        ("o.ders", ["orders"]),
        ("o.d", ["o_d"]),
        ("s.*k", ["stock"]),
        (".", []),
        ("%", []),
        ("", []),
        ("*%*", ["x%y"]),
    ],
)
def test_show_patterns(pattern: str | None, selected: list[str]) -> None:
    assert list(filter(like_matcher(pattern), NAMES)) == selected


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        (None, NAMES),
        ("", NAMES),
        ("%", NAMES),
        ("*", NAMES),
        (".*", NAMES),
        ("ORDERS", ["orders"]),
        ("order%", ["orders", "Order_Items"]),
        ("o_d", ["o_d"]),
        ("order_items", ["Order_Items"]),
        ("_____", ["stock"]),
        ("a_b", ["a.b"]),
        ("a.b", ["a.b"]),
        ("o.ders", []),
        (r"order\_items", ["Order_Items"]),
        (r"stoc\_", []),
        (r"x\%y", ["x%y"]),
        ("x_y", ["x%y"]),
        (r"back\\slash", ["back\\slash"]),
        (r"orders%\\", []),
        ("back%\\", []),
        ("order*", []),
    ],
)
def test_jdbc_patterns(pattern: str | None, selected: list[str]) -> None:
    assert list(filter(jdbc_matcher(pattern), NAMES)) == selected
