"""Lists the files for COPY INTO once, without the files that the table has already loaded."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from catalog.conditions import PatternNotValid, SourceNotFound
from catalog.view import CatalogView
from engine.binding.bound import BoundFiles, BoundTable
from engine.binding.source_files import files_in_folder, files_table, locate_files, with_volume_paths
from engine.statements.copy_into.statement import CopyInto
from engine.tables.source_files import FileSource, FolderFile


def bind_files(statement: CopyInto, target: BoundTable, view: CatalogView, source: FileSource) -> BoundFiles:
    """Lists the files. Raises `PathNotAllowed`, `FilesNotReadable`, `SourceNotFound`, and the errors of `source`.

    A volume path requires privileges on the volume; any other path, privileges on its owners (`locate_files`).
    """
    path, owners, location = locate_files(statement.path, view)
    root, files = source.find(location)
    wanted = _selected_files(statement, files)
    if not wanted:
        raise SourceNotFound(statement.path)
    if not statement.force:
        places = pa.array([f"{root}/{file.path}" for file in wanted], pa.string())
        is_fresh = source.is_fresh(target.snapshot, places).to_pylist()
        wanted = [file for file, fresh in zip(wanted, is_fresh, strict=True) if fresh]
    found = BoundFiles(root=root, files=files_table(wanted), format=statement.format, owners=owners)
    return found if path is None else with_volume_paths(found, path, location)


def places_of(files: BoundFiles) -> pa.Table:
    """Returns the files in the load record's form."""
    paths = [f"{files.root}/{path}" for path in files.files["path"].to_pylist()]
    table = files.files.select(["size", "modification_time"])
    return table.add_column(0, "path", pa.array(paths, pa.string()))


def _selected_files(statement: CopyInto, files: list[FolderFile]) -> list[FolderFile]:
    if statement.files:
        by_path = {file.path: file for file in files}
        missing = next((name for name in statement.files if name.lstrip("/") not in by_path), None)
        if missing is not None:
            raise SourceNotFound(f"{statement.path.rstrip('/')}/{missing}")
        return [by_path[name] for name in dict.fromkeys(name.lstrip("/") for name in statement.files)]
    if statement.pattern is not None:
        matches = glob(statement.pattern)
        return [file for file in files if matches(file.path)]
    return files if statement.recursive else files_in_folder(statement.path, files)


def glob(pattern: str) -> Callable[[str], bool]:
    r"""Returns a matcher for a Hadoop glob: `*` and `?` within a name, `[a-c]`, `[^a]`, `{ab,cd}`, `\` escapes.

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
