"""Schema evolution on request: adds the query's new columns and fields to the table.

* Columns with new names (BY NAME), or surplus columns (by position), are appended to the table's columns; a column list
  allows none. The same applies to struct fields, at any depth and inside arrays and maps, by name or by position as in
  `engine.statements.insert.planning_fields`.
* With BY NAME, a column or field that the query lacks is null in the new rows.
* MERGE adds the source columns and fields that a clause assigns; clauses for target rows without a match add none.
  Columns and fields match by name.
* In a table with type widening, a column gets the query's type if that is wider, also inside structs, arrays and maps.
  Otherwise the query's value is assigned to the column as without evolution.

Inputs to CHECK constraints and generated columns must not change: such a column keeps its type, and a struct that is
used as a whole gets no new fields.

If a value must be cast, delta-spark matches struct fields by position even with BY NAME, so that reordered fields are
swapped; here they match by name.

Protocol: "Type Widening"; "Column Mapping" for new ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from catalog.conditions import ColumnUsedByPolicy, ConstraintHoldsType, GeneratedHoldsType
from catalog.names import fold
from engine.binding.bound import BoundTable
from engine.enforcement.columns import match_columns
from engine.errors.table_errors import name_table_in_errors
from engine.planning.plans.write_plan import WritePlan
from engine.planning.semantics.dependencies import uses
from engine.planning.semantics.query_columns import table_type
from engine.planning.semantics.text_lengths import with_lengths
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.tables.column_metadata import GENERATION
from engine.tables.config import Capability
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import AddColumn, ChangeType
from engine.types.column_paths import Path
from engine.types.schema import ArrayType, DataType, MapType, PrimitiveType, StructField, StructType
from engine.types.schema_changes import is_widening
from engine.types.sql_types import format_sql_type
from engine.types.voids import ensure_no_new_void


def evolve_definition(
    table: BoundTable, rows: WritePlan, given: Sequence[StructField], by_name: bool, fields_by_name: bool
) -> TableDefinition | None:
    """Returns the definition of `table` with the new parts in the columns `given`; None if nothing is new.

    Raises `UnsupportedDataType`, and errors for the restrictions above.
    """
    changes = list(_changes(rows, given, by_name, fields_by_name))
    if not changes:
        return None
    properties = table.snapshot.details.properties
    for change in changes:
        if isinstance(change, AddColumn):
            ensure_no_new_void((change.field,), change.parent, properties)
        _ensure_free(table, change)
    with name_table_in_errors(table.label):
        return table.snapshot.change_definition(table.label, with_lengths(table.snapshot.schema, changes))


# --- Additions -------------------------------------------------------------------------------------------------------


def _changes(
    rows: WritePlan, given: Sequence[StructField], by_name: bool, fields_by_name: bool
) -> Iterator[AddColumn | ChangeType]:
    if by_name:
        pairs = [(rows.schema.field(column.name), column) for column in given]
    else:
        targets = match_columns(rows).target_columns
        pairs = [(targets[at] if at < len(targets) else None, column) for at, column in enumerate(given)]
    for field, column in pairs:
        if field is not None:
            yield from _field_changes(rows, field, column.data_type, (), fields_by_name)
        elif not rows.insert_columns:
            yield AddColumn(field=StructField(column.name, table_type(column.data_type)))


def _field_changes(
    rows: WritePlan, field: StructField, given: DataType, parent: Path, by_name: bool
) -> Iterator[AddColumn | ChangeType]:
    """Yields changes for a field in the struct at `parent` that is assigned the type `given`."""
    path = (*parent, field.name)
    may_widen = rows.config.has(Capability.TYPE_WIDENING) or field.data_type is PrimitiveType.VOID
    if may_widen and CHAR_VARCHAR_TYPE not in field.metadata:
        widened = _widen(field.data_type, given)
        if widened != field.data_type:
            yield ChangeType(path=path, data_type=widened)
    yield from _struct_changes(rows, field.data_type, given, path, by_name)


def _widen(data_type: DataType, given: DataType) -> DataType:
    """Returns the type widened to `given` if wider; struct fields are handled separately."""
    match data_type, given:
        case ArrayType(element), ArrayType(other):
            return replace(data_type, element_type=_widen(element, other))
        case MapType(key, value), MapType(other_key, other_value):
            return replace(data_type, key_type=_widen(key, other_key), value_type=_widen(value, other_value))
        case _:  # any other pair of types
            return given if is_widening(data_type, given) else data_type


def _struct_changes(
    rows: WritePlan, data_type: DataType, given: DataType, path: Path, by_name: bool
) -> Iterator[AddColumn | ChangeType]:
    """Yields changes for all struct fields in the value at `path`."""
    match data_type, given:
        case StructType(fields), StructType(others):
            for at, other in enumerate(others):
                field = data_type.field(other.name) if by_name else fields[at] if at < len(fields) else None
                if field is None:
                    yield AddColumn(field=StructField(other.name, table_type(other.data_type)), parent=path)
                else:
                    yield from _field_changes(rows, field, other.data_type, path, by_name)
        case ArrayType(element), ArrayType(other_element):
            yield from _struct_changes(rows, element, other_element, (*path, "element"), by_name)
        case MapType(key, value), MapType(other_key, other_value):
            yield from _struct_changes(rows, key, other_key, (*path, "key"), by_name)
            yield from _struct_changes(rows, value, other_value, (*path, "value"), by_name)
        case _:  # any other pair of types
            return


def assigned_fields(
    fields: Iterable[StructField], paths: Collection[Path], *, takes_all: bool, parent: Path = ()
) -> Iterator[StructField]:
    """Yields the parts of the source's `fields` that a MERGE's clauses assign: entire fields at `paths` (folded names),
    enclosing structs with only these fields, and all fields with `takes_all` (`*`).
    """
    for field in fields:
        path = (*parent, fold(field.name))
        if path in paths:
            yield field
        elif isinstance(field.data_type, StructType):
            inner = tuple(assigned_fields(field.data_type.fields, paths, takes_all=takes_all, parent=path))
            if inner:
                yield replace(field, data_type=StructType(inner))
        elif takes_all:
            yield field


# --- Restrictions ----------------------------------------------------------------------------------------------------


def _ensure_free(table: BoundTable, change: AddColumn | ChangeType) -> None:
    match change:
        case ChangeType(path=path, data_type=data_type):
            _ensure_unused(table, path, format_sql_type(data_type), whole=False)
        case AddColumn(parent=parent, field=field):
            if parent:
                _ensure_unused(table, parent, f"a struct with {field.name}", whole=True)
        case _:
            assert_never(change)


def _ensure_unused(table: BoundTable, path: Path, becomes: str, *, whole: bool) -> None:
    """Raises if the column is used; with `whole`, uses of single fields in the struct at `path` are allowed."""
    column = ".".join(path)
    if table.is_used_by_policy(path[0]):
        raise ColumnUsedByPolicy(path[0], table.label)
    constraints = [
        constraint.name for constraint in table.snapshot.checks if uses(constraint.expression, path, whole=whole)
    ]
    if constraints:
        raise ConstraintHoldsType(column, becomes, ", ".join(constraints))
    generated = [
        field.name
        for field in table.snapshot.schema.fields
        if isinstance(field.metadata.get(GENERATION), str) and uses(field.metadata[GENERATION], path, whole=whole)
    ]
    if generated:
        raise GeneratedHoldsType(column, becomes, ", ".join(generated))
