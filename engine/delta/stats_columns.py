"""Which columns of a table have statistics.

By default the first 32 leaves of the schema, counted with all levels of nesting; `delta.dataSkippingNumIndexedCols`
changes the number (-1: all), `delta.dataSkippingStatsColumns` names the columns instead. Partition columns have none,
and do not count. An array or a map is one leaf.

Protocol: "Per-file Statistics"; the properties are delta-spark's.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace

from engine.delta.spec.properties import (
    DATA_SKIPPING_COLUMNS,
    DATA_SKIPPING_INDEXED_COLUMNS,
    Configuration,
)
from engine.delta.spec.schema import StructField, StructType

_PLAIN_PART = re.compile(r"[^`.,\s]+")
_NAME_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def stats_columns(schema: StructType, partition_columns: Container[str], configuration: Configuration) -> StructType:
    """The part of `schema` (logical names) whose leaves have statistics."""
    data = tuple(item for item in schema.fields if item.name not in partition_columns)
    named = DATA_SKIPPING_COLUMNS.read(configuration)
    if named is not None:
        return StructType(_select(data, [parse_name(text) for text in split_names(named)], ()))
    count = DATA_SKIPPING_INDEXED_COLUMNS.read(configuration)
    if count < 0:
        return StructType(data)
    return StructType(_first_leaves(data, count)[0])


def parse_name(text: str) -> tuple[str, ...]:
    """The parts of a dotted name; a part with dots of its own stands in backquotes."""
    return tuple(
        (quoted.replace("``", "`") if quoted else plain.strip()) for quoted, plain in _NAME_PART.findall(text.strip())
    )


def format_name(parts: tuple[str, ...]) -> str:
    """The inverse of `parse_name`."""
    return ".".join(part if _PLAIN_PART.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)


def split_names(text: str) -> list[str]:
    """At the commas that stand outside of backquotes."""
    return [part for part in re.split(r",(?=(?:[^`]*`[^`]*`)*[^`]*$)", text) if part.strip()]


def _first_leaves(fields: tuple[StructField, ...], count: int) -> tuple[tuple[StructField, ...], int]:
    """The fields that hold the first `count` leaves, and how many of them are left to find."""
    taken = []
    for item in fields:
        if count <= 0:
            break
        if isinstance(item.data_type, StructType):
            inner, count = _first_leaves(item.data_type.fields, count)
            if inner:
                taken.append(replace(item, data_type=StructType(inner)))
        else:
            taken.append(item)
            count -= 1
    return tuple(taken), count


def _select(
    fields: tuple[StructField, ...], wanted: list[tuple[str, ...]], path: tuple[str, ...]
) -> tuple[StructField, ...]:
    """The fields named, with all that is below them."""
    folded = {tuple(part.casefold() for part in name) for name in wanted}
    taken = []
    for item in fields:
        here = (*path, item.name.casefold())
        if here in folded:
            taken.append(item)
        elif isinstance(item.data_type, StructType):
            inner = _select(item.data_type.fields, wanted, here)
            if inner:
                taken.append(replace(item, data_type=StructType(inner)))
    return tuple(taken)
