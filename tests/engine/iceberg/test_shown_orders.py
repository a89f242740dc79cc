"""SHOW CREATE TABLE includes an Iceberg table's sort order in a runnable statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.bare_lake import BareLake


def _metadata(bare: BareLake, name: str) -> dict[str, Any]:
    folder = bare.path(name) / "metadata"
    found: dict[str, Any] = json.loads(
        (folder / f"v{(folder / 'version-hint.text').read_text()}.metadata.json").read_text()
    )
    return found


def _order(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    (order,) = (each for each in metadata["sort-orders"] if each["order-id"] == metadata["default-sort-order-id"])
    found: list[dict[str, Any]] = order["fields"]
    return found


ORDERS = [
    ("LOCALLY ORDERED BY id", "WRITE LOCALLY ORDERED BY `id` ASC NULLS FIRST\n", None),
    ("ORDERED BY id DESC, days(at)", "BY `id` DESC NULLS LAST, day(`at`) ASC NULLS FIRST\n", "range"),
    (
        "DISTRIBUTED BY PARTITION ORDERED BY s.`a b` ASC NULLS LAST, bucket(4, id) DESC NULLS FIRST, truncate(name, 2)",
        "`s`.`a b` ASC NULLS LAST, bucket(4, `id`) DESC NULLS FIRST, truncate(2, `name`) ASC NULLS FIRST\n",
        "hash",
    ),
    ("UNORDERED", "", "none"),
    ("DISTRIBUTED BY PARTITION", "", "hash"),
]


@pytest.mark.parametrize(("clause", "shown", "distribution"), ORDERS)
def test_orders_make_the_same_table_again(tmp_path: Path, clause: str, shown: str, distribution: str | None) -> None:
    bare = BareLake(tmp_path)
    columns = "id BIGINT, at TIMESTAMP, name STRING, s STRUCT<`a b`: INT>"
    bare.answer(f"CREATE TABLE t ({columns}) USING iceberg PARTITIONED BY (bucket(2, id)) COMMENT 'c'")
    bare.answer(f"ALTER TABLE t WRITE {clause}")
    ((text,),) = bare.rows("SHOW CREATE TABLE t")
    assert shown in text and ("ORDERED BY" in text) is bool(shown)
    altered = _metadata(bare, "t")
    assert altered["properties"].get("write.distribution-mode") == distribution
    for statement in (text, f"CREATE TABLE t ({columns}) USING iceberg WRITE {clause} PARTITIONED BY (bucket(2, id))"):
        bare.answer("DROP TABLE t")
        bare.answer(statement)
        made = _metadata(bare, "t")
        assert _order(made) == _order(altered) and made["partition-specs"] == altered["partition-specs"]
        assert made["properties"].get("write.distribution-mode") == distribution
    ((again,),) = bare.rows("SHOW CREATE TABLE t")
    assert again.replace("COMMENT 'c'\n", "") == text.replace("COMMENT 'c'\n", "")


REFUSED = [
    ("id BIGINT) WRITE ORDERED BY id", "0A000"),
    ("id BIGINT) USING iceberg WRITE ORDERED BY nobody", "42611"),
    ("id BIGINT) USING iceberg WRITE", "42601"),
    ("id BIGINT) USING iceberg WRITE UNORDERED WRITE UNORDERED", "42601"),
]


@pytest.mark.parametrize(("text", "sqlstate"), REFUSED)
def test_invalid_sort_orders_of_a_new_table(tmp_path: Path, text: str, sqlstate: str) -> None:
    bare = BareLake(tmp_path)
    assert bare.refuse(f"CREATE TABLE t ({text}").sqlstate == sqlstate
    assert not bare.path("t").exists()
