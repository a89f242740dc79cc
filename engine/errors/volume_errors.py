"""Errors of files in volumes."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class EmptyLocalFile(SqlError, condition="EMPTY_LOCAL_FILE_IN_STAGING_ACCESS_QUERY", sqlstate="22023"):
    template = "The local file of PUT or GET is empty. Name a file of the client's machine."


@dataclass(eq=False)
class StagingNotSupported(SqlError, condition="STAGING_NOT_SUPPORTED", sqlstate="0A000"):
    statement: str
    template = (
        "{statement} needs a client that transfers files itself. Use a Databricks driver over HTTP (with "
        "server.public_url, if there is a proxy), or the Files API: /api/2.0/fs/files/Volumes/…"
    )


@dataclass(eq=False)
class VolumeWithoutFolder(SqlError, condition="VOLUME_LOCATION_MISSING", sqlstate="42000"):
    name: str
    template = (
        "The volume {name} needs a place: its schema has no location, and the server has no folder for it. Create it "
        "as an EXTERNAL VOLUME with LOCATION."
    )


@dataclass(eq=False)
class VolumePathNotFound(SqlError, condition="VOLUME_PATH_NOT_FOUND", sqlstate="42704"):
    """`kind` is Catalog, Schema or Volume. Names what the principal may not know of as missing."""

    kind: str
    name: str
    path: str
    template = "NOT_FOUND: {kind} {name} of the path {path} does not exist. SHOW VOLUMES lists the volumes of a schema."


@dataclass(eq=False)
class FileInStagingPathExists(SqlError, condition="FILE_IN_STAGING_PATH_ALREADY_EXISTS", sqlstate="42710"):
    path: str
    template = "The file {path} exists already. Use OVERWRITE to replace it."
