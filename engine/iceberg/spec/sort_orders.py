"""Sort orders: how a data file's rows are sorted, if the file references an order by id.

Source: Iceberg table specification, "Sorting", "Sort Orders" in Appendix C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.iceberg.spec.json_values import JsonObject
from engine.iceberg.spec.partitions import Transform, parse_transform

UNSORTED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SortField:
    source_id: int
    transform: Transform
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SortOrder:
    """A sort order. Order 0 has no fields: unsorted."""

    order_id: int = UNSORTED
    fields: tuple[SortField, ...] = ()


def read_order(value: JsonObject) -> SortOrder:
    """Reads an order. Raises `MalformedIcebergFile`."""
    return SortOrder(
        order_id=value.integer("order-id"),
        fields=tuple(
            SortField(
                source_id=(field.integers("source-ids") or (field.integer("source-id", -1),))[0],
                transform=parse_transform(field.text("transform")),
                descending=field.text("direction", "asc").lower() == "desc",
                nulls_first=field.text("null-order", "nulls-first").lower() == "nulls-first",
            )
            for field in value.objects("fields")
        ),
    )


def order_json(order: SortOrder) -> dict[str, Any]:
    """Returns the table metadata's JSON form."""
    fields = [
        {
            "transform": str(field.transform),
            "source-id": field.source_id,
            "direction": "desc" if field.descending else "asc",
            "null-order": "nulls-first" if field.nulls_first else "nulls-last",
        }
        for field in order.fields
    ]
    return {"order-id": order.order_id, "fields": fields}
