"""Objects of a small catalog as the engine lists them, and the same objects in PostgreSQL.

The listings stand for the engine's metadata calls in tests of the system catalog that need no Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from engine.runtime.statement import Statement
from engine.statements.listings.statement import (
    ListColumns,
    ListEntries,
    ListForeignKeys,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
    ObjectKind,
)
from engine.statements.show.statement import ShowCatalogs

DATABASE, SCHEMA, USER = "main", "sales", "alice"

# What PostgreSQL has to run to have the same objects.
POSTGRES_OBJECTS = """
CREATE SCHEMA sales;
CREATE TABLE sales.customers (id bigint NOT NULL, name text, country varchar(2), since date,
    CONSTRAINT customers_pk PRIMARY KEY (id));
CREATE TABLE sales.orders (id bigint NOT NULL, customer_id bigint, amount numeric(10,2), quantity int,
    priority smallint, rate float8, weight real, is_paid bool, placed_at timestamptz, shipped timestamp, note text,
    tags text[], details json, code char(3), payload bytea, CONSTRAINT orders_pk PRIMARY KEY (id),
    CONSTRAINT orders_customer FOREIGN KEY (customer_id) REFERENCES sales.customers (id));
CREATE VIEW sales.big_orders AS SELECT id, amount FROM sales.orders WHERE amount > 100;
COMMENT ON TABLE sales.orders IS 'Orders of customers';
COMMENT ON COLUMN sales.orders.amount IS 'In euros';
CREATE SCHEMA empty;
"""

COLUMNS = {
    "customers": "id bigint!, name string, country varchar(2), since date",
    "orders": (
        "id bigint!, customer_id bigint, amount decimal(10.2), quantity int, priority smallint, rate double, "
        "weight float, is_paid boolean, placed_at timestamp, shipped timestamp_ntz, note string, tags array<string>, "
        "details struct<a:int>, code char(3), payload binary"
    ),
    "big_orders": "id bigint, amount decimal(10.2)",
}
_PARAMETERS = [{"name": "x", "type": "INT"}, {"name": "y", "type": "STRING", "default": "'a'"}]
ENTRIES: Mapping[ObjectKind, list[dict[str, Any]]] = {
    ObjectKind.CATALOG: [{"name": [DATABASE], "privileges": ["USE CATALOG"]}],
    ObjectKind.SCHEMA: [
        {"name": [DATABASE, "empty"], "privileges": ["USE SCHEMA"]},
        {"name": [DATABASE, SCHEMA], "privileges": ["CREATE TABLE", "USE SCHEMA"]},
    ],
    ObjectKind.TABLE: [
        {"name": [DATABASE, SCHEMA, "big_orders"], "privileges": ["MANAGE", "SELECT"], "text": "SELECT 1 AS one"},
        {"name": [DATABASE, SCHEMA, "customers"], "privileges": ["SELECT"]},
        {"name": [DATABASE, SCHEMA, "orders"], "privileges": ["MODIFY", "SELECT"]},
    ],
    ObjectKind.FUNCTION: [],
}
FUNCTIONS: list[dict[str, Any]] = [
    {
        "name": [DATABASE, SCHEMA, "plus"],
        "privileges": ["EXECUTE"],
        "parameters": _PARAMETERS,
        "table_columns": [],
        "returns": "DECIMAL(10,2)",
        "body": "x + 1",
        "is_deterministic": True,
    },
    {
        "name": [DATABASE, SCHEMA, "Lines"],
        "privileges": [],
        "parameters": [],
        "table_columns": [{"name": "n", "type": "ARRAY<INT>"}],
        "returns": "TABLE",
    },
]
_COMMENTS = {("orders", "amount"): "In euros"}
_COLUMN_CELLS = "catalog schema table column sql_type nullable position comment default".split()
_KEY_CELLS = "catalog schema table column position name".split()
_FOREIGN_CELLS = (
    "pk_catalog pk_schema pk_table pk_column fk_catalog fk_schema fk_table fk_column position fk_name pk_name".split()
)


def run_listing(statement: Statement) -> pa.Table:
    """Returns the rows of a metadata call."""
    match statement:
        case ShowCatalogs():
            return pa.table({"catalog": [DATABASE]})
        case ListSchemas():
            return pa.table({"catalog": [DATABASE, DATABASE], "schema": ["empty", SCHEMA]})
        case ListTables():
            rows: list[tuple[object, ...]] = [
                (DATABASE, SCHEMA, "big_orders", "VIEW", None),
                (DATABASE, SCHEMA, "customers", "TABLE", None),
                (DATABASE, SCHEMA, "orders", "TABLE", "Orders of customers"),
            ]
            return _table(["catalog", "schema", "table", "type", "comment"], rows)
        case ListColumns():
            return _table(_COLUMN_CELLS, _columns(statement.table_pattern))
        case ListPrimaryKeys():
            keys = [("customers", "customers_pk"), ("orders", "orders_pk")]
            return _table(_KEY_CELLS, [(DATABASE, SCHEMA, table, "id", 1, name) for table, name in keys])
        case ListForeignKeys():
            parent, child = (DATABASE, SCHEMA, "customers", "id"), (DATABASE, SCHEMA, "orders", "customer_id")
            return _table(_FOREIGN_CELLS, [(*parent, *child, 1, "orders_customer", "customers_pk")])
        case ListEntries():
            return pa.table({"entry": [json.dumps(entry) for entry in ENTRIES[statement.kind]]})
        case _:  # no other call is made
            raise AssertionError(statement)


def _columns(pattern: str | None) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for table, text in COLUMNS.items():
        if pattern is not None and pattern.replace("\\", "") != table:
            continue
        for position, column in enumerate(text.split(", "), 1):
            name, _, sql_type = column.partition(" ")
            comment = _COMMENTS.get((table, name))
            kind = sql_type.removesuffix("!").replace(".", ",")
            rows.append((DATABASE, SCHEMA, table, name, kind, not sql_type.endswith("!"), position, comment, None))
    return rows


def _table(names: list[str], rows: list[tuple[object, ...]]) -> pa.Table:
    cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table({name: list(values) for name, values in zip(names, cells, strict=True)})
