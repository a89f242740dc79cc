"""Selects the columns for which statistics are collected.

The default is the schema's first 32 leaves, counted at all levels of nesting. `delta.dataSkippingNumIndexedCols`
changes the number (-1: all); `delta.dataSkippingStatsColumns` names the columns instead. Partition columns have no
statistics and do not count. An array or a map is one leaf. Callers can add columns (`besides`).

Protocol: "Per-file Statistics". The properties come from delta-spark.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from engine.delta.spec.properties import DATA_SKIPPING_COLUMNS, DATA_SKIPPING_INDEXED_COLUMNS, Configuration
from engine.types.column_paths import Path, parse_name, split_names
from engine.types.schema import StructField, StructType


def stats_columns(
    schema: StructType, partition_columns: Container[str], configuration: Configuration, besides: Iterable[Path] = ()
) -> StructType:
    """Returns the part of `schema` (logical names) whose leaves have statistics.

    These are the columns that the properties select, plus the paths in `besides`.
    """
    data = tuple(item for item in schema.fields if item.name not in partition_columns)
    return StructType(_union(data, _stats_fields(data, configuration), _select(data, list(besides), ())))


def _stats_fields(data: tuple[StructField, ...], configuration: Configuration) -> tuple[StructField, ...]:
    named = DATA_SKIPPING_COLUMNS.read(configuration)
    if named is not None:
        # As in delta-spark, the named columns replace the number, which then has no effect.
        return _select(data, [parse_name(text) for text in split_names(named)], ())
    count = DATA_SKIPPING_INDEXED_COLUMNS.read(configuration)
    return data if count < 0 else _first_leaves(data, count)[0]


def _first_leaves(fields: tuple[StructField, ...], count: int) -> tuple[tuple[StructField, ...], int]:
    """Returns the fields that contain the first `count` leaves, and the number of leaves still to find."""
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


def _select(fields: tuple[StructField, ...], wanted: list[Path], path: Path) -> tuple[StructField, ...]:
    """Returns the named fields, including everything nested in them."""
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


def _union(
    fields: tuple[StructField, ...], one: tuple[StructField, ...], other: tuple[StructField, ...]
) -> tuple[StructField, ...]:
    """Merges two parts of `fields`, preserving the order of `fields`."""
    if not other:
        return one
    parts = [{item.name: item for item in part} for part in (one, other)]
    taken = []
    for item in fields:
        found = [part[item.name] for part in parts if item.name in part]
        inner = [part.data_type.fields for part in found if isinstance(part.data_type, StructType)]
        if len(inner) == 2 and isinstance(item.data_type, StructType):
            taken.append(replace(item, data_type=StructType(_union(item.data_type.fields, *inner))))
        elif found:
            taken.append(found[0])
    return tuple(taken)
