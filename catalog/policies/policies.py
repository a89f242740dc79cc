"""Row filters and column masks of a table: which function decides, and over what. Pure.

A row filter keeps the rows for which its function is TRUE. A column mask is what is read in the place of a column: its
function gets the column, and then the arguments. They hang on the table's entry, so a table that is renamed keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.names import TableName, fold


@dataclass(frozen=True, slots=True)
class PolicyArgument:
    """A column of the table, or a literal as SQL writes it."""

    column: str | None = None
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyFunction:
    """`function` of the catalog with its arguments."""

    function: TableName
    arguments: tuple[PolicyArgument, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(each.column for each in self.arguments if each.column is not None)


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """`call` has what its function gets after the column itself."""

    column: str
    call: PolicyFunction


@dataclass(frozen=True, slots=True)
class Policies:
    """Those of one table."""

    row_filter: PolicyFunction | None = None
    masks: tuple[ColumnMask, ...] = ()

    def __bool__(self) -> bool:
        return self.row_filter is not None or bool(self.masks)

    @property
    def functions(self) -> tuple[PolicyFunction, ...]:
        return (*([self.row_filter] if self.row_filter else []), *(mask.call for mask in self.masks))

    def uses(self, column: str) -> bool:
        """Whether a column is masked, or decides about others."""
        names = [mask.column for mask in self.masks] + [name for each in self.functions for name in each.columns]
        return fold(column) in map(fold, names)

    def with_mask(self, column: str, call: PolicyFunction | None) -> Policies:
        """With this mask of a column, or without one."""
        kept = tuple(mask for mask in self.masks if fold(mask.column) != fold(column))
        return Policies(self.row_filter, kept if call is None else (*kept, ColumnMask(column, call)))


NO_POLICIES = Policies()
