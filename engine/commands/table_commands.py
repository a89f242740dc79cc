"""What the log says about one table: its detail, history, properties, partitions and the statement that would make it.

Columns are Delta's where Delta has the statement. SHOW CREATE TABLE, which delta-spark refuses, answers DDL that this
gateway would take.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from catalog.names import quote
from engine.bound import BoundStatement, NamedRelation, Outcome
from engine.commands.describe_commands import relation_details
from engine.delta.clustering import clustering_columns, clustering_names
from engine.delta.column_mapping import physical_names
from engine.delta.constraints import check_constraints
from engine.delta.history import HISTORY_SCHEMA, load_history
from engine.delta.identity import ALLOW_EXPLICIT, START, STEP, is_identity
from engine.delta.spec.properties import CONSTRAINT_PREFIX, is_settable
from engine.delta.spec.schema import StructField
from engine.errors import NotPartitioned
from engine.results import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    STRING_MAP,
    STRINGS,
    TIMESTAMP,
    Column,
    ResultStream,
    small_result,
    sql_field,
    string_rows,
)
from engine.sql_types import column_sql_type, sql_struct
from engine.statements import (
    DescribeDetail,
    DescribeHistory,
    ShowCreateTable,
    ShowPartitions,
    ShowTableExtended,
    ShowTblProperties,
)

_DETAIL = {
    "format": STRING,
    "id": STRING,
    "name": STRING,
    "description": STRING,
    "location": STRING,
    "createdAt": TIMESTAMP,
    "lastModified": TIMESTAMP,
    "partitionColumns": STRINGS,
    "clusteringColumns": STRINGS,
    "numFiles": BIGINT,
    "sizeInBytes": BIGINT,
    "properties": STRING_MAP,
    "minReaderVersion": INT,
    "minWriterVersion": INT,
    "tableFeatures": STRINGS,
}
_HISTORY_TYPES = {
    "version": BIGINT,
    "timestamp": TIMESTAMP,
    "readVersion": BIGINT,
    "isBlindAppend": BOOLEAN,
    "operationParameters": STRING_MAP,
    "operationMetrics": STRING_MAP,
    "job": Column(HISTORY_SCHEMA.field("job").type, sql_struct(HISTORY_SCHEMA.field("job").type)),
    "notebook": Column(HISTORY_SCHEMA.field("notebook").type, sql_struct(HISTORY_SCHEMA.field("notebook").type)),
}
"""Columns of DESCRIBE HISTORY that are not text."""


def describe_detail(bound: BoundStatement, statement: DescribeDetail) -> Outcome:
    """One row about the table's newest version."""
    table = bound.tables[0]
    snapshot = table.snapshot
    metadata, protocol, files = snapshot.metadata, snapshot.protocol, snapshot.files
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    row = (
        "delta",
        metadata.id,
        ".".join(table.name.parts) if table.name else None,
        metadata.description,
        table.entry.location,
        _micros(metadata.created_time),
        _micros(snapshot.timestamp_ms),
        list(snapshot.partition_columns),
        clustering_names(snapshot.config),
        files.num_rows,
        pc.sum(files["size"]).as_py() or 0,
        sorted(metadata.configuration.items()),
        protocol.min_reader_version,
        protocol.min_writer_version,
        sorted(features),
    )
    return Outcome(result=small_result(_DETAIL, [row]))


def describe_history(bound: BoundStatement, statement: DescribeHistory) -> Outcome:
    """The commits, newest first."""
    history = load_history(bound.tables[0].snapshot, statement.limit)
    types = {name: _HISTORY_TYPES.get(name, STRING) for name in history.schema.names}
    schema = pa.schema([sql_field(name, column.arrow_type, column.sql_type) for name, column in types.items()])
    return Outcome(result=ResultStream(schema=schema, source=history.cast(schema).to_batches()))


def show_tbl_properties(bound: BoundStatement, statement: ShowTblProperties) -> Outcome:
    """All properties with the protocol versions, or the one that was asked for."""
    table = bound.tables[0]
    properties = dict(table.snapshot.metadata.configuration) | {
        "delta.minReaderVersion": str(table.snapshot.protocol.min_reader_version),
        "delta.minWriterVersion": str(table.snapshot.protocol.min_writer_version),
    }
    if statement.key is None:
        return Outcome(result=string_rows(("key", "value"), sorted(properties.items())))
    missing = f"Table {table.label} does not have property: {statement.key}"
    return Outcome(result=string_rows(("key", "value"), [(statement.key, properties.get(statement.key, missing))]))


def show_partitions(bound: BoundStatement, statement: ShowPartitions) -> Outcome:
    """The distinct partition values of the live files, one column each, as text."""
    table = bound.tables[0]
    snapshot = table.snapshot
    if not snapshot.partition_columns:
        raise NotPartitioned(table.label)
    names = list(snapshot.partition_columns)
    physical = physical_names(snapshot.schema, snapshot.config.column_mapping_mode)
    texts = snapshot.partition_texts()
    values = pa.table([texts.column(physical[name]).cast(pa.string()) for name in names], names)
    wanted = {key.casefold(): value for key, value in statement.spec}
    for name in names:
        if name.casefold() in wanted:
            value = wanted[name.casefold()]
            column = values[name]
            values = values.filter(pc.is_null(column) if value is None else pc.equal(column, value))
    distinct = values.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])
    return Outcome(result=string_rows(names, zip(*(distinct[name].to_pylist() for name in names), strict=True)))


def show_create_table(bound: BoundStatement, statement: ShowCreateTable) -> Outcome:
    """The statement that would make such a table here."""
    table = bound.tables[0]
    metadata = table.snapshot.metadata
    elements = [_column_ddl(column) for column in table.snapshot.schema.fields]
    elements += [
        f"CONSTRAINT {quote(constraint.name)} CHECK ({constraint.expression})"
        for constraint in check_constraints(metadata.configuration)
    ]
    columns = ",\n".join(f"  {element}" for element in elements)
    lines = [f"CREATE TABLE {table.label} (\n{columns})", "USING delta"]
    if table.snapshot.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(map(quote, table.snapshot.partition_columns))})")
    clustering = clustering_columns(table.snapshot.config)
    if clustering:
        lines.append(f"CLUSTER BY ({', '.join('.'.join(map(quote, path)) for path in clustering)})")
    if metadata.description:
        lines.append(f"COMMENT {_literal(metadata.description)}")
    if not table.entry.managed:
        lines.append(f"LOCATION {_literal(table.entry.location)}")
    properties = [pair for pair in sorted(metadata.configuration.items()) if _is_settable(pair[0])]
    if properties:
        pairs = (f"  {_literal(key)} = {_literal(value or '')}" for key, value in properties)
        lines.append("TBLPROPERTIES (\n" + ",\n".join(pairs) + ")")
    return Outcome(result=string_rows(("createtab_stmt",), [("\n".join(lines) + "\n",)]))


def show_table_extended(bound: BoundStatement, statement: ShowTableExtended) -> Outcome:
    """Tables with a text about each, which dbt takes apart."""
    columns = {"namespace": STRING, "tableName": STRING, "isTemporary": BOOLEAN, "information": STRING}
    rows = [(*relation.entry.name.parts[1:], False, _information(relation)) for relation in bound.named]
    return Outcome(result=small_result(columns, rows))


def _information(relation: NamedRelation) -> str:
    details = "".join(f"{key}: {value}\n" for key, value in relation_details(relation).items())
    fields = "".join(
        f" |-- {column.name}: {column.type} (nullable = {str(column.nullable).lower()})\n"
        for column in relation.columns
    )
    return f"{details}Schema: root\n{fields}\n"


def _is_settable(key: str) -> bool:
    """Whether TBLPROPERTIES may say it; constraints have a clause of their own, and some keys are the product's."""
    return not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)


def _column_ddl(column: StructField) -> str:
    parts = [quote(column.name), column_sql_type(column).upper()]
    if not column.nullable:
        parts.append("NOT NULL")
    if "delta.generationExpression" in column.metadata:
        parts.append(f"GENERATED ALWAYS AS ({column.metadata['delta.generationExpression']})")
    if is_identity(column):
        parts.append(_identity_ddl(column))
    if "CURRENT_DEFAULT" in column.metadata:
        parts.append(f"DEFAULT {column.metadata['CURRENT_DEFAULT']}")
    if column.comment:
        parts.append(f"COMMENT {_literal(column.comment)}")
    return " ".join(parts)


def _identity_ddl(column: StructField) -> str:
    start, step, allows = (column.metadata.get(key) for key in (START, STEP, ALLOW_EXPLICIT))
    kind = "BY DEFAULT" if allows else "ALWAYS"
    return f"GENERATED {kind} AS IDENTITY (START WITH {start} INCREMENT BY {step})"


def _micros(milliseconds: int | None) -> int | None:
    return None if milliseconds is None else milliseconds * 1000


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
