"""Terms by which tables are partitioned or sorted: a transform of a column, as a statement names it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.names import quote
from engine.types.column_paths import Path

IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTerm:
    """`bucket(16, id)`: `transform` is in lower case, `identity` for a column alone, `width` the number of a transform
    that has one. `name` is what the partition field is to be called.
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
    """Columns by which a table is partitioned as they are."""
    return tuple(PartitionTerm(column=(name,)) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class SortTerm:
    """`term [ASC | DESC] [NULLS FIRST | LAST]`; without the latter nulls are least."""

    term: PartitionTerm
    descending: bool = False
    nulls_first: bool | None = None

    def __str__(self) -> str:
        first = not self.descending if self.nulls_first is None else self.nulls_first
        return f"{self.term} {'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
