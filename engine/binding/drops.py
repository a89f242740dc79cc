"""What DROP TABLE names."""

from __future__ import annotations

from catalog.conditions import DropByPath, TableNotFound
from catalog.entries import TableEntry
from catalog.errors import SqlError
from catalog.names import TableName, path_format, path_of
from engine.binding.binder import Binder
from engine.binding.bound import TakenName
from engine.binding.sight import path_owners


def dropped(binder: Binder, parts: tuple[str, ...], if_exists: bool) -> TakenName | None:
    """The table or view; its log may be broken. Raises `DropByPath` for a path at which a table lies."""
    path = path_of(parts)
    if path is not None:
        entry_at = binder.view.resolve_path(path, path_format(parts))
        path_owners(binder.view, entry_at.location)
        _ensure_nothing_at(binder, entry_at, if_exists)
        return None
    name = TableName.from_parts(parts, binder.state.current)
    entry = binder.view.find(name) if if_exists else binder.view.resolve(name)
    return None if entry is None else TakenName(entry=entry)


def _ensure_nothing_at(binder: Binder, entry: TableEntry, if_exists: bool) -> None:
    """DROP takes a name away, and a path is none, even if a table that has one is there: raises `DropByPath` then.

    delta-spark finds no table then, and with IF EXISTS answers as if it had dropped one.
    """
    named = [str(each.name) for each in binder.view.recorded_at(entry.location)]
    if named:
        raise DropByPath(entry.location, f"The table there is {' and '.join(named)}.")
    try:
        is_there = binder.formats.find(entry.location) is not None
    except SqlError:
        is_there = True  # whatever is wrong with its log
    if is_there:
        raise DropByPath(entry.location, "The catalog has no record of the table there: remove its folder instead.")
    if not if_exists:
        raise TableNotFound(str(entry.name))
