"""Partition specs: how values of columns were made into the partition of a file.

Each file has the spec of its manifest, and a table may have many. A transform that is not known, or whose column was
dropped, says nothing of the rows, and its values still tell partitions apart.

Source: Iceberg table specification, "Partitioning".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

from engine.iceberg.spec.json_values import JsonObject

_WITH_WIDTH = re.compile(r"(bucket|truncate)\[(\d{1,9})\]")

FIRST_PARTITION_ID = 1000
"""Of the fields of partition specs, whose ids are those of no column."""


class TransformKind(Enum):
    IDENTITY = "identity"
    BUCKET = "bucket"
    TRUNCATE = "truncate"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    VOID = "void"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Transform:
    """`width` is the number of buckets, or what values are truncated to."""

    kind: TransformKind
    width: int = 0

    def __str__(self) -> str:
        """As in JSON."""
        has_width = self.kind in (TransformKind.BUCKET, TransformKind.TRUNCATE)
        return f"{self.kind.value}[{self.width}]" if has_width else self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """`source_id` is the column's, `field_id` that of the value in partition tuples."""

    source_id: int
    field_id: int
    name: str
    transform: Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    spec_id: int
    fields: tuple[PartitionField, ...]

    @property
    def is_unpartitioned(self) -> bool:
        """Whether all files are in one partition: equality deletes of such a spec apply to the whole table."""
        return all(field.transform.kind is TransformKind.VOID for field in self.fields)


def spec_json(spec: PartitionSpec) -> dict[str, Any]:
    """As in a table's metadata."""
    fields = [
        {
            "source-id": field.source_id,
            "field-id": field.field_id,
            "name": field.name,
            "transform": str(field.transform),
        }
        for field in spec.fields
    ]
    return {"spec-id": spec.spec_id, "fields": fields}


def parse_transform(text: str) -> Transform:
    """One that is not known is `UNKNOWN`."""
    found = _WITH_WIDTH.fullmatch(text)
    if found is not None:
        width = int(found[2])
        return Transform(TransformKind(found[1]), width) if width else Transform(TransformKind.UNKNOWN)
    try:
        kind = TransformKind(text)
    except ValueError:
        return Transform(TransformKind.UNKNOWN)
    return Transform(TransformKind.UNKNOWN if kind in (TransformKind.BUCKET, TransformKind.TRUNCATE) else kind)


def read_spec_fields(fields: list[JsonObject], first_id: int = FIRST_PARTITION_ID) -> tuple[PartitionField, ...]:
    """v1 may leave out the ids of fields, which then count from 1000."""
    return tuple(
        PartitionField(
            source_id=_source_id(field),
            field_id=field.integer("field-id", first_id + position),
            name=field.text("name"),
            transform=_transform(field),
        )
        for position, field in enumerate(fields)
    )


def _source_id(field: JsonObject) -> int:
    """Of a transform of several columns the first."""
    several = field.integers("source-ids")
    return several[0] if several else field.integer("source-id")


def _transform(field: JsonObject) -> Transform:
    if len(field.integers("source-ids")) > 1:
        return Transform(TransformKind.UNKNOWN)
    return parse_transform(field.text("transform"))
