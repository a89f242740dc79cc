"""The catalog's folders and files on other schemes than the local file system, through fsspec.

:mod:`catalog.store.conditional_put` lists the writable schemes.
"""

from __future__ import annotations

import errno
import threading
import time
import weakref
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from catalog.conditions import StoreSchemeNotSupported
from catalog.names import DELTA, ICEBERG
from catalog.roots import configured_location, is_local
from catalog.store.conditional_put import CONDITIONS, open_file_system, put_if_absent, reason_against_puts
from catalog.store.credentials import options_for
from catalog.store.files import (
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
from catalog.store.store_requests import as_os_errors, delete_file, is_s3, list_s3, modified_s, read_file

# Object stores have no folder modification time, so a listing is valid for this long, in seconds.
LISTING_TTL_S = 5.0

# The first character in all version file names.
_VERSIONS = "0"

# Number of names per response; a log's first names are versions, except leftover checksums.
_PAGE_KEYS = 50

# Sorts after every name.
_AFTER_ALL = "\U0010ffff"

_PROBES_AT_ONCE = 16

# Number of cached folders above which outdated ones are evicted.
_FOUND_MAX = 1_000


def open_files(url: str, options: Mapping[str, Any] | None = None) -> Files:
    """Returns the files below a local path or a URL; `options` are fsspec's for the scheme."""
    location = configured_location(url)
    return LocalFiles(location) if is_local(location) else RemoteFiles(location, options)


def open_tree(url: str, options: Mapping[str, Any] | None = None) -> Tree:
    """Returns the folders below a local path or a URL."""
    location = configured_location(url)
    return LocalTree(location) if is_local(location) else RemoteTree(location, options)


class RemoteFiles:
    """An fsspec implementation of :class:`catalog.store.files.Files`."""

    lists_freely = False

    def __init__(self, root: str, options: Mapping[str, Any] | None = None) -> None:
        self.root = root.rstrip("/")
        self._scheme = root.partition("://")[0]
        self._fs = _open(self.root, options)

    @as_os_errors()
    def names(self, folder: str) -> list[str]:
        return [_base_name(entry) for entry in _list(self._fs, self._full(folder), "file")]

    @as_os_errors()
    def times_s(self, folder: str) -> dict[str, float]:
        return {_base_name(entry): modified_s(entry) for entry in _list(self._fs, self._full(folder), "file")}

    @as_os_errors()
    def read(self, path: str) -> bytes:
        return read_file(self._fs, self._full(path))

    @as_os_errors()
    def create(self, path: str, data: bytes) -> bool:
        if self._scheme not in CONDITIONS:
            raise StoreSchemeNotSupported(self._scheme, ", ".join(("file", *sorted(CONDITIONS))))
        if (reason := reason_against_puts(self.root)) is not None:
            raise OSError(errno.EROFS, reason)
        return put_if_absent(self._fs, self._scheme, self._full(path), data)

    @as_os_errors()
    def delete(self, path: str) -> None:
        delete_file(self._fs, self._full(path))

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"


@dataclass(frozen=True, slots=True)
class _Listing:
    listed_s: float
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class _FoundFolder:
    """A folder as a table list found it."""

    seen_s: float
    format: str | None
    has_mark: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """The first files and folders whose names share a prefix, sorted."""

    files: frozenset[str]
    folders: frozenset[str]
    # The last name, folders with a slash; None if the page is complete.
    last: str | None

    def has_folder(self, name: str) -> bool | None:
        """Returns None if the page does not show it."""
        if name in self.folders:
            return True
        return False if self.last is None or f"{name}/" <= self.last else None


_NOTHING = _Page(frozenset(), frozenset(), None)


class RemoteTree:
    """An fsspec implementation of :class:`catalog.store.files.Tree`. Thread-safe.

    One request reads a folder's names, up to the page size. A statement that looks up a table lists its parent folders
    once (`look_once`): that shows which tables do not exist, and if the table's own folder exists. A table list costs a
    request for its folder and one for each child folder, several concurrently; tables are cached for
    :data:`LISTING_TTL_S`, or until this server changes something there (`forget_listings`). `child`, `table_format`
    and `is_unlisted` use nothing older than the statement: the store's response decides if a table exists.
    """

    # All instances in this process.
    opened: ClassVar[weakref.WeakSet[RemoteTree]] = weakref.WeakSet()

    def __init__(
        self, root: str, options: Mapping[str, Any] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.root = root.rstrip("/")
        self._fs = _open(self.root, options)
        self._clock = clock
        self._lock = threading.Lock()
        self._listings: dict[str, _Listing] = {}
        self._found: dict[str, _FoundFolder] = {}
        self._changes = 0
        self.opened.add(self)

    def forget(self, location: str) -> None:
        """Drops the listings that show a folder or one of its parents, and the cached results at and below it."""
        with self._lock:
            self._changes += 1
            self._listings = {
                folder: cached
                for folder, cached in self._listings.items()
                if not f"{location}/".startswith(f"{folder}/")
            }
            self._found = {
                folder: cached for folder, cached in self._found.items() if not f"{folder}/".startswith(f"{location}/")
            }

    def children(self, location: str) -> tuple[Child, ...]:
        cached = self._listings.get(location)
        if cached is None or self._clock() - cached.listed_s >= LISTING_TTL_S:
            changes, page = self._changes, self._page_of(location)
            is_whole = page.last is None
            names = page.folders if is_whole else (_base_name(each) for each in _list(self._fs, location, "directory"))
            cached = _Listing(self._clock(), tuple(Child(name, f"{location}/{name}") for name in sorted(names)))
            self._keep(changes, lambda: self._listings.update({location: cached}))
        # The statement's own CREATE is visible to it even if the listing is older.
        made = _changed_in(location).difference(child.name for child in cached.children)
        return (*cached.children, *(Child(name, f"{location}/{name}") for name in sorted(made)))

    def child(self, location: str, name: str) -> Child | None:
        return Child(name, f"{location}/{name}") if self._may_exist(location, name) else None

    def table_format(self, location: str) -> str | None:
        return _once("format", location, self._format)

    def is_unlisted(self, location: str) -> bool:
        return _once("mark", location, self._has_mark)

    def look_at(self, locations: Sequence[str], above: Container[str] = ()) -> None:
        kinds = {each: "page" if each in above else "found" for each in locations}
        stale = [
            (kind, each)
            for each, kind in kinds.items()
            if _cached_answer(kind, each) is None and (kind == "page" or self._cached_entry(each) is None)
        ]
        if not stale:
            return
        ask = {"page": self._page_of, "found": self._look_at}
        with ThreadPoolExecutor(_PROBES_AT_ONCE) as pool:
            answers = pool.map(lambda each: ask[each[0]](each[1]), stale)
            for (kind, location), answer in zip(stale, answers, strict=True):
                _once(kind, location, lambda _, answer=answer: answer)  # type: ignore[misc]

    def listed_format(self, location: str) -> str | None:
        return self._listed_folder(location).format

    def is_listed(self, location: str) -> bool:
        return not self._listed_folder(location).has_mark

    def _listed_folder(self, location: str) -> _FoundFolder:
        return self._cached_entry(location) or _once("found", location, self._look_at)

    def ensure_there(self) -> None:
        """Does nothing: object stores have no folders, so an empty one counts as existing."""

    def _cached_entry(self, location: str) -> _FoundFolder | None:
        cached = self._found.get(location)
        return cached if cached is not None and self._clock() - cached.seen_s < LISTING_TTL_S else None

    def _keep(self, changes: int, keep: Callable[[], None]) -> None:
        """Caches a result unless this server has made further changes since `changes`, and drops outdated ones."""
        now = self._clock()
        with self._lock:
            if changes != self._changes:  # something changed during the request
                return
            if len(self._found) > _FOUND_MAX:
                self._found = {key: each for key, each in self._found.items() if now - each.seen_s < LISTING_TTL_S}
                self._listings = {
                    key: each for key, each in self._listings.items() if now - each.listed_s < LISTING_TTL_S
                }
            keep()

    def _look_at(self, location: str) -> _FoundFolder:
        """Reads a table's format and its marker from its first files: in most tables the log is among them."""
        changes = self._changes
        page = self._page(f"{location}/", _PAGE_KEYS, recursive=True)
        if page is None:
            found = _FoundFolder(self._clock(), self._format(location), self._has_mark(location))
        else:
            files = [name.partition("/") for name in page.files]
            # `_delta_log` sorts before most data files, so that one page usually decides.
            # Leftover checksums alone make no table.
            is_delta = any(folder == LOG_FOLDER and is_version(name) for folder, _, name in files)
            is_iceberg = any(folder == METADATA_FOLDER and is_metadata(name) for folder, _, name in files)
            end = page.last or _AFTER_ALL
            if not is_delta and end < f"{LOG_FOLDER}/{_AFTER_ALL}":
                is_delta = self._has_version(location)
            if not is_delta and not is_iceberg and end < f"{METADATA_FOLDER}/{_AFTER_ALL}":
                is_iceberg = self._has_metadata(location)
            has_mark = UNLISTED_MARK in page.files or (end < UNLISTED_MARK and self._has_mark(location))
            found = _FoundFolder(self._clock(), DELTA if is_delta else ICEBERG if is_iceberg else None, has_mark)
        if found.format is not None:  # a folder that is not a table may become one at any moment
            self._keep(changes, lambda: self._found.update({location: found}))
        return found

    def _may_exist(self, location: str, name: str) -> bool:
        """Returns True if a folder may exist; always True for one that this statement has changed something in."""
        if name in _changed_in(location):
            return True
        is_there = self._page_of(location).has_folder(name)
        return _once("folder", f"{location}/{name}", self._is_folder) if is_there is None else is_there

    def _page_of(self, location: str) -> _Page:
        """Returns the first names in a folder. If the parent's page lacks the folder, it is empty without a request."""
        above, _, name = location.rpartition("/")
        page = _cached_answer("page", above)
        # Names are sorted: a page that reaches past the name without it proves that no such
        # folder exists.
        is_missing = page is not None and name not in _changed_in(above) and page.has_folder(name) is False
        return _once("page", location, (lambda _: _NOTHING) if is_missing else self._first_page)

    def _first_page(self, location: str) -> _Page:
        page = self._page(f"{location}/", None)
        if page is not None:
            return page
        entries = _list(self._fs, location)
        kinds = {
            kind: frozenset(_base_name(entry) for entry in entries if entry["type"] == kind)
            for kind in ("file", "directory")
        }
        return _Page(kinds["file"], kinds["directory"], None)

    def _format(self, location: str) -> str | None:
        page = self._page_of(location)
        if page.has_folder(LOG_FOLDER) is not False and self._has_version(location):
            return DELTA
        return ICEBERG if page.has_folder(METADATA_FOLDER) is not False and self._has_metadata(location) else None

    def _has_version(self, location: str) -> bool:
        return self._has_file(f"{location}/{LOG_FOLDER}", _VERSIONS, is_version)

    def _has_metadata(self, location: str) -> bool:
        return self._has_file(f"{location}/{METADATA_FOLDER}", "", is_metadata)

    def _has_mark(self, location: str) -> bool:
        page = self._page_of(location)
        if UNLISTED_MARK in page.files or page.last is None or UNLISTED_MARK <= page.last:
            return UNLISTED_MARK in page.files
        return self._has_file(location, UNLISTED_MARK, lambda name: name == UNLISTED_MARK)

    def _is_folder(self, path: str) -> bool:
        page = self._page(f"{path}/", 1)
        return bool(self._fs.isdir(path)) if page is None else bool(page.files or page.folders)

    def _has_file(self, folder: str, prefix: str, is_sought: Callable[[str], bool]) -> bool:
        """Returns True if a folder has a file that `is_sought` accepts and whose name begins with `prefix`.

        A folder without access for this server has none: it does not count as a table.
        """
        page = self._page(f"{folder}/{prefix}", _PAGE_KEYS)
        if page is not None and (page.last is None or any(map(is_sought, page.files))):
            return any(map(is_sought, page.files))
        return any(is_sought(_base_name(entry)) for entry in _list(self._fs, folder, "file"))

    def _page(self, path: str, count: int | None, *, recursive: bool = False) -> _Page | None:
        """Returns the first names that begin with `path`, by one request; None if the store's client has no such call.

        Names omit everything before the last slash in `path`. `count` None: as many as one response contains.
        `recursive`: files in subfolders too, by path, and no folders.
        """
        scheme, _, rest = path.partition("://")
        if scheme not in ("s3", "s3a") or not is_s3(self._fs):
            return None
        bucket, _, key = rest.partition("/")
        more = {**({} if recursive else {"Delimiter": "/"}), **({} if count is None else {"MaxKeys": count})}
        try:
            with as_os_errors():
                found = self._fs.call_s3("list_objects_v2", Bucket=bucket, Prefix=key, **more)
        except (FileNotFoundError, PermissionError):
            return _NOTHING
        start = key.rfind("/") + 1
        files = [each["Key"][start:] for each in found.get("Contents", ())]
        folders = [each["Prefix"][start:] for each in found.get("CommonPrefixes", ())]
        last = max((*files, *folders), default=None) if found.get("IsTruncated") else None
        return _Page(frozenset(files), frozenset(name.rstrip("/") for name in folders), last)


T = TypeVar("T")


@dataclass(slots=True)
class _Look:
    """The store's responses about folders for one statement, with the statement's own changes since."""

    # Maps (request kind, folder) to the response.
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)


_look: ContextVar[_Look | None] = ContextVar("look", default=None)


@contextmanager
def look_once() -> Iterator[None]:
    """Sends each request about a folder to the store only once within the block.

    A statement looks up its schema and the folders above it repeatedly. Folders that it changes itself are requested
    again (`forget_listings`); conditional puts detect concurrent changes.
    """
    token = _look.set(_Look())
    try:
        yield
    finally:
        _look.reset(token)


def look_again() -> None:
    """Discards the block's responses, before a statement is retried."""
    look = _look.get()
    if look is not None:
        look.answers.clear()
        look.changed.clear()


def _once(kind: str, location: str, ask: Callable[[str], T]) -> T:
    look = _look.get()
    if look is None:
        return ask(location)
    key = (kind, location)
    if key not in look.answers:
        look.answers[key] = ask(location)
    found: T = look.answers[key]
    return found


def _cached_answer(kind: str, location: str) -> Any:
    """Returns the statement's cached response; None if there is none."""
    look = _look.get()
    return None if look is None else look.answers.get((kind, location))


def _changed_in(location: str) -> set[str]:
    """Returns the names in a folder in which this statement has changed something, existing or not."""
    look = _look.get()
    below = f"{location}/"
    changed = () if look is None else look.changed
    return {each.removeprefix(below).partition("/")[0] for each in changed if each.startswith(below)}


def forget_listings(location: str) -> None:
    """Drops the cached results for a URL and its parents, after this server has created or removed a table there.

    The parents' own formats stay cached, because they do not change by that.
    """
    for tree in tuple(RemoteTree.opened):
        tree.forget(location)
    look = _look.get()
    if look is not None:
        look.changed.add(location)
        for key in [key for key in look.answers if f"{key[1]}/".startswith(f"{location}/")]:
            del look.answers[key]


def _open(url: str, options: Mapping[str, Any] | None) -> Any:
    return open_file_system(url, options_for(url) if options is None else options)


def _list(fs: Any, folder: str, kind: str | None = None) -> list[dict[str, Any]]:
    """Returns a folder's entries with one of fsspec's kinds; empty if it does not exist or may not be read."""
    try:
        with as_os_errors():
            found = list_s3(fs, folder) if is_s3(fs) else fs.ls(folder, detail=True)
            return [entry for entry in found if kind in (None, entry["type"])]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _base_name(entry: Mapping[str, Any]) -> str:
    return str(entry["name"]).rstrip("/").rpartition("/")[2]
