"""Cleanup at server start: removes files that killed writers left in a lake and that no running writer uses.

- Temporary log files, which were to become commits, checkpoints or hints. Their names are unique to this product, and a
  running writer's files are young, so they are removed at an age that no writer reaches.
- Directories of dropped tables that were renamed for removal. They are no longer needed.
- Directories with a marker from a CREATE or DROP that have no name in the catalog.

Data files that no version names are not removed: their names do not show if a running statement wrote them, and finding
them requires reading every log. VACUUM does this, with the retention that readers need. Object stores have no such
leftovers: an object appears atomically or not at all.
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

# Maximum number of directories that one walk visits.
FOLDERS_MAX = 200_000

_TEMPORARY = re.compile(rf"\..+\.[0-9a-f]{{32}}{re.escape(TEMPORARY_SUFFIX)}")
_REMOVED = re.compile(rf"{re.escape(REMOVED_PREFIX)}[0-9a-f]{{32}}")


def remove_lake_leftovers(
    root: str, older_than_s: float, is_abandoned: Callable[[str], bool] = lambda folder: False
) -> int:
    """Returns the number of removed files and directories; `older_than_s` is a time as in `time.time()`.

    Calls `is_abandoned` for each directory with a marker.
    """
    count = 0
    for number, (folder, inner, names) in enumerate(os.walk(root)):
        # A lake may have millions of folders. What is left is found at a later start, or
        # never, which costs space alone.
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
            inner[:] = [LOG_DIR]  # the table's other directories contain rows
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
    """Returns the modification times of a log's commits, in milliseconds since the epoch.

    A checkpoint or checksum may be written after a commit while the table is dropped: these do not count.
    """
    parsed = ((file, parse_log_path(file.name)) for file in storage.list_files(LOG_DIR))
    return [file.modified_ms for file, path in parsed if path is not None and path.kind is LogFileKind.COMMIT]
