"""Values and columns that the files and partitions of a table cannot store.

A column of type void is in the schema alone: every value is null. So another column has to be in the files, and inside
of other types, where the reader would look for them, there can be none.

A format may have types that the table shows as others: a text need not be a uuid. Rows are checked before they become
what is stored; rows of the table that stay as they are were checked before.

A partition's value is a text in the log and in a folder's name. An empty text is null there, and so is the text that
folders have for null; such values become null before anything is checked. Bytes that are no text cannot be a partition.

Protocol: "Void Type", "Partition Value Serialization"; delta-spark for nested void columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from catalog.conditions import NothingToStore, PartitionValueNotText, ValueNotOfType
from catalog.names import quote
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.types.partition_values import HIVE_NULL
from engine.types.schema import DataType, PrimitiveType, StructField, StructType
from engine.types.voids import ensure_no_nested_void


def ensure_storable(plan: WritePlan) -> WritePlan:
    """Raises `NothingToStore`, `NestedVoid`."""
    ensure_no_nested_void(plan.schema)
    if not stored_columns(plan.schema).fields:
        raise NothingToStore(plan.table)
    return plan


def stored_columns(schema: StructType) -> StructType:
    """Those of which there is something in the files."""
    return StructType(tuple(filter(is_stored, schema.fields)))


def is_stored(field: StructField) -> bool:
    """Whether there is something of the column in the files."""
    return field.data_type is not PrimitiveType.VOID


def check_stored_values(plan: WritePlan) -> WritePlan:
    """Adds a check for each column that does not hold all values of the type that it is shown as."""
    checks = [
        RowCheck(text=each.condition, shown=((name,),), error=partial(_not_of_type, quote(name), each.type_name))
        for name, each in plan.config.stored_values.items()
        if each.condition is not None
    ]
    return replace(plan, checks=(*plan.checks, *checks))


def _not_of_type(column: str, type_name: str, values: Values) -> ValueNotOfType:
    shown = ", ".join("NULL" if value is None else str(value) for value in values.values())
    return ValueNotOfType(shown, column, type_name)


_TEXTS: Mapping[DataType, tuple[str, str]] = {
    PrimitiveType.STRING: ("''", f"'{HIVE_NULL}'"),
    PrimitiveType.BINARY: ("X''", f"X'{HIVE_NULL.encode().hex()}'"),
}
"""The empty text and that of folders for null, as literals."""


def fit_partition_values(plan: WritePlan) -> WritePlan:
    """Fills `stored_as`, and adds a check for each partition column of bytes."""
    stored_as, checks = {}, []
    for column in map(plan.schema.field, plan.config.partition_columns):
        if column is None:
            continue
        name = quote(column.name)
        if column.data_type in _TEXTS:
            stored_as[column.name] = stored_partition_value(column.data_type, name)
        if column.data_type is PrimitiveType.BINARY:
            text = f"{name} IS NULL OR is_valid_utf8(CAST({name} AS STRING))"
            checks.append(RowCheck(text=text, shown=(), error=partial(_not_text, column.name)))
    return replace(plan, stored_as=stored_as, checks=(*plan.checks, *checks))


def stored_partition_value(data_type: DataType, value: str) -> str:
    """SQL text of what the partition of a row with this value (SQL text, of the type of the column) has."""
    if data_type not in _TEXTS:
        return value
    return f"nullif(nullif({value}, {_TEXTS[data_type][0]}), {_TEXTS[data_type][1]})"


def _not_text(column: str, _: Values) -> PartitionValueNotText:
    return PartitionValueNotText(column)
