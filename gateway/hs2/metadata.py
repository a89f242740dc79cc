"""JDBC's metadata calls: their columns, and the conversion from the engine's lists. Pure.

Column sets, names, order and types are java.sql.DatabaseMetaData's as Hive's drivers read them. The engine lists
schemas, tables, columns, functions and keys (`engine/statements/listings/statement.py`, `List…`); a :class:`Shape`
converts those batches to JDBC's. Lists that the engine lacks (type info, table types) are constant tables here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
    """Parses `NAME type` pairs, separated by commas; the default type is `string`."""
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
# The result for a statement without rows, for clients that treat every statement as a query.
RESULT = _schema("Result")
OPERATION_LOG = _schema("operation_log")

_FUNCTION_RETURNS_VALUE = 1
_NO_ACTION, _NOT_DEFERRABLE = 3, 7
_TABLE_TYPES = {
    "TABLE": "TABLE",
    "VIEW": "VIEW",
    # Hive's own names, by which some of its clients filter
    "MANAGED_TABLE": "TABLE",
    "EXTERNAL_TABLE": "TABLE",
    "EXTERNAL TABLE": "TABLE",
    "VIRTUAL_VIEW": "VIEW",
}

Row = Mapping[str, Any]
# Each column's values as an array or a list, or one value for all rows.
Cells = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Converts an engine list to rows with `schema`, batch by batch; a column that `cells` omits is null."""

    schema: pa.Schema
    cells: Callable[[pa.RecordBatch], Cells]

    def __call__(self, stream: ResultStream) -> ResultStream:
        """Returns the stream with its batches converted as they are pulled."""
        return replace(stream, schema=self.schema, source=self._batches(stream))

    def _batches(self, stream: ResultStream) -> Iterator[pa.RecordBatch]:
        for batch in stream.batches():
            cells = self.cells(batch)
            columns = [_array(cells.get(field.name), field.type, batch.num_rows) for field in self.schema]
            yield pa.record_batch(columns, schema=self.schema)


def _array(cells: Any, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(cells, pa.Array):
        return cells.cast(kind)
    if isinstance(cells, list):
        return pa.array(cells, kind)
    return pa.repeat(pa.scalar(cells, kind), count)


def rows_batch(schema: pa.Schema, rows: Iterable[Row]) -> pa.RecordBatch:
    """Returns rows by column name as one batch."""
    return pa.RecordBatch.from_pylist([dict(row) for row in rows], schema)


def constant(schema: pa.Schema, rows: Iterable[Row] = ()) -> ResultStream:
    """Returns a constant result."""
    return ResultStream(schema=schema, source=(rows_batch(schema, rows),))


def type_info() -> ResultStream:
    """Returns the rows of GetTypeInfo, which are the same for all sessions."""
    return constant(TYPES, TYPE_INFO)


def table_types() -> ResultStream:
    """Returns the rows of GetTableTypes: `TABLE` and `VIEW`."""
    return constant(TABLE_TYPES, ({"TABLE_TYPE": name} for name in ("TABLE", "VIEW")))


def parse_table_types(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns the table types that a client requests, () for all; None if it requests only unknown types."""
    if not names:
        return ()
    return tuple(sorted({_TABLE_TYPES[name.upper()] for name in names if name.upper() in _TABLE_TYPES})) or None


def parse_pattern(pattern: str | None) -> str | None:
    """Returns a name pattern with JDBC's wildcards, None for all; impyla sends `.*`, Hive's shell `*`."""
    if not pattern:
        return None
    pattern = pattern.replace(".*", "%").replace("*", "%")
    return None if pattern == "%" else pattern


def parse_catalog(name: str | None) -> str | None:
    """Returns a catalog's name, None for all. JDBC defines it as a pattern, so some clients escape underscores in
    it.
    """
    pattern = parse_pattern(name)
    return pattern and re.sub(r"\\(.)", r"\1", pattern)


def _schema_cells(batch: pa.RecordBatch) -> Cells:
    return {"TABLE_SCHEM": batch["schema"], "TABLE_CATALOG": batch["catalog"]}


def _table_cells(batch: pa.RecordBatch) -> Cells:
    return {
        "TABLE_CAT": batch["catalog"],
        "TABLE_SCHEM": batch["schema"],
        "TABLE_NAME": batch["table"],
        "TABLE_TYPE": batch["type"],
        "REMARKS": pc.fill_null(batch["comment"], ""),
    }


def _column_cells(batch: pa.RecordBatch) -> Cells:
    known = batch["sql_type"].dictionary_encode()
    kinds = [describe_type(sql_type) for sql_type in known.dictionary.to_pylist()]

    def values_of_rows(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(list(values), kind).take(known.indices)

    string = JDBC_TYPES["string"].code
    nullable = batch["nullable"]
    return {
        "TABLE_CAT": batch["catalog"],
        "TABLE_SCHEM": batch["schema"],
        "TABLE_NAME": batch["table"],
        "COLUMN_NAME": batch["column"],
        "DATA_TYPE": values_of_rows((kind.code for kind in kinds), pa.int32()),
        "TYPE_NAME": values_of_rows((kind.name for kind in kinds), pa.string()),
        "COLUMN_SIZE": values_of_rows((kind.size for kind in kinds), pa.int32()),
        "DECIMAL_DIGITS": values_of_rows((kind.digits for kind in kinds), pa.int32()),
        "NUM_PREC_RADIX": values_of_rows((kind.radix for kind in kinds), pa.int32()),
        "NULLABLE": nullable,
        "REMARKS": pc.fill_null(batch["comment"], ""),
        "COLUMN_DEF": batch["default"],
        "CHAR_OCTET_LENGTH": values_of_rows((kind.size if kind.code == string else None for kind in kinds), pa.int32()),
        # From 0, as in Spark's server and Databricks: ADBC's Spark driver and Databricks' JDBC driver add 1.
        "ORDINAL_POSITION": pc.subtract(batch["position"], 1),
        "IS_NULLABLE": pc.if_else(nullable, "YES", "NO"),
        "IS_AUTO_INCREMENT": "NO",
    }


def _primary_key_cells(batch: pa.RecordBatch) -> Cells:
    return {
        "TABLE_CAT": batch["catalog"],
        "TABLE_SCHEM": batch["schema"],
        "TABLE_NAME": batch["table"],
        "COLUMN_NAME": batch["column"],
        "KEY_SEQ": batch["position"],
        "PK_NAME": batch["name"],
    }


def _cross_reference_cells(batch: pa.RecordBatch) -> Cells:
    return {
        "PKTABLE_CAT": batch["pk_catalog"],
        "PKTABLE_SCHEM": batch["pk_schema"],
        "PKTABLE_NAME": batch["pk_table"],
        "PKCOLUMN_NAME": batch["pk_column"],
        "FKTABLE_CAT": batch["fk_catalog"],
        "FKTABLE_SCHEM": batch["fk_schema"],
        "FKTABLE_NAME": batch["fk_table"],
        "FKCOLUMN_NAME": batch["fk_column"],
        "KEY_SEQ": batch["position"],
        "UPDATE_RULE": _NO_ACTION,
        "DELETE_RULE": _NO_ACTION,
        "FK_NAME": batch["fk_name"],
        "PK_NAME": batch["pk_name"],
        "DEFERRABILITY": _NOT_DEFERRABLE,
    }


def _function_cells(batch: pa.RecordBatch) -> Cells:
    return {
        "FUNCTION_CAT": batch["catalog"],
        "FUNCTION_SCHEM": batch["schema"],
        "FUNCTION_NAME": batch["name"],
        "REMARKS": pc.fill_null(batch["description"], ""),
        "FUNCTION_TYPE": _FUNCTION_RETURNS_VALUE,
        "SPECIFIC_NAME": batch["name"],
    }


CATALOG_SHAPE = Shape(CATALOGS, lambda batch: {"TABLE_CAT": batch["catalog"]})
SCHEMA_SHAPE = Shape(SCHEMAS, _schema_cells)
TABLE_SHAPE = Shape(TABLES, _table_cells)
COLUMN_SHAPE = Shape(COLUMNS, _column_cells)
FUNCTION_SHAPE = Shape(FUNCTIONS, _function_cells)
PRIMARY_KEY_SHAPE = Shape(PRIMARY_KEYS, _primary_key_cells)
CROSS_REFERENCE_SHAPE = Shape(CROSS_REFERENCES, _cross_reference_cells)
