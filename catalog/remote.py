"""Folders and files of the catalog on schemes other than the local file system, through fsspec.

:mod:`catalog.conditional_put` says which schemes can be written.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from catalog.client_errors import as_os_errors
from catalog.conditional_put import CONDITIONS, open_file_system, put_if_absent
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

LISTING_KEPT_S = 5.0
"""Object stores have no modification time of a folder, so what was listed is believed for this long."""

_VERSIONS = "0"
"""The first character of the names of all versions."""

_PAGE_KEYS = 50
"""Names in one answer; a log's first ones are versions, but for checksums that were left behind."""

_PROBES_AT_ONCE = 16


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
        if self._scheme not in CONDITIONS:
            raise StoreSchemeNotSupported(self._scheme, ", ".join(("file", *sorted(CONDITIONS))))
        return put_if_absent(self._fs, self._scheme, self._full(path), data)

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


@dataclass(frozen=True, slots=True)
class _Page:
    names: tuple[str, ...]
    has_any: bool
    """Also folders."""
    is_whole: bool


class RemoteTree:
    """See :class:`catalog.files.Tree`. Thread-safe.

    A listing costs a request for the folder and up to three for each folder in it, several at once; all are kept for
    :data:`LISTING_KEPT_S`, or until this server changes something in them (`forget_listings`). `child`, `table_format`
    and `is_unlisted` always ask the store: what exists is decided by its answer.
    """

    opened: ClassVar[weakref.WeakSet[RemoteTree]] = weakref.WeakSet()
    """All of this process."""

    def __init__(
        self, root: str, options: Mapping[str, Any] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.root = root.rstrip("/")
        self._fs = _open(self.root, options)
        self._clock = clock
        self._lock = threading.Lock()
        self._listings: dict[str, _Listing] = {}
        self._changes = 0
        self.opened.add(self)

    def forget(self, location: str) -> None:
        """Drops the listings in which a folder, or one above it, is shown."""
        with self._lock:
            self._changes += 1
            self._listings = {
                folder: kept for folder, kept in self._listings.items() if not f"{location}/".startswith(f"{folder}/")
            }

    def children(self, location: str) -> tuple[Child, ...]:
        kept = self._kept(location)
        if kept is not None:
            return kept.children
        changes = self._changes
        names = sorted(_base_name(entry) for entry in _list(self._fs, location) if entry["type"] == "directory")
        children = tuple(Child(name, f"{location}/{name}") for name in names)
        with ThreadPoolExecutor(_PROBES_AT_ONCE) as pool:
            locations = [child.location for child in children]
            formats = zip(locations, pool.map(self.table_format, locations), strict=True)
            tables = {place: found for place, found in formats if found is not None}
            unlisted = _chosen(list(tables), pool.map(self._has_mark, tables))
        now = self._clock()
        with self._lock:
            fresh = {key: value for key, value in self._listings.items() if now - value.listed_s < LISTING_KEPT_S}
            if changes == self._changes:  # nothing was changed while it was listed
                fresh[location] = _Listing(now, children, tables, frozenset(unlisted))
            self._listings = fresh
        return children

    def child(self, location: str, name: str) -> Child | None:
        path = f"{location}/{name}"
        return Child(name, path) if _once("folder", path, self._is_folder) else None

    def table_format(self, location: str) -> str | None:
        return _once("format", location, self._format)

    def _format(self, location: str) -> str | None:
        if self._has_file(f"{location}/{LOG_FOLDER}", _VERSIONS, is_version):
            return DELTA
        return ICEBERG if self._has_file(f"{location}/{METADATA_FOLDER}", "", is_metadata) else None

    def listed_format(self, location: str) -> str | None:
        kept = self._kept(location.rpartition("/")[0])
        return (kept.tables.get(location) if kept is not None else None) or self.table_format(location)

    def is_unlisted(self, location: str) -> bool:
        return _once("mark", location, self._has_mark)

    def is_listed(self, location: str) -> bool:
        kept = self._kept(location.rpartition("/")[0])
        if kept is not None and location in kept.tables:
            return location not in kept.unlisted
        return not self._has_mark(location)

    def ensure_there(self) -> None:
        """Object stores have no folders, so an empty one is as good as none."""

    def _kept(self, location: str) -> _Listing | None:
        kept = self._listings.get(location)
        return kept if kept is not None and self._clock() - kept.listed_s < LISTING_KEPT_S else None

    def _has_mark(self, location: str) -> bool:
        return self._has_file(location, UNLISTED_MARK, lambda name: name == UNLISTED_MARK)

    def _is_folder(self, path: str) -> bool:
        page = self._page(f"{path}/", 1)
        return bool(self._fs.isdir(path)) if page is None else page.has_any

    def _has_file(self, folder: str, prefix: str, is_sought: Callable[[str], bool]) -> bool:
        """Returns whether a folder has a file that is sought, whose name begins with `prefix`.

        A folder that this server has no access to has none: it is no table of its own.
        """
        page = self._page(f"{folder}/{prefix}", _PAGE_KEYS)
        if page is not None and (page.is_whole or any(map(is_sought, page.names))):
            return any(map(is_sought, page.names))
        return any(is_sought(_base_name(entry)) for entry in _list(self._fs, folder) if entry["type"] == "file")

    def _page(self, path: str, count: int) -> _Page | None:
        """The first files whose paths begin with `path`, by one request; None if the store's client has no such call.

        fsspec's `exists`, `isdir` and `ls` send up to three requests for what does not exist.
        """
        scheme, _, rest = path.partition("://")
        if scheme not in ("s3", "s3a") or not hasattr(self._fs, "call_s3"):
            return None
        bucket, _, key = rest.partition("/")
        try:
            with as_os_errors():
                found = self._fs.call_s3("list_objects_v2", Bucket=bucket, Prefix=key, Delimiter="/", MaxKeys=count)
        except (FileNotFoundError, PermissionError):
            return _Page((), False, True)
        files, folders = found.get("Contents", ()), found.get("CommonPrefixes", ())
        names = tuple(each["Key"].rpartition("/")[2] for each in files)
        return _Page(names, bool(files or folders), not found.get("IsTruncated"))


T = TypeVar("T")
_look: ContextVar[dict[tuple[str, str], Any] | None] = ContextVar("look", default=None)
"""Answers of the store to a statement about folders: (kind of question, folder) -> answer."""


@contextmanager
def one_look() -> Iterator[None]:
    """Within the block, a question about a folder is sent to the store once.

    A statement asks the same of its schema and of the folders above it again and again. What it changes itself it asks
    again (`forget_listings`); what others change meanwhile is decided by conditional puts.
    """
    token = _look.set({})
    try:
        yield
    finally:
        _look.reset(token)


def look_again() -> None:
    """Forgets the answers of this block, before a statement is tried again."""
    look = _look.get()
    if look is not None:
        look.clear()


def _once(kind: str, location: str, ask: Callable[[str], T]) -> T:
    look = _look.get()
    if look is None:
        return ask(location)
    key = (kind, location)
    if key not in look:
        look[key] = ask(location)
    found: T = look[key]
    return found


def forget_listings(location: str) -> None:
    """Drops what is kept of the folders above a URL, in which this server has made or removed a table."""
    for tree in tuple(RemoteTree.opened):
        tree.forget(location)
    look = _look.get() or {}
    for key in [key for key in look if f"{location}/".startswith(f"{key[1]}/") or key[1].startswith(f"{location}/")]:
        del look[key]


def _chosen(locations: Sequence[str], answers: Iterable[bool]) -> list[str]:
    return [location for location, answer in zip(locations, answers, strict=True) if answer]


def _open(url: str, options: Mapping[str, Any] | None) -> Any:
    try:
        return open_file_system(url, options_for(url) if options is None else options)
    except (ImportError, ValueError) as error:
        raise StorageNotAvailable(url, str(error)) from error


def _list(fs: Any, folder: str) -> list[dict[str, Any]]:
    """The entries of a folder; none if it does not exist or may not be read."""
    try:
        with as_os_errors():
            return list(fs.ls(folder, detail=True))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _base_name(entry: Mapping[str, Any]) -> str:
    return str(entry["name"]).rstrip("/").rpartition("/")[2]
