"""Maps another table's file columns to ours: by field id if present, else by name.

Source: Iceberg table specification, "Column Projection".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa

from engine.formats.iceberg.procedures.foreign_files import NotTaken, field_id
from engine.iceberg.spec.types import IcebergField, ListType, MapOfType, SimpleType, StructOfType


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Naming rules: the other table reads the file `by_names`; a field in the file has an id."""

    by_names: bool
    has_ids: bool


def named_columns(columns: Sequence[pa.Field], fields: Sequence[IcebergField], naming: Naming) -> list[pa.Field]:
    """Returns a file's columns under the names in `fields`; columns with unknown ids are omitted.

    Files with ids are read by id, even if the other table reads them by name. Raises `NotTaken` if the results differ.
    """
    by_id, by_name = ({each.id: each for each in fields}, {each.name: each for each in fields})
    found = []
    for column in columns:
        number = field_id(column)
        named = by_name.get(column.name)
        known = named if number is None else by_id.get(number)
        if naming.has_ids and number is None and named is not None:
            raise NotTaken(f"its column {column.name} has no field id, and others have ones")
        if naming.by_names and known is not named:
            raise NotTaken(
                f"its column {column.name} has the field id {number}, which is not that of the table's column"
            )
        if known is None and number is not None:
            continue
        if known is not None:
            column = column.with_name(known.name).with_type(_named_type(column, known, naming))
        found.append(column)
    return found


def _named_type(column: pa.Field, field: IcebergField, naming: Naming) -> pa.DataType:
    """Returns a column's type. Also raises `NotTaken` if fields in lists and maps have different ids, or none."""
    found, known = column.type, field.type
    match known:
        case StructOfType(fields) if pa.types.is_struct(found):
            return pa.struct(named_columns(list(found), fields, naming))
        case ListType(element) if pa.types.is_list(found):
            parts = [(found.value_field, element)]
        case MapOfType(key, value) if pa.types.is_map(found):
            parts = [(found.key_field, key), (found.item_field, value)]
        case SimpleType() | StructOfType() | ListType() | MapOfType():  # or the file has another type
            return found
        case _:
            assert_never(known)
    if field_id(column) is not None and any(field_id(part) != inner.id for part, inner in parts):
        raise NotTaken(f"what its column {field.name} consists of has not the field ids that the table gives it")
    typed = [part.with_type(_named_type(part, inner, naming)) for part, inner in parts]
    return pa.list_(typed[0]) if len(typed) == 1 else pa.map_(*typed)
