"""Parses statements about volumes and their files, in Databricks' syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from catalog.conditions import EmptyLocalFile
from catalog.grants.privileges import Kind
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_table, take_pattern, take_schema
from engine.statements.create_table.grammar_clauses import take_if_exists, take_if_not_exists
from engine.statements.grants.statement import AlterOwner
from engine.statements.policies.grammar import parse_alter_object
from engine.statements.policies.statement import AlterTags
from engine.statements.volumes.statement import (
    ChangeFile,
    CreateVolume,
    DropVolume,
    GetFile,
    ListVolume,
    RenameVolume,
    ShowVolumes,
)
from engine.storage.volume_files import FileOperation

_RESOURCES = ("FILE", "FILES", "JAR", "JARS", "ARCHIVE", "ARCHIVES")


def parse_create_volume(cursor: Cursor, *, external: bool = False) -> CreateVolume:
    """Parses the text after VOLUME. An external volume has a LOCATION, a managed one has none."""
    if_not_exists = take_if_not_exists(cursor)
    volume = read_table(cursor)
    location: str | None = None
    comment: str | None = None
    while not cursor.is_done:
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.read_string()
        elif external and location is None and cursor.take("LOCATION"):
            location = cursor.read_string()
        else:
            break
    if external and location is None:
        raise cursor.fail("LOCATION and a path are expected for an external volume")
    return CreateVolume(volume_parts=volume, location=location, comment=comment, if_not_exists=if_not_exists)


def parse_drop_volume(cursor: Cursor) -> DropVolume:
    """Parses the text after DROP VOLUME: `[IF EXISTS] v`."""
    if_exists = take_if_exists(cursor)
    return DropVolume(volume_parts=read_table(cursor), if_exists=if_exists)


def parse_alter_volume(cursor: Cursor) -> RenameVolume | AlterOwner | AlterTags:
    """Parses the text after ALTER VOLUME: `v RENAME TO w`, or a change of its owner or tags."""
    ahead = cursor.copy()
    volume = read_table(ahead)
    if not ahead.take("RENAME", "TO"):
        return parse_alter_object(cursor, Kind.VOLUME)
    cursor.skip_to(ahead.offset)
    return RenameVolume(volume_parts=volume, new_parts=read_table(cursor))


def parse_put(cursor: Cursor) -> ChangeFile:
    """Parses the text after PUT: `'local' INTO 'path' [OVERWRITE]`."""
    local = _read_local(cursor)
    cursor.read("INTO")
    path = cursor.read_string()
    return ChangeFile(operation=FileOperation.PUT, path=path, local=local, overwrite=cursor.take("OVERWRITE"))


def parse_remove(cursor: Cursor) -> ChangeFile:
    """Parses the text after REMOVE: `'path'`."""
    return ChangeFile(operation=FileOperation.REMOVE, path=cursor.read_string())


def parse_get(cursor: Cursor) -> GetFile:
    """Parses the text after GET: `'path' TO 'local'`."""
    if cursor.words(1) == ["DIAGNOSTICS"]:
        raise unsupported_statement("GET DIAGNOSTICS")
    path = cursor.read_string()
    cursor.read("TO")
    return GetFile(path=path, local=_read_local(cursor))


def parse_list(cursor: Cursor) -> ListVolume:
    """Parses the text after LIST: `'path' [LIMIT n]`."""
    word = cursor.take_any(*_RESOURCES)
    if word is not None:
        raise unsupported_statement(f"LIST {word}")
    path = cursor.read_string()
    limit: int | None = None
    if cursor.take("LIMIT"):
        limit = cursor.take_number()
        if limit is None:
            raise cursor.fail("a whole number is expected after LIMIT")
    return ListVolume(path=path, limit=limit)


def _read_local(cursor: Cursor) -> str:
    local = cursor.read_string()
    if not local:
        raise EmptyLocalFile()
    return local


def show_volumes(cursor: Cursor) -> ShowVolumes:
    """Parses the text after SHOW VOLUMES: `[FROM | IN s] [[LIKE] 'pattern']`."""
    return ShowVolumes(schema_parts=take_schema(cursor), pattern=take_pattern(cursor))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("ALTER", "VOLUME"): parse_alter_volume,
        ("CREATE", "VOLUME"): parse_create_volume,
        ("CREATE", "EXTERNAL", "VOLUME"): partial(parse_create_volume, external=True),
        ("DROP", "VOLUME"): parse_drop_volume,
        ("GET",): parse_get,
        ("LIST",): parse_list,
        ("PUT",): parse_put,
        ("REMOVE",): parse_remove,
        ("SHOW", "VOLUMES"): show_volumes,
    }
)
