"""Which metadata file is the newest version of a table in a folder.

A file-system table has `metadata/v<N>.metadata.json`, each put there once, and a hint at the last one that a writer
knew: from there on the next versions are asked for one by one, so finding the newest costs no listing. Where a listing
can begin at the versions and has them in one answer, it costs less than asking for each spelling of each version. Where
the hint is missing or leads nowhere, the folder is listed. The hint may also be the name of a file without its ending.

The files of a metastore's tables are called `<number>-<uuid>.metadata.json`. Which of them was committed only the
metastore knows; the one with the highest number is taken where there is only one, and otherwise the table has to be
registered by its file.

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
_SPELLINGS = (_PLAIN, _COMPRESSED, "v{}.metadata.json.gz")
_VERSIONED = re.compile(r"v(\d{1,18})(?:\.gz\.metadata\.json|\.metadata\.json(?:\.gz)?)")
_METASTORE = re.compile(r"(\d{1,18})-.*(?:\.gz)?\.metadata\.json(?:\.gz)?")
_ANY = re.compile(r".*\.metadata\.json(?:\.gz)?")
_HINT_BYTES_MAX = 1000
_LISTED_MAX = 500
"""Versions whose names are surely one answer of an object store, which has 1000 names at least."""


def is_metadata_file(location: str) -> bool:
    """Whether a location is that of a metadata file, and not of a table's folder."""
    return _ANY.fullmatch(location.rpartition("/")[2]) is not None


def folder_of(location: str) -> str:
    """The folder of the table whose metadata file is at a location."""
    folder = location.rpartition("/")[0]
    return folder.removesuffix(f"/{METADATA_FOLDER}")


def newest_metadata(storage: Storage) -> str:
    """The name of the file, relative to the table's folder.

    Raises `IcebergTableNotFound`, `AmbiguousIcebergMetadata`.
    """
    return _newest(storage)[0]


def _newest(storage: Storage) -> tuple[str, FileStatus | None]:
    """Find the newest metadata, with the file's status if that is known."""
    hint = _hint(storage)
    if hint is not None and hint.isdecimal():
        listed = _versions_from(storage, "v", int(hint))
        found = _find(storage, int(hint), listed)
        if found is not None:
            name = _last(storage, int(hint), found, listed)
            return name, None if listed is None else listed[name]
        return _any_listed(storage)
    if hint is not None:
        for name in (f"{hint}{METADATA_SUFFIX}", f"v{hint}{METADATA_SUFFIX}", hint):
            if _ANY.fullmatch(name) and "/" not in name and storage.exists(f"{METADATA_FOLDER}/{name}"):
                return f"{METADATA_FOLDER}/{name}", None
    return _any_listed(storage)


def _any_listed(storage: Storage) -> tuple[str, None]:
    return f"{METADATA_FOLDER}/{_listed(storage)}", None


Loaded = TypeVar("Loaded")
_LOOKS_MAX = 10


def load_newest(storage: Storage, load: Callable[[str, FileStatus | None], Loaded]) -> Loaded:
    """What `load` makes of the newest file, which later commits may remove while it is read, and of its status where
    that is known.

    Raises as `newest_metadata`, `IcebergFileNotFound`, and what `load` raises.
    """
    name, status = _newest(storage)
    for _ in range(_LOOKS_MAX):
        try:
            return load(name, status)
        except (FileNotFoundError, NotADirectoryError) as error:
            before, (name, status) = name, _newest(storage)
            if name == before:
                raise IcebergFileNotFound(storage.root, name) from error
    return load(name, status)


def version_of(name: str) -> int | None:
    """The version of a file-system table that a metadata file is; None for a name of another kind."""
    match = _VERSIONED.fullmatch(name.removeprefix(f"{METADATA_FOLDER}/"))
    return int(match[1]) if match else None


def metadata_times(storage: Storage) -> list[int]:
    """When the versions of a table were written, in ms since the epoch."""
    return [file.modified_ms for file in storage.list_files(METADATA_FOLDER) if version_of(file.name) is not None]


def name_of(version: int, *, compressed: bool) -> str:
    """The file of a version, relative to the table's folder."""
    return f"{METADATA_FOLDER}/{(_COMPRESSED if compressed else _PLAIN).format(version)}"


def _hint(storage: Storage) -> str | None:
    try:
        return storage.read_range(HINT, 0, _HINT_BYTES_MAX).decode("utf-8", "replace").strip() or None
    except FileNotFoundError:
        return None


def find_version(storage: Storage, version: int) -> str | None:
    """The file of a version, however it is spelled."""
    return _find(storage, version, _versions_from(storage, f"v{version}.", version))


def _find(storage: Storage, version: int, listed: Mapping[str, FileStatus] | None) -> str | None:
    names = (f"{METADATA_FOLDER}/{spelling.format(version)}" for spelling in _SPELLINGS)
    return next((name for name in names if (storage.exists(name) if listed is None else name in listed)), None)


def _versions_from(storage: Storage, start: str, newest: int) -> Mapping[str, FileStatus] | None:
    """The files of the table's metadata from a name on, by name; None where a listing cannot begin there, or where
    there may be more of them than one answer has, since about `newest` versions are there.
    """
    if storage.LISTS_WHOLE_FOLDERS or newest > _LISTED_MAX:
        return None
    return {f"{METADATA_FOLDER}/{status.name}": status for status in storage.list_files(METADATA_FOLDER, start)}


def _last(storage: Storage, version: int, found: str, listed: Mapping[str, FileStatus] | None) -> str:
    while (after := _find(storage, version + 1, listed)) is not None:
        version, found = version + 1, after
    return found


def _listed(storage: Storage) -> str:
    names = storage.list_names(METADATA_FOLDER)
    for pattern in (_VERSIONED, _METASTORE):
        numbered = [(int(match[1]), name) for name in names if (match := pattern.fullmatch(name))]
        if numbered:
            highest = max(number for number, _ in numbered)
            return _only(storage, [name for number, name in numbered if number == highest])
    others = [name for name in names if _ANY.fullmatch(name)]
    if not others:
        raise IcebergTableNotFound(storage.root)
    return _only(storage, others)


def _only(storage: Storage, names: list[str]) -> str:
    if len(names) > 1:
        raise AmbiguousIcebergMetadata(storage.root, ", ".join(sorted(names)[:5]))
    return names[0]
