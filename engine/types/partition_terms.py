"""Partition and sort terms: a transform of a column, as written in a statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.names import quote
from engine.types.column_paths import Path

IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTerm:
    """A term such as `bucket(16, id)`: `transform` in lower case, `identity` for a plain column; `width` is the
    transform's number, if it has one. `name` is the partition field's requested name.
    """

    column: Path
    transform: str = IDENTITY
    width: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        column = ".".join(map(quote, self.column))
        if self.transform == IDENTITY:
            return column
        return f"{self.transform}({column})" if self.width is None else f"{self.transform}({self.width}, {column})"


def columns_as_terms(names: Iterable[str]) -> tuple[PartitionTerm, ...]:
    """Returns identity terms for columns that partition a table."""
    return tuple(PartitionTerm(column=(name,)) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class SortTerm:
    """`term [ASC | DESC] [NULLS FIRST | LAST]`; by default nulls are smallest."""

    term: PartitionTerm
    descending: bool = False
    nulls_first: bool | None = None

    def __str__(self) -> str:
        first = not self.descending if self.nulls_first is None else self.nulls_first
        return f"{self.term} {'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
