"""Schema evolution, where it is asked for: the table grows by what the query has and it has not.

* Columns of other names (BY NAME), or those that are left over (by position), become columns behind the table's own;
  with a list of columns there are none. The same goes for fields of structs, at any depth and inside of arrays and
  maps, by name or by position as `engine.statements.insert.planning_fields` says.
* With BY NAME a field that the query does not have is null in the new rows, as a column is that it does not have.
* A MERGE adds those columns and fields of its source that a clause assigns; clauses for rows that match none of the
  source add none. Columns and fields match by name.
* A column of a table with type widening gets the query's type where that is a wider one, also inside of structs, arrays
  and maps. In all other cases the query's value is assigned to the column as without evolution.

What is computed from a column (CHECK, generated columns) has to stay what it is: a column that is used there keeps its
type, and a struct that is used as a whole gets no new fields.

If a value has to be cast, delta-spark matches fields inside of structs by position also with BY NAME, so that fields in
another order change places; here names decide.

Protocol: "Type Widening"; "Column Mapping" for the ids of what is new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from catalog.conditions import ColumnUsedByPolicy, ConstraintHoldsType, GeneratedHoldsType
from catalog.names import fold
from engine.binding.bound import BoundTable
from engine.enforcement.columns import match_columns
from engine.errors.table_errors import naming
from engine.planning.plans.write_plan import WritePlan
from engine.planning.rules.dependencies import uses
from engine.planning.rules.query_columns import table_type
from engine.planning.rules.text_lengths import with_lengths
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.tables.column_metadata import GENERATION
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import AddColumn, ChangeType
from engine.tables.rules import Capability
from engine.types.column_paths import Path
from engine.types.schema import ArrayType, DataType, MapType, PrimitiveType, StructField, StructType
from engine.types.schema_changes import is_widening
from engine.types.sql_types import format_sql_type
from engine.types.voids import ensure_no_new_void


def evolved(
    table: BoundTable, rows: WritePlan, given: Sequence[StructField], by_name: bool, fields_by_name: bool
) -> TableDefinition | None:
    """Returns the definition of `table` with what is new in the columns `given`; None if nothing is.

    Raises `UnsupportedDataType`, and the refusals of the module's text.
    """
    changes = list(_changes(rows, given, by_name, fields_by_name))
    if not changes:
        return None
    properties = table.snapshot.details.properties
    for change in changes:
        if isinstance(change, AddColumn):
            ensure_no_new_void((change.field,), change.parent, properties)
        _ensure_free(table, change)
    with naming(table.label):
        return table.snapshot.redefined(table.label, with_lengths(table.snapshot.schema, changes))


# --- What is new -----------------------------------------------------------------------------------------------------


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
    """For a field of the struct at `parent` that gets values of the type `given`."""
    path = (*parent, field.name)
    may_widen = rows.config.has(Capability.TYPE_WIDENING) or field.data_type is PrimitiveType.VOID
    if may_widen and CHAR_VARCHAR_TYPE not in field.metadata:
        widened = _widened(field.data_type, given)
        if widened != field.data_type:
            yield ChangeType(path=path, data_type=widened)
    yield from _struct_changes(rows, field.data_type, given, path, by_name)


def _widened(data_type: DataType, given: DataType) -> DataType:
    """With the types of `given` where they are wider; structs are left to their fields."""
    match data_type, given:
        case ArrayType(element), ArrayType(other):
            return replace(data_type, element_type=_widened(element, other))
        case MapType(key, value), MapType(other_key, other_value):
            return replace(data_type, key_type=_widened(key, other_key), value_type=_widened(value, other_value))
        case _:  # any other pair of types
            return given if is_widening(data_type, given) else data_type


def _struct_changes(
    rows: WritePlan, data_type: DataType, given: DataType, path: Path, by_name: bool
) -> Iterator[AddColumn | ChangeType]:
    """For all fields of structs in the value at `path`."""
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
    """Yields the parts of the source's `fields` that clauses of a MERGE assign: whole fields at `paths` (folded names),
    structs around them with these fields alone, and all fields with `takes_all` (`*`).
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


# --- What must stay --------------------------------------------------------------------------------------------------


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
    """`whole`: what uses only fields of the struct at `path` does not matter."""
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
