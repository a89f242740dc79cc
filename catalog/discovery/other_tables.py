"""Folders of other tables that affect one table's files, at the newest known catalog generation.

A table's log or metadata is written by other programs and may name any file. It may name files below the table's own
folder. Three kinds of folders extend or restrict that:

- *Sources*: folders whose files a shallow clone names. The server records them in the catalog when it creates the
  clone, after checking the privileges on the source (:class:`catalog.entries.CloneEntry`).
- *Trusted roots*: folders in the setting ``lake.trusted_roots``, such as the sources for clones that another engine
  created.
- *Excluded folders*: folders of tables in the catalog that are located below the table's own folder or below one of its
  sources. Their files belong to the inner table, whose privileges and policies apply to them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field

from catalog.discovery.discovery import ServedFolder
from catalog.entries import TableEntry
from catalog.roots import configured_location, in_store, is_at_or_below
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class OtherTables:
    """Folders that `engine.storage.confinement` compares with a table's file paths."""

    sources: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    # Returns True if a folder below the table's own is a table without an entry in the catalog; None: there are no such
    # tables.
    is_table: Callable[[str], bool] | None = None
    # True if files may have a second name outside the table's folder.
    accepts_hard_links: bool = False


NO_OTHER_TABLES = OtherTables()

# Maximum number of cached results from earlier catalog generations; they include dropped tables.
_FOUND_MAX = 10_000


class OtherTablesFinder:
    """Finds and caches `OtherTables`. Thread-safe. `newest` returns the newest known state without a request to the
    store.
    """

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
        """Returns the folders for a location; the same object as long as they are unchanged."""
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
    """One state's table locations, sorted by their spelling in the store."""

    state: CatalogState
    locations: InitVar[Iterable[str]]
    # Results from earlier generations, reused if equal so that checks made against them stay valid.
    before: dict[str, OtherTables] = field(default_factory=dict)
    found: dict[str, OtherTables] = field(default_factory=dict)
    _sorted: list[tuple[str, str]] = field(init=False)

    def __post_init__(self, locations: Iterable[str]) -> None:
        self._sorted = sorted((in_store(location), location) for location in locations)

    def below(self, folder: str) -> list[str]:
        """Returns the locations strictly below a folder."""
        prefix = f"{in_store(folder).rstrip('/')}/"
        start = bisect_left(self._sorted, (prefix, ""))
        found = []
        for spelled, location in self._sorted[start:]:
            if not spelled.startswith(prefix):
                break
            found.append(location)
        return found
