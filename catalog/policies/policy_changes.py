"""Changes to row filters and column masks, as a pure fold onto a state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import FunctionNotFound, FunctionUsedByPolicy, TableExpected, TableNotFound
from catalog.entries import TableEntry, ViewEntry
from catalog.names import SchemaName, TableName
from catalog.policies.policies import Policies, PolicyFunction
from catalog.policies.tag_changes import levels
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class SetRowFilter:
    """Sets a table's row filter; None removes it."""

    table: TableName
    row_filter: PolicyFunction | None


@dataclass(frozen=True, slots=True)
class SetColumnMask:
    """Sets one column's mask; None removes it."""

    table: TableName
    column: str
    call: PolicyFunction | None


PolicyChange = SetRowFilter | SetColumnMask


def apply_policy(state: CatalogState, change: PolicyChange) -> CatalogState:
    """Returns `state` after `change`; raises the SqlError that forbids it."""
    entry = state.relations.get(change.table)
    if entry is None:
        raise TableNotFound(str(change.table))
    if isinstance(entry, ViewEntry):
        raise TableExpected(str(change.table))
    match change:
        case SetRowFilter(row_filter=row_filter):
            policies = Policies(row_filter, entry.policies.masks)
        case SetColumnMask(column=column, call=call):
            policies = entry.policies.with_mask(column, call)
        case _:
            assert_never(change)
    ensure_functions(state, policies)
    changed = replace(entry, policies=policies)
    return replace(state, relations={**state.relations, entry.name: changed})


def ensure_functions(state: CatalogState, policies: Policies) -> None:
    """Raises `FunctionNotFound` if a policy's function does not exist."""
    for each in policies.functions:
        if each.function not in state.functions:
            raise FunctionNotFound(str(each.function))


def ensure_unused(
    state: CatalogState, functions: Iterable[TableName], but: Iterable[TableName | SchemaName] = ()
) -> None:
    """Raises `FunctionUsedByPolicy` if a table outside `but` has a policy that uses one of the functions."""
    wanted = set(functions)
    visited: set[object] = set(but)
    for level in levels(state):
        for policy in level.named_policies:
            # A policy whose function is gone would make its tables unreadable, for all
            # users at once.
            if policy.function in wanted and level.name not in visited:
                raise FunctionUsedByPolicy(str(policy.function), f"tables, by the policy {policy.name}")
    for entry in state.relations.values():
        if isinstance(entry, TableEntry) and entry.name not in visited:
            for each in entry.policies.functions:
                if each.function in wanted:
                    raise FunctionUsedByPolicy(str(each.function), str(entry.name))
