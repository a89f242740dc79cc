"""Statements about volumes and their files. Values before name binding; paths are as written."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.storage.volume_files import FileOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateVolume(Statement):
    """`CREATE [EXTERNAL] VOLUME [IF NOT EXISTS] v [LOCATION 'p'] [COMMENT 'c']`; external with `location` only."""

    volume_parts: tuple[str, ...]
    location: str | None = None
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVolume(Statement):
    volume_parts: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameVolume(Statement):
    """`ALTER VOLUME v RENAME TO w`"""

    volume_parts: tuple[str, ...]
    new_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowVolumes(Statement):
    """`SHOW VOLUMES [IN schema] [LIKE 'pattern']`"""

    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeVolume(Statement):
    volume_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListVolume(Statement):
    """`LIST '/Volumes/c/s/v/folder' [LIMIT n]`; the Files API lists names `after` the previous page's last row."""

    path: str
    limit: int | None = None
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetFile(Statement):
    """`GET '/Volumes/c/s/v/file' TO 'local'`"""

    path: str
    local: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFile(Statement):
    """`PUT 'local' INTO '/Volumes/c/s/v/file' [OVERWRITE]` and `REMOVE '/Volumes/c/s/v/file'`.

    Only the Files API creates and removes folders.
    """

    operation: FileOperation
    path: str
    local: str = ""
    overwrite: bool = False


VolumeDefinition = CreateVolume | DropVolume | RenameVolume
VolumeListing = ShowVolumes | DescribeVolume
FileStatement = GetFile | ChangeFile | ListVolume
