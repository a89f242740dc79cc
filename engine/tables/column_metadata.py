"""What the metadata of columns says of how their values are made: generated columns and identity columns.

The keys are Delta's, whose schemas have them in this form; another format translates its own into them.

Protocol: "Generated Columns", "Identity Columns".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeGuard

from catalog.conditions import InconsistentIdentity
from engine.tables.identity import GREATEST, LEAST, IdentityColumn
from engine.types.schema import StructField, StructType

GENERATION = "delta.generationExpression"
"""The key of a generated column's expression in its metadata."""

GENERATION_SETTINGS = "gateway.generationSettings"
"""The key of the settings of Spark that were captured with a generated column, as JSON; not of the protocol."""

COLUMN_ID = "delta.columnMapping.id"
"""The key of what stays the same of a column whatever it is called, where a table has column mapping."""

START = "delta.identity.start"
STEP = "delta.identity.step"
ALLOW_EXPLICIT = "delta.identity.allowExplicitInsert"
HIGH_WATER_MARK = "delta.identity.highWaterMark"


def captured_with(column: StructField) -> tuple[tuple[str, str], ...]:
    """Returns the settings of Spark that were captured when a generated column was created."""
    return read_settings(column.metadata.get(GENERATION_SETTINGS))


def read_settings(text: object) -> tuple[tuple[str, str], ...]:
    """Parses captured settings; returns none for a text that is not a JSON object of texts, as others may write it."""
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return ()
    pairs = found.items() if isinstance(found, dict) else ()
    return tuple(sorted((key, value) for key, value in pairs if isinstance(value, str)))


def read_identities(schema: StructType) -> tuple[IdentityColumn, ...]:
    """The columns that say so. Raises `InconsistentIdentity`."""
    return tuple(_read(field) for field in schema.fields if is_identity(field))


def is_identity(field: StructField) -> bool:
    """Whether its values are given out by the table."""
    return any(key.startswith("delta.identity.") for key in field.metadata)


def _read(field: StructField) -> IdentityColumn:
    metadata = field.metadata
    start, step, allow, high_water_mark = (metadata.get(key) for key in (START, STEP, ALLOW_EXPLICIT, HIGH_WATER_MARK))
    if not _is_long(start) or not _is_long(step) or step == 0 or not isinstance(allow, bool):
        raise InconsistentIdentity(field.name, _shown(metadata))
    if high_water_mark is not None and not _is_long(high_water_mark):
        raise InconsistentIdentity(field.name, _shown(metadata))
    return IdentityColumn(
        name=field.name, start=start, step=step, allow_explicit=allow, high_water_mark=high_water_mark
    )


def _is_long(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and LEAST <= value <= GREATEST


def _shown(metadata: Mapping[str, Any]) -> str:
    found = [f"{key} = {value}" for key, value in sorted(metadata.items()) if key.startswith("delta.identity.")]
    return ", ".join(found)
