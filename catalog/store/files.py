"""What the catalog asks of a file system, and the answer for this machine's.

Two views of a folder. :class:`Files` is for the store: small files that are written once and never changed, so there is
one way to write, put-if-absent. :class:`Tree` is for discovery: which folders lie in a folder, and which are tables.
Other schemes are in :mod:`catalog.store.remote`.

Put-if-absent must be atomic, or two servers lose each other's changes. A temporary file that is hard-linked to its name
is: `link` fails where the name exists, and the file appears whole or not at all. (Opening with O_EXCL is not, because a
crash leaves half a file under the final name.) Files and folders are synced before the call returns.
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

UNLISTED_MARK = ".unlisted"
"""A file in a table's folder, for which the table is not listed unless the catalog has a record of it."""

METADATA_FOLDER = "metadata"
"""Of an Iceberg table."""

_METADATA = re.compile(r"version-hint\.text|.+\.metadata\.json(\.gz)?")
_VERSION = re.compile(r"\d{20}\.(?:json|checkpoint\.(?:.+\.)?(?:parquet|json))")

_MODE, _FOLDER_MODE = 0o600, 0o700
_FOLDERS_CACHED_MAX = 50_000
_SETTLED_NS = 50_000_000
"""A folder can change twice within one tick of its clock, so a listing is kept only if the change before was older."""


def is_version(name: str) -> bool:
    """Whether a file in a log makes a version: a commit or a checkpoint.

    A folder whose log holds one is a table, which is all that the catalog knows of Delta. A log without any is what a
    CREATE left that was killed, or that is under way.
    """
    return _VERSION.fullmatch(name) is not None


def is_metadata(name: str) -> bool:
    """Whether a file in the folder :data:`METADATA_FOLDER` makes the folder above an Iceberg table."""
    return _METADATA.fullmatch(name) is not None


class Files(Protocol):
    """Files below `root`, by relative path."""

    root: str
    lists_freely: bool
    """Returns whether a listing costs no request to a server."""

    def names(self, folder: str) -> list[str]:
        """Names of the files directly in `folder`; none if there is no such folder."""
        ...

    def times_s(self, folder: str) -> dict[str, float]:
        """Returns when each of these files was written, in seconds since the epoch by the clock of the storage."""
        ...

    def read(self, path: str) -> bytes:
        """Raises FileNotFoundError."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file; False if there is one of this name. OSError: it may have been written or not."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file; one that is gone is fine."""
        ...


@dataclass(frozen=True, slots=True)
class Child:
    """A folder directly in another one; `location` is where it really is, links followed."""

    name: str
    location: str


class Tree(Protocol):
    """Folders below `root`, by location. Unreadable and vanished folders are empty ones."""

    root: str

    def children(self, location: str) -> tuple[Child, ...]:
        """The folders directly in one, by name. May be kept for a moment."""
        ...

    def child(self, location: str, name: str) -> Child | None:
        """One of them, asked for directly: the cost does not depend on how many there are."""
        ...

    def table_format(self, location: str) -> str | None:
        """The format of the table in a folder, as it is now: Delta if the folder's log has a version, whatever else is
        in the folder, Iceberg if its metadata has one; None if there is no table.
        """
        ...

    def look_at(self, locations: Sequence[str], above: Container[str] = ()) -> None:
        """Looks at folders all at once, of which `listed_format` and `is_listed` will be asked; of those that are
        `above` known tables, `table_format` and `children`.
        """
        ...

    def listed_format(self, location: str) -> str | None:
        """Returns what `table_format` does, for lists of tables: it may be as old as what `children` returns."""
        ...

    def is_unlisted(self, location: str) -> bool:
        """Returns whether the folder is marked as one that is not listed by itself, as it is now."""
        ...

    def is_listed(self, location: str) -> bool:
        """Returns whether a table's folder has no such mark, for lists: it may be as old as what `children` returns."""
        ...

    def ensure_there(self) -> None:
        """Raises LakeNotAvailable where `root` was there once and is gone, as when its volume is not mounted."""
        ...


class LocalFiles:
    """See :class:`Files`. What it makes is the server's alone: rights are in the catalog."""

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
        _sync_folder(os.path.dirname(full))
        return True

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._full(path))

    def _full(self, path: str) -> str:
        return os.path.join(self.root, path)

    def _ensure_folder(self, folder: str) -> None:
        """Make the folder and those above it, each durable in the one that it lies in."""
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
    """A synced file beside `full`, under a name that no listing takes for one of the catalog's."""
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
        return True  # the reader is told why that cannot be
    except (OSError, ValueError):
        return False


class LocalTree:
    """See :class:`Tree`. Thread-safe.

    Listings are kept until the folder's own modification time changes. That time does not move when a folder
    inside becomes a table, so `table_format` always asks.
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
            kept = self._listings.get(location)
            if kept is not None and kept[0] == modified_ns:
                return kept[1]
            with os.scandir(location) as entries:
                found = [child for entry in entries if (child := _child_of(location, entry.name, entry)) is not None]
        except OSError:
            return ()
        listing = tuple(sorted(found, key=lambda child: child.name))
        if time.time_ns() - modified_ns > _SETTLED_NS:
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
        """A folder of this machine is looked at when it is asked for."""

    def listed_format(self, location: str) -> str | None:
        return self.table_format(location)

    def is_listed(self, location: str) -> bool:
        return not self.is_unlisted(location)

    def is_unlisted(self, location: str) -> bool:
        return os.path.lexists(f"{location}/{UNLISTED_MARK}")

    def ensure_there(self) -> None:
        """A mount point without its volume is another folder, and empty."""
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
    """The folder `name` in `location`, or None if there is none; a listing spares the question what it is."""
    path = f"{location.rstrip('/')}/{name}"
    try:
        if entry is not None and not entry.is_symlink():
            return Child(name, path) if entry.is_dir(follow_symlinks=False) else None
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            return Child(name, path)
        if stat.S_ISLNK(mode) and os.path.isdir(path):
            return Child(name, os.path.realpath(path))
    except (OSError, ValueError):  # ValueError: a null character, or a name that the file system cannot spell
        return None
    return None
