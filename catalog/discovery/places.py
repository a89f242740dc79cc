"""Locations for new tables: below an allowed root, and neither inside nor above another table.

A table owns its folder: readers of an outer table may take an inner table's files for its own, and VACUUM removes them.
A location is therefore rejected if a folder above it or below it is a table; also rejected are the served folder
itself, locations inside a log, and the folder for the catalog's own files. Locations are compared after links are
resolved (:mod:`catalog.roots`).

Check and write are two steps: two servers that create a table and another one inside it at the same moment can both
succeed.
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.conditions import FilesNotReadable, LocationOverlap, PathInVolume
from catalog.discovery.discovery import DEPTH_MAX, FOLDERS_MAX, ServedFolder
from catalog.rest.places import RestPlaces
from catalog.roots import AllowedRoots, configured_location, is_at_or_below, is_local, may_be_below, overlap
from catalog.store.files import LOG_FOLDER, Tree
from catalog.store.remote import open_tree
from catalog.volumes.paths import is_managed_volume


class Places:
    """Permitted locations. Thread-safe. `own_folder` is the folder for the catalog's files, if there is one; `rest` has
    the REST catalogs' table locations.
    """

    def __init__(
        self,
        roots: AllowedRoots,
        served: ServedFolder | None,
        own_folder: str | None = None,
        rest: RestPlaces | None = None,
    ) -> None:
        self.roots = roots
        self.served = served
        self.rest = rest or RestPlaces()
        self._served_root = served.root if served is not None else None
        self._own_folder = configured_location(own_folder) if own_folder else None
        self._trees: dict[str, Tree] = {root: open_tree(root) for root in roots.roots if is_local(root)}

    def ensure_allowed(self, path: str) -> str:
        """Returns the canonical location for a path in a statement; raises PathNotAllowed, PathInVolume."""
        location = self.roots.ensure_allowed(path)
        if is_managed_volume(location):
            raise PathInVolume(path)
        return location

    def ensure_there(self, location: str) -> None:
        """Raises LakeNotAvailable if the root above a canonical location is missing; no statement creates it again."""
        for root in self._roots_of(location):
            self._tree(root).ensure_there()

    def ensure_files(self, location: str) -> None:
        """Checks that files at or below a canonical location can be read by path: they belong neither to a table nor to
        the catalog.

        Raises FilesNotReadable, LakeNotAvailable.
        """
        self.ensure_there(location)
        for folder in (*self._above(location), location):
            if self._tree(self._root_of(location)).table_format(folder):
                raise FilesNotReadable(location, f"they belong to the table at {folder}; query the table")
        own = self._own_folder
        if own is not None and overlap(location, own):
            raise FilesNotReadable(location, "the catalog keeps its files there")

    def ensure_may_hold_tables(self, location: str) -> None:
        """Checks a schema's folder. Raises LocationOverlap, LakeNotAvailable."""
        self.ensure_there(location)
        for folder in (*self._above(location), location):
            if self._tree(self._root_of(location)).table_format(folder):
                raise LocationOverlap(location, f"{folder} is a table itself")
        self._ensure_not_ours(location)

    def ensure_free(self, location: str, taken: Iterator[str]) -> None:
        """Checks a new table's folder; `taken` are the recorded locations. Raises as `ensure_may_hold_tables` does."""
        self.ensure_there(location)
        tree = self._tree(self._root_of(location))
        if location == self._served_root:
            raise LocationOverlap(location, "it is the served folder itself")
        self._ensure_not_ours(location)
        for folder in self._above(location):
            if tree.table_format(folder):
                raise LocationOverlap(location, f"it lies inside the table at {folder}")
        for other in taken:
            if may_be_below(location, other):
                raise LocationOverlap(location, f"it lies inside the table at {other}")
            if may_be_below(other, location):
                raise LocationOverlap(location, f"the table at {other} lies inside")
        for folder in _below(tree, location):
            if tree.table_format(folder):
                raise LocationOverlap(location, f"the table at {folder} lies inside")

    def tables_around(self, location: str) -> list[str]:
        """Returns the table folders at a canonical location, and above it up to its root."""
        tree = self._tree(self._root_of(location))
        return [folder for folder in (*self._above(location), location) if tree.table_format(folder)]

    def format_at(self, location: str) -> str | None:
        """Returns the format of the table at a canonical location, read from its folder; None if there is no table."""
        return self._tree(self._root_of(location)).table_format(location)

    def ensure_not_ours(self, location: str) -> None:
        """Raises LocationOverlap inside a log, and inside the folder for the catalog's files."""
        self._ensure_not_ours(location)

    def _ensure_not_ours(self, location: str) -> None:
        if LOG_FOLDER in location.split("/"):
            raise LocationOverlap(location, "it lies inside a log")
        if is_managed_volume(location):
            raise PathInVolume(location)
        own = self._own_folder
        if own is not None and is_at_or_below(location, own):
            raise LocationOverlap(location, "the catalog keeps its files there")

    def _above(self, location: str) -> Iterator[str]:
        """Yields the folders from the root down to the one that contains the location."""
        root = self._root_of(location)
        folder = root
        for segment in location[len(root) :].strip("/").split("/"):
            if folder != location:
                yield folder
            folder = f"{folder.rstrip('/')}/{segment}"

    def _root_of(self, location: str) -> str:
        """Returns the outermost root, because it covers the largest area around a location."""
        return min(self._roots_of(location), key=len)

    def _roots_of(self, location: str) -> list[str]:
        return self.roots.around(location)

    def _tree(self, root: str) -> Tree:
        if root not in self._trees:
            self._trees[root] = open_tree(root)
        return self._trees[root]


def _below(tree: Tree, location: str) -> Iterator[str]:
    """Yields the folders in the location, within discovery's limits for depth and number; links lead elsewhere."""
    waiting, count = [(location, 0)], 0
    while waiting and count < FOLDERS_MAX:
        folder, depth = waiting.pop()
        for child in tree.children(folder):
            if child.name != LOG_FOLDER and child.location == f"{folder.rstrip('/')}/{child.name}":
                count += 1
                yield child.location
                if depth < DEPTH_MAX:
                    waiting.append((child.location, depth + 1))
