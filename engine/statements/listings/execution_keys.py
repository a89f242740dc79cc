"""Primary and foreign keys for tools that draw relationships: metadata calls, Databricks' SHOW KEYS, SQL clauses.

One row is one column in a key. The metadata calls' columns are neutral: a front end converts them to its protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catalog.names import CatalogName, TableName, fold, quote
from engine.binding.bound import BoundStatement, BoundTable, Outcome
from engine.binding.visibility import visible_keys
from engine.runtime.results import INT, STRING, small_result
from engine.statements.listings.statement import FindKeys, ListChecks, ListForeignKeys, ListPrimaryKeys, TablePattern
from engine.tables.keys import ForeignKey, PrimaryKey, TableKey, primary_key

# Values from `java.sql.DatabaseMetaData`.
_NO_ACTION, _NOT_DEFERRABLE = 3, 7

_CHECKS = dict.fromkeys(("catalog", "schema", "table", "name", "expression"), STRING)
_PRIMARY = {**dict.fromkeys(("catalog", "schema", "table", "column"), STRING), "position": INT, "name": STRING}
_FOREIGN = {
    **dict.fromkeys(("pk_catalog", "pk_schema", "pk_table", "pk_column"), STRING),
    **dict.fromkeys(("fk_catalog", "fk_schema", "fk_table", "fk_column"), STRING),
    "position": INT,
    "fk_name": STRING,
    "pk_name": STRING,
}
_OF_TABLE = ("catalogName", "namespace", "tableName", "col_name")
_FOUND_PRIMARY = {**dict.fromkeys(_OF_TABLE, STRING), "keySeq": INT, "constraintName": STRING}
_FOUND_FOREIGN = {
    **dict.fromkeys(("parentCatalogName", "parentNamespace", "parentTableName", "parentColName"), STRING),
    **dict.fromkeys(_OF_TABLE, STRING),
    **dict.fromkeys(("keySeq", "updateRule", "deleteRule"), INT),
    "constraintName": STRING,
    "primaryKeyName": STRING,
    "deferrability": INT,
}


def list_keys(bound: BoundStatement, statement: ListPrimaryKeys | ListForeignKeys) -> Outcome:
    """Returns one metadata call's rows, in JDBC's order."""
    if isinstance(statement, ListPrimaryKeys):
        primary = [row for table in bound.tables for row in _primary_rows(table)]
        return Outcome(result=small_result(_PRIMARY, sorted(primary, key=lambda row: (row[:3], row[3]))))
    rows = [row for table in bound.tables for row in _foreign_rows(bound, table, statement.parent)]
    return Outcome(result=small_result(_FOREIGN, sorted(rows, key=lambda row: (row[4:7], row[9], row[8]))))


def list_checks(bound: BoundStatement, _: ListChecks) -> Outcome:
    """Returns the metadata call's rows, by table and name."""
    rows = [
        (*table.entry.name.parts, check.name, check.expression)
        for table in bound.tables
        for check in table.snapshot.checks
    ]
    return Outcome(result=small_result(_CHECKS, sorted(rows)))


def find_keys(bound: BoundStatement, statement: FindKeys) -> Outcome:
    """Returns SHOW KEYS' rows, in Databricks' columns."""
    if not statement.foreign:
        primary = [row for table in bound.tables for row in _primary_rows(table)]
        return Outcome(result=small_result(_FOUND_PRIMARY, primary))
    found = [row for table in bound.tables for row in _foreign_rows(bound, table, (None, None, None))]
    actions = (_NO_ACTION, _NO_ACTION)
    rows = [(*row[:9], *actions, *row[9:], _NOT_DEFERRABLE) for row in found]
    return Outcome(result=small_result(_FOUND_FOREIGN, rows))


def key_clause(key: TableKey, characteristics: str = "") -> str:
    """Returns a key's SQL clause, without its name; `characteristics` precede RELY."""
    columns = ", ".join(map(quote, key.columns))
    rely = f"{characteristics}{' RELY' if key.rely else ''}"
    if isinstance(key, PrimaryKey):
        return f"PRIMARY KEY ({columns}){rely}"
    parent = TableName(*key.parent)
    return f"FOREIGN KEY ({columns}) REFERENCES {parent} ({', '.join(map(quote, key.parent_columns))}){rely}"


def _primary_rows(table: BoundTable) -> Iterator[tuple[Any, ...]]:
    key = primary_key(table.keys)
    for position, column in enumerate(key.columns if key else (), 1):
        yield *table.entry.name.parts, column, position, key.name if key else ""


def _foreign_rows(bound: BoundStatement, table: BoundTable, parent: TablePattern) -> Iterator[tuple[Any, ...]]:
    for key in visible_keys(bound.view, table):
        if not isinstance(key, ForeignKey) or not _is_named(TableName(*key.parent), parent):
            continue
        pairs = zip(key.columns, key.parent_columns, strict=True)
        for position, (column, its) in enumerate(pairs, 1):
            yield *key.parent, its, *table.entry.name.parts, column, position, key.name, None


def _is_named(name: TableName, pattern: TablePattern) -> bool:
    catalog, schema, table = pattern
    return (
        (catalog is None or CatalogName(catalog) == name.schema_name.catalog_name)
        and (schema is None or fold(schema) == fold(name.schema))
        and (table is None or fold(table) == fold(name.table))
    )
