"""Sort orders: how the rows of a data file are sorted, where the file says so by the id of an order.

Source: Iceberg table specification, "Sorting", "Sort Orders" of Appendix C.
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
    """The order 0 has no fields: rows are in any order."""

    order_id: int = UNSORTED
    fields: tuple[SortField, ...] = ()


def read_order(value: JsonObject) -> SortOrder:
    """Raises `MalformedIcebergFile`."""
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
    """As in a table's metadata."""
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
