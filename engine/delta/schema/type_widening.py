"""Type widening: the supported type changes and their record in the log.

Files written before a widening keep the narrower type, so readers need every step. A changed field has the metadata
`delta.typeChanges`, a list of `{fromType, toType}`, with a `fieldPath` (`element`, `key`, `value`) if the change
occurred inside an array or a map.

Protocol: "Type Widening", "Type Change Metadata".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from catalog.conditions import DeltaError, UnsupportedTypeChange
from engine.types.schema import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    format_data_type,
    parse_data_type,
    walk_fields,
)
from engine.types.schema_changes import is_widening

TYPE_CHANGES = "delta.typeChanges"


def widen_field(field: StructField, new: DataType) -> StructField | None:
    """Returns the field with type `new` and the recorded changes, or None if `new` does not widen its current type.

    Types inside arrays and maps may widen too; struct fields are changed one by one instead.
    """
    steps = _steps(field.data_type, new, ())
    if steps is None:
        return None
    # No file contains a void column, so that no reader needs the step.
    noted = [*field.metadata.get(TYPE_CHANGES, ()), *(step for step in steps if step["fromType"] != "void")]
    metadata = {**field.metadata, TYPE_CHANGES: noted} if noted else field.metadata
    return replace(field, data_type=new, metadata=metadata)


def ensure_readable_changes(table: str, schema: StructType) -> None:
    """Raises `UnsupportedTypeChange` if a column had a type that cannot be read as its current type."""
    for path, item in walk_fields(schema):
        changes = item.metadata.get(TYPE_CHANGES)
        for change in changes if isinstance(changes, list) else ():
            old, new = (change.get(key) if isinstance(change, dict) else None for key in ("fromType", "toType"))
            # "Reader Requirements for Type Widening": a reader must fail on a type change
            # that it does not support, rather than read older files as the new type.
            if not _is_readable_change(old, new):
                raise UnsupportedTypeChange(table, ".".join(path), str(old), str(new))


def _is_readable_change(old: Any, new: Any) -> bool:
    try:
        return is_widening(parse_data_type(old), parse_data_type(new))
    except DeltaError:
        return False


def _steps(old: DataType, new: DataType, path: tuple[str, ...]) -> list[dict[str, Any]] | None:
    if old == new:
        return []
    match old, new:
        # Nullability inside an array is no matter of widening; it has a statement of its
        # own.
        case ArrayType(old_element, nullable), ArrayType(new_element, new_nullable) if nullable == new_nullable:
            return _steps(old_element, new_element, (*path, "element"))
        case MapType(old_key, old_value, nullable), MapType(new_key, new_value, new_nullable) if (
            nullable == new_nullable
        ):
            keys = _steps(old_key, new_key, (*path, "key"))
            values = _steps(old_value, new_value, (*path, "value"))
            return None if keys is None or values is None else keys + values
        case StructType(), _:
            return None
        case _:  # any other pair of types
            if not is_widening(old, new):
                return None
            step = {"fromType": format_data_type(old), "toType": format_data_type(new)}
            return [{**step, "fieldPath": ".".join(path)} if path else step]
