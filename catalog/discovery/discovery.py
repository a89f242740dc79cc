"""The served folder: every table below it is a table in the default catalog, looked up on demand.

The folder that contains a table is its schema:

=====================  ==========  ===========================================================
`orders`               `default`   `orders`
`shop/orders`          `shop`      `orders`
`crm/eu/customers`     `crm.eu`    `customers`: deeper folders are one schema with dots,
                                   written `` `crm.eu`.customers ``
the folder itself      `default`   its own name: serving one table's folder serves that table
=====================  ==========  ===========================================================

- A folder whose `_delta_log` contains a version is a Delta table. A folder whose `metadata` contains a metadata file,
  or a version hint, is an Iceberg table; if both exist, Delta's log wins. Folders below a table are not searched. Only
  the served folder itself may be a table with other tables below it: a log written to the wrong place must not hide all
  tables. The server's log reports that, and no table can be created below it (:mod:`catalog.discovery.places`).
- A folder with a marker (:data:`catalog.store.files.UNLISTED_MARK`) is not listed: a CREATE or a DROP is in progress
  there, or a server was killed during one. No table is created inside it either.
- Folders that begin with `_` or `.` are hidden, and folders with `=` are partitions of data that is not a Delta table.
- A folder without any table is not a schema.
- Links are followed if their target is below an allowed root, so that a link placed in the lake exposes nothing else; a
  link to one of its own parent folders is not followed.
- Names are case-insensitive. An exact spelling wins; otherwise the match must be unique.
- If `orders` and `default/orders` both are tables, the former is `default.orders`; the served folder's own name has the
  lowest precedence.
- If the served folder is missing, every lookup raises LakeNotAvailable: a missing lake is not an empty lake.

A lookup by name requests its folders directly. Only if that fails, it lists the folders on the path, to find another
spelling; it never walks the tree. Listing schemas walks the tree, bounded by the two limits below.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass

from catalog.conditions import TableAmbiguous
from catalog.entries import TableEntry
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA, TableName, fold
from catalog.roots import AllowedRoots
from catalog.store.files import LOG_FOLDER, Child, Tree

logger = logging.getLogger(__name__)

# Maximum number of folders between the served one and a table.
DEPTH_MAX = 8

# Maximum number of folders, not counting tables, that one walk reads.
FOLDERS_MAX = 50_000


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder on the path to tables, with the schema for the tables directly in it."""

    location: str
    schema: str
    above: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        return len(self.above)


class ServedFolder:
    """The tables below one folder; see the module. Thread-safe and stateless."""

    def __init__(self, tree: Tree, allowed_roots: tuple[str, ...] = ()) -> None:
        self.root = tree.root
        self._tree = tree
        self._roots = AllowedRoots((tree.root, *allowed_roots))
        self._top = _Folder(tree.root, DEFAULT_SCHEMA)
        self._is_own_reported = False

    def ensure_there(self) -> None:
        """Raises LakeNotAvailable if the folder is missing."""
        self._tree.ensure_there()

    def is_table(self, location: str) -> bool:
        """Returns True if a folder, at a canonical location below the served one, contains a table."""
        return self._tree.table_format(location) is not None

    def root_table(self) -> TableEntry | None:
        """Returns the table that the served folder itself is; the server's log reports it once."""
        format_ = self._tree.table_format(self.root)
        if format_ is None:
            self._is_own_reported = False
            return None
        own = _entry(self._top, Child(self.root.rpartition("/")[2], self.root), format_)
        if not self._is_own_reported:
            self._is_own_reported = True
            logger.warning(
                "the served folder %s is a table itself, served as %s beside the tables below it; none can be "
                "made below it. If that is no intention, move its %s away.",
                self.root,
                own.name,
                LOG_FOLDER,
            )
        return own

    def find(self, schema: str, table: str, but: str | None = None) -> TableEntry | None:
        """Returns the table with that name, or None, also if its folder is `but`; raises TableAmbiguous,
        LakeNotAvailable.
        """
        self.ensure_there()
        for folder in self._folders(schema, exact=True):
            if f"{folder.location}/{table}" == but:
                return None
            child = self._child(folder, table)
            if child is not None and (listed := self._existing(folder, child)) is not None:
                return listed
        found: dict[tuple[str, str], TableEntry] = {}
        for folder in self._folders(schema):
            for child in self._children(folder):
                if fold(child.name) == fold(table) and (listed := self._existing(folder, child)) is not None:
                    found.setdefault((folder.schema, child.name), listed)
        if len(found) > 1:
            candidates = ", ".join(sorted(f"{schema_}.{table_}" for schema_, table_ in found))
            raise TableAmbiguous(str(TableName(DEFAULT_CATALOG, schema, table)), candidates)
        own = self.root_table()
        if own is not None and own.name == TableName(DEFAULT_CATALOG, schema, table):
            found.setdefault((own.name.schema, own.name.table), own)
        return next(iter(found.values()), None)

    def name_of(self, location: str) -> TableName | None:
        """Returns the name for a table in the folder at `location`; None if it has no name."""
        if location == self.root:
            return TableName(DEFAULT_CATALOG, DEFAULT_SCHEMA, location.rpartition("/")[2])
        if not location.startswith(self.root.rstrip("/") + "/"):
            return None
        *schema, table = location[len(self.root.rstrip("/")) + 1 :].split("/")
        return TableName(DEFAULT_CATALOG, ".".join(schema) or DEFAULT_SCHEMA, table)

    def find_schema(self, schema: str) -> str | None:
        """Returns the schema as its folder is spelled, or None if no such folder contains a table."""
        self.ensure_there()
        if fold(schema) == DEFAULT_SCHEMA and self.root_table() is not None:
            return DEFAULT_SCHEMA
        return next((folder.schema for folder in self._folders(schema) if self._has_table(folder)), None)

    def schemas(self, known: Collection[str] = ()) -> list[str]:
        """Returns all schemas that contain a table, sorted; one for spellings that differ only in case.

        Folders at the locations `known` are assumed to be tables and are not read.
        """
        self.ensure_there()
        found = {DEFAULT_SCHEMA: DEFAULT_SCHEMA} if self.root_table() is not None else {}
        above = _above(known)
        for folder in self._walk(known, above):
            if fold(folder.schema) not in found and self._has_table(folder, known, above):
                found[fold(folder.schema)] = folder.schema
        return [spelling for _, spelling in sorted(found.items())]

    def tables(self, schema: str, but: Collection[str] = ()) -> list[TableEntry]:
        """Returns a schema's tables, sorted; an empty list if the schema does not exist. Tables at `but` are
        skipped.
        """
        self.ensure_there()
        # folders that contain the other tables' folders
        above = _above(but) if fold(schema) == DEFAULT_SCHEMA else frozenset[str]()
        found: dict[tuple[str, str], TableEntry] = {}
        for folder in self._folders(schema):
            for child, listed in self._tables_in(folder, but, above):
                found.setdefault((folder.schema, child.name), listed)
        own = self.root_table() if fold(schema) == DEFAULT_SCHEMA else None
        if own is not None:
            found.setdefault((own.name.schema, own.name.table), own)
        return sorted(found.values(), key=lambda entry: (entry.name.key, entry.name.parts))

    def _has_table(self, folder: _Folder, known: Container[str] = (), above: Container[str] = ()) -> bool:
        is_known = any(child.location in known for child in self._children(folder))
        return is_known or any(self._tables_in(folder, above=above))

    def _tables_in(
        self, folder: _Folder, but: Container[str] = (), above: Container[str] = ()
    ) -> Iterator[tuple[Child, TableEntry]]:
        """Yields the tables directly in a folder, for lists. `above`: folders that contain known tables."""
        children = [child for child in self._children(folder) if child.location not in but]
        self._tree.look_at([child.location for child in children], above)
        for child in children:
            if child.location in above and self._tree.table_format(child.location) is None:
                continue
            listed = self._entry_for_list(folder, child)
            if listed is not None:
                yield child, listed

    def _existing(self, folder: _Folder, child: Child) -> TableEntry | None:
        """Returns the table that is in a folder now; None if there is no table, or if it is not listed.

        Checks that reject or hide something because a table exists use this method.
        """
        format_ = self._tree.table_format(child.location)
        if format_ is None or self._tree.is_unlisted(child.location):
            return None
        return _entry(folder, child, format_)

    def _entry_for_list(self, folder: _Folder, child: Child) -> TableEntry | None:
        """Returns the same as `_existing`, for lists, with possibly cached listings."""
        format_ = self._tree.listed_format(child.location)
        if format_ is None or not self._tree.is_listed(child.location):
            return None
        return _entry(folder, child, format_)

    def _folders(self, schema: str, *, exact: bool = False) -> Iterator[_Folder]:
        """Yields the folders whose tables are in `schema`: only the exact spelling if `exact`, without any listing."""
        spelled = schema if exact else fold(schema)
        if spelled == DEFAULT_SCHEMA:
            yield self._top
        yield from self._below(self._top, spelled, exact)

    def _below(self, folder: _Folder, rest: str, exact: bool) -> Iterator[_Folder]:
        """Yields folders below `folder` whose names, joined by dots, are `rest`; a folder's own name may contain dots,
        too.
        """
        if folder.depth >= DEPTH_MAX:
            return
        dotted = f"{rest}."
        for child in self._prefixes(folder, rest) if exact else self._tree.children(folder.location):
            name = child.name if exact else fold(child.name)
            # Names are compared first, since there may be thousands of folders and few match.
            if not dotted.startswith(f"{name}.") or not self._is_visible(folder, child):
                continue
            if self._tree.table_format(child.location):
                continue
            if rest == name:
                yield _inner(folder, child)
            else:
                yield from self._below(_inner(folder, child), rest[len(name) + 1 :], exact)

    def _prefixes(self, folder: _Folder, rest: str) -> Iterator[Child]:
        """Yields the children whose names are `rest` up to one of its dots, or all of it."""
        ends = [index for index, character in enumerate(rest) if character == "."]
        for end in (*ends, len(rest)):
            child = self._child(folder, rest[:end])
            if child is not None:
                yield child

    def _walk(self, known: Container[str], above: Container[str]) -> Iterator[_Folder]:
        """Yields all folders that are not tables, top down.

        A folder in `above` contains known tables and is hardly a table itself; reading its names, which follows anyway,
        shows that too.
        """
        waiting, count = [self._top], 0
        while waiting:
            folder = waiting.pop()
            count += 1
            if count > FOLDERS_MAX:
                logger.warning("%s has more than %d folders; those left are not listed", self.root, FOLDERS_MAX)
                return
            yield folder
            if folder.depth < DEPTH_MAX:
                inner = [_inner(folder, child) for child in self._children(folder) if child.location not in known]
                self._tree.look_at([each.location for each in inner], above)
                for each in reversed(inner):
                    ask = self._tree.table_format if each.location in above else self._tree.listed_format
                    if ask(each.location) is None:
                        waiting.append(each)

    def _children(self, folder: _Folder) -> Iterator[Child]:
        return (child for child in self._tree.children(folder.location) if self._is_visible(folder, child))

    def _child(self, folder: _Folder, name: str) -> Child | None:
        if not name or name in (".", "..") or "/" in name:
            return None
        child = self._tree.child(folder.location, name)
        return child if child is not None and self._is_visible(folder, child) else None

    def _is_visible(self, folder: _Folder, child: Child) -> bool:
        if child.name.startswith(("_", ".")) or "=" in child.name:
            return False
        if child.location == f"{folder.location.rstrip('/')}/{child.name}":
            return True
        is_loop = child.location == folder.location or child.location in folder.above
        return not is_loop and self._roots.contains(child.location)


def _above(locations: Iterable[str]) -> frozenset[str]:
    """Returns the parent folders."""
    return frozenset(location.rpartition("/")[0] for location in locations)


def _inner(folder: _Folder, child: Child) -> _Folder:
    schema = f"{folder.schema}.{child.name}" if folder.above else child.name
    return _Folder(child.location, schema, (*folder.above, folder.location))


def _entry(folder: _Folder, child: Child, format_: str) -> TableEntry:
    name = TableName(DEFAULT_CATALOG, folder.schema, child.name)
    return TableEntry(name=name, location=child.location, format=format_)
