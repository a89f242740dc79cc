"""Partition specs: how a file's partition values result from column values.

Each file has its manifest's spec, and a table may have many. A field with an unknown transform or a dropped source
column implies nothing about rows, but its values still distinguish partitions.

Source: Iceberg table specification, "Partitioning".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

from engine.iceberg.spec.json_values import JsonObject

_WITH_WIDTH = re.compile(r"(bucket|truncate)\[(\d{1,9})\]")

# The first partition field id; these ids are distinct from column ids.
FIRST_PARTITION_ID = 1000


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
    """`width` is the number of buckets, or the truncation width."""

    kind: TransformKind
    width: int = 0

    def __str__(self) -> str:
        """Returns the JSON form."""
        has_width = self.kind in (TransformKind.BUCKET, TransformKind.TRUNCATE)
        return f"{self.kind.value}[{self.width}]" if has_width else self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """`source_id` is the column's, `field_id` the value's in partition tuples."""

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
        """Returns True if all files are in one partition: this spec's equality deletes apply to the whole table."""
        return all(field.transform.kind is TransformKind.VOID for field in self.fields)


def spec_json(spec: PartitionSpec) -> dict[str, Any]:
    """Returns the table metadata's JSON form."""
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
    """Parses a transform; unknown ones become `UNKNOWN`."""
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
    """Reads spec fields; v1 may omit field ids, which then count from 1000."""
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
    """Returns the source column; for a multi-column transform the first."""
    several = field.integers("source-ids")
    return several[0] if several else field.integer("source-id")


def _transform(field: JsonObject) -> Transform:
    if len(field.integers("source-ids")) > 1:
        return Transform(TransformKind.UNKNOWN)
    return parse_transform(field.text("transform"))
