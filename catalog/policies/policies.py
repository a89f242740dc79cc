"""Row filters and column masks, as values. Pure.

A row filter keeps the rows for which its function is TRUE. A column mask is what is read in the place of a column: its
function gets the column, and then the arguments. Those of a table are in its entry, so a table that is renamed keeps
them. A policy of CREATE POLICY belongs to a catalog, a schema or a table, and filters rows, or masks columns, of all
tables in there whose tags match, for some principals (:mod:`catalog.policies.effective_policies`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from catalog.grants.privileges import Principal
from catalog.names import TableName, fold
from catalog.policies.tags import AllOf, TagCondition


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


class PolicyKind(StrEnum):
    ROW_FILTER = "ROW FILTER"
    COLUMN_MASK = "COLUMN MASK"


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """The columns whose tags meet a condition; `alias` is what the policy calls them."""

    condition: TagCondition
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPolicy:
    """`when` is about the table's tags; each of `matches` has to have a column. `on_column` is the alias of the columns
    that are masked; in `arguments` columns are aliases, too.
    """

    name: str
    kind: PolicyKind
    function: TableName
    to: tuple[Principal, ...]
    but: tuple[Principal, ...] = ()
    when: TagCondition = AllOf()
    matches: tuple[ColumnMatch, ...] = ()
    on_column: str | None = None
    arguments: tuple[PolicyArgument, ...] = ()
    comment: str | None = None

    @property
    def key(self) -> str:
        return fold(self.name)

    def is_for(self, principals: Collection[Principal]) -> bool:
        """Whether it is for somebody who is all of these, groups included."""
        return any(each in principals for each in self.to) and not any(each in principals for each in self.but)
