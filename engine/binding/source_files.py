"""The files that a COPY INTO reads: listed once, without those that the table has loaded already.

Hidden files (`_…`, `.…`) and links are left out. Without `recursiveFileLookup`, FILES or PATTERN only files of the
folder itself are read, as with Spark; partition folders are then refused, for their values would be lost unseen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from catalog.conditions import PartitionFoldersInSource, PatternNotValid, SourceNotFound
from catalog.names import fold
from catalog.view import CatalogView
from catalog.volumes.paths import VolumePath, is_volume_path, names_volume_files, parse_volume_path
from engine.binding.bound import BoundFiles, BoundTable, PathOwner
from engine.binding.sight import free_path_owners, volume_location, volume_of_path
from engine.sql.query.values import FilesAt, Properties
from engine.statements.copy_into.statement import CopyInto
from engine.tables.scan import NO_FILES, FileFormat, FileKind
from engine.tables.source_files import FileSource, FolderFile


def bind_files(statement: CopyInto, target: BoundTable, view: CatalogView, source: FileSource) -> BoundFiles:
    """Raises `PathNotAllowed`, `FilesNotReadable`, `SourceNotFound`, and what `source` raises.

    A path in a volume goes by the privileges on the volume, any other by whose it is.
    """
    path, owners, location = _place(statement.path, view)
    root, files = source.find(location)
    wanted = _wanted(statement, files)
    if not wanted:
        raise SourceNotFound(statement.path)
    if not statement.force:
        places = pa.array([f"{root}/{file.path}" for file in wanted], pa.string())
        is_fresh = source.is_fresh(target.snapshot, places).to_pylist()
        wanted = [file for file, fresh in zip(wanted, is_fresh, strict=True) if fresh]
    found = BoundFiles(root=root, files=_table(wanted), format=statement.format, owners=owners)
    return found if path is None else _shown(found, path, location)


def volume_files_of(parts: tuple[str, ...]) -> tuple[VolumePath, FileKind] | None:
    """The path and kind of files in ``csv.`/Volumes/c/s/v/path` ``; None for any other name."""
    if not names_volume_files(parts):
        return None
    return parse_volume_path(parts[1]), FileKind(fold(parts[0]))


def volume_files(path: VolumePath, kind: FileKind, view: CatalogView, source: FileSource) -> BoundFiles:
    """The files of a folder of a volume, or one file, as a relation. Raises as `bind_files`."""
    volume = volume_of_path(path, view)
    location = volume_location(view, volume, path)
    root, files = source.find(location)
    parted = next((file.path for file in files if "=" in file.path.partition("/")[0] and "/" in file.path), None)
    if parted is not None:
        raise PartitionFoldersInSource(str(path), parted.partition("/")[0])
    wanted = [file for file in files if "/" not in file.path]
    if not wanted:
        raise SourceNotFound(str(path))
    found = BoundFiles(root=root, files=_table(wanted), format=FileFormat(kind=kind), owners=(volume,))
    return _shown(found, path, location)


def _shown(files: BoundFiles, path: VolumePath, location: str) -> BoundFiles:
    """With the paths of files of a volume, whose folder is not shown; `location` is that of `path`."""
    is_folder = files.root == location.rstrip("/")
    return replace(files, path=str(path), shown_root=str(path) if is_folder else str(path).rpartition("/")[0])


def bind_files_at(at: FilesAt, view: CatalogView, source: FileSource) -> BoundFiles:
    """The files of a view, or of a call of `read_files`.

    Raises as :func:`bind_files`, and `InsufficientPermissions`.
    """
    path, owners, location = _place(at.path, view)
    root, files = source.find(location)
    found = files if at.recursive else _of_folder(at.path, files)
    if not found:
        raise SourceNotFound(at.path)
    format_ = reading_format(at.format)
    bound = BoundFiles(root=root, files=_table(found), format=format_, schema=at.schema, owners=owners)
    return bound if path is None else _shown(bound, path, location)


def _place(path: str, view: CatalogView) -> tuple[VolumePath | None, tuple[PathOwner, ...], str]:
    """Returns the path in a volume if it is one, whose privileges decide about the files, and their location."""
    if not is_volume_path(path):
        owners = free_path_owners(view, view.ensure_location(path))
        return None, owners, view.ensure_files(path)
    in_volume = parse_volume_path(path)
    volume = volume_of_path(in_volume, view)
    return in_volume, (volume,), volume_location(view, volume, in_volume)


def reading_format(format_: FileFormat) -> FileFormat:
    """With what must not be lost unseen: columns that only some files have, headers in another order, broken rows."""
    if format_.kind in (FileKind.PARQUET, FileKind.ORC):
        return replace(format_, options=(("mergeSchema", "true"),))
    kept = {key.lower(): value for key, value in format_.options}
    own = {"enforceschema": "false"} if says(format_.options, "header") else {}
    return replace(format_, options=tuple({"mode": "FAILFAST", **kept, **own}.items()))


def says(options: Properties, name: str) -> bool:
    """Returns whether an option is set to true."""
    return any(key.lower() == name.lower() and value.lower() == "true" for key, value in options)


def places_of(files: BoundFiles) -> pa.Table:
    """The files as the record of loads has them."""
    paths = [f"{files.root}/{path}" for path in files.files["path"].to_pylist()]
    table = files.files.select(["size", "modification_time"])
    return table.add_column(0, "path", pa.array(paths, pa.string()))


def _wanted(statement: CopyInto, files: list[FolderFile]) -> list[FolderFile]:
    if statement.files:
        by_path = {file.path: file for file in files}
        missing = next((name for name in statement.files if name.lstrip("/") not in by_path), None)
        if missing is not None:
            raise SourceNotFound(f"{statement.path.rstrip('/')}/{missing}")
        return [by_path[name] for name in dict.fromkeys(name.lstrip("/") for name in statement.files)]
    if statement.pattern is not None:
        matches = glob(statement.pattern)
        return [file for file in files if matches(file.path)]
    return files if statement.recursive else _of_folder(statement.path, files)


def _of_folder(path: str, files: list[FolderFile]) -> list[FolderFile]:
    """Returns those of the folder itself."""
    parted = next((file.path for file in files if "=" in file.path.partition("/")[0] and "/" in file.path), None)
    if parted is not None:
        raise PartitionFoldersInSource(path, parted.partition("/")[0])
    return [file for file in files if "/" not in file.path]


def _table(files: list[FolderFile]) -> pa.Table:
    """As the files of a `Scan`, without partition values."""
    return pa.table(
        {
            "path": pa.array([file.path for file in files], pa.string()),
            "size": pa.array([file.size for file in files], pa.int64()),
            "modification_time": pa.array([file.modification_time for file in files], pa.int64()),
            "partition_values": pa.array([[] for _ in files], NO_FILES.schema.field("partition_values").type),
        }
    )


def glob(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches a glob of Hadoop's: `*` and `?` within a name, `[a-c]`, `[^a]`, `{ab,cd}`, `\\` escapes.

    Raises `PatternNotValid`.
    """
    text, position, depth = "", 0, 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\" and position + 1 < len(pattern):
            position += 1
            text += re.escape(pattern[position])
        elif character == "[":
            end = pattern.find("]", position + 2)
            if end < 0:
                raise PatternNotValid(pattern)
            text += _class(pattern[position + 1 : end])
            position = end
        elif character in "{}":
            depth += 1 if character == "{" else -1
            text += "(?:" if character == "{" else ")"
        else:
            text += {"*": "[^/]*", "?": "[^/]", ",": "|" if depth else ","}.get(character, re.escape(character))
        if depth < 0:
            raise PatternNotValid(pattern)
        position += 1
    if depth:
        raise PatternNotValid(pattern)
    try:
        compiled = re.compile(text)
    except re.error as error:
        raise PatternNotValid(pattern) from error
    return lambda path: compiled.fullmatch(path) is not None


def _class(text: str) -> str:
    negated = text[0] in "^!"
    members = re.sub(r"[\\\[\]^&~|]", lambda found: f"\\{found[0]}", text[1:] if negated else text)
    return f"[{'^' if negated else ''}{members}]"
