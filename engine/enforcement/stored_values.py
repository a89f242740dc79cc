"""Values and columns that a table's files and partitions cannot store.

A void column exists in the schema only: all its values are null. So the files need another column, and void cannot
occur inside other types, where the reader would expect it in the file.

A format may have types that the table shows as other types: not every string is a uuid. Rows are checked before they
are converted to the stored type; unchanged rows were checked before.

A partition value is a text in the log and in a directory name. An empty string is null there, as is the text that
directories use for null; these values become null before anything is checked. Binary values that are not UTF-8 cannot
be partition values.

Protocol: "Void Type", "Partition Value Serialization"; nested void columns follow delta-spark.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    # Parquet has no files without columns, so that such a table's rows could not even be
    # counted.
    if not stored_columns(plan.schema).fields:
        raise NothingToStore(plan.table)
    return plan


def stored_columns(schema: StructType) -> StructType:
    """Returns the columns that have data in the files."""
    return StructType(tuple(filter(is_stored, schema.fields)))


def is_stored(field: StructField) -> bool:
    """Returns whether the column has data in the files."""
    return field.data_type is not PrimitiveType.VOID


def check_stored_values(plan: WritePlan) -> WritePlan:
    """Adds a check for each column whose stored type cannot represent all values of its shown type."""
    checks = [
        RowCheck(text=each.condition, shown=((name,),), error=partial(_not_of_type, quote(name), each.type_name))
        for name, each in plan.config.stored_values.items()
        if each.condition is not None
    ]
    return plan.extend(checks)


def _not_of_type(column: str, type_name: str, values: Values) -> ValueNotOfType:
    shown = ", ".join("NULL" if value is None else str(value) for value in values.values())
    return ValueNotOfType(shown, column, type_name)


# The empty string and the directory text for null, as literals.
_TEXTS: Mapping[DataType, tuple[str, str]] = {
    PrimitiveType.STRING: ("''", f"'{HIVE_NULL}'"),
    PrimitiveType.BINARY: ("X''", f"X'{HIVE_NULL.encode().hex()}'"),
}


def fit_partition_values(plan: WritePlan) -> WritePlan:
    """Fills `stored_as`, and adds a check for each binary partition column."""
    stored_as, checks = {}, []
    for column in map(plan.schema.field, plan.config.partition_columns):
        if column is None:
            continue
        name = quote(column.name)
        if column.data_type in _TEXTS:
            stored_as[column.name] = stored_partition_value(column.data_type, name)
        if column.data_type is PrimitiveType.BINARY:
            # "Partition Value Serialization": binary values are stored as strings of
            # escaped binary values; Spark's writer takes the bytes for UTF-8, which other
            # bytes do not survive.
            text = f"{name} IS NULL OR is_valid_utf8(CAST({name} AS STRING))"
            checks.append(RowCheck(text=text, shown=(), error=partial(_not_text, column.name)))
    return plan.extend(checks, stored_as=stored_as)


def stored_partition_value(data_type: DataType, value: str) -> str:
    """Returns SQL for the partition value of a row with this value (SQL text with the column's type)."""
    if data_type not in _TEXTS:
        return value
    # "Partition Value Serialization": an empty string translates to null for every type,
    # strings included.
    return f"nullif(nullif({value}, {_TEXTS[data_type][0]}), {_TEXTS[data_type][1]})"


def _not_text(column: str, _: Values) -> PartitionValueNotText:
    return PartitionValueNotText(column)
