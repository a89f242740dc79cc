"""Policies of CREATE POLICY, as values. Pure.

Such a policy hangs on a catalog, a schema or a table, and filters rows, or masks columns, of all tables in there whose
tags say so, for some principals (:mod:`catalog.policies.effective_policies`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from catalog.grants.privileges import Principal
from catalog.names import TableName, fold
from catalog.policies.policies import PolicyArgument
from catalog.policies.tags import AllOf, TagCondition


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
