"""Paths in volumes: `/Volumes/catalog/schema/volume/folder/file`. Pure.

A path is checked as text before any lookup. No segment may lead upward, even after percent-decoding: clients and stores
differ in decoding. Links are checked when a file is opened (`engine.storage`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from catalog.conditions import InvalidVolumePath
from catalog.names import NAME_BYTES_MAX, TableName, fold

VOLUMES_ROOT = "/Volumes"
# The folder in a schema for its managed volumes. No schema or table name begins with a dot.
VOLUMES_FOLDER = ".volumes"
PATH_CHARS_MAX = 4096

_VOLUMES = re.compile(r"(?:dbfs:)?/+Volumes(?=/|$)")
_NAME_PARTS = 3
_KIND_AND_PATH = 2
# File formats that queries read from volumes.
READABLE_KINDS = frozenset({"parquet", "csv", "json", "orc", "text"})
_UPWARD = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class VolumePath:
    """A parsed volume path; `file` is relative to the volume's folder, and empty for the folder itself."""

    volume: TableName
    file: str

    def __str__(self) -> str:
        return "/".join((VOLUMES_ROOT, *self.volume.parts, *([self.file] if self.file else [])))


def is_volume_path(path: str) -> bool:
    """Returns True for a path below `/Volumes`; the volume itself may not exist."""
    return _VOLUMES.match(path) is not None


def parse_volume_path(path: str) -> VolumePath:
    """Parses a volume path; a trailing slash is ignored. Raises `InvalidVolumePath`."""
    match = _VOLUMES.match(path)
    if match is None:
        raise InvalidVolumePath(path, f"it does not begin with {VOLUMES_ROOT}/")
    if len(path) > PATH_CHARS_MAX:
        raise InvalidVolumePath(f"{path[:100]}…", f"it has more than {PATH_CHARS_MAX} characters")
    parts = path[match.end() :].strip("/").split("/")
    for part in parts:
        _ensure_plain(path, part)
    if len(parts) < _NAME_PARTS:
        raise InvalidVolumePath(path, "a catalog, a schema and a volume are expected")
    catalog, schema, volume, *segments = parts
    return VolumePath(TableName(catalog, schema, volume), "/".join(segments))


def names_volume_files(parts: tuple[str, ...]) -> bool:
    """Returns True if a name in a query refers to files in a volume, such as ``csv.`/Volumes/c/s/v/path` ``."""
    return len(parts) == _KIND_AND_PATH and fold(parts[0]) in READABLE_KINDS and is_volume_path(parts[1])


def is_managed_volume(location: str) -> bool:
    """Returns True if a canonical location is in or below a folder for managed volumes."""
    return VOLUMES_FOLDER in location.split("/")


def _ensure_plain(path: str, segment: str) -> None:
    decoded = segment
    while (once := unquote(decoded)) != decoded:
        decoded = once
    if decoded in _UPWARD:
        raise InvalidVolumePath(path, "it has an empty segment, or one that is '.' or '..'")
    if any(character in decoded for character in "/\\") or not decoded.isprintable():
        raise InvalidVolumePath(path, "a segment has a slash, a backslash or a control character")
    if len(segment.encode(errors="replace")) > NAME_BYTES_MAX:
        raise InvalidVolumePath(path, f"a segment has more than {NAME_BYTES_MAX} bytes")
