"""The catalog's door to fsspec: folders on schemes other than this machine's own file system.

fsspec has `mode="create"` for put-if-absent, but what it does is up to each file system: on some it is a check followed
by a write, which two writers can both pass. Only the schemes below are known to do it in one step on the server (or, in
memory, under our lock); on all others a catalog may be read but not written. They are:

==================  ============================================
`s3`, `s3a`         `If-None-Match: *` (s3fs, from 2024.10)
`gs`, `gcs`         `ifGenerationMatch=0` (gcsfs)
`abfs`, `az`        `If-None-Match: *` (adlfs)
`memory`            this process only; for tests
==================  ============================================
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import fsspec

from catalog.client_errors import as_os_errors
from catalog.credentials import options_for
from catalog.errors import StorageNotAvailable, StoreSchemeNotSupported
from catalog.files import (
    LOG_FOLDER,
    METADATA_FOLDER,
    UNLISTED_MARK,
    Child,
    Files,
    LocalFiles,
    LocalTree,
    Tree,
    is_metadata,
    is_version,
)
from catalog.names import DELTA, ICEBERG
from catalog.roots import configured_location, is_local

ATOMIC_CREATE_SCHEMES = ("abfs", "abfss", "az", "gcs", "gs", "memory", "s3", "s3a")
LISTING_KEPT_S = 5.0
"""Object stores have no modification time of a folder, so what was listed is believed for this long."""

_FIRST_VERSION = f"{0:020}.json"
_PROBES_AT_ONCE = 16
_memory_lock = threading.Lock()


def open_files(url: str, options: Mapping[str, Any] | None = None) -> Files:
    """The files below a local path or a URL; `options` are fsspec's for the scheme."""
    location = configured_location(url)
    return LocalFiles(location) if is_local(location) else RemoteFiles(location, options)


def open_tree(url: str, options: Mapping[str, Any] | None = None) -> Tree:
    """The folders below a local path or a URL."""
    location = configured_location(url)
    return LocalTree(location) if is_local(location) else RemoteTree(location, options)


class RemoteFiles:
    """See :class:`catalog.files.Files`."""

    def __init__(self, root: str, options: Mapping[str, Any] | None = None) -> None:
        self.root = root.rstrip("/")
        self._scheme = root.partition("://")[0]
        self._fs = _open(self.root, options)

    @as_os_errors()
    def names(self, folder: str) -> list[str]:
        return [_base_name(entry) for entry in _list(self._fs, self._full(folder)) if entry["type"] == "file"]

    @as_os_errors()
    def read(self, path: str) -> bytes:
        return bytes(self._fs.cat_file(self._full(path)))

    @as_os_errors()
    def create(self, path: str, data: bytes) -> bool:
        if self._scheme not in ATOMIC_CREATE_SCHEMES:
            raise StoreSchemeNotSupported(self._scheme, ", ".join(("file", *ATOMIC_CREATE_SCHEMES)))
        full = self._full(path)
        try:
            if self._scheme == "memory":
                with _memory_lock:
                    if self._fs.exists(full):
                        return False
                    self._fs.pipe_file(full, data)
            else:
                self._fs.pipe_file(full, data, mode="create")
        except FileExistsError:
            return False
        return True

    @as_os_errors()
    def delete(self, path: str) -> None:
        try:
            self._fs.rm_file(self._full(path))
        except FileNotFoundError:
            pass

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"


@dataclass(frozen=True, slots=True)
class _Listing:
    listed_s: float
    children: tuple[Child, ...]
    tables: Mapping[str, str]
    """The format of each."""
    unlisted: frozenset[str]


class RemoteTree:
    """See :class:`catalog.files.Tree`. Thread-safe.

    A listing costs a request for the folder and up to four for each folder in it, several at once; all are kept for
    :data:`LISTING_KEPT_S`. `child`, and `table_format` of what was no table, always ask: a new table is read at once.
    """

    def __init__(
        self, root: str, options: Mapping[str, Any] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.root = root.rstrip("/")
        self._fs = _open(self.root, options)
        self._clock = clock
        self._lock = threading.Lock()
        self._listings: dict[str, _Listing] = {}

    def children(self, location: str) -> tuple[Child, ...]:
        kept = self._kept(location)
        if kept is not None:
            return kept.children
        names = sorted(_base_name(entry) for entry in _list(self._fs, location) if entry["type"] == "directory")
        children = tuple(Child(name, f"{location}/{name}") for name in names)
        with ThreadPoolExecutor(_PROBES_AT_ONCE) as pool:
            locations = [child.location for child in children]
            formats = zip(locations, pool.map(self._format, locations), strict=True)
            tables = {place: found for place, found in formats if found is not None}
            unlisted = _chosen(list(tables), pool.map(self._has_mark, tables))
        now = self._clock()
        with self._lock:
            fresh = {key: value for key, value in self._listings.items() if now - value.listed_s < LISTING_KEPT_S}
            self._listings = {**fresh, location: _Listing(now, children, tables, frozenset(unlisted))}
        return children

    def child(self, location: str, name: str) -> Child | None:
        path = f"{location}/{name}"
        return Child(name, path) if self._is_folder(path) else None

    def table_format(self, location: str) -> str | None:
        kept = self._kept(location.rpartition("/")[0])
        return (kept.tables.get(location) if kept is not None else None) or self._format(location)

    def _format(self, location: str) -> str | None:
        if self._has_version(location):
            return DELTA
        return ICEBERG if self._has_file(f"{location}/{METADATA_FOLDER}", is_metadata) else None

    def is_unlisted(self, location: str) -> bool:
        kept = self._kept(location.rpartition("/")[0])
        return location in kept.unlisted if kept is not None and location in kept.tables else self._has_mark(location)

    def ensure_there(self) -> None:
        """Object stores have no folders, so an empty one is as good as none."""

    def _kept(self, location: str) -> _Listing | None:
        kept = self._listings.get(location)
        return kept if kept is not None and self._clock() - kept.listed_s < LISTING_KEPT_S else None

    def _has_version(self, location: str) -> bool:
        """Asks for the first version, which most logs still have, before it lists a log.

        What this server has no access to is no table of its own.
        """
        log = f"{location}/{LOG_FOLDER}"
        self._fs.invalidate_cache(log)
        try:
            with as_os_errors():
                has_first = bool(self._fs.exists(f"{log}/{_FIRST_VERSION}"))
        except PermissionError:
            return False
        return has_first or self._has_file(log, is_version)

    def _has_file(self, folder: str, is_sought: Callable[[str], bool]) -> bool:
        return any(is_sought(_base_name(entry)) for entry in _list(self._fs, folder) if entry["type"] == "file")

    def _has_mark(self, location: str) -> bool:
        self._fs.invalidate_cache(location)
        return bool(self._fs.exists(f"{location}/{UNLISTED_MARK}"))

    def _is_folder(self, path: str) -> bool:
        self._fs.invalidate_cache(path.rpartition("/")[0])
        return bool(self._fs.isdir(path))


def _chosen(locations: Sequence[str], answers: Iterable[bool]) -> list[str]:
    return [location for location, answer in zip(locations, answers, strict=True) if answer]


def _open(url: str, options: Mapping[str, Any] | None) -> Any:
    try:
        return fsspec.core.url_to_fs(url, **dict(options_for(url) if options is None else options))[0]
    except (ImportError, ValueError) as error:
        raise StorageNotAvailable(url, str(error)) from error


def _list(fs: Any, folder: str) -> list[dict[str, Any]]:
    """One listing, never one that fsspec kept from before."""
    fs.invalidate_cache(folder)
    try:
        with as_os_errors():
            return list(fs.ls(folder, detail=True))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _base_name(entry: Mapping[str, Any]) -> str:
    return str(entry["name"]).rstrip("/").rpartition("/")[2]
