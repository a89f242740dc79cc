"""File-system interfaces for the catalog, and their local implementation.

There are two interfaces to a folder. :class:`Files` is for the store: small files that are written once and never
changed, so put-if-absent is the only write. :class:`Tree` is for discovery: the folders in a folder, and which of them
are tables. :mod:`catalog.store.remote` implements other schemes.

Put-if-absent must be atomic, or servers lose each other's changes. A temporary file that is hard-linked to its name is
atomic: `link` fails if the name exists, and the file appears whole or not at all. (Opening with O_EXCL is not, because
a crash leaves half a file under the final name.) Files and folders are synced before the call returns.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
import time
import uuid
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from catalog.conditions import LakeNotAvailable
from catalog.names import DELTA, ICEBERG

LOG_FOLDER = "_delta_log"

# A file in a table's folder that hides the table from lists unless the catalog has an entry for it.
UNLISTED_MARK = ".unlisted"

# An Iceberg table's metadata folder.
METADATA_FOLDER = "metadata"

_METADATA = re.compile(r"version-hint\.text|.+\.metadata\.json(\.gz)?")
_VERSION = re.compile(r"\d{20}\.(?:json|checkpoint\.(?:.+\.)?(?:parquet|json))")

_MODE, _FOLDER_MODE = 0o600, 0o700
_FOLDERS_CACHED_MAX = 50_000
# A folder can change twice within one clock tick, so a listing is cached only if the preceding change was older.
_STABLE_NS = 50_000_000


def is_version(name: str) -> bool:
    """Returns True if a log file makes a version: a commit or a checkpoint.

    A folder whose log contains one is a table; the catalog needs no other knowledge about Delta. A log without one
    comes from a CREATE that was killed, or that is in progress.
    """
    return _VERSION.fullmatch(name) is not None


def is_metadata(name: str) -> bool:
    """Returns True if a file in the folder :data:`METADATA_FOLDER` makes the parent folder an Iceberg table."""
    return _METADATA.fullmatch(name) is not None


class Files(Protocol):
    """Files below `root`, by relative path."""

    root: str
    # Returns True if a listing needs no request to a server.
    lists_freely: bool

    def names(self, folder: str) -> list[str]:
        """Returns the names of the files directly in `folder`; an empty result if the folder does not exist."""
        ...

    def times_s(self, folder: str) -> dict[str, float]:
        """Returns each file's write time, in seconds since the epoch by the storage's clock."""
        ...

    def read(self, path: str) -> bytes:
        """Returns a file's content; raises FileNotFoundError."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Creates a file; returns False if the name exists. An OSError means that the outcome is unknown."""
        ...

    def delete(self, path: str) -> None:
        """Deletes a file; a missing one is not an error."""
        ...


@dataclass(frozen=True, slots=True)
class Child:
    """A folder directly in another one; `location` is its location after links are resolved."""

    name: str
    location: str


class Tree(Protocol):
    """Folders below `root`, by location. Unreadable and vanished folders count as empty."""

    root: str

    def children(self, location: str) -> tuple[Child, ...]:
        """Returns the folders directly in a folder, by name. The result may be briefly cached."""
        ...

    def child(self, location: str, name: str) -> Child | None:
        """Returns one child folder by a direct request, whose cost does not depend on the number of children."""
        ...

    def table_format(self, location: str) -> str | None:
        """Returns the current format of the table in a folder: Delta if the folder's log has a version, regardless of
        other content, Iceberg if its metadata has one; None if there is no table.
        """
        ...

    def look_at(self, locations: Sequence[str], above: Container[str] = ()) -> None:
        """Reads folders concurrently, in preparation for `listed_format` and `is_listed`; for folders `above` known
        tables, in preparation for `table_format` and `children`.
        """
        ...

    def listed_format(self, location: str) -> str | None:
        """Returns the same as `table_format`, for table lists: it may be as old as the result of `children`."""
        ...

    def is_unlisted(self, location: str) -> bool:
        """Returns True if the folder currently has the marker that hides it from lists."""
        ...

    def is_listed(self, location: str) -> bool:
        """Returns True if a table's folder has no such marker, for lists: it may be as old as the result of
        `children`.
        """
        ...

    def ensure_there(self) -> None:
        """Raises LakeNotAvailable if `root` existed once and is missing, for example because its volume is not
        mounted.
        """
        ...


class LocalFiles:
    """Local implementation of :class:`Files`. Created files are private to the server, because the catalog contains
    privileges.
    """

    lists_freely = True

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def names(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._full(folder)) as entries:
                return [entry.name for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []

    def times_s(self, folder: str) -> dict[str, float]:
        try:
            with os.scandir(self._full(folder)) as entries:
                return {entry.name: entry.stat().st_mtime for entry in entries if entry.is_file()}
        except FileNotFoundError:
            return {}

    def read(self, path: str) -> bytes:
        with open(self._full(path), "rb") as file:
            return file.read()

    def create(self, path: str, data: bytes) -> bool:
        full = self._full(path)
        self._ensure_folder(os.path.dirname(full))
        with _temporary_file(full, data) as temporary:
            try:
                os.link(temporary, full)
            except FileExistsError:
                return False
        # Without this the name may be lost after a power failure, although the file's
        # content was synced.
        _sync_folder(os.path.dirname(full))
        return True

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._full(path))

    def _full(self, path: str) -> str:
        return os.path.join(self.root, path)

    def _ensure_folder(self, folder: str) -> None:
        """Creates the folder and its parents, each synced in its parent."""
        if os.path.isdir(folder):
            return
        above = os.path.dirname(folder)
        self._ensure_folder(above)
        is_own = os.path.commonpath((folder, self.root)) == self.root
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, _FOLDER_MODE if is_own else 0o777)
        _sync_folder(above)


@contextlib.contextmanager
def _temporary_file(full: str, data: bytes) -> Iterator[str]:
    """Yields a synced temporary file in the same folder as `full`, with a name that no listing takes for a catalog
    file.
    """
    temporary = f"{full}.{uuid.uuid4().hex}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _holds(folder: str, is_sought: Callable[[str], bool]) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(is_sought(entry.name) for entry in entries)
    except PermissionError:
        return True  # the subsequent read reports the reason
    except (OSError, ValueError):
        return False


class LocalTree:
    """Local implementation of :class:`Tree`. Thread-safe.

    Listings are cached until the folder's own modification time changes. That time does not change when a child folder
    becomes a table, so `table_format` always reads the folder.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._listings: dict[str, tuple[int, tuple[Child, ...]]] = {}
        self._lock = threading.Lock()
        self._identity: tuple[int, int] | None = None
        self.ensure_there()

    def children(self, location: str) -> tuple[Child, ...]:
        try:
            modified_ns = os.stat(location).st_mtime_ns
            cached = self._listings.get(location)
            if cached is not None and cached[0] == modified_ns:
                return cached[1]
            with os.scandir(location) as entries:
                found = [child for entry in entries if (child := _child_of(location, entry.name, entry)) is not None]
        except OSError:
            return ()
        listing = tuple(sorted(found, key=lambda child: child.name))
        # File systems record times in ticks: a change in the same tick leaves the time, and
        # with it a cached listing, as it was.
        if time.time_ns() - modified_ns > _STABLE_NS:
            with self._lock:
                if len(self._listings) >= _FOLDERS_CACHED_MAX:
                    self._listings.clear()
                self._listings[location] = (modified_ns, listing)
        return listing

    def child(self, location: str, name: str) -> Child | None:
        return _child_of(location, name, None)

    def table_format(self, location: str) -> str | None:
        if _holds(f"{location}/{LOG_FOLDER}", is_version):
            return DELTA
        return ICEBERG if _holds(f"{location}/{METADATA_FOLDER}", is_metadata) else None

    def look_at(self, locations: Sequence[str], above: Container[str] = ()) -> None:
        """Does nothing: local folders are read on demand."""

    def listed_format(self, location: str) -> str | None:
        return self.table_format(location)

    def is_listed(self, location: str) -> bool:
        return not self.is_unlisted(location)

    def is_unlisted(self, location: str) -> bool:
        return os.path.lexists(f"{location}/{UNLISTED_MARK}")

    def ensure_there(self) -> None:
        """Checks the folder's identity too: a mount point without its volume is a different, empty folder."""
        try:
            status = os.stat(self.root)
            identity = (status.st_dev, status.st_ino)
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if self._identity not in (None, identity) and not os.listdir(self.root):
                raise LakeNotAvailable(self.root, "another folder is in its place, which is empty")
        except OSError as error:
            if self._identity is None:
                return
            raise LakeNotAvailable(self.root, error.strerror or str(error)) from error
        self._identity = identity


def _child_of(location: str, name: str, entry: os.DirEntry[str] | None) -> Child | None:
    """Returns the folder `name` in `location`, or None; an entry from a listing saves the request for its type."""
    path = f"{location.rstrip('/')}/{name}"
    try:
        if entry is not None and not entry.is_symlink():
            return Child(name, path) if entry.is_dir(follow_symlinks=False) else None
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            return Child(name, path)
        if stat.S_ISLNK(mode) and os.path.isdir(path):
            return Child(name, os.path.realpath(path))
    except (OSError, ValueError):  # ValueError: a null character, or a name that the file system cannot represent
        return None
    return None
