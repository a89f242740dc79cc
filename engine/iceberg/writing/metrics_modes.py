"""Which metrics of which columns manifests have, as properties of the table say.

`none`, `counts`, `truncate(n)` (bounds of texts and binaries have n characters at most) and `full`, each with all that
the one before has. Without a default of its own a table has metrics of its first hundred columns, and of those that it
is sorted by, so that manifests of very wide tables stay small.

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
    """`length` of bounds in code points or bytes; None: as long as they are."""

    has_counts: bool
    has_bounds: bool
    length: int | None = None


NONE = MetricsMode(has_counts=False, has_bounds=False)
COUNTS = MetricsMode(has_counts=True, has_bounds=False)
TRUNCATED = MetricsMode(has_counts=True, has_bounds=True, length=16)
FULL = MetricsMode(has_counts=True, has_bounds=True)


def parse_mode(text: str) -> MetricsMode | None:
    """None for a text that is no mode."""
    name = text.strip().lower()
    found = _TRUNCATE.fullmatch(name)
    if found is not None:
        return MetricsMode(has_counts=True, has_bounds=True, length=int(found[1])) if int(found[1]) else None
    return {"none": NONE, "counts": COUNTS, "full": FULL}.get(name)


def metrics_modes(
    schema: IcebergSchema, properties: Mapping[str, str], sorted_ids: Collection[int] = ()
) -> Mapping[int, MetricsMode]:
    """The mode of each simple field, by id. `sorted_ids` are columns that the table is sorted by."""
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
