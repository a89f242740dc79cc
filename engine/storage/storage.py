"""Table storage: the only access to file systems.

A `Storage` is rooted at one table. Names are relative to that root (`_delta_log/00000000000000000000.json`) or
absolute. Local tables use plain `os` calls, which matters when ten thousand commits are read; every other scheme uses
fsspec. A missing file is `FileNotFoundError` for every scheme; other failures are the scheme's own `OSError`.

Every name and path is confined (`engine.storage.confinement`): one that leads outside the table's root raises
`LogPathNotAllowed` before anything is read. Local symbolic links are followed for this check; the log's own directory
is checked with every listing, other directories with every file.

Listings guarantee only the order: names are sorted, and a file that is written during the listing may be missing.

Writing has two forms. `put_if_absent` is for commits and other files that must never be overwritten; `write` and
`open_output` put a whole file, replacing an existing one, which is suitable for checkpoints and the last-checkpoint
hint. Neither form ever exposes a partial file.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

from catalog.discovery.other_tables import NO_OTHER_TABLES, OtherTables
from catalog.store.conditional_put import open_file_system
from catalog.store.credentials import options_for
from catalog.store.remote import forget_listings
from catalog.store.store_requests import (
    as_os_errors,
    delete_file,
    delete_files,
    file_info,
    find_files,
    has_file,
    modified_s,
    open_file,
    read_file,
)
from engine.storage.confinement import Confinement
from engine.storage.listing import entries_from
from engine.storage.paths import resolve_path
from engine.storage.put_if_absent import (
    TEMPORARY_SUFFIX,
    ensure_puts_atomic,
    output_local,
    put_file_fsspec,
    put_fsspec,
    put_local,
    replace_local,
)

# The directory whose files make a table's versions: listed with every statement, removed first.
LOG_FOLDER = "_delta_log"

# Iceberg's metadata directory, which makes a table's versions like a log; also removed first.
METADATA_FOLDER = "metadata"

VERSION_FOLDERS = (LOG_FOLDER, METADATA_FOLDER)

# The prefix for a table directory's name during its removal, followed by a token: no listing shows it.
REMOVED_PREFIX = ".removed-"

# A marker file in a table's directory: the catalog lists the table only if it has an entry for it.
UNLISTED_MARK = ".unlisted"

_DELETES_AT_ONCE = 16

# Maximum attempts to remove a directory while others put files into it.
_REMOVALS_MAX = 10


@dataclass(frozen=True, slots=True)
class FileStatus:
    # The name without its directory.
    name: str
    # In bytes.
    size: int
    # Milliseconds since the epoch.
    modified_ms: int
    # An object store's identifier of the content; empty if it has none.
    etag: str = ""
    # False for storages that may report whole seconds for one file, and fractions in a listing.
    has_exact_time: bool = False

    def may_be(self, other: FileStatus | None) -> bool:
        """Returns whether both can describe the same file in the same state."""
        if other is None or (self.name, self.size) != (other.name, other.size):
            return False
        if self.etag and other.etag and self.etag != other.etag:
            return False
        times = (self.modified_ms, other.modified_ms)
        is_exact = self.has_exact_time and other.has_exact_time
        if not is_exact and any(time % 1000 == 0 for time in times):
            return times[0] // 1000 == times[1] // 1000
        return times[0] == times[1]


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The direct entries of a directory, without symbolic links."""

    files: tuple[FileStatus, ...]
    # With size 0; some storages have no times for directories and report 0.
    folders: tuple[FileStatus, ...]


class Storage(ABC):
    """One table's files."""

    # The table root: an absolute local path, or a URL. Never ends in a slash.
    root: str
    HAS_FOLDERS = False  # whether a directory may be empty
    LISTS_WHOLE_FOLDERS = False  # whether names after a start cost as much as the whole directory
    # Directories below which the table must be located; None: anywhere.
    allowed_roots: tuple[str, ...] | None = None
    # Returns the other tables' directories that are relevant for this table's files; the same object until they change.
    find_others: Callable[[str], OtherTables] = staticmethod(lambda root: NO_OTHER_TABLES)
    _confinement: Confinement | None = None

    @property
    def confinement(self) -> Confinement:
        """Returns the decision for each path in this table's log, by the catalog's newest known state."""
        others = self.find_others(self.root)
        known = self._confinement
        if known is None or known.others is not others:
            known = self._confinement = Confinement(self.root, self.allowed_roots, others)
        return known

    @abstractmethod
    def list_names(self, directory: str, start: str = "") -> list[str]:
        """Returns file names (not directories) in `directory` that sort at or after `start`, sorted.

        A directory that does not exist is empty: object stores cannot distinguish the two.
        """

    @abstractmethod
    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        """Lists like `list_names`, with sizes and times."""

    @abstractmethod
    def list_folder(self, directory: str) -> FolderListing:
        """Returns files and directories in `directory`, which is empty for the table's root. A missing one is empty."""

    def begin_look_ups(self, directory: str) -> bool:
        """Returns whether looking up files by name is faster than a listing. Like a listing, it rechecks the
        directory's real location. Raises `LogPathNotAllowed`.
        """
        return False

    @abstractmethod
    def stat(self, name: str) -> FileStatus:
        """Returns a file's size, time and etag. Raises `FileNotFoundError`, `LogPathNotAllowed`."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Returns True if the name exists; on a disk it may be a directory. Raises `LogPathNotAllowed`."""

    @abstractmethod
    def read_bytes(self, name: str) -> bytes:
        """Returns the whole content. Raises `FileNotFoundError`, `LogPathNotAllowed`."""

    @abstractmethod
    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Reads at most `length` bytes from `offset`; fewer if the file ends before."""

    @abstractmethod
    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yields the files' bytes in the order of `names`, prefetched if that hides latency."""

    @abstractmethod
    def open_input(self, name: str) -> BinaryIO:
        """Opens a seekable file for a Parquet reader; the caller closes it."""

    @abstractmethod
    def ensure_writable(self) -> None:
        """Raises `StorageNotWritable` if commits cannot be atomic, `LogPathNotAllowed` if their location is outside."""

    @abstractmethod
    def put_if_absent(self, name: str, data: bytes, *, in_place: bool = False) -> bool:
        """Creates a file; returns False if the name exists, raises `OSError` for an unknown outcome.

        `in_place`: with real directories, raises `FileNotFoundError` if the file's directory is missing, and creates
        nothing. See `engine.storage.put_if_absent` for other reasons for False. Raises `StorageNotWritable`.
        """

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Creates or replaces a file."""

    @abstractmethod
    def open_output(self, name: str, *, replace: bool = True) -> AbstractContextManager[BinaryIO]:
        """Writes like `write`, for files too large for memory: the file appears when the block ends without an error.

        Without `replace`, raises `FileExistsError` for an existing name, and `StorageNotWritable` if two writers could
        both succeed. See `catalog.store.conditional_put` for large files.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Removes a file; a missing file is not an error."""

    def delete_many(self, names: Sequence[str]) -> dict[str, OSError]:
        """Removes files like `delete`, several at the same time. Returns the errors for remaining files, by name."""
        with ThreadPoolExecutor(_DELETES_AT_ONCE, "delete") as threads:
            failures = zip(names, threads.map(self._failure_of_delete, names), strict=True)
            return {name: failure for name, failure in failures if failure is not None}

    def _failure_of_delete(self, name: str) -> OSError | None:
        try:
            self.delete(name)
        except OSError as failure:
            return failure
        return None

    @abstractmethod
    def delete_empty_folder(self, name: str) -> bool:
        """Removes an empty directory; returns False if it stays, or if directories are only prefixes."""

    def make_folder(self, name: str) -> None:
        """Creates a directory and its parents, if the storage has real directories."""
        self.path_of(name)

    @abstractmethod
    def delete_tree(self) -> None:
        """Removes the table's directory and its content; the log first, so that no partial table is left.

        Works also while others still write into it, or remove from it. On object stores the marker is removed last, and
        a directory with a marker after that belongs to a new table, and is left alone.
        """

    def path_of(self, name: str) -> str:
        """Returns the absolute path or URL for a name, or for a decoded log path. Raises `LogPathNotAllowed`."""
        return self.confinement.resolve(name)


class LocalStorage(Storage):
    """A directory on this machine."""

    HAS_FOLDERS = True
    LISTS_WHOLE_FOLDERS = True

    def __init__(self, root: str, allowed_roots: Sequence[str] | None = None) -> None:
        self.root = os.path.abspath(root)
        self.allowed_roots = None if allowed_roots is None else tuple(allowed_roots)
        # True if the log's directory was in an allowed location at its last listing.
        self._is_log_real = False

    def list_names(self, directory: str, start: str = "") -> list[str]:
        folder = self.path_of(directory)
        self._ensure_real_folder(folder)
        try:
            if start:  # for a few names among many: reading an entry takes longer than its name
                names = sorted(name for name in os.listdir(folder) if name >= start)
                return [name for name in names if self._is_file(f"{folder}/{name}")]
            with os.scandir(folder) as entries:
                found = [entry for entry in entries if entry.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        for entry in found:
            if entry.is_symlink():
                self.confinement.ensure_real(entry.path)
        return sorted(entry.name for entry in found)

    def _is_file(self, path: str) -> bool:
        """Returns whether `path` is a file. Raises like `list_names` for a symbolic link to a file outside."""
        if not os.path.isfile(path):
            return False
        if os.path.islink(path):
            self.confinement.ensure_real(path)
        return True

    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        folder = self.path_of(directory)
        result = []
        for name in self.list_names(directory, start):
            try:
                status = os.stat(f"{folder}/{name}")
            except FileNotFoundError:  # removed by a cleanup since the listing
                continue
            result.append(_local_status(name, status))
        return result

    def list_folder(self, directory: str) -> FolderListing:
        folder = self._own(f"{directory}/-").removesuffix("/-") if directory else self.root
        files: list[FileStatus] = []
        folders: list[FileStatus] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):  # removed since the listing
                        if entry.is_symlink():
                            continue
                        found = entry.stat(follow_symlinks=False)
                        kind = folders if entry.is_dir(follow_symlinks=False) else files
                        status = _local_status(entry.name, found)
                        kind.append(replace(status, size=0) if kind is folders else status)
        except (FileNotFoundError, NotADirectoryError):
            return FolderListing((), ())
        return FolderListing(tuple(files), tuple(folders))

    def begin_look_ups(self, directory: str) -> bool:
        self._ensure_real_folder(self.path_of(directory))
        return True

    def stat(self, name: str) -> FileStatus:
        return _local_status(os.path.basename(name), os.stat(self._real(name)))

    def exists(self, name: str) -> bool:
        return os.path.exists(self._real(name))

    def read_bytes(self, name: str) -> bytes:
        descriptor = self._open(name)
        try:
            size = os.fstat(descriptor).st_size
            data = os.read(descriptor, size + 1)
            if len(data) == size:
                return data
            pieces = [data]
            while piece := os.read(descriptor, 1 << 20):
                pieces.append(piece)
            return b"".join(pieces)
        finally:
            os.close(descriptor)

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        with open(self._open(name), "rb") as file:
            file.seek(offset)
            # `read` allocates the requested length, and the length may come from anyone.
            return file.read(max(0, min(length, os.fstat(file.fileno()).st_size - offset)))

    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        return map(self.read_bytes, names)

    def open_input(self, name: str) -> BinaryIO:
        return open(self._open(name), "rb")

    def ensure_writable(self) -> None:
        """Checks the log's directory. The first put detects missing hard link support: only the file system has this
        information.

        Raises `LogPathNotAllowed` if the log's directory is a link, before data files are written for it.
        """
        self.confinement.ensure_real(self.path_of(LOG_FOLDER), to_write=True)

    def put_if_absent(self, name: str, data: bytes, *, in_place: bool = False) -> bool:
        return put_local(self._own(name), data, in_place=in_place)

    def write(self, name: str, data: bytes) -> None:
        replace_local(self._own(name), data)

    def open_output(self, name: str, *, replace: bool = True) -> AbstractContextManager[BinaryIO]:
        return output_local(self._own(name), replace=replace)

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._own(name))

    def delete_empty_folder(self, name: str) -> bool:
        try:
            os.rmdir(self._own(name))
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                return False
            raise
        return True

    def make_folder(self, name: str) -> None:
        os.makedirs(self._own(name), exist_ok=True)

    def delete_tree(self) -> None:
        self._own(f"{LOG_FOLDER}/")
        root = f"{os.path.dirname(self.root)}/{REMOVED_PREFIX}{uuid.uuid4().hex}"
        try:
            os.rename(self.root, root)
        except FileNotFoundError:
            return
        except OSError:
            root = self.root
        for folder in (*(f"{root}/{name}" for name in VERSION_FOLDERS), root):
            _remove_folder(folder)

    def _open(self, name: str) -> int:
        """Opens a file for reading. The opened file is checked, so that it cannot be exchanged in between."""
        path = self.path_of(name)
        folder = os.path.dirname(path)
        self._ensure_real_folder(folder, again=False)
        is_in_log = folder == f"{self.root}/{LOG_FOLDER}"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            is_link = False
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            self.confinement.ensure_real(path)
            descriptor, is_link = os.open(path, os.O_RDONLY), True
        try:
            self.confinement.ensure_opened(descriptor, path, may_be_elsewhere=is_link or not is_in_log)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _real(self, name: str) -> str:
        """Returns the path for a name that is examined, not opened."""
        path = self.path_of(name)
        self._ensure_real_folder(os.path.dirname(path), again=False)
        if os.path.islink(path):
            self.confinement.ensure_real(path)
        return path

    def _own(self, name: str) -> str:
        """Returns the path for a name that is written or removed."""
        path = self.path_of(name)
        self.confinement.ensure_real(os.path.dirname(path), to_write=True)
        return path

    def _ensure_real_folder(self, folder: str, *, again: bool = True) -> None:
        """Raises `LogPathNotAllowed`. `again` False reuses the result from the log directory's last listing."""
        is_log = folder == f"{self.root}/{LOG_FOLDER}"
        if not is_log or again or not self._is_log_real:
            self._is_log_real &= not is_log
            self.confinement.ensure_real(folder)
            self._is_log_real |= is_log


class FsspecStorage(Storage):
    """Any other scheme. Its failures are `OSError`s, like failures of local file systems."""

    # How many files `read_many` requests at the same time.
    FETCH_AHEAD = 16

    def __init__(
        self, url: str, options: Mapping[str, Any] | None = None, allowed_roots: Sequence[str] | None = None
    ) -> None:
        self.root = url.rstrip("/")
        self.allowed_roots = None if allowed_roots is None else tuple(allowed_roots)
        self.scheme = self.root.partition("://")[0]
        self.fs = open_file_system(self.root, options or {})

    def list_names(self, directory: str, start: str = "") -> list[str]:
        return [status.name for status in self.list_files(directory, start)]

    @as_os_errors()
    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        path = self.path_of(directory)
        try:
            entries = entries_from(self.fs, self.scheme, path, start)
        except (FileNotFoundError, NotADirectoryError):
            return []
        itself = self.fs._strip_protocol(path)  # listed for a file, or for an object store's directory marker
        found = (_status(entry) for entry in entries if entry["type"] == "file" and entry["name"] != itself)
        return sorted((status for status in found if status.name >= start), key=lambda status: status.name)

    @as_os_errors()
    def list_folder(self, directory: str) -> FolderListing:
        path = self.path_of(directory) if directory else self.root
        try:
            entries = entries_from(self.fs, self.scheme, path, "")
        except (FileNotFoundError, NotADirectoryError):
            return FolderListing((), ())
        itself = self.fs._strip_protocol(path)
        found = [entry for entry in entries if entry["name"].rstrip("/") != itself]
        files = tuple(_status(entry) for entry in found if entry["type"] == "file")
        return FolderListing(files, tuple(_status(entry) for entry in found if entry["type"] == "directory"))

    @as_os_errors()
    def stat(self, name: str) -> FileStatus:
        return _status(file_info(self.fs, self.path_of(name)))

    @as_os_errors()
    def exists(self, name: str) -> bool:
        return has_file(self.fs, self.path_of(name))

    @as_os_errors()
    def read_bytes(self, name: str) -> bytes:
        return read_file(self.fs, self.path_of(name))

    @as_os_errors()
    def read_range(self, name: str, offset: int, length: int) -> bytes:
        return cast(bytes, self.fs.cat_file(self.path_of(name), start=offset, end=offset + length))

    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        if len(names) <= 1:
            yield from map(self.read_bytes, names)
            return
        # fsspec's own bulk read interprets brackets and stars in a table's path as patterns.
        with ThreadPoolExecutor(min(len(names), self.FETCH_AHEAD), "fetch") as threads:
            for first in range(0, len(names), 4 * self.FETCH_AHEAD):
                yield from threads.map(self.read_bytes, names[first : first + 4 * self.FETCH_AHEAD])

    @as_os_errors()
    def open_input(self, name: str) -> BinaryIO:
        return open_file(self.fs, self.path_of(name))

    def ensure_writable(self) -> None:
        ensure_puts_atomic(self.root)

    @as_os_errors()
    def put_if_absent(self, name: str, data: bytes, *, in_place: bool = False) -> bool:
        with self._listing_anew(name):
            return put_fsspec(self.fs, self.scheme, self.path_of(name), data)

    @as_os_errors()
    def write(self, name: str, data: bytes) -> None:
        with self._listing_anew(name):
            self.fs.pipe_file(self.path_of(name), data)

    @contextmanager
    def open_output(self, name: str, *, replace: bool = True) -> Iterator[BinaryIO]:
        # Uploads a local file: schemes differ in the effects of a failed upload stream, but a put is atomic.
        with tempfile.NamedTemporaryFile(suffix=TEMPORARY_SUFFIX) as file:
            yield cast(BinaryIO, file)
            file.flush()
            with as_os_errors():
                if replace:
                    self.fs.put_file(file.name, self.path_of(name))
                elif not put_file_fsspec(self.fs, self.scheme, self.path_of(name), file.name):
                    raise FileExistsError(name)

    @as_os_errors()
    def delete(self, name: str) -> None:
        with self._listing_anew(name):
            delete_file(self.fs, self.path_of(name))

    @contextmanager
    def _listing_anew(self, name: str) -> Iterator[None]:
        """Invalidates listings around a write to a file that decides whether the table is listed; its outcome may be
        unknown.
        """
        try:
            yield
        finally:
            if _decides_listing(name):
                forget_listings(self.root)

    def delete_empty_folder(self, name: str) -> bool:
        return False

    def delete_many(self, names: Sequence[str]) -> dict[str, OSError]:
        try:
            failed = delete_files(self.fs, [self.path_of(name) for name in names])
        finally:
            if any(map(_decides_listing, names)):
                forget_listings(self.root)
        return {name: failed[path] for name in names if (path := self.path_of(name)) in failed}

    @as_os_errors()
    def delete_tree(self) -> None:
        for name in (*VERSION_FOLDERS, UNLISTED_MARK):
            self.path_of(name)
        root = f"{self.fs._strip_protocol(self.root).rstrip('/')}/"
        try:
            for attempt in range(_REMOVALS_MAX):
                paths = {path.removeprefix(root): path for path in find_files(self.fs, self.root)}
                # a new table: its CREATE found that the marker was removed
                if not paths or (attempt and UNLISTED_MARK in paths):
                    return
                for folder in VERSION_FOLDERS:
                    self._delete([paths.pop(name) for name in list(paths) if name.startswith(f"{folder}/")])
                mark = [paths.pop(UNLISTED_MARK)] if UNLISTED_MARK in paths else []
                self._delete([*paths.values(), *mark])
        finally:
            forget_listings(self.root)

    def _delete(self, paths: Sequence[str]) -> None:
        for failure in delete_files(self.fs, paths).values():
            raise failure


def _decides_listing(name: str) -> bool:
    """Returns whether a file makes a directory a table, or hides it: a first version, or the marker."""
    folder, _, base = name.rpartition("/")
    if folder == LOG_FOLDER:
        return base == f"{0:020}.json"
    return base == UNLISTED_MARK or (folder == METADATA_FOLDER and base.startswith(("v1.", "00000-")))


def _remove_folder(folder: str) -> None:
    for attempt in range(1, _REMOVALS_MAX + 1):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            pass  # the directory, or one of its entries, was already removed
        except OSError:
            if attempt == _REMOVALS_MAX:
                raise
        if not os.path.lexists(folder):
            return


def open_storage(
    path: str, options: Mapping[str, Any] | None = None, allowed_roots: Sequence[str] | None = None
) -> Storage:
    """Returns the storage for the table at `path`: a local path, `file:` URL, or any URL that fsspec supports.

    `options` are fsspec's storage options (credentials, endpoint); None: the server's credentials. `allowed_roots` are
    the directories below which tables must be located; None: anywhere.
    """
    path = resolve_path(os.fspath(path))
    if "://" in path:
        return FsspecStorage(path, options_for(path) if options is None else options, allowed_roots)
    return LocalStorage(path, allowed_roots)


def _local_status(name: str, found: os.stat_result) -> FileStatus:
    return FileStatus(name, found.st_size, found.st_mtime_ns // 1_000_000, has_exact_time=True)


def _status(entry: Mapping[str, Any]) -> FileStatus:
    return FileStatus(
        name=entry["name"].rstrip("/").rsplit("/", 1)[-1],
        size=int(entry.get("size") or 0),
        modified_ms=int(round(modified_s(entry) * 1000)),
        etag=str(entry.get("ETag") or ""),
    )
