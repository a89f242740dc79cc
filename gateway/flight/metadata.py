"""The metadata commands of Flight SQL: their columns, which clients compare exactly, and their rows. Pure.

Rows are those of the engine's listings, so that each user sees the objects that are visible to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from engine.runtime.statement import Statement
from engine.statements.listings.statement import (
    ListColumns,
    ListForeignKeys,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
)
from engine.statements.show.statement import ShowCatalogs
from engine.types.arrow_types import arrow_type
from engine.types.schema import PrimitiveType
from gateway.flight.results import table_metadata, type_metadata
from gateway.flight.sql_info import SQL_INFO_SCHEMA, sql_info
from gateway.hs2.jdbc_types import TYPE_INFO

Rows = list[dict[str, Any]]
Run = Callable[[Statement], pa.Table]
_NO_ACTION = 3
_TABLE_TYPES = ("TABLE", "VIEW")


def _columns(text: str) -> pa.Schema:
    """Returns the columns of pairs `name type`; `!` after the name: it has no nulls. The default type is utf8."""
    types = {
        "utf8": pa.string(),
        "int32": pa.int32(),
        "uint8": pa.uint8(),
        "bool": pa.bool_(),
        "binary": pa.binary(),
        "texts": pa.list_(pa.field("item", pa.string(), nullable=False)),
    }
    pairs = [(*pair.split(), "utf8")[:2] for pair in text.split(",")]
    return pa.schema([pa.field(name.rstrip("!"), types[kind], not name.endswith("!")) for name, kind in pairs])


_KEY_COLUMNS = "_catalog_name, {0}_db_schema_name, {0}_table_name!, {0}_column_name!"
_REFERENCES = _columns(
    ", ".join(f"{side}{_KEY_COLUMNS.format(side)}" for side in ("pk", "fk"))
    + ", key_sequence! int32, fk_key_name, pk_key_name, update_rule! uint8, delete_rule! uint8"
)
SCHEMAS: Mapping[str, pa.Schema] = {
    "CommandGetCatalogs": _columns("catalog_name!"),
    "CommandGetDbSchemas": _columns("catalog_name, db_schema_name!"),
    "CommandGetTables": _columns("catalog_name, db_schema_name, table_name!, table_type!"),
    "CommandGetTableTypes": _columns("table_type!"),
    "CommandGetPrimaryKeys": _columns(
        "catalog_name, db_schema_name, table_name!, column_name!, key_name, key_sequence! int32"
    ),
    "CommandGetExportedKeys": _REFERENCES,
    "CommandGetImportedKeys": _REFERENCES,
    "CommandGetCrossReference": _REFERENCES,
    "CommandGetXdbcTypeInfo": _columns(
        "type_name!, data_type! int32, column_size int32, literal_prefix, literal_suffix, create_params texts, "
        "nullable! int32, case_sensitive! bool, searchable! int32, unsigned_attribute bool, fixed_prec_scale! bool, "
        "auto_increment bool, local_type_name, minimum_scale int32, maximum_scale int32, sql_data_type! int32, "
        "datetime_subcode int32, num_prec_radix int32, interval_precision int32"
    ),
    "CommandGetSqlInfo": SQL_INFO_SCHEMA,
}
_TABLES_WITH_SCHEMA = SCHEMAS["CommandGetTables"].append(pa.field("table_schema", pa.binary(), nullable=False))


def schema_of(kind: str, command: Any) -> pa.Schema | None:
    """Returns the columns of a metadata command; None for another message."""
    if kind == "CommandGetTables" and command.include_schema:
        return _TABLES_WITH_SCHEMA
    return SCHEMAS.get(kind)


def rows_of(kind: str, command: Any, run: Run) -> pa.Table:
    """Returns the rows of a metadata command; `run` runs a statement."""
    if kind == "CommandGetSqlInfo":
        return sql_info(list(command.info))
    return pa.Table.from_pylist(_ROWS[kind](command, run), schema_of(kind, command))


def _catalogs(command: Any, run: Run) -> Rows:
    found = run(ShowCatalogs()).column("catalog").to_pylist()
    return [{"catalog_name": name} for name in sorted(found)]


def _schemas(command: Any, run: Run) -> Rows:
    if _optional(command, "catalog") == "":
        return []
    listed = run(
        ListSchemas(
            catalog=_optional(command, "catalog"), schema_pattern=_optional(command, "db_schema_filter_pattern")
        )
    ).to_pylist()
    found = [{"catalog_name": one["catalog"], "db_schema_name": one["schema"]} for one in listed]
    return _ordered(found, "catalog_name", "db_schema_name")


def _tables(command: Any, run: Run) -> Rows:
    catalog, schema = _optional(command, "catalog"), _optional(command, "db_schema_filter_pattern")
    pattern = _optional(command, "table_name_filter_pattern")
    types = tuple(sorted({name.upper() for name in command.table_types}.intersection(_TABLE_TYPES)))
    if catalog == "" or schema == "" or (command.table_types and not types):
        return []
    statement = ListTables(catalog=catalog, schema_pattern=schema, table_pattern=pattern, types=types)
    found = [
        {
            "catalog_name": one["catalog"],
            "db_schema_name": one["schema"],
            "table_name": one["table"],
            "table_type": one["type"],
        }
        for one in run(statement).to_pylist()
    ]
    if command.include_schema:
        listed = run(ListColumns(catalog=catalog, schema_pattern=schema, table_pattern=pattern)).to_pylist()
        schemas = _table_schemas(listed)
        nothing = pa.schema([]).serialize().to_pybytes()
        for one in found:
            key = one["catalog_name"], one["db_schema_name"], one["table_name"]
            one["table_schema"] = schemas.get(key, nothing)
    return _ordered(found, "catalog_name", "db_schema_name", "table_name", "table_type")


def _table_schemas(columns: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], bytes]:
    """Returns the serialized schemas of tables, from their columns."""
    found: dict[tuple[str, str, str], list[pa.Field]] = {}
    for one in sorted(columns, key=lambda column: int(column["position"])):
        key = one["catalog"], one["schema"], one["table"]
        metadata = {**type_metadata(one["sql_type"]), **table_metadata(*key, one["comment"])}
        field = pa.field(one["column"], column_type(one["sql_type"]), bool(one["nullable"]), metadata)
        found.setdefault(key, []).append(field)
    return {key: pa.schema(fields).serialize().to_pybytes() for key, fields in found.items()}


def column_type(sql_type: str) -> pa.DataType:
    """Returns the Arrow type of a column in results."""
    head, _, rest = sql_type.partition("(")
    if head == "decimal" and rest:
        precision, _, scale = rest.rstrip(")").partition(",")
        return pa.decimal128(int(precision), int(scale or 0))
    if sql_type in _SPELLINGS:
        return arrow_type(PrimitiveType(_SPELLINGS[sql_type]))
    return _nested_type(sql_type)


def _nested_type(sql_type: str) -> pa.DataType:
    """Returns the Arrow type of a nested type, of an interval, or of a type that is text in results."""
    head, bracket, inner = sql_type.partition("<")
    parts = split_type(inner[:-1]) if bracket else []
    match head:
        case "array" if len(parts) == 1:
            return pa.list_(column_type(parts[0]))
        case "map" if len(parts) == 2:
            return pa.map_(*map(column_type, parts))
        case "struct" if bracket:
            pairs = [part.partition(":") for part in parts]
            return pa.struct([pa.field(name, column_type(kind)) for name, _, kind in pairs])
        case _ if head.startswith("interval") and "month" not in head and "year" not in head:  # of days and seconds
            return pa.duration("us")
        case _:  # a type whose values are text in results
            return pa.string()


def split_type(inner: str) -> list[str]:
    """Returns the types, or the fields, between the brackets of a nested type."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(inner):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    return [*parts, inner[start:]] if inner else []


_SPELLINGS = {
    **{kind.value: kind.value for kind in PrimitiveType if kind is not PrimitiveType.VARIANT},
    "bigint": "long",
    "int": "integer",
    "smallint": "short",
    "tinyint": "byte",
}


def _table_types(command: Any, run: Run) -> Rows:
    return [{"table_type": name} for name in _TABLE_TYPES]


def _primary_keys(command: Any, run: Run) -> Rows:
    names = _optional(command, "catalog"), _optional(command, "db_schema"), command.table or None
    found = [
        {
            "catalog_name": one["catalog"],
            "db_schema_name": one["schema"],
            "table_name": one["table"],
            "column_name": one["column"],
            "key_name": one["name"],
            "key_sequence": one["position"],
        }
        for one in run(ListPrimaryKeys(table=names)).to_pylist()
    ]
    return _ordered(found, "catalog_name", "db_schema_name", "table_name", "key_name", "key_sequence")


def _exported_keys(command: Any, run: Run) -> Rows:
    parent = _optional(command, "catalog"), _optional(command, "db_schema"), command.table or None
    return _references(ListForeignKeys(parent=parent), run, "fk")


def _imported_keys(command: Any, run: Run) -> Rows:
    child = _optional(command, "catalog"), _optional(command, "db_schema"), command.table or None
    return _references(ListForeignKeys(child=child), run, "pk")


def _cross_reference(command: Any, run: Run) -> Rows:
    parent = _optional(command, "pk_catalog"), _optional(command, "pk_db_schema"), command.pk_table or None
    child = _optional(command, "fk_catalog"), _optional(command, "fk_db_schema"), command.fk_table or None
    return _references(ListForeignKeys(parent=parent, child=child), run, "fk")


def _references(statement: ListForeignKeys, run: Run, side: str) -> Rows:
    found = []
    for one in run(statement).to_pylist():
        row = {
            f"{end}_{name}": one[f"{end}_{part}"]
            for end in ("pk", "fk")
            for name, part in (
                ("catalog_name", "catalog"),
                ("db_schema_name", "schema"),
                ("table_name", "table"),
                ("column_name", "column"),
                ("key_name", "name"),
            )
        }
        rules = {"update_rule": _NO_ACTION, "delete_rule": _NO_ACTION}
        found.append({**row, "key_sequence": one["position"], **rules})
    names = ("catalog_name", "db_schema_name", "table_name", "key_name")
    return _ordered(found, *(f"{side}_{name}" for name in names), "key_sequence")


def _types(command: Any, run: Run) -> Rows:
    wanted = command.data_type if command.HasField("data_type") else None
    return [_type_row(one) for one in TYPE_INFO if wanted is None or one["DATA_TYPE"] == wanted]


def _type_row(one: Mapping[str, Any]) -> dict[str, Any]:
    parameters = one["CREATE_PARAMS"]
    return {
        "type_name": one["TYPE_NAME"],
        "data_type": one["DATA_TYPE"],
        "column_size": one["PRECISION"],
        "literal_prefix": one["LITERAL_PREFIX"],
        "literal_suffix": one["LITERAL_SUFFIX"],
        "create_params": None if parameters is None else parameters.split(","),
        "nullable": one["NULLABLE"],
        "case_sensitive": one["CASE_SENSITIVE"],
        "searchable": one["SEARCHABLE"],
        "unsigned_attribute": one["UNSIGNED_ATTRIBUTE"],
        "fixed_prec_scale": one["FIXED_PREC_SCALE"],
        "auto_increment": one["AUTO_INCREMENT"],
        "local_type_name": one["TYPE_NAME"],
        "minimum_scale": one["MINIMUM_SCALE"],
        "maximum_scale": one["MAXIMUM_SCALE"],
        "sql_data_type": one["DATA_TYPE"],
        "num_prec_radix": one["NUM_PREC_RADIX"],
    }


_ROWS: Mapping[str, Callable[[Any, Run], Rows]] = {
    "CommandGetCatalogs": _catalogs,
    "CommandGetDbSchemas": _schemas,
    "CommandGetTables": _tables,
    "CommandGetTableTypes": _table_types,
    "CommandGetPrimaryKeys": _primary_keys,
    "CommandGetExportedKeys": _exported_keys,
    "CommandGetImportedKeys": _imported_keys,
    "CommandGetCrossReference": _cross_reference,
    "CommandGetXdbcTypeInfo": _types,
}


def _optional(command: Any, name: str) -> str | None:
    """Returns a field's text; None if it is not set."""
    return str(getattr(command, name)) if command.HasField(name) else None


def _ordered(rows: Rows, *names: str) -> Rows:
    return sorted(
        rows, key=lambda row: tuple(("", row[name]) if row[name] is None else ("x", row[name]) for name in names)
    )
