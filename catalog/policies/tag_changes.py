"""Changes to tags and to tag-based policies, as a pure fold onto a state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import (
    FunctionNotFound,
    GroupUsedByPolicy,
    PoliciesOfSchema,
    PolicyAlreadyExists,
    PolicyNotFound,
    PolicyOnKind,
)
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry, ViewEntry
from catalog.grants.privileges import Principal
from catalog.grants.right_changes import Securable, entry_of, with_entry
from catalog.grants.rights import label_of
from catalog.names import TableName
from catalog.policies.effective_policies import Level
from catalog.policies.policies import NamedPolicy
from catalog.policies.tags import TagPairs
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class SetTags:
    """Sets `new` tags on an object, or on a `column` in a table or view, and removes the keys in `gone`."""

    on: Securable
    column: str | None
    new: TagPairs = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreatePolicy:
    """A new policy; `replace` replaces an existing one."""

    on: Securable
    policy: NamedPolicy
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DropPolicy:
    on: Securable
    name: str


TagChange = SetTags | CreatePolicy | DropPolicy


def apply_tags(state: CatalogState, change: TagChange) -> CatalogState:
    """Returns `state` after `change`; raises the SqlError that forbids it."""
    if isinstance(change, SetTags):
        return _with_tags(state, change)
    level = _level(state, change.on)
    match change:
        case CreatePolicy(policy=policy):
            remaining = _without(level, policy.key)
            if len(remaining) < len(level.named_policies) and not change.replace:
                raise PolicyAlreadyExists(policy.name, label_of(level))
            if policy.function not in state.functions:
                raise FunctionNotFound(str(policy.function))
            return with_entry(state, replace(level, named_policies=(*remaining, policy)))
        case DropPolicy(name=name):
            remaining = _without(level, name.casefold())
            if len(remaining) == len(level.named_policies):
                raise PolicyNotFound(name, label_of(level))
            return with_entry(state, replace(level, named_policies=remaining))
        case _:
            assert_never(change)


def _with_tags(state: CatalogState, change: SetTags) -> CatalogState:
    found = entry_of(state, change.on)
    entry = found if isinstance(found, ViewEntry) else _level(state, change.on)
    return with_entry(state, replace(entry, tags=entry.tags.with_changes(change.column, change.new, change.gone)))


def _level(state: CatalogState, on: Securable) -> Level:
    found = entry_of(state, on)
    if not isinstance(found, CatalogEntry | SchemaEntry | TableEntry):
        raise PolicyOnKind(on.kind.value.lower())
    return found


def _without(level: Level, key: str) -> tuple[NamedPolicy, ...]:
    return tuple(each for each in level.named_policies if each.key != key)


def levels(state: CatalogState) -> Iterator[Level]:
    """Yields all objects that may have policies."""
    yield from state.catalogs.values()
    yield from state.schemas.values()
    yield from (each for each in state.relations.values() if isinstance(each, TableEntry))


def ensure_not_named(state: CatalogState, group: Principal) -> None:
    """Raises `GroupUsedByPolicy` if a policy applies to a group or exempts it, because a later group with that name
    would inherit this.
    """
    for level in levels(state):
        for policy in level.named_policies:
            if group in (*policy.to, *policy.but):
                raise GroupUsedByPolicy(group.name, policy.name)


def ensure_stays(state: CatalogState, old: TableName, new: TableName) -> None:
    """Raises `PoliciesOfSchema` if a table would leave a container whose policies may apply to it."""
    left = []
    if old.schema_name != new.schema_name:
        left.append(state.schemas.get(old.schema_name))
    containers: list[Level] = [each for each in left if each is not None]
    if old.schema_name.catalog_name != new.schema_name.catalog_name:
        catalog = state.catalogs.get(old.schema_name.catalog_name)
        containers += [catalog] if catalog is not None else []
    for container in containers:
        if container.named_policies or container.tags:
            raise PoliciesOfSchema(str(old), label_of(container))
