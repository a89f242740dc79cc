"""Folders of other tables that matter for the files of one table, at the newest known generation of the catalog.

A table's log or metadata is written by others and may name any file. It may name files below the table's own folder.
Three kinds of folders change that:

- *Sources*: folders whose files a shallow clone names. The server records them in the catalog when it makes the clone,
  after the rights on the source were checked (:class:`catalog.entries.CloneEntry`).
- *Trusted roots*: folders that the operator names in ``lake.trusted_roots``, such as sources of clones that another
  engine made.
- *Excluded folders*: folders of tables in the catalog that are located below the table's own folder or below one of its
  sources. Their files belong to the inner table, whose rights and policies hold for them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field

from catalog.discovery.discovery import ServedFolder
from catalog.discovery.roots import configured_location, in_store, is_at_or_below
from catalog.entries import TableEntry
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class OtherTables:
    """Folders that `engine.storage.confinement` compares the files of one table with."""

    sources: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    is_table: Callable[[str], bool] | None = None
    """Returns whether a folder below the table's own is a table without a record in the catalog; None: none is."""
    accepts_hard_links: bool = False
    """True if files may have a second name outside of the table's folder."""


NO_OTHER_TABLES = OtherTables()

_FOUND_MAX = 10_000
"""Answers of earlier generations of the catalog that are kept: tables that were dropped are among them."""


class OtherTablesFinder:
    """Thread-safe. `newest` returns the newest state that is known, without asking the store."""

    def __init__(
        self, newest: Callable[[], CatalogState], trusted_roots: Iterable[str], served: ServedFolder | None
    ) -> None:
        self._newest = newest
        self._served = served
        self._trusted = tuple(trusted_roots)
        self._trusted_locations = tuple(map(configured_location, self._trusted))
        state = newest()
        self._index = _Index(state, _locations(state))

    def find(self, location: str) -> OtherTables:
        """Returns the same object as long as nothing changes for the location."""
        state = self._newest()
        index = self._index
        if index.state is not state:
            is_small = len(index.before) + len(index.found) < _FOUND_MAX
            known = index.before | index.found if is_small else index.found
            self._index = index = _Index(state, _locations(state), known)
        found = index.found.get(location)
        if found is None:
            fresh = self._find(location, index)
            before = index.before.get(location)
            found = index.found[location] = before if before == fresh else fresh
        return found

    def _find(self, location: str, index: _Index) -> OtherTables:
        clone = index.state.clones.get(location)
        recorded = () if clone is None else clone.sources
        served = self._served
        return OtherTables(
            sources=(*recorded, *self._trusted),
            excluded=tuple(dict.fromkeys(inner for root in (location, *recorded) for inner in index.below(root))),
            is_table=served.is_table if served is not None and is_at_or_below(served.root, location) else None,
            accepts_hard_links=any(is_at_or_below(location, root) for root in self._trusted_locations),
        )


def _locations(state: CatalogState) -> Iterable[str]:
    return (entry.location for entry in state.relations.values() if isinstance(entry, TableEntry))


@dataclass(slots=True)
class _Index:
    """Locations of one state's tables, sorted by their spelling in the store."""

    state: CatalogState
    locations: InitVar[Iterable[str]]
    before: dict[str, OtherTables] = field(default_factory=dict)
    """Found at earlier generations; used again if equal, since what was checked against it stays checked."""
    found: dict[str, OtherTables] = field(default_factory=dict)
    _sorted: list[tuple[str, str]] = field(init=False)

    def __post_init__(self, locations: Iterable[str]) -> None:
        self._sorted = sorted((in_store(location), location) for location in locations)

    def below(self, folder: str) -> list[str]:
        """The locations strictly below a folder."""
        prefix = f"{in_store(folder).rstrip('/')}/"
        start = bisect_left(self._sorted, (prefix, ""))
        found = []
        for spelled, location in self._sorted[start:]:
            if not spelled.startswith(prefix):
                break
            found.append(location)
        return found
