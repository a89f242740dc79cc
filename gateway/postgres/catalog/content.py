"""The objects that a principal may see, from the engine's metadata calls, which check grants.

Each call lists everything at once; columns and keys, for which tables are opened, are listed when a query names a
relation that contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.errors import SqlError
from engine.runtime.session_state import GLOBAL_SCHEMA
from engine.runtime.statement import Statement
from engine.statements.describe.statement import DescribeTable
from engine.statements.listings.statement import (
    ListChecks,
    ListColumns,
    ListForeignKeys,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
)
from engine.statements.show.statement import ShowCatalogs, ShowViews

# The schema of a session's own temporary views, which have none in Spark.
TEMPORARY_SCHEMA = "pg_temp_3"
# Runs one metadata call with the principal's rights and returns its rows.
RunCall = Callable[[Statement], pa.Table]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class VisibleObjects:
    """Names of catalogs, schemas, and rows of the engine's lists."""

    catalogs: tuple[str, ...]
    schemas: tuple[str, ...]
    tables: pa.Table

    @property
    def temporary_views(self) -> list[str]:
        """Returns the names of the session's own views."""
        return [row["table"] for row in self.tables.to_pylist() if row["schema"] == TEMPORARY_SCHEMA]

    def is_same(self, other: VisibleObjects) -> bool:
        """Returns True if both have the same objects."""
        return (self.catalogs, self.schemas) == (other.catalogs, other.schemas) and self.tables.equals(other.tables)


def visible_objects(run: RunCall, catalog: str) -> VisibleObjects:
    """Lists catalogs, and the schemas and tables of one catalog."""
    catalogs = [str(next(iter(row.values()))) for row in run(ShowCatalogs()).to_pylist()]
    schemas = run(ListSchemas(catalog=catalog)).column("schema").to_pylist()
    tables = run(ListTables(catalog=catalog))
    own = [
        {"catalog": catalog, "schema": TEMPORARY_SCHEMA, "table": row["viewName"], "type": "VIEW", "comment": None}
        for row in run(ShowViews(schema_parts=(GLOBAL_SCHEMA,))).to_pylist()
        if row.get("namespace") == ""
    ]
    if own:
        schemas.append(TEMPORARY_SCHEMA)
        tables = pa.concat_tables([tables, pa.Table.from_pylist(own, schema=tables.schema)])
    return VisibleObjects(tuple(catalogs), tuple(schemas), tables)


def visible_columns(
    run: RunCall, catalog: str, tables: Sequence[tuple[str, str]] | None, views: Sequence[str] = ()
) -> pa.Table:
    """Lists columns in a catalog: of all tables and the session's `views`, or of the given ones (schema and name)."""
    if tables is None:
        found = [run(ListColumns(catalog=catalog))]
    else:
        found = [
            run(ListColumns(catalog=catalog, schema_pattern=_exactly(schema), table_pattern=_exactly(table)))
            for schema, table in tables
        ]
        views = [table for schema, table in tables if schema == TEMPORARY_SCHEMA]
    described = [row for view in views for row in _columns_of_view(run, catalog, view)]
    return pa.concat_tables(
        [*found, pa.Table.from_pylist(described, schema=found[0].schema)], promote_options="default"
    )


def _columns_of_view(run: RunCall, catalog: str, view: str) -> list[Row]:
    """Returns the columns of a session's own view; none if it reads objects that no longer exist."""
    try:
        described = run(DescribeTable(table_parts=(view,))).to_pylist()
    except SqlError:
        return []
    return [
        {
            "catalog": catalog,
            "schema": TEMPORARY_SCHEMA,
            "table": view,
            "column": row["col_name"],
            "sql_type": row["data_type"],
            "nullable": True,
            "position": position,
            "comment": row["comment"],
        }
        for position, row in enumerate(described, 1)
    ]


def visible_keys(run: RunCall, catalog: str) -> tuple[list[Row], list[Row]]:
    """Returns the columns of primary keys, and those of foreign keys, in a catalog."""
    primary = run(ListPrimaryKeys(table=(catalog, None, None))).to_pylist()
    everything = (None, None, None)
    foreign = run(ListForeignKeys(parent=everything, child=(catalog, None, None))).to_pylist()
    return primary, foreign


def visible_checks(run: RunCall, catalog: str) -> list[Row]:
    """Returns the CHECK constraints in a catalog."""
    found: list[Row] = run(ListChecks(table=(catalog, None, None))).to_pylist()
    return found


def _exactly(name: str) -> str:
    """Returns a JDBC pattern that matches one name."""
    return name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
