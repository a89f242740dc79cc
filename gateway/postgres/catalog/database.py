"""The database that answers catalog queries: DuckDB in memory, which can reach nothing else.

Measured for 1,000 tables with 20 columns: a principal's database takes 0.12 s to create with the tables, 0.07 s more
for the columns, and 23 MB; for 10,000 tables it is 0.3 s, 0.8 s and 145 MB. A join of columns, tables and schemas,
sorted, takes 0.03 s for 20,000 rows. The same join by sqlglot's executor over relations in Python took 4.3 s and 78 MB,
so the relations are in DuckDB. Most of the time of a small query is its rewriting, 10 to 20 ms.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from catalog.conditions import (
    FunctionNotFound,
    SystemQueryInvalid,
    SystemQueryTimeout,
    SystemQueryTooLarge,
    SystemValueInvalid,
    TableNotFound,
)
from catalog.errors import SqlError
from engine.sql.postgres.catalog_expressions import stored_type
from gateway.postgres.catalog.content import Row
from gateway.postgres.catalog.functions import macro_definitions
from gateway.postgres.catalog.resources import system_relations

MEMORY_LIMIT = "512MB"
TIMEOUT_S = 30.0
ROWS_MAX = 5_000_000
_CONFIGURATION = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": MEMORY_LIMIT,
    "threads": "1",
    "temp_directory": "",
    "preserve_insertion_order": "true",
}
_ARROW = {
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    "DECIMAL(38, 9)": pa.decimal128(38, 9),
    "INTERVAL": pa.string(),
}
_EMPTY = {"BOOLEAN": False, "SMALLINT": 0, "INTEGER": 0, "BIGINT": 0, "FLOAT": 0.0, "DOUBLE": 0.0, "VARCHAR": ""}
# Helper relations that macros read, with their columns.
HELPERS: Mapping[str, str] = {
    "pgf_session": "name VARCHAR, value VARCHAR",
    "pgf_types": "oid BIGINT, name VARCHAR, display VARCHAR, visible BOOLEAN",
    "pgf_functions": (
        "oid BIGINT, name VARCHAR, result BIGINT, schema_name VARCHAR, arguments VARCHAR, identity VARCHAR, "
        "result_text VARCHAR, body VARCHAR"
    ),
    "pgf_privileges": "key VARCHAR, privilege VARCHAR",
    "pgf_view_texts": "oid BIGINT, text VARCHAR",
    "pgf_relations": "oid BIGINT, name VARCHAR, relation VARCHAR, full_name VARCHAR",
    "pgf_namespaces": "oid BIGINT, name VARCHAR",
    "pgf_roles": "oid BIGINT, name VARCHAR",
    "pgf_descriptions": "objoid BIGINT, objsubid INTEGER, relation VARCHAR, description VARCHAR",
    "pgf_definitions": (
        "oid BIGINT, kind VARCHAR, before VARCHAR, schema_name VARCHAR, relation_name VARCHAR, after VARCHAR, "
        "columns VARCHAR[]"
    ),
    "pgf_sequences": (
        "oid BIGINT, table_oid BIGINT, number INTEGER, column_name VARCHAR, schema_name VARCHAR, name VARCHAR, "
        "start BIGINT, step BIGINT, minimum BIGINT, maximum BIGINT"
    ),
    "pgf_keywords": "word VARCHAR",
}


def arrow_type(name: str) -> pa.DataType:
    """Returns the Arrow type of a stored column with PostgreSQL's type `name`."""
    stored = stored_type(name)
    inner = _ARROW[stored.removesuffix("[]")]
    return pa.list_(inner) if stored.endswith("[]") else inner


class CatalogDatabase:
    """One locked database; used by one thread at a time."""

    def __init__(self, timeout_s: float = TIMEOUT_S, memory_limit: str = MEMORY_LIMIT) -> None:
        self._timeout_s = timeout_s
        self._memory_limit = memory_limit
        self._connection = duckdb.connect(":memory:", config={**_CONFIGURATION, "memory_limit": memory_limit})
        for name, columns in HELPERS.items():
            self._connection.execute(f"CREATE TABLE {name} ({columns})")
        for definition in macro_definitions():
            self._connection.execute(definition)
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Releases the memory."""
        self._connection.close()

    def store_rows(self, relation: str, rows: Iterable[Row]) -> None:
        """Replaces a relation of the catalog; columns without NULL that a row lacks get an empty value."""
        known = system_relations()[relation]
        cells: dict[str, list[Any]] = {name: [] for name in known.columns}
        defaults = {name: self._default(relation, name) for name in known.columns}
        for row in rows:
            for name, values in cells.items():
                values.append(row.get(name, defaults[name]))
        arrays = [pa.array(cells[name], arrow_type(kind)) for name, kind in known.columns.items()]
        self._store(f'"{relation}"', pa.table(arrays, names=list(known.columns)))

    def store_table(self, relation: str, rows: pa.Table) -> None:
        """Replaces a relation of the catalog by rows with its columns."""
        self._store(f'"{relation}"', rows)

    def default_of(self, relation: str, column: str) -> Any:
        """Returns the value of a column without data."""
        return self._default(relation, column)

    def _default(self, relation: str, column: str) -> Any:
        known = system_relations()[relation]
        if column not in known.required:
            return None
        stored = stored_type(known.columns[column])
        return [] if stored.endswith("[]") else _EMPTY.get(stored)

    def store_helper(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """Replaces a helper relation."""
        columns = [column.split() for column in HELPERS[name].split(", ")]
        cells = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [
            pa.array(list(values), pa.list_(pa.string()) if kind.endswith("[]") else _ARROW[kind])
            for values, (_, kind) in zip(cells, columns, strict=True)
        ]
        self._connection.execute(f"DELETE FROM {name}")
        self._connection.register("pgf_rows", pa.table(arrays, names=[column for column, _ in columns]))
        self._connection.execute(f"INSERT INTO {name} SELECT * FROM pgf_rows")
        self._connection.unregister("pgf_rows")

    def _store(self, name: str, rows: pa.Table) -> None:
        self._connection.register("pgf_rows", rows)
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM pgf_rows")
        self._connection.unregister("pgf_rows")

    def store_view(self, relation: str, query: str) -> None:
        """Creates a relation that is a query of others; its columns have the catalog's order and types."""
        description = self._connection.execute(f"DESCRIBE {query}").fetchall()
        known = {str(row[0]) for row in description}
        columns = ", ".join(
            f"CAST({f'q.{_quoted(name)}' if name in known else 'NULL'} AS {stored_type(kind)}) AS {_quoted(name)}"
            for name, kind in system_relations()[relation].columns.items()
        )
        self._connection.execute(f'CREATE OR REPLACE VIEW "{relation}" AS SELECT {columns} FROM ({query}) q')

    def query(self, text: str) -> pa.Table:
        """Runs a rewritten query. Raises a `SqlError`, also if it takes longer or more memory than the limits."""
        timer = threading.Timer(self._timeout_s, self._connection.interrupt)
        timer.daemon, timer.name = True, "catalog-timeout"
        timer.start()
        try:
            return self._connection.execute(text).to_arrow_table()
        except duckdb.Error as error:
            raise self._sql_error(error) from None
        finally:
            timer.cancel()

    def _sql_error(self, error: duckdb.Error) -> SqlError:
        reason = str(error).partition("\n")[0][:300]
        reason = reason.partition(": ")[2] or reason
        match error:
            case duckdb.InterruptException():
                return SystemQueryTimeout(self._timeout_s)
            case duckdb.OutOfMemoryException():
                return SystemQueryTooLarge(self._memory_limit)
            case duckdb.InvalidInputException() if reason.startswith("pg:42P01:"):
                return TableNotFound(_quoted_name(reason))
            case duckdb.InvalidInputException() if reason.startswith("pg:"):
                return FunctionNotFound(_quoted_name(reason))
            case duckdb.ConversionException() | duckdb.OutOfRangeException() | duckdb.InvalidInputException():
                return SystemValueInvalid(reason)
            case _:  # an error of DuckDB
                return SystemQueryInvalid(reason)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _quoted_name(reason: str) -> str:
    return reason.partition('"')[2].rpartition('"')[0]
