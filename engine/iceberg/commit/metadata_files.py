"""Finds the newest metadata file for a table in a folder.

A file-system table has `metadata/v<N>.metadata.json`, each created once, and a hint with a version that some writer
committed. From the hint on, the next versions are probed one by one, so that finding the newest costs no listing. If a
listing can start at the versions and returns them in one response, it is cheaper than probing each spelling. If the
hint is missing or invalid, the folder is listed. The hint may also be a file name without its ending.

Metastore tables have files called `<number>-<uuid>.metadata.json`. Only the metastore has the committed one. If a
single file has the highest number, it is used; otherwise the table must be registered by its metadata file.

Source: Iceberg table specification, "File System Tables", "Metastore Tables".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from catalog.conditions import AmbiguousIcebergMetadata, IcebergFileNotFound, IcebergTableNotFound
from engine.storage.storage import METADATA_FOLDER, FileStatus, Storage

METADATA_SUFFIX = ".metadata.json"
HINT = f"{METADATA_FOLDER}/version-hint.text"
_PLAIN, _COMPRESSED = "v{}.metadata.json", "v{}.gz.metadata.json"
# Java wrote `.metadata.json.gz` in early releases and still reads it.
_SPELLINGS = (_PLAIN, _COMPRESSED, "v{}.metadata.json.gz")
_VERSIONED = re.compile(r"v(\d{1,18})(?:\.gz\.metadata\.json|\.metadata\.json(?:\.gz)?)")
_METASTORE = re.compile(r"(\d{1,18})-.*(?:\.gz)?\.metadata\.json(?:\.gz)?")
_ANY = re.compile(r".*\.metadata\.json(?:\.gz)?")
_HINT_BYTES_MAX = 1000
# Up to this many versions fit surely into one list response; object stores return at least 1000 names.
_LISTED_MAX = 500


def is_metadata_file(location: str) -> bool:
    """Returns True if the location is a metadata file rather than a table's folder."""
    return _ANY.fullmatch(location.rpartition("/")[2]) is not None


def folder_of(location: str) -> str:
    """Returns the table's folder for a metadata file's location."""
    folder = location.rpartition("/")[0]
    return folder.removesuffix(f"/{METADATA_FOLDER}")


def newest_metadata(storage: Storage) -> str:
    """Returns the newest metadata file's name, relative to the table's folder.

    Raises `IcebergTableNotFound`, `AmbiguousIcebergMetadata`.
    """
    return _newest(storage)[0]


def _newest(storage: Storage) -> tuple[str, FileStatus | None]:
    """Returns the newest metadata file, with its status if known."""
    hint = _hint(storage)
    if hint is not None and hint.isdecimal():
        # Listed from "v" rather than from the hint's version: versions are not padded, so
        # `v10` sorts before `v9`.
        listed = _versions_from(storage, "v", int(hint))
        # A hint to a file that is gone is stale or belongs to a former table; then the
        # folder decides.
        found = _find(storage, int(hint), listed)
        if found is not None:
            name = _last(storage, int(hint), found, listed)
            return name, None if listed is None else listed[name]
        return _latest_without_hint(storage)
    if hint is not None:
        # PyIceberg and DuckDB write or accept hints with a file name instead of a number.
        for name in (f"{hint}{METADATA_SUFFIX}", f"v{hint}{METADATA_SUFFIX}", hint):
            if _ANY.fullmatch(name) and "/" not in name and storage.exists(f"{METADATA_FOLDER}/{name}"):
                return f"{METADATA_FOLDER}/{name}", None
    return _latest_without_hint(storage)


def _latest_without_hint(storage: Storage) -> tuple[str, None]:
    return f"{METADATA_FOLDER}/{_latest_listed_name(storage)}", None


Loaded = TypeVar("Loaded")
_LOOKS_MAX = 10


def load_newest(storage: Storage, load: Callable[[str, FileStatus | None], Loaded]) -> Loaded:
    """Returns the result that `load` has for the newest file and its status (None if unknown). Later commits may remove
    the file during the read; the search is then repeated.

    Raises like `newest_metadata`, `IcebergFileNotFound`, and the errors that `load` raises.
    """
    name, status = _newest(storage)
    for _ in range(_LOOKS_MAX):
        try:
            return load(name, status)
        except (FileNotFoundError, NotADirectoryError) as error:
            before, (name, status) = name, _newest(storage)
            # The same name twice: the file does not exist, and no later commit replaced it.
            if name == before:
                raise IcebergFileNotFound(storage.root, name) from error
    return load(name, status)


def version_of(name: str) -> int | None:
    """Returns the version that a file-system table's metadata file has; None for any other name."""
    match = _VERSIONED.fullmatch(name.removeprefix(f"{METADATA_FOLDER}/"))
    return int(match[1]) if match else None


def metadata_times(storage: Storage) -> list[int]:
    """Returns the times at which the table's versions were written, in ms since the epoch."""
    return [file.modified_ms for file in storage.list_files(METADATA_FOLDER) if version_of(file.name) is not None]


def name_of(version: int, *, compressed: bool) -> str:
    """Returns a version's file name, relative to the table's folder."""
    return f"{METADATA_FOLDER}/{(_COMPRESSED if compressed else _PLAIN).format(version)}"


def _hint(storage: Storage) -> str | None:
    try:
        # Bounded, since anything can be in the file; many tools append a line break.
        return storage.read_range(HINT, 0, _HINT_BYTES_MAX).decode("utf-8", "replace").strip() or None
    except FileNotFoundError:
        return None


def find_neighbors(storage: Storage, name: str, version: int) -> tuple[FileStatus | None, str | None]:
    """Returns the status of a version's file, None if it is absent, and the file of the next version, if any.

    One listing has both, if the storage can start it at the versions.
    """
    listed = list_versions(storage, version)
    if listed is not None:
        return listed.get(name), _find(storage, version + 1, listed)
    return find_status(storage, name), find_version(storage, version + 1)


def list_versions(storage: Storage, newest: int) -> Mapping[str, FileStatus] | None:
    """Returns the files of all versions up to about `newest`, by name; None if that takes more than one request."""
    return _versions_from(storage, "v", newest)


def find_status(storage: Storage, name: str) -> FileStatus | None:
    """Returns a file's status; None if the file is absent."""
    try:
        return storage.stat(name)
    except FileNotFoundError:
        return None


def find_version(storage: Storage, version: int) -> str | None:
    """Returns the file that holds a version, in any spelling."""
    return _find(storage, version, _versions_from(storage, f"v{version}.", version))


def _find(storage: Storage, version: int, listed: Mapping[str, FileStatus] | None) -> str | None:
    names = (f"{METADATA_FOLDER}/{spelling.format(version)}" for spelling in _SPELLINGS)
    return next((name for name in names if (storage.exists(name) if listed is None else name in listed)), None)


def _versions_from(storage: Storage, start: str, newest: int) -> Mapping[str, FileStatus] | None:
    """Returns the metadata files from a name on, by name.

    Returns None if the storage cannot start a listing there, or if about `newest` versions exist and more may follow
    than one response has.
    """
    if storage.LISTS_WHOLE_FOLDERS or newest > _LISTED_MAX:
        return None
    return {f"{METADATA_FOLDER}/{status.name}": status for status in storage.list_files(METADATA_FOLDER, start)}


def _last(storage: Storage, version: int, found: str, listed: Mapping[str, FileStatus] | None) -> str:
    # Commits are contiguous: the first missing version ends the search. Its cost grows with
    # the staleness of the hint.
    while (after := _find(storage, version + 1, listed)) is not None:
        version, found = version + 1, after
    return found


def _latest_listed_name(storage: Storage) -> str:
    names = storage.list_names(METADATA_FOLDER)
    for pattern in (_VERSIONED, _METASTORE):
        by_number = [(int(match[1]), name) for name in names if (match := pattern.fullmatch(name))]
        if by_number:
            highest = max(number for number, _ in by_number)
            return _only(storage, [name for number, name in by_number if number == highest])
    others = [name for name in names if _ANY.fullmatch(name)]
    if not others:
        raise IcebergTableNotFound(storage.root)
    return _only(storage, others)


def _only(storage: Storage, names: list[str]) -> str:
    if len(names) > 1:
        # Two files with one number are two attempts of a metastore table. Only the
        # metastore has the committed one, so a guess might read data that was never
        # committed.
        raise AmbiguousIcebergMetadata(storage.root, ", ".join(sorted(names)[:5]))
    return names[0]
