"""Log details about one table: detail, history, properties and partitions.

Columns are Delta's if Delta has the statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pyarrow.compute as pc

from catalog.conditions import NoPartitionColumn, NotPartitioned
from engine.binding.bound import BoundStatement, BoundTable, BoundView, NamedRelation, Outcome
from engine.binding.visibility import visible_properties
from engine.runtime.results import BOOLEAN, STRING, small_result, string_rows
from engine.runtime.settings import HIVE_SHAPE
from engine.statements.describe.execution import relation_details, version_properties
from engine.statements.show.statement import ShowPartitions, ShowTableExtended, ShowTblProperties
from engine.types.partition_values import HIVE_NULL

# Characters that Hive escapes in folder names.
_HIVE_ESCAPED = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")


def show_tbl_properties(bound: BoundStatement, statement: ShowTblProperties) -> Outcome:
    """Returns all properties, including a table's protocol versions, or the requested one."""
    (relation,) = bound.named
    properties = _view_properties(relation) if isinstance(relation, BoundView) else _table_properties(bound, relation)
    if statement.key is None:
        return Outcome(result=string_rows(("key", "value"), sorted(properties.items())))
    missing = f"Table {relation.label} does not have property: {statement.key}"
    return Outcome(result=string_rows(("key", "value"), [(statement.key, properties.get(statement.key, missing))]))


def _view_properties(view: BoundView) -> dict[str, str | None]:
    return dict(view.entry.properties)


def _table_properties(bound: BoundStatement, table: BoundTable) -> dict[str, str | None]:
    """Returns the properties with `clusteringColumns`, which Databricks has and dbt reads."""
    details = table.snapshot.details
    paths = [list(path) for path in details.clustering_columns]
    clustering = {"clusteringColumns": json.dumps(paths, separators=(",", ":"), ensure_ascii=False)} if paths else {}
    return visible_properties(bound.view, table) | version_properties(details) | clustering


def show_partitions(bound: BoundStatement, statement: ShowPartitions) -> Outcome:
    """Returns the live files' distinct partition values, one column each, as text.

    In Hive's shape, a single column `partition` combines them like Hive's folder names: `day=2024-01-01/city=Delft`.
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
    """Returns tables with a text about each, which dbt parses."""
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
