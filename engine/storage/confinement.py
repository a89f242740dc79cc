"""Decides which files a table's log or metadata may name. Every path that a log names passes this check.

A log is written by other programs, and its paths (`add`, `remove`, `cdc`, sidecars, deletion vectors, manifests)
determine which files are opened. Privileges and policies apply to a table, so a log must not reach another table's
files. `Confinement.resolve` returns the absolute path or URL for a decoded path, or rejects it:

- A relative path stays below the table's root: no segment is `..`. Paths are decoded once before this check, so
`%2e%2e` is `..`, and a path that was encoded twice names a directory called `%2e%2e`.
- An absolute path is located below the table's root, or below a shallow clone's source that is recorded in the catalog
(`catalog.discovery.other_tables`). The scheme is part of the comparison. Schemes that are aliases for one store (`s3a`,
`s3`) are equal.
- No path leads into a directory that belongs to another table in the catalog, even if it is below the table's root.

Paths are compared as strings, which needs no request. The checks by file kind:

===================================  ===================================================================================
a version's files                    `Snapshot.ensure_files_allowed`, when a read is planned: `ensure_files` on whole
                                     columns, once per block of files
change data files, removed files     `ensure_files` when a change feed is made from them sidecars, vectors read by
Python     `Storage.path_of`, which every method of a `Storage` calls files and vectors read by Spark
`TableRoot.java` repeats the decision when paths become Hadoop paths symbolic and hard links              when a local
file is opened: `LocalStorage`, on executors `ConfinedFileReader` and
                                     `DeletionVector`, `InPlaceCommitProtocol` to write; planning looks up no file
===================================  ===================================================================================

A symbolic link may lead to the same directories as an absolute path. A file with several names (hard links) is rejected
if a name is outside the table's directory. Files are written only below the table's own directory. Python checks the
file that it has opened; Spark opens a path after the check, so a link that is replaced between the two steps is
followed.

Local paths are compared with all links followed. `os.path.realpath` checks each path component from Python, which for a
list with ten thousand tables is repeated several times each. Linux returns the same in three calls: it opens the path
without its content, and the opened file's name is a link in /proc.

Protocol: "Add File and Remove File" (paths), "Deletion Vector Descriptor Schema", "Sidecar Files".
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import LogPathNotAllowed, MalformedLogEntry
from catalog.discovery.other_tables import NO_OTHER_TABLES, OtherTables
from catalog.roots import SAME_STORE
from engine.storage.deletion_vectors import ABSOLUTE, RELATIVE, UUID_CHARACTERS, VECTOR_BYTES_MAX
from engine.storage.paths import paths_of
from engine.types.arrow_types import Array, RecordBatch

# Larger than any data file. Spark plans a task for every 128 MB of the recorded file size.
FILE_BYTES_MAX = 1 << 40

_OWN_LINKS_MAX = 10_000
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_LOCAL_AUTHORITIES = ("", "localhost")


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """Directories below which a scan's files may be located, for Spark, which checks each path again."""

    # In every spelling, in addition to the table's own directory.
    allowed: tuple[str, ...] = ()
    # Directories of other tables, in every spelling; they take precedence over `allowed`.
    excluded: tuple[str, ...] = ()
    accepts_hard_links: bool = False


class Confinement:
    """The decision for one table. Immutable."""

    def __init__(
        self, root: str, allowed_roots: Iterable[str] | None = None, others: OtherTables = NO_OTHER_TABLES
    ) -> None:
        """`root` is a local path or a URL. It must be located below one of `allowed_roots`; None: anywhere."""
        self.root = root
        self.others = others
        self._is_bound = allowed_roots is not None
        bounds = [_spellings(place) for place in allowed_roots or ()]
        self._real_bounds = _real_places(bounds)
        own, *sources = (_spellings(place) for place in (root, *others.sources))
        self._own_spellings = tuple(dict.fromkeys((*_aliases(own[-1], bounds), *own)))
        self._real_sources = _real_places(sources)
        excluded = tuple(_spellings(place) for place in others.excluded)
        self._real_excluded = _real_places(excluded)
        self.places = FilePlaces(
            allowed=tuple(dict.fromkeys(place for spelled in (self._own_spellings, *sources) for place in spelled)),
            excluded=tuple(dict.fromkeys(place for spelled in excluded for place in spelled)),
            accepts_hard_links=others.accepts_hard_links,
        )
        self._prefixes = tuple(place.rstrip("/") + "/" for place in self.places.allowed)
        self._excluded_prefixes = tuple(place.rstrip("/") + "/" for place in self.places.excluded)
        # Files whose names were all found in the table's directory: device, inode, names, time of the last change.
        self._own_links: set[tuple[int, int, int, int]] = set()
        self._has_inner_tables = bool(self._excluded_prefixes) or others.is_table is not None

    # --- Paths as texts ---

    def resolve(self, path: str) -> str:
        """Returns the absolute path or URL for a decoded path. Raises `LogPathNotAllowed`."""
        if not path or "\0" in path or (".." in path and ".." in path.split("/")):
            raise LogPathNotAllowed(self.root, path)
        if not path.startswith("/") and _SCHEME.match(path) is None:
            place = f"{self.root}/{path}"
            if self._has_inner_tables:
                self._ensure_outside_of_inner_tables(_usual_spelling(place), path)
            return place
        named = path
        # Hadoop resolves a path without a scheme against the table's file system, not
        # against the local one.
        if path.startswith("/") and _SCHEME.match(self.root):  # on the table's storage
            scheme, _, rest = self.root.partition("://")
            named = f"{scheme}://{rest.partition('/')[0]}{path}"
        place = _usual_spelling(named)
        if not place.startswith(self._prefixes):
            raise LogPathNotAllowed(self.root, path)
        if self._has_inner_tables:
            self._ensure_outside_of_inner_tables(place, path)
        return place if place.startswith("/") else named

    def _ensure_outside_of_inner_tables(self, place: str, path: str) -> None:
        """Raises `LogPathNotAllowed` if a path or URL leads into another table's directory."""
        scheme, separator, rest = place.rpartition("://")
        # Hadoop normalizes `//` and `.` in URLs, so another object in the store with the normalized name would be read
        # instead.
        place = f"{scheme}{separator}{posixpath.normpath(rest)}"
        is_inner = place.startswith(self._excluded_prefixes)
        is_table = self.others.is_table
        if is_table is not None and not is_inner:
            own = next((root for root in self._own_spellings if place.startswith(root.rstrip("/") + "/")), None)
            folders = [] if own is None else place[len(own.rstrip("/")) + 1 :].split("/")[:-1]
            is_inner = any(is_table("/".join((self.root, *folders[: depth + 1]))) for depth in range(len(folders)))
        if is_inner:
            raise LogPathNotAllowed(self.root, path)

    def name_below(self, path: str) -> str | None:
        """Returns the name below the table's root for a decoded path, in one spelling; None if it is outside.

        Raises `LogPathNotAllowed` for an invalid path, and for one that leads upwards.
        """
        if not path or "\0" in path or (".." in path and ".." in path.split("/")):
            raise LogPathNotAllowed(self.root, path)
        place = path
        if path.startswith("/") and _SCHEME.match(self.root):
            scheme, _, rest = self.root.partition("://")
            place = f"{scheme}://{rest.partition('/')[0]}{path}"
        elif not path.startswith("/") and _SCHEME.match(path) is None:
            return posixpath.normpath(path)
        place = _usual_spelling(place)
        for prefix in self._table_prefixes:
            if place.startswith(prefix):
                return posixpath.normpath(place[len(prefix) :])
        return None

    @cached_property
    def _table_prefixes(self) -> tuple[str, ...]:
        """Returns the prefixes for absolute paths below the table, in every spelling of its root."""
        return tuple(dict.fromkeys(f"{root.rstrip('/')}/" for root in self._own_spellings))

    def ensure_paths(self, paths: Array) -> None:
        """Applies `resolve` to a column of decoded paths; for ordinary paths one scan over all their bytes suffices."""
        looks = _Looks.ODD if self._has_inner_tables else _looks(paths)
        if looks is _Looks.PLAIN:
            return
        if looks is _Looks.ABSOLUTE:  # as in a clone, which names all its files this way
            below = pa.repeat(False, len(paths))
            for prefix in self._prefixes:
                below = pc.or_(below, pc.starts_with(paths, prefix))
            paths = paths.filter(pc.invert(below))
        for path in paths.to_pylist():
            self.resolve(path)

    def ensure_files(self, files: RecordBatch) -> None:
        """Checks location and size for rows with a path and, if they have these columns, a size and deletion vectors.

        Raises `LogPathNotAllowed`, `MalformedLogEntry`.
        """
        self.ensure_paths(files.column("path"))
        names = files.schema.names
        if "size" in names:
            # Spark allocates and schedules by the recorded size, which another writer
            # controls.
            _ensure_sizes(files.column("size"), FILE_BYTES_MAX, files.column("path"))
        for name in ("deletion_vector", "selected_rows"):
            if name in names and files.column(name).null_count < len(files):
                present = files.column(name).is_valid()
                self._ensure_vectors(files.column(name).filter(present), files.column("path").filter(present))

    def _ensure_vectors(self, vectors: Array, paths: Array) -> None:
        kinds, places = vectors.field("storage_type"), vectors.field("path_or_inline_dv")
        self.ensure_paths(paths_of(places.filter(pc.equal(kinds, ABSOLUTE))))
        named = places.filter(pc.equal(kinds, RELATIVE))
        named = named.filter(pc.greater(pc.utf8_length(named), UUID_CHARACTERS))
        for prefix in pc.unique(pc.utf8_slice_codeunits(named, 0, -UUID_CHARACTERS)).to_pylist():
            self.ensure_below_root(prefix)
        _ensure_sizes(vectors.field("size_in_bytes"), VECTOR_BYTES_MAX, paths)
        for name in ("offset", "cardinality"):
            _ensure_sizes(vectors.field(name), None, paths)

    def ensure_below_root(self, path: str) -> None:
        """Checks a path that must be relative. Raises `LogPathNotAllowed`."""
        if path.startswith("/") or _SCHEME.match(path):
            raise LogPathNotAllowed(self.root, path)
        self.resolve(path)

    # --- Links ---

    @cached_property
    def _real_root(self) -> str:
        """Returns the table's own directory. Raises `LogPathNotAllowed` if it leads out of the allowed roots itself."""
        real = self._own_spellings[-1]
        if self._is_bound and not _is_below(real, self._real_bounds):
            raise LogPathNotAllowed(self.root, self.root)
        return real

    def ensure_real(self, place: str, *, to_write: bool = False) -> None:
        """Follows a local path's links. Raises `LogPathNotAllowed`.

        `to_write`: the path must have no links below the table's own directory.
        """
        real, own = real_path(place), self._real_root
        if to_write:
            relative = os.path.relpath(place, self.root)
            if real != os.path.normpath(os.path.join(own, relative)) or not _is_below(real, (own,)):
                raise LogPathNotAllowed(self.root, place)
            return
        self._ensure_real_place(real, place)

    def ensure_opened(self, descriptor: int, place: str, *, may_be_elsewhere: bool = True) -> os.stat_result:
        """Checks the local file that was opened at `place`. Raises `LogPathNotAllowed`.

        `may_be_elsewhere` False: all directories in `place` were checked, and the file is not a link.
        """
        status = os.fstat(descriptor)
        if may_be_elsewhere:
            self._ensure_real_place(opened_path(descriptor, place), place)
        # A hard link has no path of its own that could be followed, so only the names'
        # number shows that another table may own the file.
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode) and not self.others.accepts_hard_links:
            self._ensure_own_links(status, place)
        return status

    def _ensure_real_place(self, real: str, place: str) -> None:
        own = self._real_root
        if not _is_below(real, (own, *self._real_sources)) or _is_below(real, self._real_excluded):
            raise LogPathNotAllowed(self.root, place)
        if self.others.is_table is not None and real.startswith(f"{own.rstrip('/')}/"):
            self._ensure_outside_of_inner_tables(real, place)

    def _ensure_own_links(self, status: os.stat_result, place: str) -> None:
        """Rejects a file with a name outside the table's directory: it may belong to another table.

        A commit has two names during its put (`put_local`), both in its directory, which is searched first.
        """
        # The change time includes new links: a file that got another name is examined
        # again.
        known = (status.st_dev, status.st_ino, status.st_nlink, status.st_ctime_ns)
        if known in self._own_links:
            return
        real = real_path(place)
        root = next((each for each in (self._real_root, *self._real_sources) if _is_below(real, (each,))), None)
        missing = status.st_nlink - _count_links(os.path.dirname(real), status)
        if missing > 0 and root is not None:
            missing = status.st_nlink - sum(_count_links(folder, status) for folder, _, _ in os.walk(root))
        if missing > 0 and os.stat(real).st_nlink > 1:
            raise LogPathNotAllowed(self.root, place)
        if missing <= 0 and len(self._own_links) < _OWN_LINKS_MAX:
            self._own_links.add(known)


class _Looks(Enum):
    """The cases that a path column's bytes rule out."""

    PLAIN = "relative, without dots in a row"
    ABSOLUTE = "some absolute, without dots in a row"
    ODD = "anything"


def _looks(paths: Array) -> _Looks:
    """Takes about 20 ms for a million paths; text functions would take ten times as long."""
    if not len(paths):
        return _Looks.PLAIN
    if paths.null_count:
        return _Looks.ODD
    _, offsets, data = paths.buffers()
    starts = np.frombuffer(offsets, np.int32)[paths.offset : paths.offset + len(paths) + 1]
    if (np.diff(starts) == 0).any():
        return _Looks.ODD
    text = np.frombuffer(data, np.uint8)[starts[0] : starts[-1]]
    if not text.min() or (np.diff(np.flatnonzero(text == ord("."))) == 1).any():
        return _Looks.ODD
    if (text[starts[:-1] - starts[0]] == ord("/")).any():
        return _Looks.ABSOLUTE
    has_scheme = (text == ord(":")).any() and b":/" in text.tobytes()
    return _Looks.ABSOLUTE if has_scheme else _Looks.PLAIN


def _ensure_sizes(sizes: Array, most: int | None, paths: Array) -> None:
    """Checks numbers from 0 up to `most`; None: nulls are allowed, too."""
    found = pc.min_max(sizes).as_py()
    if most is not None and sizes.null_count:
        wrong = None
    elif found["min"] is None or (found["min"] >= 0 and (most is None or found["max"] <= most)):
        return
    else:
        wrong = found["min"] if found["min"] < 0 else found["max"]
    path = paths.filter(pc.fill_null(pc.equal(sizes, wrong), wrong is None))[0].as_py()
    raise MalformedLogEntry(f"The entry of {path}", f"{wrong} is no size or place that it can have")


def _spellings(place: str) -> tuple[str, ...]:
    """Returns a root as given and, if it contains links, its real path."""
    place = _usual_spelling(place)
    return (os.path.abspath(place), real_path(place)) if "://" not in place else (place,)


def _usual_spelling(place: str) -> str:
    """Returns a local path unchanged, or a URL with its scheme's usual name; normalizes only safe differences."""
    match = _SCHEME.match(place)
    if match is None:
        return posixpath.normpath("/" + place.lstrip("/")) if place.startswith("/") else place
    scheme, rest = match[1].lower(), place[match.end() :]
    if scheme == "file":
        authority, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest.lstrip("/"))
        local = authority in _LOCAL_AUTHORITIES
        return posixpath.normpath("/" + path.lstrip("/")) if local else f"file://{authority}{slash}{path}"
    return f"{SAME_STORE.get(scheme, scheme)}:{rest}"


def _aliases(real: str, bounds: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yields a table's directory under the roots that are links, for example the lake's configured directory."""
    for spelled, *rest in bounds:
        if rest and spelled != rest[-1] and _is_below(real, rest):
            yield f"{spelled}{real[len(rest[-1]) :]}"


def _real_places(spellings: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the local directories among the roots, with links resolved."""
    return tuple(spelled[-1] for spelled in spellings if "://" not in spelled[-1])


def _count_links(folder: str, status: os.stat_result) -> int:
    """Returns how many names in a directory refer to the file with this status."""
    try:
        with os.scandir(folder) as entries:
            same = [entry for entry in entries if entry.inode() == status.st_ino and not entry.is_symlink()]
        return sum(entry.stat(follow_symlinks=False).st_dev == status.st_dev for entry in same)
    except FileNotFoundError:
        return 0


def _is_below(real: str, roots: Iterable[str]) -> bool:
    return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)


_OWN_FILES = "/proc/self/fd"
# The kernel appends this to a deleted file's name; a name may also end like this.
_REMOVED = " (deleted)"


def real_path(path: str) -> str:
    """Returns the same as `os.path.realpath`: a missing component, and everything after it, stays as written."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (AttributeError, OSError):  # another system; a missing file, or a link cycle
        return os.path.realpath(path)
    try:
        return opened_path(descriptor, path)
    finally:
        os.close(descriptor)


def opened_path(descriptor: int, path: str) -> str:
    """Returns the path, without links, of the file that was opened at `path`."""
    try:
        found = os.readlink(f"{_OWN_FILES}/{descriptor}")
    except OSError:  # a system without /proc
        return os.path.realpath(path)
    return found if found.startswith("/") and not found.endswith(_REMOVED) else os.path.realpath(path)
