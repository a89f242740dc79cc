"""Column metadata for computed values: generated columns and identity columns.

The keys are Delta's; another format translates its own metadata into them.

An identity column assigns values of the form `start + k * step` to rows without one. A new value is past the high-water
mark, the furthest value that was ever assigned. All arithmetic is Python's, which cannot overflow; callers check that a
value fits into 64 bits.

Protocol: "Generated Columns", "Identity Columns".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from catalog.conditions import InconsistentIdentity
from engine.types.schema import StructField, StructType

# Metadata key for a column's default, as Spark writes it.
DEFAULT = "CURRENT_DEFAULT"

# Metadata key for a generated column's expression.
GENERATION = "delta.generationExpression"

# Metadata key for the Spark settings captured with a generated column, as JSON; not in the protocol.
GENERATION_SETTINGS = "gateway.generationSettings"

# Metadata key for a column's permanent id, in tables with column mapping.
COLUMN_ID = "delta.columnMapping.id"

START = "delta.identity.start"
STEP = "delta.identity.step"
ALLOW_EXPLICIT = "delta.identity.allowExplicitInsert"
HIGH_WATER_MARK = "delta.identity.highWaterMark"


def captured_with(column: StructField) -> tuple[tuple[str, str], ...]:
    """Returns the Spark settings that were captured when a generated column was created."""
    return read_settings(column.metadata.get(GENERATION_SETTINGS))


def read_settings(text: object) -> tuple[tuple[str, str], ...]:
    """Parses captured settings; returns an empty tuple if other writers stored anything but a JSON object with text
    values.
    """
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return ()
    pairs = found.items() if isinstance(found, dict) else ()
    return tuple(sorted((key, value) for key, value in pairs if isinstance(value, str)))


def read_identities(schema: StructType) -> tuple[IdentityColumn, ...]:
    """Returns the identity columns. Raises `InconsistentIdentity`."""
    return tuple(_read(field) for field in schema.fields if is_identity(field))


def is_identity(field: StructField) -> bool:
    """Returns True for an identity column."""
    return any(key.startswith("delta.identity.") for key in field.metadata)


def generation_clause(field: StructField) -> str | None:
    """Returns the SQL clause of a generated or an identity column; None for another column."""
    if GENERATION in field.metadata:
        return f"GENERATED ALWAYS AS ({field.metadata[GENERATION]})"
    if not is_identity(field):
        return None
    kind = "BY DEFAULT" if field.metadata.get(ALLOW_EXPLICIT) else "ALWAYS"
    start, step = field.metadata.get(START), field.metadata.get(STEP)
    return f"GENERATED {kind} AS IDENTITY (START WITH {start} INCREMENT BY {step})"


def _read(field: StructField) -> IdentityColumn:
    metadata = field.metadata
    start, step, allow, high_water_mark = (metadata.get(key) for key in (START, STEP, ALLOW_EXPLICIT, HIGH_WATER_MARK))
    if not _is_long(start) or not _is_long(step) or step == 0 or not isinstance(allow, bool):
        raise InconsistentIdentity(field.name, _identity_properties(metadata))
    if high_water_mark is not None and not _is_long(high_water_mark):
        raise InconsistentIdentity(field.name, _identity_properties(metadata))
    return IdentityColumn(
        name=field.name, start=start, step=step, allow_explicit=allow, high_water_mark=high_water_mark
    )


def _is_long(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and LONG_MIN <= value <= LONG_MAX


def _identity_properties(metadata: Mapping[str, Any]) -> str:
    found = [f"{key} = {value}" for key, value in sorted(metadata.items()) if key.startswith("delta.identity.")]
    return ", ".join(found)


# The value range for an identity column.
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityColumn:
    """An identity column. `high_water_mark` None: no value was assigned yet."""

    name: str
    start: int
    step: int
    allow_explicit: bool
    high_water_mark: int | None

    @property
    def next_value(self) -> int:
        """Returns the first value past the high-water mark; it may not fit into 64 bits."""
        return (
            self.start
            if self.high_water_mark is None
            else self.start + self.step * (self._steps_to(self.high_water_mark) + 1)
        )

    def high_water_mark_after(self, low: int, high: int) -> int | None:
        """Returns the high-water mark after values from `low` to `high`; it never moves back, nor before the start."""
        furthest = high if self.step > 0 else low
        steps = self._steps_up_to(furthest)
        if steps < 0:
            return self.high_water_mark
        if self.high_water_mark is not None and self._steps_to(self.high_water_mark) >= steps:
            return self.high_water_mark
        return self.start + self.step * steps

    def _steps_to(self, value: int) -> int:
        """Returns the whole steps from the start to `value`; -1 if it is before the start, as old writers may have left
        it.
        """
        return max((value - self.start) // self.step, -1)

    def _steps_up_to(self, value: int) -> int:
        """Returns the steps to the first valid value that is not before `value`."""
        return -((self.start - value) // self.step) if (value - self.start) * self.step >= 0 else -1
