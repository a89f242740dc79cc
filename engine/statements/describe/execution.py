"""DESCRIBE: a table's columns from its log, and its catalog and log details.

The layout is Spark's: three text columns, and sections that begin with `#`, since clients (dbt, SQLAlchemy) parse it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pyarrow as pa

from catalog.conditions import UnresolvedColumn
from catalog.entries import FunctionEntry
from catalog.names import CatalogName, SchemaName
from engine.binding.bound import BoundStatement, BoundTable, BoundView, ColumnInfo, NamedRelation, Outcome
from engine.binding.visibility import is_hidden, visible_keys, visible_properties
from engine.pruning.estimates import DistinctCount
from engine.runtime.results import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    STRING_MAP,
    STRINGS,
    TIMESTAMP,
    ResultColumn,
    ResultStream,
    small_result,
    sql_field,
    string_rows,
)
from engine.runtime.session_state import is_temporary
from engine.statements.describe.execution_json import described_json
from engine.statements.describe.statement import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
)
from engine.statements.functions.statement import DescribeFunction
from engine.statements.listings.execution_keys import key_clause
from engine.tables.definition import TableDetails
from engine.tables.keys import is_key_property
from engine.tables.operations import HISTORY_SCHEMA
from engine.types.column_paths import field_at, format_name
from engine.types.partition_terms import IDENTITY, PartitionTerm
from engine.types.schema import StructField, StructType
from engine.types.sql_types import column_sql_type, sql_struct

Row = tuple[str, str | None, str | None]

COLUMNS = ("col_name", "data_type", "comment")


def describe_table(bound: BoundStatement, statement: DescribeTable) -> Outcome:
    """Returns columns, partitioning and clustering; with EXTENDED the details; with a column, that column alone."""
    relation = bound.named[0]
    if statement.column_parts:
        column = _find_column(relation, statement.column_parts)
        rows = [("col_name", column.name), ("data_type", column.type), ("comment", column.comment or "NULL")]
        if statement.extended and column.name in (counts := _distinct_counts(bound, relation)):
            rows.append(("distinct_count", str(counts[column.name].distinct)))
        return Outcome(result=string_rows(("info_name", "info_value"), rows))
    if statement.as_json:
        return Outcome(
            result=string_rows(
                ("json_metadata",), [(described_json(bound, relation, relation_details(bound, relation)),)]
            )
        )
    rows_ = [*_columns(relation), *(_details(bound, relation) if statement.extended else ())]
    return Outcome(result=string_rows(COLUMNS, rows_))


def describe_catalog(bound: BoundStatement, statement: DescribeCatalog) -> Outcome:
    """Describes a catalog; a REST catalog's options require MANAGE, and contain no secrets."""
    entry = bound.view.catalog(CatalogName(statement.catalog))
    kind = "Iceberg REST" if bound.view.is_rest(entry.name) else "Managed"
    rows = [("Catalog Name", entry.name.catalog), ("Comment", entry.comment or ""), ("Owner", entry.owner or "")]
    if statement.extended:
        rows.append(("Catalog Type", kind))
        if entry.rest is not None and bound.view.tells_all(entry):
            rows.append(("Options", f"[{', '.join(f'{key}={value}' for key, value in sorted(entry.rest))}]"))
    return Outcome(result=string_rows(("info_name", "info_value"), rows))


def describe_schema(bound: BoundStatement, statement: DescribeSchema) -> Outcome:
    """Returns rows `info_name, info_value`, as Spark's DESCRIBE SCHEMA does.

    The location is empty for a principal who may not see it; EXTENDED adds the properties.
    """
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    entry, properties = bound.view.described_schema(name)
    listed = ", ".join(f"({key},{value})" for key, value in sorted(properties.items()))
    rows = [
        ("Catalog Name", entry.name.catalog),
        ("Namespace Name", entry.name.schema),
        ("Comment", entry.comment or ""),
        ("Location", (entry.location or "") if bound.view.tells_all(entry) else ""),
        ("Owner", entry.owner or ""),
        *([("Properties", f"({listed})")] if statement.extended and listed and bound.view.tells_all(entry) else []),
    ]
    return Outcome(result=string_rows(("info_name", "info_value"), rows))


def describe_function(bound: BoundStatement, statement: DescribeFunction) -> Outcome:
    """Describes a function as Spark does, in one text column; the body requires MANAGE on the function."""
    entry = bound.securable
    assert isinstance(entry, FunctionEntry)
    inputs = ", ".join(f"{each.name} {each.type}" for each in entry.parameters)
    described: dict[str, str | None] = {
        "Function": entry.name.table if is_temporary(entry.name) else ".".join(entry.name.parts),
        "Type": "TABLE" if entry.table_columns else "SCALAR",
        "Input": f"({inputs})",
        "Returns": f"\n{'':11}".join(f"{each.name} {each.type}" for each in entry.table_columns) or entry.returns,
    }
    if statement.extended:
        described |= {"Comment": entry.comment, "Owner": entry.owner, "Created": _time(entry.created_ms)}
        described["Body"] = entry.body if is_temporary(entry.name) or bound.view.tells_all(entry) else None
    lines = [f"{key + ':':10} {value}" for key, value in described.items() if value is not None]
    rows = [(line,) for text in lines for line in (text.split("\n") if text.startswith("Returns:") else [text])]
    return Outcome(result=string_rows(("function_desc",), rows))


def _columns(relation: NamedRelation) -> Iterator[Row]:
    for column in relation.columns:
        yield column.name, column.type, column.comment
    if isinstance(relation, BoundTable) and relation.snapshot.partition_columns:
        yield "# Partition Information", "", ""
        yield "# col_name", "data_type", "comment"
        names = set(relation.snapshot.partition_columns)
        for column in relation.columns:
            if column.name in names:
                yield column.name, column.type, column.comment
    if isinstance(relation, BoundTable):
        yield from _partitioning_rows(relation)
        yield from _clustering_rows(relation)


def _partitioning_rows(table: BoundTable) -> Iterator[Row]:
    """Yields the partitioning as Spark displays partition transforms."""
    terms = table.snapshot.details.partition_terms
    if terms:
        yield "# Partitioning", "", ""
    for number, term in enumerate(terms):
        yield f"Part {number}", str(term), ""


def _clustering_rows(table: BoundTable) -> Iterator[Row]:
    fields = {path: field_at(table.snapshot.schema, path) for path in table.snapshot.details.clustering_columns}
    if fields:
        yield "# Clustering Information", "", ""
        yield "# col_name", "data_type", "comment"
    for path, field in fields.items():
        if field is not None:
            yield format_name(path), column_sql_type(field), field.comment


def version_properties(details: TableDetails) -> dict[str, str]:
    """Returns the protocol versions, which are displayed as properties."""
    if details.versions is None:
        return {}
    reader, writer = details.versions
    return {"delta.minReaderVersion": str(reader), "delta.minWriterVersion": str(writer)}


_ONLY_FOR_MANAGERS = frozenset({"Location", "View Text"})


def relation_details(bound: BoundStatement, relation: NamedRelation) -> dict[str, str]:
    """Returns the details besides columns, under Spark's names."""
    details = _table_details(bound, relation) if isinstance(relation, BoundTable) else _view_details(relation)
    hidden = frozenset() if bound.tells_all(relation) else _ONLY_FOR_MANAGERS
    return {key: value for key, value in details.items() if value is not None and key not in hidden}


def _view_details(view: BoundView) -> dict[str, str | None]:
    entry = view.entry
    is_own = entry.foreign is None and not is_temporary(entry.name)
    return {
        "Catalog": entry.name.catalog,
        "Database": entry.name.schema,
        "Table": entry.name.table,
        "Owner": entry.owner,
        "Created Time": _time(entry.created_ms),
        "Last Access": "UNKNOWN",
        "Type": "VIEW",
        "Comment": entry.comment,
        "View Text": entry.text,
        "View Schema Mode": entry.schema_mode.value if is_own else None,
        "View Catalog and Namespace": str(entry.current),
    }


def _table_details(bound: BoundStatement, table: BoundTable) -> dict[str, str | None]:
    snapshot, entry = table.snapshot, table.entry
    details = snapshot.details
    own = {key: value for key, value in sorted(details.properties.items()) if not is_key_property(key)}
    properties = own | version_properties(details)
    return {
        "Catalog": table.name.catalog if table.name else "",
        "Database": table.name.schema if table.name else "",
        "Table": table.name.table if table.name else entry.location,
        "Name in the Log": details.name,
        "Owner": entry.owner,
        "Created Time": _time(details.created_ms),
        "Last Access": "UNKNOWN",
        "Type": bound.view.table_type(entry),
        "Comment": details.description or entry.comment,
        "Provider": snapshot.format,
        "Version": str(snapshot.version),
        "Location": table.location,
        "Partition Columns": json.dumps(list(snapshot.partition_columns)) if snapshot.partition_columns else None,
        "Table Properties": "[" + ",".join(f"{key}={value}" for key, value in properties.items()) + "]",
    }


def _details(bound: BoundStatement, relation: NamedRelation) -> Iterator[Row]:
    yield "", "", ""
    yield "# Detailed Table Information", "", ""
    for key, value in relation_details(bound, relation).items():
        yield key, value, ""
    keys = visible_keys(bound.view, relation) if isinstance(relation, BoundTable) else ()
    if keys:
        yield "", "", ""
        yield "# Constraints", "", ""
    for each in keys:
        yield each.name, key_clause(each), ""
    counts = _distinct_counts(bound, relation)
    if counts:
        yield "", "", ""
        yield "# Column Statistics", "", ""
        yield "# col_name", "distinct_count", "comment"
    for name, count in counts.items():
        yield name, str(count.distinct), f"counted in {count.rows} rows"


def _distinct_counts(bound: BoundStatement, relation: NamedRelation) -> Mapping[str, DistinctCount]:
    """Returns visible distinct counts: none if a policy may hide rows, or without SELECT."""
    if not isinstance(relation, BoundTable) or relation.is_protected or is_hidden(bound.view, relation):
        return {}
    return relation.snapshot.distinct_counts.columns


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ", "seconds")


def _find_column(relation: NamedRelation, parts: tuple[str, ...]) -> ColumnInfo:
    """Finds a column, or a nested field."""
    if len(parts) == 1 or not isinstance(relation, BoundTable):
        found = [column for column in relation.columns if column.name.casefold() == ".".join(parts).casefold()]
        if found:
            return found[0]
        raise UnresolvedColumn(".".join(parts), ", ".join(column.name for column in relation.columns))
    field = StructField("", relation.snapshot.schema)
    for depth, part in enumerate(parts):
        inner = field.data_type.field(part) if isinstance(field.data_type, StructType) else None
        if inner is None:
            raise UnresolvedColumn(".".join(parts[: depth + 1]), ", ".join(relation.snapshot.schema.names))
        field = inner
    return ColumnInfo(name=field.name, type=column_sql_type(field), nullable=field.nullable, comment=field.comment)


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


# Non-text columns in DESCRIBE HISTORY.
_HISTORY_TYPES = {
    "version": BIGINT,
    "timestamp": TIMESTAMP,
    "readVersion": BIGINT,
    "isBlindAppend": BOOLEAN,
    "operationParameters": STRING_MAP,
    "operationMetrics": STRING_MAP,
    "job": ResultColumn(HISTORY_SCHEMA.field("job").type, sql_struct(HISTORY_SCHEMA.field("job").type)),
    "notebook": ResultColumn(HISTORY_SCHEMA.field("notebook").type, sql_struct(HISTORY_SCHEMA.field("notebook").type)),
}


def describe_detail(bound: BoundStatement, statement: DescribeDetail) -> Outcome:
    """Returns one row about the table's newest version."""
    table = bound.tables[0]
    snapshot = table.snapshot
    details = snapshot.details
    versions = snapshot.details.versions or (None, None)
    row = (
        snapshot.format,
        details.id,
        ".".join(table.name.parts) if table.name else details.name,
        details.description,
        table.location if bound.tells_all(table) else None,
        _micros(details.created_ms),
        _micros(details.modified_ms),
        list(snapshot.partition_columns) or [_partition_name(term) for term in details.partition_terms],
        [format_name(path) for path in details.clustering_columns],
        snapshot.num_files,
        snapshot.size_bytes,
        sorted(visible_properties(bound.view, table).items()),
        *versions,
        list(details.features),
    )
    return Outcome(result=small_result(_DETAIL, [row]))


def _partition_name(term: PartitionTerm) -> str:
    """Returns the column's name, or the transform of a column."""
    return format_name(term.column) if term.transform == IDENTITY else str(term)


def describe_history(bound: BoundStatement, statement: DescribeHistory) -> Outcome:
    """Returns the commits, newest first."""
    history = bound.tables[0].snapshot.history(statement.limit)
    types = {name: _HISTORY_TYPES.get(name, STRING) for name in history.schema.names}
    schema = pa.schema([sql_field(name, column.arrow_type, column.sql_type) for name, column in types.items()])
    return Outcome(result=ResultStream(schema=schema, source=history.cast(schema).to_batches()))


def _micros(milliseconds: int | None) -> int | None:
    return None if milliseconds is None else milliseconds * 1000
