"""Which metadata file is the newest version of a table in a folder.

A file-system table has `metadata/v<N>.metadata.json`, each put there once, and a hint at the last one that a writer
knew: from there on the next versions are asked for one by one, so finding the newest costs no listing. Where the hint
is missing or leads nowhere, the folder is listed. The hint may also be the name of a file without its ending.

The files of a metastore's tables are called `<number>-<uuid>.metadata.json`. Which of them was committed only the
metastore knows; the one with the highest number is taken where there is only one, and otherwise the table has to be
registered by its file.

Source: Iceberg table specification, "File System Tables", "Metastore Tables".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from engine.iceberg.spec.errors import AmbiguousIcebergMetadata, IcebergFileNotFound, IcebergTableNotFound
from engine.storage.storage import METADATA_FOLDER, Storage

METADATA_SUFFIX = ".metadata.json"
HINT = f"{METADATA_FOLDER}/version-hint.text"
_PLAIN, _COMPRESSED = "v{}.metadata.json", "v{}.gz.metadata.json"
_SPELLINGS = (_PLAIN, _COMPRESSED, "v{}.metadata.json.gz")
_VERSIONED = re.compile(r"v(\d{1,18})(?:\.gz\.metadata\.json|\.metadata\.json(?:\.gz)?)")
_METASTORE = re.compile(r"(\d{1,18})-.*(?:\.gz)?\.metadata\.json(?:\.gz)?")
_ANY = re.compile(r".*\.metadata\.json(?:\.gz)?")
_HINT_BYTES_MAX = 1000


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
    hint = _hint(storage)
    if hint is not None and hint.isdecimal():
        found = find_version(storage, int(hint))
        if found is not None:
            return _last(storage, int(hint), found)
    elif hint is not None:
        for name in (f"{hint}{METADATA_SUFFIX}", f"v{hint}{METADATA_SUFFIX}", hint):
            if _ANY.fullmatch(name) and "/" not in name and storage.exists(f"{METADATA_FOLDER}/{name}"):
                return f"{METADATA_FOLDER}/{name}"
    return f"{METADATA_FOLDER}/{_listed(storage)}"


Loaded = TypeVar("Loaded")
_LOOKS_MAX = 10


def load_newest(storage: Storage, load: Callable[[str], Loaded]) -> Loaded:
    """What `load` makes of the newest file, which later commits may remove while it is read.

    Raises as `newest_metadata`, `IcebergFileNotFound`, and what `load` raises.
    """
    name = newest_metadata(storage)
    for _ in range(_LOOKS_MAX):
        try:
            return load(name)
        except (FileNotFoundError, NotADirectoryError) as error:
            before, name = name, newest_metadata(storage)
            if name == before:
                raise IcebergFileNotFound(storage.root, name) from error
    return load(name)


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
    names = (f"{METADATA_FOLDER}/{spelling.format(version)}" for spelling in _SPELLINGS)
    return next((name for name in names if storage.exists(name)), None)


def _last(storage: Storage, version: int, found: str) -> str:
    while (after := find_version(storage, version + 1)) is not None:
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
