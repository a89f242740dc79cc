"""A marker file in a managed table's directory: the table is hidden unless the catalog has an entry for it.

The catalog discovers tables in the served directory on its own. So a server killed between a CREATE's log and name, or
between a DROP's name and files, would leave a table that is readable under that name and cannot be dropped. Both
statements put a marker (a file next to the log) into the directory for that time:

    CREATE   marker → log → name → no marker      DROP   marker → no name → log, then the rest, with the marker

1. if the catalog has an entry the marker has no effect, so a kill before the name is removed, or after it was recorded,
is harmless;
2. a marked directory without an entry is not listed, and a new table with the name gets another directory;
3. a read-only disk rejects the marker before a DROP has changed anything.

The marker contains the name's catalog, so that a server at its start can detect, once the marker is old, that the name
does not exist, and remove the leftovers (`is_abandoned`). This is not done if a commit is newer than a DROP's marker,
or follows a CREATE's marker: somebody wrote by the directory's path. On object stores, which have no cleanup at the
start, the files stay, hidden.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from catalog.catalog import Catalog
from catalog.conditions import LogPathNotAllowed, TableNotRemovable
from catalog.entries import TableEntry
from engine.storage.storage import UNLISTED_MARK, Storage, open_storage


@contextmanager
def unlisted_folders(entries: Iterable[TableEntry], catalog: Catalog) -> Iterator[None]:
    """Marks the directories of these tables, and keeps the markers unless the block raises.

    Raises `TableNotRemovable` if one of them cannot be written.
    """
    unlisted: list[TableEntry] = []
    try:
        for entry in entries:
            mark_dropped(entry, catalog)
            unlisted.append(entry)
        yield
    except BaseException:
        for entry in unlisted:
            unmark(entry, catalog)
        raise


def mark_dropped(entry: TableEntry, catalog: Catalog) -> None:
    """Marks a dropped table's directory, unless it no longer exists. Raises `TableNotRemovable`."""
    try:
        # No existence check first: the directory may be removed at any moment, and must not be recreated.
        _storage(entry.location, catalog).put_if_absent(UNLISTED_MARK, _text(entry, catalog, "drop"), in_place=True)
    except (FileNotFoundError, LogPathNotAllowed):
        return
    except OSError as failure:
        raise TableNotRemovable(str(entry.name), entry.location, failure.strerror or str(failure)) from failure


def mark_new(entry: TableEntry, catalog: Catalog) -> bool:
    """Returns whether the directory had no marker. A storage that rejects it rejects the log as well, with the
    reason.
    """
    with suppress(OSError, LogPathNotAllowed):
        return _storage(entry.location, catalog).put_if_absent(UNLISTED_MARK, _text(entry, catalog, "create"))
    return False


def unmark(entry: TableEntry, catalog: Catalog) -> None:
    """Removes the marker. A leftover marker belongs to a table with a catalog entry, where it has no effect."""
    with suppress(OSError, LogPathNotAllowed):
        _storage(entry.location, catalog).delete(UNLISTED_MARK)


def is_abandoned(
    location: str, catalog: Catalog, older_than_s: float, commit_times: Callable[[Storage], list[int]]
) -> bool:
    """Returns whether a marked location contained, or was intended for, a table of this catalog, and can be removed.

    `commit_times` returns the commit times of a table's versions, in ms since the epoch.
    """
    storage = _storage(location, catalog)
    try:
        said = json.loads(storage.read_bytes(UNLISTED_MARK))
        owner, statement = said["catalog"], said["statement"]
        dropped_ms = storage.stat(UNLISTED_MARK).modified_ms
        commits = commit_times(storage)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    # Another catalog may serve the same folder, and a young marker may belong to a
    # statement that still runs.
    if owner is None or owner != catalog.own_folder or dropped_ms / 1000 >= older_than_s:
        return False
    is_used = any(ms > dropped_ms for ms in commits) if statement == "drop" else len(commits) > 1
    if is_used:
        return False
    # Checked last: the name may have been removed since, and is never added again for a marked directory.
    return not catalog.view().recorded_at(location)


def _storage(location: str, catalog: Catalog) -> Storage:
    return open_storage(location, allowed_roots=catalog.allowed_roots)


def _text(entry: TableEntry, catalog: Catalog, statement: str) -> bytes:
    return json.dumps({"table": str(entry.name), "catalog": catalog.own_folder, "statement": statement}).encode()
