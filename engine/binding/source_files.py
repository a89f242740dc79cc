"""The files for COPY INTO: listed once, without files that the table has already loaded.

Hidden files (`_…`, `.…`) and links are skipped. Without `recursiveFileLookup`, FILES or PATTERN only files directly in
the directory are read, as in Spark; partition directories are then rejected, because their values would be silently
lost.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from catalog.conditions import PartitionFoldersInSource, SourceNotFound
from catalog.names import fold
from catalog.view import CatalogView
from catalog.volumes.paths import VolumePath, is_volume_path, names_volume_files, parse_volume_path
from engine.binding.bound import BoundFiles, PathOwner
from engine.binding.visibility import free_path_owners, volume_location, volume_of_path
from engine.sql.query.values import FilesAt, Properties
from engine.tables.scan import NO_FILES, FileFormat, FileKind
from engine.tables.source_files import FileSource, FolderFile


def volume_files_of(parts: tuple[str, ...]) -> tuple[VolumePath, FileKind] | None:
    """Returns the path and file kind in ``csv.`/Volumes/c/s/v/path` ``; None for any other name."""
    if not names_volume_files(parts):
        return None
    return parse_volume_path(parts[1]), FileKind(fold(parts[0]))


def volume_files(path: VolumePath, kind: FileKind, view: CatalogView, source: FileSource) -> BoundFiles:
    """Returns the files in a volume's directory, or one file, as a relation. Raises as `bind_files`."""
    volume = volume_of_path(path, view)
    location = volume_location(view, volume, path)
    root, files = source.find(location)
    parted = next((file.path for file in files if "=" in file.path.partition("/")[0] and "/" in file.path), None)
    if parted is not None:
        raise PartitionFoldersInSource(str(path), parted.partition("/")[0])
    wanted = [file for file in files if "/" not in file.path]
    if not wanted:
        raise SourceNotFound(str(path))
    found = BoundFiles(root=root, files=files_table(wanted), format=FileFormat(kind=kind), owners=(volume,))
    return with_volume_paths(found, path, location)


def with_volume_paths(files: BoundFiles, path: VolumePath, location: str) -> BoundFiles:
    """Adds volume paths to files, whose directory is not shown; `location` is the location for `path`."""
    is_folder = files.root == location.rstrip("/")
    return replace(files, path=str(path), shown_root=str(path) if is_folder else str(path).rpartition("/")[0])


def bind_files_at(at: FilesAt, view: CatalogView, source: FileSource) -> BoundFiles:
    """Returns the files for a view, or for a `read_files` call.

    Raises as :func:`bind_files`, and `InsufficientPermissions`.
    """
    path, owners, location = locate_files(at.path, view)
    root, files = source.find(location)
    found = files if at.recursive else files_in_folder(at.path, files)
    if not found:
        raise SourceNotFound(at.path)
    format_ = reading_format(at.format)
    bound = BoundFiles(root=root, files=files_table(found), format=format_, schema=at.schema, owners=owners)
    return bound if path is None else with_volume_paths(bound, path, location)


def locate_files(path: str, view: CatalogView) -> tuple[VolumePath | None, tuple[PathOwner, ...], str]:
    """Returns the volume path if it is one, the objects whose privileges govern the files, and their location."""
    if not is_volume_path(path):
        owners = free_path_owners(view, view.ensure_location(path))
        return None, owners, view.ensure_files(path)
    in_volume = parse_volume_path(path)
    volume = volume_of_path(in_volume, view)
    return in_volume, (volume,), volume_location(view, volume, in_volume)


def reading_format(format_: FileFormat) -> FileFormat:
    """Adds options against silent data loss: columns that only some files have, headers in another order, malformed
    rows.
    """
    if format_.kind in (FileKind.PARQUET, FileKind.ORC):
        return replace(format_, options=(("mergeSchema", "true"),))
    if format_.kind is FileKind.TEXT:
        return format_
    remaining = {key.lower(): value for key, value in format_.options}
    own = {"enforceschema": "false"} if says(format_.options, "header") else {}
    return replace(format_, options=tuple({"mode": "FAILFAST", **remaining, **own}.items()))


def says(options: Properties, name: str) -> bool:
    """Returns whether an option is set to true."""
    return any(key.lower() == name.lower() and value.lower() == "true" for key, value in options)


def files_in_folder(path: str, files: list[FolderFile]) -> list[FolderFile]:
    """Returns the files directly in the directory."""
    parted = next((file.path for file in files if "=" in file.path.partition("/")[0] and "/" in file.path), None)
    if parted is not None:
        raise PartitionFoldersInSource(path, parted.partition("/")[0])
    return [file for file in files if "/" not in file.path]


def files_table(files: list[FolderFile]) -> pa.Table:
    """Returns the files in the form of a `Scan`'s, without partition values."""
    return pa.table(
        {
            "path": pa.array([file.path for file in files], pa.string()),
            "size": pa.array([file.size for file in files], pa.int64()),
            "modification_time": pa.array([file.modification_time for file in files], pa.int64()),
            "partition_values": pa.array([[] for _ in files], NO_FILES.schema.field("partition_values").type),
        }
    )
