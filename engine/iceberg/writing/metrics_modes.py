"""Metrics modes: which column metrics are written, by the table's properties.

The modes are `none`, `counts`, `truncate(n)` (text and binary bounds have at most n characters) and `full`; each
includes the preceding one. Without an own default, a table has metrics for its first hundred columns, and for its sort
columns, so that very wide tables' manifests remain small.

Source: Iceberg documentation, "Table properties" (`write.metadata.metrics.*`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from engine.iceberg.spec.types import IcebergSchema, SimpleType, walk

_DEFAULT = "write.metadata.metrics.default"
_COLUMN = "write.metadata.metrics.column."
_INFERRED_MAX = "write.metadata.metrics.max-inferred-column-defaults"
_INFERRED_MAX_DEFAULT = 100
_TRUNCATE = re.compile(r"truncate\((\d{1,9})\)")


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """`length` limits bounds, in code points or bytes; None: not truncated."""

    has_counts: bool
    has_bounds: bool
    length: int | None = None


NONE = MetricsMode(has_counts=False, has_bounds=False)
COUNTS = MetricsMode(has_counts=True, has_bounds=False)
TRUNCATED = MetricsMode(has_counts=True, has_bounds=True, length=16)
FULL = MetricsMode(has_counts=True, has_bounds=True)


def parse_mode(text: str) -> MetricsMode | None:
    """Parses a mode; None if invalid."""
    name = text.strip().lower()
    found = _TRUNCATE.fullmatch(name)
    if found is not None:
        return MetricsMode(has_counts=True, has_bounds=True, length=int(found[1])) if int(found[1]) else None
    return {"none": NONE, "counts": COUNTS, "full": FULL}.get(name)


def metrics_modes(
    schema: IcebergSchema, properties: Mapping[str, str], sorted_ids: Collection[int] = ()
) -> Mapping[int, MetricsMode]:
    """Returns each leaf field's mode, by id. `sorted_ids` are the sort columns."""
    leaves = [(path, field.id) for path, field in walk(schema.struct) if isinstance(field.type, SimpleType)]
    said = parse_mode(properties.get(_DEFAULT, ""))
    limit = properties.get(_INFERRED_MAX, "")
    inferred = int(limit) if limit.isdecimal() else _INFERRED_MAX_DEFAULT
    found = {}
    for position, (path, number) in enumerate(leaves):
        mode = said or (TRUNCATED if position < inferred else NONE)
        if number in sorted_ids and not mode.has_bounds:
            mode = TRUNCATED
        found[number] = parse_mode(properties.get(f"{_COLUMN}{'.'.join(path)}", "")) or mode
    return found
