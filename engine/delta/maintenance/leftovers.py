"""What killed writers left in a lake, removed when a server starts: files of ours that no running writer uses.

- Temporary files of logs, which were to become commits, checkpoints or hints: their names are ours alone, and those of
  a running writer are young, so they go at an age that no writer reaches.
- Folders of dropped tables that were renamed to be removed: they are not needed any more.
- Folders that a CREATE or a DROP marked, that have no name in the catalog.

Data files that no version names stay: whether one is of a statement that still runs cannot be told by its name, and
finding them means reading every log. VACUUM does that, with the retention that readers need. Object stores have none of
this: an object appears whole, or not at all.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress

from engine.delta.spec.paths import LOG_DIR, LogFileKind, parse_log_path
from engine.storage.put_if_absent import TEMPORARY_SUFFIX
from engine.storage.storage import REMOVED_PREFIX, UNLISTED_MARK, LocalStorage, Storage

logger = logging.getLogger(__name__)

FOLDERS_MAX = 200_000
"""Folders that one walk looks into."""

_TEMPORARY = re.compile(rf"\..+\.[0-9a-f]{{32}}{re.escape(TEMPORARY_SUFFIX)}")
_REMOVED = re.compile(rf"{re.escape(REMOVED_PREFIX)}[0-9a-f]{{32}}")


def remove_lake_leftovers(
    root: str, older_than_s: float, is_abandoned: Callable[[str], bool] = lambda folder: False
) -> int:
    """How many files and folders were removed; `older_than_s` is a time as `time.time()` tells it.

    `is_abandoned` is asked for each folder with a mark.
    """
    count = 0
    for number, (folder, inner, names) in enumerate(os.walk(root)):
        if number >= FOLDERS_MAX:
            break
        if LOG_DIR in folder[len(root) :].split("/"):
            count += sum(_remove_file(f"{folder}/{name}", older_than_s) for name in names if _TEMPORARY.fullmatch(name))
            continue
        if UNLISTED_MARK in names and folder != root and is_abandoned(folder):
            count += _remove_table(folder)
            inner.clear()
            continue
        if LOG_DIR in inner and folder != root:
            inner[:] = [LOG_DIR]  # the other folders of a table hold rows
            continue
        for name in filter(_REMOVED.fullmatch, inner):
            shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
            count += 1
        inner[:] = [name for name in inner if not name.startswith(".")]
    return count


def _remove_table(folder: str) -> bool:
    try:
        LocalStorage(folder).delete_tree()
    except OSError as error:
        logger.warning("files of a dropped table stay at %s: %s", folder, error.strerror or error)
        return False
    return True


def _remove_file(path: str, older_than_s: float) -> bool:
    with suppress(OSError):
        if os.stat(path).st_mtime < older_than_s:
            os.unlink(path)
            return True
    return False


def commit_times(storage: Storage) -> list[int]:
    """When the commits in a log were written, in ms since the epoch.

    A checkpoint or a checksum may be written, after a commit, while the table is dropped: these do not count.
    """
    parsed = ((file, parse_log_path(file.name)) for file in storage.list_files(LOG_DIR))
    return [file.modified_ms for file, path in parsed if path is not None and path.kind is LogFileKind.COMMIT]
