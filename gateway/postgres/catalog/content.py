"""The objects that a principal may see, from the engine's metadata calls, which check grants.

Each call lists everything at once; columns and keys, for which tables are opened, are listed when a query names a
relation that contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from engine.runtime.statement import Statement
from engine.statements.listings.statement import (
    ListChecks,
    ListColumns,
    ListForeignKeys,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
)
from engine.statements.show.statement import ShowCatalogs

# Runs one metadata call with the principal's rights and returns its rows.
RunCall = Callable[[Statement], pa.Table]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class VisibleObjects:
    """Names of catalogs, schemas, and rows of the engine's lists."""

    catalogs: tuple[str, ...]
    schemas: tuple[str, ...]
    tables: pa.Table

    def is_same(self, other: VisibleObjects) -> bool:
        """Returns True if both have the same objects."""
        return (self.catalogs, self.schemas) == (other.catalogs, other.schemas) and self.tables.equals(other.tables)


def visible_objects(run: RunCall, catalog: str) -> VisibleObjects:
    """Lists catalogs, and the schemas and tables of one catalog."""
    catalogs = [str(next(iter(row.values()))) for row in run(ShowCatalogs()).to_pylist()]
    schemas = run(ListSchemas(catalog=catalog)).column("schema").to_pylist()
    return VisibleObjects(tuple(catalogs), tuple(schemas), run(ListTables(catalog=catalog)))


def visible_columns(run: RunCall, catalog: str, tables: Sequence[tuple[str, str]] | None) -> pa.Table:
    """Lists columns in a catalog: of all tables, or of the given ones (schema and name)."""
    if tables is None:
        return run(ListColumns(catalog=catalog))
    found = [
        run(ListColumns(catalog=catalog, schema_pattern=_exactly(schema), table_pattern=_exactly(table)))
        for schema, table in tables
    ]
    return pa.concat_tables(found, promote_options="default")


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
