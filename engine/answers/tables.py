"""What the log says about one table: its detail, history, properties and partitions.

Columns are Delta's where Delta has the statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from engine.answers.describe import relation_details, version_properties
from engine.bind.bound import BoundStatement, BoundTable, BoundView, NamedRelation, Outcome
from engine.bind.sight import visible_properties
from engine.enforce.errors import NoPartitionColumn
from engine.errors.statement_errors import NotPartitioned
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
from engine.runtime.settings import HIVE_SHAPE
from engine.statements.shows import (
    DescribeDetail,
    DescribeHistory,
    ShowPartitions,
    ShowTableExtended,
    ShowTblProperties,
)
from engine.table.history import HISTORY_SCHEMA
from engine.types.column_paths import format_name
from engine.types.partition_values import HIVE_NULL
from engine.types.sql_types import sql_struct

_HIVE_ESCAPED = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""What Hive escapes in the names of folders."""
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
    "job": ResultColumn(HISTORY_SCHEMA.field("job").type, sql_struct(HISTORY_SCHEMA.field("job").type)),
    "notebook": ResultColumn(HISTORY_SCHEMA.field("notebook").type, sql_struct(HISTORY_SCHEMA.field("notebook").type)),
}
"""Columns of DESCRIBE HISTORY that are not text."""


def describe_detail(bound: BoundStatement, statement: DescribeDetail) -> Outcome:
    """One row about the table's newest version."""
    table = bound.tables[0]
    snapshot = table.snapshot
    details, versions = snapshot.details, snapshot.details.versions or (None, None)
    row = (
        snapshot.format,
        details.id,
        ".".join(table.name.parts) if table.name else details.name,
        details.description,
        table.location if bound.tells_all(table) else None,
        _micros(details.created_ms),
        _micros(details.modified_ms),
        list(snapshot.partition_columns),
        [format_name(path) for path in details.clustering_columns],
        snapshot.num_files,
        snapshot.size_bytes,
        sorted(visible_properties(bound.view, table).items()),
        *versions,
        list(details.features),
    )
    return Outcome(result=small_result(_DETAIL, [row]))


def describe_history(bound: BoundStatement, statement: DescribeHistory) -> Outcome:
    """The commits, newest first."""
    history = bound.tables[0].snapshot.history(statement.limit)
    types = {name: _HISTORY_TYPES.get(name, STRING) for name in history.schema.names}
    schema = pa.schema([sql_field(name, column.arrow_type, column.sql_type) for name, column in types.items()])
    return Outcome(result=ResultStream(schema=schema, source=history.cast(schema).to_batches()))


def show_tbl_properties(bound: BoundStatement, statement: ShowTblProperties) -> Outcome:
    """All properties, those of a table with the protocol versions, or the one that was asked for."""
    (relation,) = bound.named
    properties = _view_properties(relation) if isinstance(relation, BoundView) else _table_properties(bound, relation)
    if statement.key is None:
        return Outcome(result=string_rows(("key", "value"), sorted(properties.items())))
    missing = f"Table {relation.label} does not have property: {statement.key}"
    return Outcome(result=string_rows(("key", "value"), [(statement.key, properties.get(statement.key, missing))]))


def _view_properties(view: BoundView) -> dict[str, str | None]:
    return dict(view.entry.properties)


def _table_properties(bound: BoundStatement, table: BoundTable) -> dict[str, str | None]:
    """Returns the properties with `clusteringColumns`, in which Databricks has the keys and dbt reads them."""
    details = table.snapshot.details
    paths = [list(path) for path in details.clustering_columns]
    clustering = {"clusteringColumns": json.dumps(paths, separators=(",", ":"), ensure_ascii=False)} if paths else {}
    return visible_properties(bound.view, table) | version_properties(details) | clustering


def show_partitions(bound: BoundStatement, statement: ShowPartitions) -> Outcome:
    """The distinct partition values of the live files, one column each, as text.

    In Hive's shape one column `partition` with all of them, as Hive names the folders: `day=2024-01-01/city=Delft`.
    """
    table = bound.tables[0]
    snapshot = table.snapshot
    values = snapshot.shown_partitions()
    names = values.column_names
    if not names:
        raise NotPartitioned(table.label)
    known = {name.casefold() for name in names}
    for key, _ in statement.spec:
        if key.casefold() not in known:
            raise NoPartitionColumn(key, ", ".join(names))
    wanted = {key.casefold(): value for key, value in statement.spec}
    for name in names:
        if name.casefold() in wanted:
            value = wanted[name.casefold()]
            column = values[name]
            values = values.filter(pc.is_null(column) if value is None else pc.equal(column, value))
    distinct = values.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])
    rows = list(zip(*(distinct[name].to_pylist() for name in names), strict=True))
    if bound.state.value(HIVE_SHAPE) == "true":
        return Outcome(result=string_rows(("partition",), [(_hive_partition(names, row),) for row in rows]))
    return Outcome(result=string_rows(names, rows))


def _hive_partition(names: Sequence[str], values: Sequence[str | None]) -> str:
    return "/".join(
        f"{_hive_escaped(name)}={HIVE_NULL if value is None else _hive_escaped(value)}"
        for name, value in zip(names, values, strict=True)
    )


def _hive_escaped(text: str) -> str:
    return _HIVE_ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def show_table_extended(bound: BoundStatement, statement: ShowTableExtended) -> Outcome:
    """Tables with a text about each, which dbt takes apart."""
    columns = {"namespace": STRING, "tableName": STRING, "isTemporary": BOOLEAN, "information": STRING}
    rows = [(*relation.entry.name.parts[1:], False, _information(bound, relation)) for relation in bound.named]
    return Outcome(result=small_result(columns, rows))


def _information(bound: BoundStatement, relation: NamedRelation) -> str:
    details = "".join(f"{key}: {value}\n" for key, value in relation_details(bound, relation).items())
    fields = "".join(
        f" |-- {column.name}: {column.type} (nullable = {str(column.nullable).lower()})\n"
        for column in relation.columns
    )
    return f"{details}Schema: root\n{fields}\n"


def _micros(milliseconds: int | None) -> int | None:
    return None if milliseconds is None else milliseconds * 1000
