"""JDBC's metadata calls: which columns each answers, and how the engine's neutral lists become them. Pure.

The column sets, their names, order and types are those of java.sql.DatabaseMetaData as Hive's drivers read them. The
engine lists schemas, tables, columns and functions (`engine/statements/shows.py`, `List…`); a :class:`Shape` turns
those batches into JDBC's. What has no list in the engine (type info, table types, keys) is a constant table here.

Tables have no keys, since Delta has none; those calls answer their columns and no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from engine.runtime.results import ResultStream, sql_field
from gateway.hs2.jdbc_types import JDBC_TYPES, TYPE_INFO, describe_type

_ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "boolean": pa.bool_(),
}


def _schema(columns: str) -> pa.Schema:
    """`NAME type` pairs, a comma between; `string` where no type is said."""
    pairs = [(*column.split(), "string")[:2] for column in columns.split(",")]
    return pa.schema([sql_field(name, _ARROW[sql_type], sql_type) for name, sql_type in pairs])


CATALOGS = _schema("TABLE_CAT")
SCHEMAS = _schema("TABLE_SCHEM, TABLE_CATALOG")
TABLE_TYPES = _schema("TABLE_TYPE")
TABLES = _schema(
    "TABLE_CAT, TABLE_SCHEM, TABLE_NAME, TABLE_TYPE, REMARKS, TYPE_CAT, TYPE_SCHEM, TYPE_NAME, "
    "SELF_REFERENCING_COL_NAME, REF_GENERATION"
)
COLUMNS = _schema(
    "TABLE_CAT, TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, DATA_TYPE int, TYPE_NAME, COLUMN_SIZE int, "
    "BUFFER_LENGTH tinyint, DECIMAL_DIGITS int, NUM_PREC_RADIX int, NULLABLE int, REMARKS, COLUMN_DEF, "
    "SQL_DATA_TYPE int, SQL_DATETIME_SUB int, CHAR_OCTET_LENGTH int, ORDINAL_POSITION int, IS_NULLABLE, "
    "SCOPE_CATALOG, SCOPE_SCHEMA, SCOPE_TABLE, SOURCE_DATA_TYPE smallint, IS_AUTO_INCREMENT"
)
FUNCTIONS = _schema("FUNCTION_CAT, FUNCTION_SCHEM, FUNCTION_NAME, REMARKS, FUNCTION_TYPE int, SPECIFIC_NAME")
TYPES = _schema(
    "TYPE_NAME, DATA_TYPE int, PRECISION int, LITERAL_PREFIX, LITERAL_SUFFIX, CREATE_PARAMS, NULLABLE smallint, "
    "CASE_SENSITIVE boolean, SEARCHABLE smallint, UNSIGNED_ATTRIBUTE boolean, FIXED_PREC_SCALE boolean, "
    "AUTO_INCREMENT boolean, LOCAL_TYPE_NAME, MINIMUM_SCALE smallint, MAXIMUM_SCALE smallint, SQL_DATA_TYPE int, "
    "SQL_DATETIME_SUB int, NUM_PREC_RADIX int"
)
PRIMARY_KEYS = _schema("TABLE_CAT, TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, KEY_SEQ int, PK_NAME")
CROSS_REFERENCES = _schema(
    "PKTABLE_CAT, PKTABLE_SCHEM, PKTABLE_NAME, PKCOLUMN_NAME, FKTABLE_CAT, FKTABLE_SCHEM, FKTABLE_NAME, "
    "FKCOLUMN_NAME, KEY_SEQ smallint, UPDATE_RULE smallint, DELETE_RULE smallint, FK_NAME, PK_NAME, "
    "DEFERRABILITY smallint"
)
RESULT = _schema("Result")
"""What a statement without rows answers, for clients that take every statement for a query."""
OPERATION_LOG = _schema("operation_log")

_FUNCTION_RETURNS_VALUE = 1
_NULLABLE = {True: (1, "YES"), False: (0, "NO")}
_TABLE_TYPES = {
    "TABLE": "TABLE",
    "VIEW": "VIEW",
    # Hive's own names, which some of its clients filter by
    "MANAGED_TABLE": "TABLE",
    "EXTERNAL_TABLE": "TABLE",
    "EXTERNAL TABLE": "TABLE",
    "VIRTUAL_VIEW": "VIEW",
}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Turns rows of a neutral list into rows of `schema`; a column that `cells` does not give is null."""

    schema: pa.Schema
    cells: Callable[[Row], Row]

    def __call__(self, stream: ResultStream) -> ResultStream:
        """The stream with its batches reshaped as they are pulled."""
        return replace(stream, schema=self.schema, source=self._batches(stream))

    def _batches(self, stream: ResultStream) -> Iterator[pa.RecordBatch]:
        for batch in stream.batches():
            yield rows_batch(self.schema, map(self.cells, batch.to_pylist()))


def rows_batch(schema: pa.Schema, rows: Iterable[Row]) -> pa.RecordBatch:
    """Rows by column name as one batch."""
    return pa.RecordBatch.from_pylist([dict(row) for row in rows], schema)


def constant(schema: pa.Schema, rows: Iterable[Row] = ()) -> ResultStream:
    """A result that is at hand."""
    return ResultStream(schema=schema, source=(rows_batch(schema, rows),))


def type_info() -> ResultStream:
    return constant(TYPES, TYPE_INFO)


def table_types() -> ResultStream:
    return constant(TABLE_TYPES, ({"TABLE_TYPE": name} for name in ("TABLE", "VIEW")))


def parse_table_types(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The kinds a client wants, () for all; None where it wants only kinds that there are none of."""
    if not names:
        return ()
    return tuple(sorted({_TABLE_TYPES[name.upper()] for name in names if name.upper() in _TABLE_TYPES})) or None


def parse_pattern(pattern: str | None) -> str | None:
    """A name's pattern with JDBC's wildcards, None for all; impyla writes `.*`, Hive's shell `*`."""
    if not pattern:
        return None
    pattern = pattern.replace(".*", "%").replace("*", "%")
    return None if pattern == "%" else pattern


def _schema_cells(row: Row) -> Row:
    return {"TABLE_SCHEM": row["schema"], "TABLE_CATALOG": row["catalog"]}


def _table_cells(row: Row) -> Row:
    return {
        "TABLE_CAT": row["catalog"],
        "TABLE_SCHEM": row["schema"],
        "TABLE_NAME": row["table"],
        "TABLE_TYPE": row["type"],
        "REMARKS": row["comment"] or "",
    }


def _column_cells(row: Row) -> Row:
    described = describe_type(row["sql_type"])
    nullable, is_nullable = _NULLABLE[row["nullable"]]
    return {
        "TABLE_CAT": row["catalog"],
        "TABLE_SCHEM": row["schema"],
        "TABLE_NAME": row["table"],
        "COLUMN_NAME": row["column"],
        "DATA_TYPE": described.code,
        "TYPE_NAME": described.name,
        "COLUMN_SIZE": described.size,
        "DECIMAL_DIGITS": described.digits,
        "NUM_PREC_RADIX": described.radix,
        "NULLABLE": nullable,
        "REMARKS": row["comment"] or "",
        "COLUMN_DEF": row["default"],
        "CHAR_OCTET_LENGTH": described.size if described.code == JDBC_TYPES["string"].code else None,
        "ORDINAL_POSITION": row["position"],
        "IS_NULLABLE": is_nullable,
        "IS_AUTO_INCREMENT": "NO",
    }


def _function_cells(row: Row) -> Row:
    return {
        "FUNCTION_NAME": row["name"],
        "REMARKS": row["description"] or "",
        "FUNCTION_TYPE": _FUNCTION_RETURNS_VALUE,
        "SPECIFIC_NAME": row["name"],
    }


CATALOG_SHAPE = Shape(CATALOGS, lambda row: {"TABLE_CAT": row["catalog"]})
SCHEMA_SHAPE = Shape(SCHEMAS, _schema_cells)
TABLE_SHAPE = Shape(TABLES, _table_cells)
COLUMN_SHAPE = Shape(COLUMNS, _column_cells)
FUNCTION_SHAPE = Shape(FUNCTIONS, _function_cells)
