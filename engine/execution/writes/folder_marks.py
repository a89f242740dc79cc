"""A mark in the folder of a managed table: no table is listed there unless the catalog has a record of it.

The catalog lists the tables that lie in the served folder by themselves. So a server that is killed between the log and
the name of a CREATE, or between the name and the files of a DROP, would leave a table that can be read under that name
and not be dropped. Both put a mark (a file beside the log) into the folder for that time:

    CREATE   mark → log → name → no mark          DROP   mark → no name → log, then the rest, with the mark

1. where the catalog has a record the mark says nothing, so a kill before the name goes, or after it came, is harmless;
2. a marked folder without a record is not listed, and a new table of the name gets another folder;
3. a disk that cannot be written refuses the mark, and a DROP has changed nothing yet.

The mark says in which catalog the name is, so that a server can tell at its start, when the mark is old, that there is
none, and remove what is left (`is_abandoned`). That is not done where a commit is newer than the mark of a DROP, or
follows the one of a CREATE: somebody wrote by the folder's path. On object stores, which have no clean-up at the start,
the files stay, hidden.
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
def marked(entries: Iterable[TableEntry], catalog: Catalog) -> Iterator[None]:
    """The folders of these tables are marked, and stay so unless the block raises.

    Raises `TableNotRemovable` where one of them cannot be written.
    """
    marks: list[TableEntry] = []
    try:
        for entry in entries:
            mark_dropped(entry, catalog)
            marks.append(entry)
        yield
    except BaseException:
        for entry in marks:
            unmark(entry, catalog)
        raise


def mark_dropped(entry: TableEntry, catalog: Catalog) -> None:
    """A folder that is gone gets none. Raises `TableNotRemovable`."""
    try:
        # No question first: the folder may go at any moment, and must not be made again.
        _storage(entry.location, catalog).put_if_absent(UNLISTED_MARK, _text(entry, catalog, "drop"), in_place=True)
    except (FileNotFoundError, LogPathNotAllowed):
        return
    except OSError as failure:
        raise TableNotRemovable(str(entry.name), entry.location, failure.strerror or str(failure)) from failure


def mark_new(entry: TableEntry, catalog: Catalog) -> bool:
    """Returns whether the folder had no mark. A storage that refuses it refuses the log as well, and says why."""
    with suppress(OSError, LogPathNotAllowed):
        return _storage(entry.location, catalog).put_if_absent(UNLISTED_MARK, _text(entry, catalog, "create"))
    return False


def unmark(entry: TableEntry, catalog: Catalog) -> None:
    """A mark that stays is one of a table that has a record, where it says nothing."""
    with suppress(OSError, LogPathNotAllowed):
        _storage(entry.location, catalog).delete(UNLISTED_MARK)


def is_abandoned(
    location: str, catalog: Catalog, older_than_s: float, commit_times: Callable[[Storage], list[int]]
) -> bool:
    """Whether what is at a marked location was, or was to be, a table of this catalog, and can go.

    `commit_times` are the times at which the versions of a table were written, in ms since the epoch.
    """
    storage = _storage(location, catalog)
    try:
        said = json.loads(storage.read_bytes(UNLISTED_MARK))
        owner, statement = said["catalog"], said["statement"]
        marked_ms = storage.stat(UNLISTED_MARK).modified_ms
        commits = commit_times(storage)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if owner is None or owner != catalog.own_folder or marked_ms / 1000 >= older_than_s:
        return False
    is_used = any(ms > marked_ms for ms in commits) if statement == "drop" else len(commits) > 1
    if is_used:
        return False
    # Asked last: the name may have gone since, and none comes back to a marked folder.
    return not catalog.view().recorded_at(location)


def _storage(location: str, catalog: Catalog) -> Storage:
    return open_storage(location, allowed_roots=catalog.allowed_roots)


def _text(entry: TableEntry, catalog: Catalog, statement: str) -> bytes:
    return json.dumps({"table": str(entry.name), "catalog": catalog.own_folder, "statement": statement}).encode()
