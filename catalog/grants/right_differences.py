"""The effect of a catalog change on rights: owners, grants, and group members. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from catalog.entries import (
    CatalogEntry,
    CloneEntry,
    Entry,
    FunctionEntry,
    GroupEntry,
    LocationEntry,
    SchemaEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
    owner_of,
)
from catalog.grants.privileges import Principal
from catalog.grants.rights import kind_of
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True, kw_only=True)
class RightDifference:
    """The differences for one object: `SELECT TO USER ann`, `OWNER USER ann`, `MEMBER GROUP staff`."""

    kind: str
    name: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


def differences(before: CatalogState, after: CatalogState) -> Iterator[RightDifference]:
    """Yields the differences between two consecutive generations."""
    old, new = _entries_by_name(before), _entries_by_name(after)
    for kind, name in dict.fromkeys((*old, *new)):
        was, is_ = old.get((kind, name)), new.get((kind, name))
        if was is is_:
            continue
        had, has = _rights(was), _rights(is_)
        removed, added = (tuple(each for each in one if each not in other) for one, other in ((had, has), (has, had)))
        if removed or added:
            yield RightDifference(kind=kind, name=name, removed=removed, added=added)


def _entries_by_name(state: CatalogState) -> Mapping[tuple[str, str], Entry]:
    return {_name(entry): entry for entry in state.entries() if not isinstance(entry, CloneEntry)}


def _name(entry: Entry) -> tuple[str, str]:
    match entry:
        case GroupEntry(name=name):
            return "GROUP", name
        case CloneEntry(location=location):
            return "CLONE", location
        case ServerEntry():
            return kind_of(entry).value, ""
        case (
            CatalogEntry()
            | SchemaEntry()
            | TableEntry()
            | ViewEntry()
            | FunctionEntry()
            | VolumeEntry()
            | LocationEntry()
        ):
            return kind_of(entry).value, str(entry.name)
        case _:
            assert_never(entry)


def _rights(entry: Entry | None) -> list[str]:
    match entry:
        case None | CloneEntry():
            return []
        case GroupEntry(members=members):
            return [f"MEMBER {_principal(each)}" for each in members]
        case ServerEntry(grants=grants):
            owner = None
        case (
            CatalogEntry()
            | SchemaEntry()
            | TableEntry()
            | ViewEntry()
            | FunctionEntry()
            | VolumeEntry()
            | LocationEntry()
        ):
            grants, owner = entry.grants, owner_of(entry)
        case _:
            assert_never(entry)
    owned = [] if owner is None else [f"OWNER {_principal(owner)}"]
    return owned + [f"{grant.privilege.value} TO {_principal(grant.principal)}" for grant in grants]


def _principal(principal: Principal) -> str:
    return f"{principal.kind.value.upper()} {principal.name}"
