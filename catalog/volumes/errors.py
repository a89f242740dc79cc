"""Errors of volumes and of paths in them."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class VolumeNotFound(SqlError, condition="UC_VOLUME_NOT_FOUND", sqlstate="42704"):
    name: str
    template = "The volume {name} cannot be found. SHOW VOLUMES lists those of a schema."


@dataclass(eq=False)
class VolumeAlreadyExists(SqlError, condition="VOLUME_ALREADY_EXISTS", sqlstate="42710"):
    name: str
    template = "The volume {name} exists already. Choose another name, or use IF NOT EXISTS."


@dataclass(eq=False)
class VolumeStaysInSchema(SqlError, condition="CANNOT_RENAME_ACROSS_SCHEMA", sqlstate="0AKD0"):
    name: str
    new_name: str
    template = "The volume {name} cannot become {new_name}: a volume stays in its schema. Use a name without a schema."


@dataclass(eq=False)
class PathInVolume(SqlError, condition="LOCATION_OVERLAP.VOLUME", sqlstate="22KD1"):
    path: str
    template = (
        "{path} belongs to a volume, and no table can be there. Name the volume's files by their path "
        "/Volumes/catalog/schema/volume/…"
    )


@dataclass(eq=False)
class InvalidVolumePath(SqlError, condition="INVALID_VOLUME_PATH", sqlstate="22023"):
    """`reason` is a part of a sentence."""

    path: str
    reason: str
    template = "{path} is not a path in a volume: {reason}. Write /Volumes/catalog/schema/volume/path."


@dataclass(eq=False)
class VolumeFileNotFound(SqlError, condition="VOLUME_FILE_NOT_FOUND", sqlstate="42K03"):
    path: str
    template = "There is no file or folder {path}. LIST shows what a folder of a volume holds."


@dataclass(eq=False)
class VolumeFolderNotEmpty(SqlError, condition="DIRECTORY_NOT_EMPTY", sqlstate="2BP01"):
    path: str
    template = "The folder {path} is not empty. Remove what it holds first."


@dataclass(eq=False)
class VolumeFileNotAllowed(SqlError, condition="VOLUME_FILE_NOT_ALLOWED", sqlstate="42501"):
    path: str
    template = "{path} cannot be accessed: a link leads out of the volume, or a part of the path is not a folder."


@dataclass(eq=False)
class VolumeFileTooLarge(SqlError, condition="FILE_TOO_LARGE", sqlstate="54000"):
    path: str
    size_bytes_max: int
    template = "The file {path} is larger than {size_bytes_max} bytes, which is the server's limit for uploaded files."
