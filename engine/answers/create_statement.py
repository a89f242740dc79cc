"""SHOW CREATE TABLE: the statement that would make such a table, which delta-spark refuses to say.

What it answers, this gateway takes: names are in quotes, fields of structs keep their case, their NOT NULL and their
comments, and properties that no statement may set are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.names import quote
from engine.bind.bound import BoundStatement, BoundTable, Outcome
from engine.delta.definition.clustering import clustering_columns
from engine.delta.definition.constraints import check_constraints
from engine.delta.definition.identity import ALLOW_EXPLICIT, START, STEP, is_identity
from engine.delta.spec.properties import CONSTRAINT_PREFIX, is_settable
from engine.runtime.results import string_rows
from engine.statements.shows import ShowCreateTable
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.sql_types import CHAR_VARCHAR, format_sql_type


def show_create_table(bound: BoundStatement, statement: ShowCreateTable) -> Outcome:
    """The statement that would make such a table here."""
    text = "\n".join(_lines(bound.tables[0])) + "\n"
    return Outcome(result=string_rows(("createtab_stmt",), [(text,)]))


def _lines(table: BoundTable) -> Iterator[str]:
    snapshot, metadata = table.snapshot, table.snapshot.metadata
    elements = [_column(column) for column in snapshot.schema.fields]
    elements += [
        f"CONSTRAINT {quote(constraint.name)} CHECK ({constraint.expression})"
        for constraint in check_constraints(metadata.configuration)
    ]
    columns = ",\n".join(f"  {element}" for element in elements)
    yield f"CREATE TABLE {table.label} (\n{columns})" if elements else f"CREATE TABLE {table.label}"
    yield "USING delta"
    if snapshot.partition_columns:
        yield f"PARTITIONED BY ({', '.join(map(quote, snapshot.partition_columns))})"
    clustering = clustering_columns(snapshot.config)
    if clustering:
        yield f"CLUSTER BY ({', '.join('.'.join(map(quote, path)) for path in clustering)})"
    if metadata.description:
        yield f"COMMENT {_literal(metadata.description)}"
    if not table.entry.managed:
        yield f"LOCATION {_literal(table.entry.location)}"
    properties = [pair for pair in sorted(metadata.configuration.items()) if _is_said(pair[0])]
    if properties:
        pairs = (f"  {_literal(key)} = {_literal(value or '')}" for key, value in properties)
        yield "TBLPROPERTIES (\n" + ",\n".join(pairs) + ")"


def _is_said(key: str) -> bool:
    """Whether TBLPROPERTIES may say it; constraints have a clause of their own, and some keys are the product's."""
    return not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)


def _column(column: StructField) -> str:
    declared = column.metadata.get(CHAR_VARCHAR)
    kind = str(declared) if declared is not None else _type(column.data_type)
    parts = [quote(column.name), kind.upper() if column.data_type is PrimitiveType.STRING else kind]
    if not column.nullable:
        parts.append("NOT NULL")
    if "delta.generationExpression" in column.metadata:
        parts.append(f"GENERATED ALWAYS AS ({column.metadata['delta.generationExpression']})")
    if is_identity(column):
        parts.append(_identity(column))
    if "CURRENT_DEFAULT" in column.metadata:
        parts.append(f"DEFAULT {column.metadata['CURRENT_DEFAULT']}")
    if column.comment:
        parts.append(f"COMMENT {_literal(column.comment)}")
    return " ".join(parts)


def _type(data_type: DataType) -> str:
    match data_type:
        case PrimitiveType() | DecimalType():
            return format_sql_type(data_type).upper()
        case ArrayType(element_type=element):
            return f"ARRAY<{_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"MAP<{_type(key)}, {_type(value)}>"
        case StructType(fields=fields):
            return f"STRUCT<{', '.join(map(_field, fields))}>"


def _field(field: StructField) -> str:
    suffix = "" if field.nullable else " NOT NULL"
    comment = f" COMMENT {_literal(field.comment)}" if field.comment else ""
    return f"{quote(field.name)}: {_type(field.data_type)}{suffix}{comment}"


def _identity(column: StructField) -> str:
    start, step, allows = (column.metadata.get(key) for key in (START, STEP, ALLOW_EXPLICIT))
    kind = "BY DEFAULT" if allows else "ALWAYS"
    return f"GENERATED {kind} AS IDENTITY (START WITH {start} INCREMENT BY {step})"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
