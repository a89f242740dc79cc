"""Names in SQL that we compose which nothing else of the statement has."""

from __future__ import annotations

from collections.abc import Iterable

from engine.types.schema import StructType


def free_names(prefix: str, taken: Iterable[str], count: int) -> list[str]:
    """Names for columns beside the `taken` ones."""
    folded = [name.casefold() for name in taken]
    while any(name.startswith(prefix) for name in folded):
        prefix += "_"
    return [f"{prefix}{number}" for number in range(count)]


def relation_beside(*schemas: StructType) -> str:
    """A name for a relation that no column has: `t.x` is column x of t, and hides field x of a column t."""
    (name,) = free_names("__relation", [name for schema in schemas for name in schema.names], 1)
    return name
