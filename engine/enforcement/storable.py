"""Columns of type void: every value is null, and none is stored.

They are in the schema alone. So something else has to be in the files, and inside of other types, where the reader
would look for them, they cannot be.

Protocol: "Void Type"; delta-spark for nested ones.
"""

from __future__ import annotations

from catalog.conditions import NothingToStore
from engine.planning.plans.write_plan import WritePlan
from engine.types.schema import PrimitiveType, StructField, StructType
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
