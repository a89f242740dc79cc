"""Values that no partition can have.

A partition's value is a text in the log and in a folder's name. An empty text is null there, and so is the text that
folders have for null; so such values become null before anything is checked. Bytes that are no text cannot be a
partition at all.

Protocol: "Partition Value Serialization".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from catalog.conditions import PartitionValueNotText
from catalog.names import quote
from engine.planning.plans.write_plan import RowCheck, Values, WritePlan
from engine.types.partition_values import HIVE_NULL
from engine.types.schema import DataType, PrimitiveType

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
