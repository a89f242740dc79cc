"""Copies of the catalog for backups: one JSON object per line, as in the store's own files.

A copy is one generation, so it is consistent even if servers change the catalog meanwhile. A restore is one change: the
next generation has the copy's objects and no others. Running servers therefore see all of it or none, and the preceding
generations remain available for recovery.
"""

from __future__ import annotations

import json

from catalog.conditions import BackupUnreadable, CatalogBusy, RestoreNotEmpty
from catalog.entries import Entry
from catalog.state import INITIAL_STATE, CatalogState, state_of
from catalog.store.entry_json import MalformedEntry, from_json, to_json
from catalog.store.store import CatalogStore

RESTORE_ATTEMPTS_MAX = 10


def dump_entries(state: CatalogState) -> bytes:
    """Returns the state's entries as JSON lines in UTF-8, each entry after its container."""
    return b"".join(json.dumps(to_json(entry), ensure_ascii=False).encode() + b"\n" for entry in state.entries())


def parse_entries(lines: bytes, source: str) -> tuple[Entry, ...]:
    """Returns the entries that `dump_entries` wrote. Raises BackupUnreadable with the line's number in `source`."""
    entries = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            entries.append(from_json(json.loads(line)))
        except (ValueError, MalformedEntry) as error:
            raise BackupUnreadable(source, f"line {number} of the catalog's objects: {error}") from error
    return tuple(entries)


def restore_entries(store: CatalogStore, entries: tuple[Entry, ...], *, replaces: bool) -> int:
    """Commits `entries` as the catalog's only objects, and returns the new generation.

    Raises RestoreNotEmpty for a catalog that has objects, unless it `replaces` them, and CatalogBusy if other servers
    changed the catalog at each attempt.
    """
    for _ in range(RESTORE_ATTEMPTS_MAX):
        base = store.load()
        if not replaces:
            ensure_empty(base)
        new = state_of(base.generation + 1, (*INITIAL_STATE.entries(), *entries))
        if store.swap(base, new):
            return new.generation
    raise CatalogBusy(RESTORE_ATTEMPTS_MAX)


def ensure_empty(state: CatalogState) -> None:
    """Raises RestoreNotEmpty if the catalog has other objects than a new one."""
    initial = tuple(INITIAL_STATE.entries())
    count = sum(entry not in initial for entry in state.entries())
    if count:
        raise RestoreNotEmpty(count)
