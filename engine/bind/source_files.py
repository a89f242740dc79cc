"""The files that a COPY INTO reads: listed once, without those that the table has loaded already.

Hidden files (`_…`, `.…`) and links are left out. Without `recursiveFileLookup`, FILES or PATTERN only files of the
folder itself are read, as with Spark; partition folders are then refused, for their values would be lost unseen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from catalog.view import CatalogView
from engine.bind.bound import BoundFiles, BoundTable
from engine.delta.commit.loads import Loads, not_loaded, read_loads
from engine.delta.conversion.folder_files import FolderFile, find_files
from engine.delta.delta_format import delta_snapshot
from engine.delta.log.file_table import map_array
from engine.delta.log.storage import Storage, open_storage
from engine.errors.copy_errors import PartitionFoldersInSource, PatternNotValid, SourceNotFound
from engine.statements.copies import CopyInto


def bind_files(statement: CopyInto, target: BoundTable, view: CatalogView, roots: Sequence[str]) -> BoundFiles:
    """Raises `PathNotAllowed`, `FilesNotReadable`, `SourceNotFound`, and what reading the record of loads raises."""
    location = view.ensure_files(statement.path)
    storage, files = _listed(location, roots)
    wanted = _wanted(statement, storage.root, files)
    if not wanted:
        raise SourceNotFound(statement.path)
    table = delta_snapshot(target.snapshot, "COPY INTO")
    loads = read_loads(table)
    if not statement.force:
        wanted = _fresh(wanted, storage, loads, table.storage)
    return BoundFiles(root=storage.root, files=_table(wanted), loads=loads, format=statement.format)


def places_of(files: BoundFiles) -> pa.Table:
    """The files as the record of loads has them."""
    paths = [f"{files.root}/{path}" for path in files.files["path"].to_pylist()]
    table = files.files.select(["size", "modification_time"])
    return table.add_column(0, "path", pa.array(paths, pa.string()))


def _listed(location: str, roots: Sequence[str]) -> tuple[Storage, list[FolderFile]]:
    """The files below a folder, or the one file that is there."""
    storage = open_storage(location, allowed_roots=roots)
    files = list(find_files(storage, lambda: None))
    if files:
        return storage, files
    folder, _, name = location.rpartition("/")
    parent = open_storage(folder, allowed_roots=roots)
    try:
        status = parent.stat(name)
    except OSError:
        return storage, []
    listing = parent.list_folder("")
    is_file = any(each.name == name for each in listing.files)
    one = FolderFile(path=name, size=status.size, modification_time=status.modified_ms)
    return (parent, [one]) if is_file else (storage, [])


def _wanted(statement: CopyInto, root: str, files: list[FolderFile]) -> list[FolderFile]:
    if statement.files:
        by_path = {file.path: file for file in files}
        missing = next((name for name in statement.files if name.lstrip("/") not in by_path), None)
        if missing is not None:
            raise SourceNotFound(f"{root}/{missing}")
        return [by_path[name] for name in dict.fromkeys(name.lstrip("/") for name in statement.files)]
    if statement.pattern is not None:
        matches = glob(statement.pattern)
        return [file for file in files if matches(file.path)]
    if statement.recursive:
        return files
    parted = next((file.path for file in files if "=" in file.path.partition("/")[0] and "/" in file.path), None)
    if parted is not None:
        raise PartitionFoldersInSource(statement.path, parted.partition("/")[0])
    return [file for file in files if "/" not in file.path]


def _fresh(files: list[FolderFile], storage: Storage, loads: Loads, own: Storage) -> list[FolderFile]:
    places = pa.array([f"{storage.root}/{file.path}" for file in files], pa.string())
    fresh = not_loaded(own, loads, places)
    return [file for file, is_fresh in zip(files, fresh.to_pylist(), strict=True) if is_fresh]


def _table(files: list[FolderFile]) -> pa.Table:
    """As the files of a `Scan`, without partition values."""
    return pa.table(
        {
            "path": pa.array([file.path for file in files], pa.string()),
            "size": pa.array([file.size for file in files], pa.int64()),
            "modification_time": pa.array([file.modification_time for file in files], pa.int64()),
            "partition_values": map_array({} for _ in files),
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
