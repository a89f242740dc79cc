"""Identity columns: what the log keeps of them, and which value comes next.

A column whose metadata has `delta.identity.start`, `.step` and `.allowExplicitInsert` gives values of the form
`start + k * step` (k = 0, 1, …) to rows that come without one. `delta.identity.highWaterMark` is the furthest value
that was ever given out: the greatest for a positive step, the least for a negative one; absent before the first. A new
value lies past the high-water mark, and the commit that adds the values moves it. It is metadata of the table, so of
two writers that give out values at once the protocol's conflict rules let only one through.

All arithmetic is Python's, which cannot overflow; whether a value fits into 64 bits is asked where it is used.

Protocol: "Identity Columns".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from engine.delta.definition.metadata_changes import SetColumnMetadata
from engine.delta.definition.table_config import TableConfig
from engine.errors.table_errors import DeltaError
from engine.types.schema import StructField, StructType

START = "delta.identity.start"
STEP = "delta.identity.step"
ALLOW_EXPLICIT = "delta.identity.allowExplicitInsert"
HIGH_WATER_MARK = "delta.identity.highWaterMark"

LEAST, GREATEST = -(2**63), 2**63 - 1

HIGH_WATER_MARK_ONLY_TAG: Mapping[str, str] = {"delta.identity.schemaUpdate": "true"}
"""The tag of commits whose metadata changes nothing but high-water marks: other commits need not fail for them."""


@dataclass(eq=False)
class InconsistentIdentity(DeltaError, condition="DELTA_IDENTITY_COLUMN_INCONSISTENT_METADATA", sqlstate="42000"):
    column: str
    metadata: str
    template = (
        "The metadata of the identity column {column} is incomplete or makes no sense ({metadata}): another writer "
        "broke the protocol. Nothing can be written to the table before its metadata is repaired."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityColumn:
    """`high_water_mark` None: no value was given out yet."""

    name: str
    start: int
    step: int
    allow_explicit: bool
    high_water_mark: int | None

    @property
    def next_value(self) -> int:
        """The first value past the high-water mark; it may not fit into 64 bits."""
        return (
            self.start
            if self.high_water_mark is None
            else self.start + self.step * (self._steps_to(self.high_water_mark) + 1)
        )

    def high_water_mark_after(self, low: int, high: int) -> int | None:
        """That of a column with values from `low` to `high`; it never goes back, nor to before the start."""
        furthest = high if self.step > 0 else low
        steps = self._steps_up_to(furthest)
        if steps < 0:
            return self.high_water_mark
        if self.high_water_mark is not None and self._steps_to(self.high_water_mark) >= steps:
            return self.high_water_mark
        return self.start + self.step * steps

    def _steps_to(self, value: int) -> int:
        """Whole steps from the start to `value`; -1 for one before the start, such as old writers left behind."""
        return max((value - self.start) // self.step, -1)

    def _steps_up_to(self, value: int) -> int:
        """Steps to the first value of the grid that is not before `value`."""
        return -((self.start - value) // self.step) if (value - self.start) * self.step >= 0 else -1


def identity_columns(config: TableConfig) -> tuple[IdentityColumn, ...]:
    """Those of the table; none where its protocol lacks the feature. Raises `InconsistentIdentity`."""
    if not config.is_supported("identityColumns"):
        return ()
    return tuple(_read(field) for field in config.schema.fields if is_identity(field))


def has_identity_columns(schema: StructType) -> bool:
    return any(map(is_identity, schema.fields))


def is_identity(field: StructField) -> bool:
    """Whether its values are given out by the table."""
    return any(key.startswith("delta.identity.") for key in field.metadata)


def set_high_water_mark(column: IdentityColumn, high_water_mark: int) -> SetColumnMetadata:
    """The change of the table's metadata that moves the high-water mark."""
    return SetColumnMetadata(path=(column.name,), key=HIGH_WATER_MARK, value=high_water_mark)


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
