"""Matching of struct fields in an INSERT's rows to the table's fields.

With BY NAME they match by name. With a column list, or if the query's column names differ from the table's, as in
VALUES, they match by position. If the query's columns have the table's names, in its order, fields also match by name:
reordered fields are assigned correctly, and a struct that lacks a field is rejected. delta-spark does so only if no
value must be cast, and else matches by position; so does this, if no field is missing. Tables in other formats match by
position, as in Spark.

delta-spark: DeltaAnalysis, DeltaInsertCastSupport.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from catalog.names import fold
from engine.enforcement.columns import match_columns
from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.write_plan import WritePlan
from engine.statements.insert.statement import Insert
from engine.tables.config import Capability, TableConfig
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.schema_changes import is_widening


def depends_on_names(table_config: TableConfig, statement: Insert) -> bool:
    """Returns True if the query's column names decide how fields match."""
    if statement.by_name or statement.columns or not table_config.has(Capability.NAMED_FIELDS):
        return False
    return any(_has_struct(column.data_type) for column in table_config.schema.fields)


def field_matching(rows: WritePlan, statement: Insert, given: Sequence[StructField], *, evolves: bool) -> FieldMatching:
    """Returns how fields match; `evolves`: the table accepts new fields and wider types."""
    if statement.by_name:
        return FieldMatching.FILLED if evolves else FieldMatching.NAME
    if not depends_on_names(rows.config, statement):
        return FieldMatching.POSITION
    targets = match_columns(rows).target_columns
    pairs = [(own.data_type, other.data_type) for own, other in zip(targets, given, strict=False)]
    is_named = [fold(own.name) for own in targets] == [fold(other.name) for other in given[: len(targets)]]
    widens = evolves and rows.config.has(Capability.TYPE_WIDENING)
    is_cast = any(_is_cast(own, other, widens) for own, other in pairs)
    if is_named and (not is_cast or any(_lacks_field(own, other) for own, other in pairs)):
        return FieldMatching.NAME
    return FieldMatching.POSITION


def _has_struct(data_type: DataType) -> bool:
    match data_type:
        case StructType():
            return True
        case ArrayType(element):
            return _has_struct(element)
        case MapType(key, value):
            return _has_struct(key) or _has_struct(value)
        case PrimitiveType() | DecimalType():
            return False
        case _:
            assert_never(data_type)


def _lacks_field(own: DataType, given: DataType) -> bool:
    """Returns True if a struct in `given` lacks a field in `own`."""
    match own, given:
        case StructType(fields), StructType():
            pairs = [(field, given.field(field.name)) for field in fields]
            return any(other is None or _lacks_field(field.data_type, other.data_type) for field, other in pairs)
        case ArrayType(element), ArrayType(other_element):
            return _lacks_field(element, other_element)
        case MapType(key, value), MapType(other_key, other_value):
            return _lacks_field(key, other_key) or _lacks_field(value, other_value)
        case _:  # any other pair of types
            return False


def _is_cast(own: DataType, given: DataType, widens: bool) -> bool:
    """Returns True if values of `given` are cast when fields match by name; NULL never is."""
    match own, given:
        case StructType(fields), StructType():
            pairs = [(field, given.field(field.name)) for field in fields]
            return any(other and _is_cast(field.data_type, other.data_type, widens) for field, other in pairs)
        case ArrayType(element), ArrayType(other_element):
            return _is_cast(element, other_element, widens)
        case MapType(key, value), MapType(other_key, other_value):
            return _is_cast(key, other_key, widens) or _is_cast(value, other_value, widens)
        case _:  # any other pair of types
            is_persistent = own == given or PrimitiveType.VOID in (own, given)
            return not is_persistent and not (widens and is_widening(own, given))
