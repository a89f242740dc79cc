"""Finds orphan files: files in a table's folder that no metadata references.

A writer creates files first and references them by its commit, possibly much later. So only files older than a given
time count. References are compared by the name relative to the table's folder. A path with another scheme or host in
the metadata may be the same file: the caller must decide.

Skipped are names that begin with `_` or `.`, as in Spark, folders that are tables themselves, symbolic links, and files
outside the table's folder.

`remove_files` removes files in batches; a failed removal does not stop the others.

Source: Iceberg Spark runtime, "remove_orphan_files".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from engine.iceberg.commit.metadata_files import HINT
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.maintenance.reachable_files import TableFiles
from engine.storage.paths import resolve_path
from engine.storage.storage import LOG_FOLDER, METADATA_FOLDER, FolderListing, Storage

_FILES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The removal's result. `failed` has names; `reason` is the first failure's reason."""

    names: tuple[str, ...]
    failed: tuple[str, ...]
    reason: str


def remove_files(storage: Storage, groups: Iterable[Sequence[str]], check: Callable[[], None]) -> Removed:
    """Removes files, one group after another. `check` is called between batches, and stops the removal by raising."""
    done: list[str] = []
    failures: dict[str, OSError] = {}
    for names in groups:
        for start in range(0, len(names), _FILES_AT_ONCE):
            check()
            some = names[start : start + _FILES_AT_ONCE]
            failures |= storage.delete_many(some)
            done += (name for name in some if name not in failures)
    reason = next((str(error) for error in failures.values()), "")
    return Removed(names=tuple(done), failed=tuple(failures), reason=reason)


_THREADS = 16
_FOLDERS_AT_ONCE = 1000
_S3 = MappingProxyType({"s3a": "s3", "s3n": "s3"})


class PrefixMismatch(StrEnum):
    """The action for a file that metadata references with another scheme or host."""

    ERROR = "ERROR"
    IGNORE = "IGNORE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """Equivalent schemes and authorities, as pairs with equal meaning."""

    mode: PrefixMismatch
    schemes: Mapping[str, str]
    authorities: Mapping[str, str]

    def of(self, path: str) -> tuple[str, str]:
        """Returns a path's normalized scheme and host; a path without scheme is a local file."""
        scheme, authority, _ = _parts(path)
        return {**_S3, **_split(self.schemes)}.get(scheme, scheme), _split(self.authorities).get(authority, authority)


def _parts(path: str) -> tuple[str, str, str]:
    """Returns scheme, host and the remaining path."""
    scheme, mark, rest = resolve_path(path).partition("://")
    if not mark:
        return "file", "", scheme
    authority, slash, name = rest.partition("/")
    return scheme, authority, slash + name


def _split(pairs: Mapping[str, str]) -> dict[str, str]:
    """Expands keys with lists, like `s3a,s3n`."""
    return {each.strip(): value for key, value in pairs.items() for each in key.split(",")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """Orphan files: `names` in the table's folder; `doubtful` is one that metadata references with another prefix, with
    that path.
    """

    names: tuple[str, ...]
    doubtful: tuple[str, str] | None = None


def find_orphans(
    files: TableFiles,
    loaded: LoadedMetadata,
    below: str,
    older_than_ms: int,
    prefixes: Prefixes,
    check: Callable[[], None],
) -> Orphans:
    """Finds orphans in the folder `below` (relative to the table's folder; '' is the folder itself). Raises reading
    errors.
    """
    storage = files.snapshot.storage
    old = [name for name, modified_ms in _list_files(storage, below, check) if modified_ms < older_than_ms]
    named = set(_referenced_paths(files, loaded))
    own = {name for text in named if (name := files.name_of(text)) is not None}
    strangers = [name for name in old if name not in own]
    if not strangers:
        return Orphans(names=())
    by_path = {_parts(text)[-1]: text for text in named}
    root = storage.root
    found: list[str] = []
    for name in strangers:
        place = storage.path_of(name)
        text = by_path.get(_parts(place)[-1])
        if text is not None and prefixes.of(text) == prefixes.of(root):
            continue
        # The same key in another bucket or scheme may be the same file (s3 and s3a) or a
        # different one; deleting on a guess would lose data.
        if text is not None and prefixes.mode is PrefixMismatch.ERROR:
            return Orphans(names=(), doubtful=(place, text))
        if text is None or prefixes.mode is PrefixMismatch.DELETE:
            found.append(name)
    return Orphans(names=tuple(sorted(found)))


def _referenced_paths(files: TableFiles, loaded: LoadedMetadata) -> Iterator[str]:
    """Yields all paths that the metadata references, in its spelling, and files that exist without a reference."""
    metadata = loaded.metadata
    location = metadata.location
    # The newest metadata file is in no metadata log: the log has the versions before it.
    yield from (f"{location}/{HINT}", f"{location}/{loaded.name}")
    yield from (each.file for each in metadata.metadata_log)
    for key in ("statistics", "partition-statistics"):
        yield from (each["statistics-path"] for each in loaded.json.get(key) or () if "statistics-path" in each)
    snapshots = metadata.snapshots.values()
    manifests = files.manifests(snapshots)
    yield from files.lists(snapshots)
    yield from manifests
    yield from (path for _, path in files.contents(manifests.values()))


def _list_files(storage: Storage, below: str, check: Callable[[], None]) -> Iterator[tuple[str, int]]:
    """Yields names and times (milliseconds since the epoch) for all files below a folder."""
    level = [below]
    with ThreadPoolExecutor(_THREADS, "list") as threads:
        while level:
            deeper: list[str] = []
            for start in range(0, len(level), _FOLDERS_AT_ONCE):
                check()
                some = level[start : start + _FOLDERS_AT_ONCE]
                for folder, listing in zip(some, threads.map(storage.list_folder, some), strict=True):
                    if folder and _is_table(storage, folder, listing):
                        continue
                    prefix = f"{folder}/" if folder else ""
                    yield from (
                        (f"{prefix}{each.name}", each.modified_ms) for each in listing.files if _is_visible(each.name)
                    )
                    deeper += (f"{prefix}{each.name}" for each in listing.folders if _is_visible(each.name))
            level = deeper


def _is_visible(name: str) -> bool:
    return not name.startswith((".", "_"))


def _is_table(storage: Storage, folder: str, listing: FolderListing) -> bool:
    names = {each.name for each in listing.folders}
    if LOG_FOLDER in names:
        return True
    if METADATA_FOLDER not in names:
        return False
    inner = storage.list_folder(f"{folder}/{METADATA_FOLDER}")
    return any(".metadata.json" in each.name for each in inner.files)
