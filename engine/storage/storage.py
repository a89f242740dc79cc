"""Where tables lie: the only door to file systems.

A `Storage` is rooted at one table. Names are relative to that root (`_delta_log/00000000000000000000.json`) or
absolute. Local tables go through plain `os` calls, which matters where ten thousand commits are read; every other
scheme goes through fsspec. A missing file is `FileNotFoundError` whatever the scheme; other failures are the scheme's
own `OSError`.

Every name and path is confined (`engine.storage.confinement`): one that leads outside of the table's root is
`LogPathNotAllowed` before anything is read. Symbolic links of local files are followed for that; the log's own folder
is checked with every listing, other folders with every file.

Listings are consistent in order only: names come sorted, and a file that is written during the listing may be missing.

Writing has two forms. `put_if_absent` is for commits and for whatever must never be overwritten; `write` and
`open_output` put a whole file, replacing an existing one, which is right for checkpoints and the hint. Neither form
ever shows half a file.
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
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from catalog.discovery.other_tables import NO_OTHER_TABLES, OtherTables
from catalog.rest.credentials import options_for
from catalog.store.conditional_put import open_file_system
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
    ensure_scheme_writable,
    output_local,
    put_file_fsspec,
    put_fsspec,
    put_local,
    replace_local,
)

LOG_FOLDER = "_delta_log"
"""The folder whose files make versions of a table, in the formats that there are: listed with every statement, removed
before all others.
"""

METADATA_FOLDER = "metadata"
"""The folder of Iceberg's metadata, which makes versions of a table as a log does; removed before others too."""

VERSION_FOLDERS = (LOG_FOLDER, METADATA_FOLDER)

REMOVED_PREFIX = ".removed-"
"""Of the name that a table's folder has while it is removed, before a token: no listing shows it."""

UNLISTED_MARK = ".unlisted"
"""A file in a table's folder, for which the catalog lists the table only if it has a record of it."""

_DELETES_AT_ONCE = 16

_REMOVALS_MAX = 10
"""How often removing a folder is tried while others put files into it."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    name: str
    """Without its directory."""
    size: int
    """Bytes."""
    modified_ms: int
    """Milliseconds since the epoch; some storages tell whole seconds of one file and parts of them in a listing."""

    def may_be(self, other: FileStatus | None) -> bool:
        """Whether both can be told of the same file in the same state."""
        if other is None or (self.name, self.size) != (other.name, other.size):
            return False
        times = (self.modified_ms, other.modified_ms)
        if any(time % 1000 == 0 for time in times):
            return times[0] // 1000 == times[1] // 1000
        return times[0] == times[1]


@dataclass(frozen=True, slots=True)
class FolderListing:
    """What lies directly in a folder, symbolic links left out."""

    files: tuple[FileStatus, ...]
    folders: tuple[FileStatus, ...]
    """Of size 0; some storages know no times of folders and tell 0."""


class Storage(ABC):
    """One table's files."""

    root: str
    """The table root: an absolute local path, or a URL. Never ends in a slash."""
    HAS_FOLDERS = False  # whether a folder may be empty
    LISTS_WHOLE_FOLDERS = False  # whether the names after a start cost as much as all of a folder
    allowed_roots: tuple[str, ...] | None = None
    """Folders below which the table must be located; None: anywhere."""
    find_others: Callable[[str], OtherTables] = staticmethod(lambda root: NO_OTHER_TABLES)
    """Returns the other tables' folders that matter for this table's files; the same object until they change."""
    _confinement: Confinement | None = None

    @property
    def confinement(self) -> Confinement:
        """The decision for each path of this table's log, by the newest known state of the catalog."""
        others = self.find_others(self.root)
        known = self._confinement
        if known is None or known.others is not others:
            known = self._confinement = Confinement(self.root, self.allowed_roots, others)
        return known

    @abstractmethod
    def list_names(self, directory: str, start: str = "") -> list[str]:
        """Names of the files (not folders) in `directory` that sort at or after `start`, sorted.

        A directory that does not exist is empty: object stores know no other.
        """

    @abstractmethod
    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        """As `list_names`, with sizes and times."""

    @abstractmethod
    def list_folder(self, directory: str) -> FolderListing:
        """Files and folders of `directory`, which is empty for the table's root. One that does not exist is empty."""

    def begin_look_ups(self, directory: str) -> bool:
        """Returns whether looking for files by their names takes less than a listing. As with one, it is looked again
        at where the folder is. Raises `LogPathNotAllowed`.
        """
        return False

    @abstractmethod
    def stat(self, name: str) -> FileStatus: ...

    @abstractmethod
    def exists(self, name: str) -> bool: ...

    @abstractmethod
    def read_bytes(self, name: str) -> bytes: ...

    @abstractmethod
    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`; fewer where the file ends before."""

    @abstractmethod
    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        """The files' bytes in the order of `names`, fetched ahead where latency is worth hiding."""

    @abstractmethod
    def open_input(self, name: str) -> BinaryIO:
        """A seekable file for a Parquet reader; the caller closes it."""

    @abstractmethod
    def ensure_writable(self) -> None:
        """Raises `StorageNotWritable` where commits cannot be atomic, `LogPathNotAllowed` where they lie elsewhere."""

    @abstractmethod
    def put_if_absent(self, name: str, data: bytes, *, in_place: bool = False) -> bool:
        """Create a file; False where one of this name exists, `OSError` where the outcome is unknown.

        `in_place`: where folders are more than beginnings of names, `FileNotFoundError` if the file's is missing, and
        nothing is made. See `engine.storage.put_if_absent` for what False can also mean. Raises `StorageNotWritable`.
        """

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Create or replace a file."""

    @abstractmethod
    def open_output(self, name: str, *, replace: bool = True) -> AbstractContextManager[BinaryIO]:
        """Writes as `write`, for files that are not to be in memory: it appears when the block ends without an error.

        Without `replace`, raises `FileExistsError` for a name that exists, and `StorageNotWritable` where two such
        writers could both succeed. See `catalog.store.conditional_put` for large files.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file; one that is missing is removed already."""

    def delete_many(self, names: Sequence[str]) -> dict[str, OSError]:
        """Removes files as `delete` does, several at once. Returns why files are left, by name."""
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
        """Remove a folder that has nothing in it; False where it stays, or where folders are beginnings of names."""

    def make_folder(self, name: str) -> None:
        """Creates a folder and those above it, where folders are more than beginnings of names."""
        self.path_of(name)

    @abstractmethod
    def delete_tree(self) -> None:
        """Remove the table's folder and all that is in it; the log first, so that no half of a table is left.

        Also while others still write into it, or remove from it. On object stores the mark goes last, and a folder that
        has one again after that is a new table's, and is left alone.
        """

    def path_of(self, name: str) -> str:
        """The absolute path or URL of a name, or of a decoded path of the log. Raises `LogPathNotAllowed`."""
        return self.confinement.resolve(name)


class LocalStorage(Storage):
    """A folder of this machine."""

    HAS_FOLDERS = True
    LISTS_WHOLE_FOLDERS = True

    def __init__(self, root: str, allowed_roots: Sequence[str] | None = None) -> None:
        self.root = os.path.abspath(root)
        self.allowed_roots = None if allowed_roots is None else tuple(allowed_roots)
        self._is_log_real = False
        """Whether the log's folder was found to lie in an allowed place when it was listed last."""

    def list_names(self, directory: str, start: str = "") -> list[str]:
        folder = self.path_of(directory)
        self._ensure_real_folder(folder)
        try:
            if start:  # few names of many: an entry takes longer than its name
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
        """Raises as `list_names` for a symbolic link to a file that leads out."""
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
            except FileNotFoundError:  # cleaned up since the listing
                continue
            result.append(FileStatus(name, status.st_size, status.st_mtime_ns // 1_000_000))
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
                        size = 0 if kind is folders else found.st_size
                        kind.append(FileStatus(entry.name, size, found.st_mtime_ns // 1_000_000))
        except (FileNotFoundError, NotADirectoryError):
            return FolderListing((), ())
        return FolderListing(tuple(files), tuple(folders))

    def begin_look_ups(self, directory: str) -> bool:
        self._ensure_real_folder(self.path_of(directory))
        return True

    def stat(self, name: str) -> FileStatus:
        status = os.stat(self._real(name))
        return FileStatus(os.path.basename(name), status.st_size, status.st_mtime_ns // 1_000_000)

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
            # A reader makes room for all that it is asked for, and the length may be anybody's.
            return file.read(max(0, min(length, os.fstat(file.fileno()).st_size - offset)))

    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        return map(self.read_bytes, names)

    def open_input(self, name: str) -> BinaryIO:
        return open(self._open(name), "rb")

    def ensure_writable(self) -> None:
        """Hard links are found out about by the first put: only the file system knows whether it has them.

        Raises `LogPathNotAllowed` where the log's folder is a link, before data files are written for it.
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
        """Opens a file to read. What was opened is checked, so that nothing can be exchanged in between."""
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
        """The path of a name that is looked at, not opened."""
        path = self.path_of(name)
        self._ensure_real_folder(os.path.dirname(path), again=False)
        if os.path.islink(path):
            self.confinement.ensure_real(path)
        return path

    def _own(self, name: str) -> str:
        """The path of a name that is written or removed."""
        path = self.path_of(name)
        self.confinement.ensure_real(os.path.dirname(path), to_write=True)
        return path

    def _ensure_real_folder(self, folder: str, *, again: bool = True) -> None:
        """Raises `LogPathNotAllowed`. `again` False takes the log's folder for what it was when it was listed last."""
        is_log = folder == f"{self.root}/{LOG_FOLDER}"
        if not is_log or again or not self._is_log_real:
            self._is_log_real &= not is_log
            self.confinement.ensure_real(folder)
            self._is_log_real |= is_log


class FsspecStorage(Storage):
    """Any other scheme. Its failures are `OSError`s, as those of this machine's file systems."""

    FETCH_AHEAD = 16
    """Files that `read_many` requests at once."""

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
        itself = self.fs._strip_protocol(path)  # what a listing shows of a file, or of an object store's folder marker
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
        # fsspec's own way to many files takes brackets and stars in a table's path for patterns.
        with ThreadPoolExecutor(min(len(names), self.FETCH_AHEAD), "fetch") as threads:
            for first in range(0, len(names), 4 * self.FETCH_AHEAD):
                yield from threads.map(self.read_bytes, names[first : first + 4 * self.FETCH_AHEAD])

    @as_os_errors()
    def open_input(self, name: str) -> BinaryIO:
        return open_file(self.fs, self.path_of(name))

    def ensure_writable(self) -> None:
        ensure_scheme_writable(self.scheme)

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
        # Through a local file: schemes differ in what a failed upload stream leaves behind, a put is whole or nothing.
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
        """Around a write of a file that decides whether the table is listed; its outcome may be unknown."""
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
                if not paths or (attempt and UNLISTED_MARK in paths):  # a new table: its CREATE found the mark gone
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
    """Returns whether a file makes a folder a table, or hides it: a first version, or the mark."""
    folder, _, base = name.rpartition("/")
    if folder == LOG_FOLDER:
        return base == f"{0:020}.json"
    return base == UNLISTED_MARK or (folder == METADATA_FOLDER and base.startswith(("v1.", "00000-")))


def _remove_folder(folder: str) -> None:
    for attempt in range(1, _REMOVALS_MAX + 1):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            pass  # the folder, or something inside of it, was gone already
        except OSError:
            if attempt == _REMOVALS_MAX:
                raise
        if not os.path.lexists(folder):
            return


def open_storage(
    path: str, options: Mapping[str, Any] | None = None, allowed_roots: Sequence[str] | None = None
) -> Storage:
    """The storage of the table at `path`: a local path, `file:` URL, or any URL that fsspec knows.

    `options` are fsspec's storage options (credentials, endpoint); None: those of the server's credentials.
    `allowed_roots` are the folders below which tables must be located; None: anywhere.
    """
    path = resolve_path(os.fspath(path))
    if "://" in path:
        return FsspecStorage(path, options_for(path) if options is None else options, allowed_roots)
    return LocalStorage(path, allowed_roots)


def _status(entry: Mapping[str, Any]) -> FileStatus:
    return FileStatus(
        entry["name"].rstrip("/").rsplit("/", 1)[-1], int(entry.get("size") or 0), int(round(modified_s(entry) * 1000))
    )
