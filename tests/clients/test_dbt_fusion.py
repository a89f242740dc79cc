"""Statements of dbt 2's Spark adapter, replayed.

Its macros are those of dbt-spark, whose own suite `suites.py` runs, so these are the statements that the adapter makes
itself, with what it reads of their answers: `namespace` or `databaseName` of SHOW DATABASES, `Type` and `Provider`
after the first empty name of DESCRIBE EXTENDED, the view's text and its schema, and the time of the newest version.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCHEMA = "fusion"
CATALOG = "spark_catalog"
OF_TABLE = f"table_catalog = '{CATALOG}' AND table_schema = '{SCHEMA}' AND table_name = '{{}}'"
OF_TAGGED = f"catalog_name = '{CATALOG}' AND schema_name = '{SCHEMA}' AND table_name = '{{}}'"


@pytest.fixture(scope="module")
def cursor(server: RealServer) -> Iterator[hive.Cursor]:
    with hive.connect("127.0.0.1", server.thrift_port) as connection, connection.cursor() as cursor:
        for text in (
            f"create schema if not exists {SCHEMA}",
            f"create or replace table {SCHEMA}.parent (id bigint not null, constraint parent_key primary key (id))",
            f"create or replace table {SCHEMA}.model (id bigint, parent bigint, "
            f"constraint of_parent foreign key (parent) references {SCHEMA}.parent) using delta",
            f"alter table {SCHEMA}.model set tags ('team' = 'a')",
            f"alter table {SCHEMA}.model alter column id set tags ('kind' = 'key')",
            f"create function {SCHEMA}.hide(x bigint) returns bigint return 0",
            f"alter table {SCHEMA}.model alter column id set mask {SCHEMA}.hide",
            f"create or replace view {SCHEMA}.viewed as select id from {SCHEMA}.model",
        ):
            cursor.execute(text)
        yield cursor
        cursor.execute(f"drop schema if exists {SCHEMA} cascade")


def answer(cursor: hive.Cursor, text: str) -> list[tuple[object, ...]]:
    cursor.execute(text)
    return [tuple(row) for row in cursor.fetchall()]


def described(cursor: hive.Cursor, text: str) -> dict[object, object]:
    """Returns the rows after the columns, as the adapter reads them."""
    rows = answer(cursor, text)
    first = next(number for number, row in enumerate(rows) if not row[0])
    return {row[0]: row[1] for row in rows[first:] if row[0] and not str(row[0]).startswith("#")}


def test_schema_is_found_by_the_only_column(cursor: hive.Cursor) -> None:
    assert answer(cursor, f"show databases like '{SCHEMA}'") == [(SCHEMA,)]
    assert cursor.description[0][0] == "namespace"
    assert (SCHEMA,) in answer(cursor, "show databases")
    assert answer(cursor, "show databases like 'no_such'") == []


def test_relation_is_classified_by_describe_extended(cursor: hive.Cursor) -> None:
    table = described(cursor, f"DESCRIBE TABLE EXTENDED `{SCHEMA}`.`model`")
    assert (table["Type"], table["Provider"]) == ("MANAGED", "delta")
    assert described(cursor, f"DESCRIBE TABLE EXTENDED `{SCHEMA}`.`viewed`")["Type"] == "VIEW"
    with pytest.raises(OperationalError, match=r"TABLE_OR_VIEW_NOT_FOUND.*cannot be found"):
        cursor.execute(f"DESCRIBE TABLE EXTENDED `{SCHEMA}`.`no_such`")


def test_view_has_its_text_and_schema(cursor: hive.Cursor) -> None:
    view = described(cursor, f"DESCRIBE EXTENDED {CATALOG}.{SCHEMA}.viewed")
    assert view["View Text"] == f"select id from {SCHEMA}.model"
    assert view["View Catalog and Namespace"] == f"`{CATALOG}`.`default`"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            f"SELECT view_definition FROM `SYSTEM`.`INFORMATION_SCHEMA`.`VIEWS` WHERE TABLE_CATALOG = '{CATALOG}' "
            f"AND TABLE_SCHEMA = '{SCHEMA}' AND TABLE_NAME = 'viewed'",
            [(f"select id from {SCHEMA}.model",)],
        ),
        (
            f"SELECT column_name FROM `{CATALOG}`.`information_schema`.`columns` "
            f"WHERE {OF_TABLE.format('parent')} AND is_nullable = 'NO'",
            [("id",)],
        ),
        (
            f"SELECT k.constraint_name, k.column_name FROM `{CATALOG}`.information_schema.key_column_usage k WHERE "
            f"k.table_name = 'parent' AND k.constraint_name = (SELECT constraint_name FROM "
            f"`{CATALOG}`.information_schema.table_constraints WHERE {OF_TABLE.format('parent')} AND "
            "constraint_type = 'PRIMARY KEY') ORDER BY k.ordinal_position",
            [("parent_key", "id")],
        ),
        (
            "SELECT k.constraint_name, k.column_name, u.table_schema, u.table_name, u.column_name FROM "
            f"`{CATALOG}`.information_schema.key_column_usage k JOIN "
            f"`{CATALOG}`.information_schema.referential_constraints r ON k.constraint_name = r.constraint_name JOIN "
            f"`{CATALOG}`.information_schema.key_column_usage u ON r.unique_constraint_name = u.constraint_name "
            "AND k.ordinal_position = u.ordinal_position WHERE k.table_name = 'model' AND k.constraint_name IN (SELECT "
            f"constraint_name FROM `{CATALOG}`.information_schema.table_constraints WHERE {OF_TABLE.format('model')} "
            "AND constraint_type = 'FOREIGN KEY') ORDER BY k.ordinal_position",
            [("of_parent", "parent", SCHEMA, "parent", "id")],
        ),
        (
            f"SELECT column_name, mask_name FROM `system`.`information_schema`.`column_masks` "
            f"WHERE {OF_TABLE.format('model')}",
            [("id", f"{CATALOG}.{SCHEMA}.hide")],
        ),
        (
            f"SELECT tag_name, tag_value FROM `system`.`information_schema`.`table_tags` "
            f"WHERE {OF_TAGGED.format('model')}",
            [("team", "a")],
        ),
        (
            f"SELECT column_name, tag_name, tag_value FROM `system`.`information_schema`.`column_tags` "
            f"WHERE {OF_TAGGED.format('model')}",
            [("id", "kind", "key")],
        ),
        (
            "SELECT last_altered IS NOT NULL, (table_type = 'VIEW' OR table_type = 'MATERIALIZED_VIEW') AS is_view "
            f"FROM {CATALOG}.INFORMATION_SCHEMA.TABLES WHERE table_schema = '{SCHEMA}' AND table_name = 'viewed'",
            [(True, True)],
        ),
    ],
)
def test_metadata_is_read_from_information_schema(
    cursor: hive.Cursor, text: str, rows: list[tuple[object, ...]]
) -> None:
    assert answer(cursor, text) == rows


def test_freshness_is_the_time_of_the_newest_version(cursor: hive.Cursor) -> None:
    (row,) = answer(cursor, f"DESCRIBE HISTORY `{CATALOG}`.`{SCHEMA}`.`parent` LIMIT 1")
    names = [column[0].rpartition(".")[2] for column in cursor.description]
    assert row[names.index("version")] == 0 and row[names.index("timestamp")] is not None


def test_properties_and_version_are_read(cursor: hive.Cursor) -> None:
    assert all(len(row) == 2 for row in answer(cursor, f"SHOW TBLPROPERTIES `{CATALOG}`.`{SCHEMA}`.`model`"))
    ((version,),) = answer(cursor, "SELECT version() AS version")
    assert str(version).startswith("4.")
