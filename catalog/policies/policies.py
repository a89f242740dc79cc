"""Row filters and column masks, as values. Pure.

A row filter keeps the rows for which its function is TRUE. A column mask replaces a column's values: its function
receives the column, and then the arguments. A table's own policies are in its entry, so a renamed table keeps them. A
policy from CREATE POLICY belongs to a catalog, a schema or a table, and filters rows or masks columns in all contained
tables whose tags match, for some principals (:mod:`catalog.policies.effective_policies`).
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
    """A column in the table, or a literal as SQL writes it."""

    column: str | None = None
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyFunction:
    """A catalog `function` with its arguments."""

    function: TableName
    arguments: tuple[PolicyArgument, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Returns the columns among the arguments, in order; literal arguments are left out."""
        return tuple(each.column for each in self.arguments if each.column is not None)


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """A column mask; `call` has the arguments that follow the column itself."""

    column: str
    call: PolicyFunction


@dataclass(frozen=True, slots=True)
class Policies:
    """One table's policies."""

    row_filter: PolicyFunction | None = None
    masks: tuple[ColumnMask, ...] = ()

    def __bool__(self) -> bool:
        return self.row_filter is not None or bool(self.masks)

    @property
    def functions(self) -> tuple[PolicyFunction, ...]:
        """Returns the function calls of the row filter and of all masks, the row filter first."""
        return (*([self.row_filter] if self.row_filter else []), *(mask.call for mask in self.masks))

    def uses(self, column: str) -> bool:
        """Returns True if a column is masked, or is an argument to a policy."""
        names = [mask.column for mask in self.masks] + [name for each in self.functions for name in each.columns]
        return fold(column) in map(fold, names)

    def with_mask(self, column: str, call: PolicyFunction | None) -> Policies:
        """Returns the policies with this mask on a column, or with none on it."""
        remaining = tuple(mask for mask in self.masks if fold(mask.column) != fold(column))
        return Policies(self.row_filter, remaining if call is None else (*remaining, ColumnMask(column, call)))


NO_POLICIES = Policies()


class PolicyKind(StrEnum):
    ROW_FILTER = "ROW FILTER"
    COLUMN_MASK = "COLUMN MASK"


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """Columns whose tags match a condition; `alias` is their name in the policy."""

    condition: TagCondition
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPolicy:
    """A policy from CREATE POLICY. `when` is a condition on the table's tags; each item in `matches` must match a
    column. `on_column` is the alias for the masked columns; `arguments` refer to columns by alias, too.
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
        """Returns the name in folded case, by which policies of one object are compared."""
        return fold(self.name)

    def is_for(self, principals: Collection[Principal]) -> bool:
        """Returns True if the policy applies to a caller with these principals, groups included."""
        # EXCEPT wins over TO, for example TO all users EXCEPT one group.
        return any(each in principals for each in self.to) and not any(each in principals for each in self.but)
