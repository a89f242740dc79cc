"""Identity columns in definitions of tables: what the clause becomes in the log, and where it is not allowed."""

from __future__ import annotations

from collections.abc import Iterable

from catalog.conditions import (
    IdentityExhausted,
    IdentityPartition,
    IdentityStepZero,
    IdentityTypeNotSupported,
    IdentityWithExpression,
)
from engine.statements.create_table.statement import ColumnDef
from engine.tables.column_metadata import ALLOW_EXPLICIT, START, STEP, is_identity
from engine.tables.identity import GREATEST, LEAST
from engine.types.schema import DataType, PrimitiveType, StructType
from engine.types.sql_types import format_sql_type


def identity_metadata(column: ColumnDef, data_type: DataType) -> dict[str, object]:
    """Empty for other columns. Raises for what no identity column can be."""
    identity, name = column.identity, column.parts[-1]
    if identity is None:
        return {}
    if data_type is not PrimitiveType.LONG:
        raise IdentityTypeNotSupported(name, format_sql_type(data_type))
    if identity.step == 0:
        raise IdentityStepZero(name)
    if not all(LEAST <= value <= GREATEST for value in (identity.start, identity.step)):
        raise IdentityExhausted(name)
    if column.generated is not None or column.default is not None:
        raise IdentityWithExpression(name)
    return {START: identity.start, STEP: identity.step, ALLOW_EXPLICIT: not identity.always}


def ensure_no_identity_partition(schema: StructType, partitioned_by: Iterable[str]) -> None:
    """Raises `IdentityPartition`: values are given out when rows have their partitions."""
    for name in partitioned_by:
        field = schema.field(name)
        if field is not None and is_identity(field):
            raise IdentityPartition(field.name)
