"""Columns with a collation compare, group and join by it, as Spark's collated strings do."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import LakeSession
from tests.engine.foreign_tables import column, write_table
from tests.engine.lake_sessions import refuse, rows, run, table

WORDS = ["a", "A", "b", "B ", "ä", "Z", None, "z"]
LIST = {"type": "array", "elementType": "string", "containsNull": True}
RECORD = {
    "type": "struct",
    "fields": [column("f", "string") | {"metadata": {"__COLLATIONS": {"f": "spark.UTF8_LCASE"}}}],
}


def collated(name: str, identifier: str, path: str | None = None, kind: Any = "string") -> dict[str, Any]:
    return column(name, kind) | {"metadata": {"__COLLATIONS": {path or name: identifier}}}


COLUMNS = (
    column("id", "long"),
    column("plain", "string"),
    collated("folded", "spark.UTF8_LCASE"),
    collated("icu", "ICU.UNICODE_CI.75.1"),
    collated("list", "spark.UTF8_LCASE", "list.element", LIST),
    column("record", RECORD),
)
SAME_ROWS = """SELECT id, plain, CAST(plain AS STRING COLLATE UTF8_LCASE) AS folded,
    CAST(plain AS STRING COLLATE UNICODE_CI) AS icu,
    CAST(list AS ARRAY<STRING COLLATE UTF8_LCASE>) AS list,
    CAST(record AS STRUCT<f: STRING COLLATE UTF8_LCASE>) AS record FROM {t}"""

QUERIES = {
    "all": "SELECT * FROM {t}",
    "equality": "SELECT id FROM {t} WHERE folded = 'a'",
    "IN": "SELECT id FROM {t} WHERE icu IN ('A', 'Z')",
    "order": "SELECT id FROM {t} WHERE folded > 'A' AND folded < 'Y'",
    "LIKE": "SELECT id FROM {t} WHERE folded LIKE 'B%'",
    "startswith": "SELECT id FROM {t} WHERE startswith(icu, 'A')",
    "groups": "SELECT count(*), min(id) FROM {t} GROUP BY folded",
    "distinct": "SELECT count(DISTINCT folded), count(DISTINCT icu), count(DISTINCT plain) FROM {t}",
    "extremes": "SELECT min(folded) COLLATE UTF8_BINARY, max(icu) COLLATE UTF8_BINARY, max(plain) FROM {t}",
    "sorted": "SELECT collect_list(folded) FROM (SELECT folded FROM {t} WHERE id < 4 ORDER BY folded DESC, id)",
    "join": "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.folded = b.folded",
    "join with others": "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.icu = b.plain COLLATE UNICODE_CI",
    "subquery": "SELECT id FROM {t} WHERE folded IN (SELECT folded FROM {t} WHERE id = 1)",
    "window": "SELECT id, count(*) OVER (PARTITION BY icu) FROM {t}",
    "nulls": "SELECT id FROM {t} WHERE folded IS NULL",
    "elements": "SELECT id FROM {t} WHERE array_contains(list, 'A')",
    "fields": "SELECT id FROM {t} WHERE record.f = 'A'",
    "union": "SELECT count(*) FROM (SELECT folded FROM {t} UNION SELECT folded FROM {t})",
    "count": "SELECT count(*) FROM {t} WHERE folded = 'B '",
}


_numbers = itertools.count()


def foreign(lake: Path, columns: Sequence[Mapping[str, Any]], values: Mapping[str, Any], **options: Any) -> str:
    """Creates a table as another writer leaves it; returns its name."""
    name = f"foreign_{next(_numbers)}"
    write_table(lake / "default" / name, columns, pa.table(values), **options)
    return name


@pytest.fixture
def tables(lake: Path, session: LakeSession) -> str:
    """Creates a collated table and returns its name; the view `same` has its rows from a table without collations."""
    values = {
        "id": list(range(len(WORDS))),
        "plain": WORDS,
        "folded": WORDS,
        "icu": WORDS,
        "list": [[word, "x"] for word in WORDS],
        "record": [{"f": word} for word in WORDS],
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["collations", "domainMetadata"]}
    name = foreign(lake, COLUMNS, values, protocol=protocol)
    plain = [one | {"metadata": {}} for one in COLUMNS[:-1]]
    record = {"type": "struct", "fields": [column("f", "string")]}
    other = foreign(lake, [*plain, column("record", record)], values)
    run(session, f"CREATE OR REPLACE TEMPORARY VIEW same AS {SAME_ROWS.format(t=other)}")
    return name


@pytest.mark.parametrize("query", QUERIES)
def test_query_over_collated_columns(session: LakeSession, tables: str, query: str) -> None:
    found, expected = (rows(session, QUERIES[query].format(t=name)) for name in (tables, "same"))
    assert sorted(found, key=repr) == sorted(expected, key=repr) != []


@pytest.mark.parametrize(
    ("condition", "expected"), [("p = 'DAY'", [7]), ("p IN ('dAy', 'x')", [7]), ("p > 'DAZ'", []), ("p < 'daz'", [7])]
)
def test_collated_partition_column(lake: Path, session: LakeSession, condition: str, expected: list[int]) -> None:
    columns = (column("id", "long"), collated("p", "spark.UTF8_LCASE"))
    name = foreign(lake, columns, {"id": [7]}, partition={"p": "day"})
    assert [row[0] for row in rows(session, f"SELECT id FROM {name} WHERE {condition}")] == expected


def test_collations_are_described(session: LakeSession, tables: str) -> None:
    types = {row[0]: row[1] for row in rows(session, f"DESCRIBE TABLE {tables}")}
    assert types["folded"] == "string collate UTF8_LCASE"
    assert types["icu"] == "string collate UNICODE_CI"
    assert types["list"] == "array<string collate UTF8_LCASE>"
    assert types["record"] == "struct<f:string collate UTF8_LCASE>"
    ((text,),) = rows(session, f"DESCRIBE TABLE EXTENDED {tables} AS JSON")
    shown = {each["name"]: each["type"] for each in json.loads(text)["columns"]}
    assert shown["plain"] == {"name": "string", "collation": "UTF8_BINARY"}
    assert shown["icu"] == {"name": "string", "collation": "UNICODE_CI"}


@pytest.mark.parametrize(
    ("identifier", "condition"),
    [
        ("spark.KLINGON", "COLLATION_INVALID_NAME"),
        ("spark", "COLLATION_INVALID_NAME"),
        ("", "COLLATION_INVALID_PROVIDER"),
        ("odd.UTF8_LCASE", "COLLATION_INVALID_PROVIDER"),
        ("spark.a`b", "COLLATION_INVALID_NAME"),
    ],
)
def test_unknown_collation_is_named(lake: Path, session: LakeSession, identifier: str, condition: str) -> None:
    name = foreign(lake, (collated("s", identifier),), {"s": ["a"]})
    error = refuse(session, f"SELECT * FROM {name}")
    assert error.condition == condition, error


def test_collations_are_in_create_statements(session: LakeSession, tables: str) -> None:
    ((text,),) = rows(session, f"SHOW CREATE TABLE {tables}")
    assert "STRING COLLATE UNICODE_CI" in text and "ARRAY<STRING COLLATE UTF8_LCASE>" in text


def test_changes_have_collations(lake: Path, session: LakeSession) -> None:
    name = foreign(
        lake, COLUMNS[2:3], {"folded": ["a", "A", "b"]}, configuration={"delta.enableChangeDataFeed": "true"}
    )
    query = f"SELECT count(*) FROM table_changes('{name}', 0) WHERE folded = 'a'"
    assert rows(session, query) == [(2,)]


def test_show_collations_lists_names_that_collate_accepts(session: LakeSession) -> None:
    found = table(session, "SHOW COLLATIONS LIKE 'utf8_*lcase|DE_CI'")
    assert found.column_names == [
        *("NAME", "LANGUAGE", "COUNTRY", "ACCENT_SENSITIVITY", "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION")
    ]
    assert [row[:-1] for row in zip(*(each.to_pylist() for each in found.columns), strict=True)] == [
        ("UTF8_LCASE", None, None, "ACCENT_SENSITIVE", "CASE_INSENSITIVE", "NO_PAD"),
        ("de_CI", "German", None, "ACCENT_SENSITIVE", "CASE_INSENSITIVE", "NO_PAD"),
    ]
    assert rows(session, "SELECT 'a' COLLATE de_CI = 'A'") == [(True,)]


def test_show_collations_without_pattern_lists_all(session: LakeSession) -> None:
    names = rows(session, "SELECT NAME FROM collations()")
    assert len(names) > 1000
    assert [row[:1] for row in rows(session, "SHOW COLLATIONS")] == names
    assert rows(session, "SHOW COLLATIONS 'it''s|\\\\d+'") == []
