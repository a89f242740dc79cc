"""Object names in statements that are not queries, with the number of parts that each may have."""

from __future__ import annotations

from catalog.conditions import TemporaryQualifier, TooManyNameParts
from engine.runtime.session_state import may_be_temporary
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.relations import ensure_not_files

_BRANCH_PREFIX = "branch_"
_TABLE_PARTS_MAX, _SCHEMA_PARTS_MAX, _CATALOG_PARTS_MAX = 3, 2, 1


SCHEMA_WORDS = ("SCHEMA", "DATABASE", "NAMESPACE")


def read_table(cursor: Cursor) -> tuple[str, ...]:
    """Reads a table, by name or as ``delta.`/path` ``, or a table's branch: `t.branch_x`. Rejects file names."""
    parts = cursor.read_names()
    is_branch = parts[-1].lower().startswith(_BRANCH_PREFIX)
    _ensure_few(parts, _TABLE_PARTS_MAX + is_branch)
    ensure_not_files(parts)
    return parts


def read_table_or_path(cursor: Cursor) -> tuple[str, ...]:
    """Reads like :func:`read_table`; `'/path'` is `("delta", "/path")`."""
    path = cursor.take_string()
    return ("delta", path) if path is not None else read_table(cursor)


def ensure_temporary(parts: tuple[str, ...], kind: str) -> None:
    """Raises `TemporaryQualifier` unless a temporary object, a view or a function, may have the name."""
    if not may_be_temporary(parts):
        raise TemporaryQualifier(kind, parts[-1], ".".join(parts[:-1]))


def read_schema(cursor: Cursor) -> tuple[str, ...]:
    """Reads `[catalog.]schema`. Raises `TooManyNameParts`."""
    return _read_parts(cursor, _SCHEMA_PARTS_MAX)


def take_schema(cursor: Cursor) -> tuple[str, ...]:
    """Takes `FROM|IN schema`, or returns () for the current schema."""
    return read_schema(cursor) if cursor.take_any("FROM", "IN") else ()


def take_pattern(cursor: Cursor) -> str | None:
    """Takes `[LIKE] 'pattern'`."""
    return cursor.read_string() if cursor.take("LIKE") else cursor.take_string()


def read_catalog(cursor: Cursor) -> str:
    """Reads a name, or a string, as Databricks' clients write it."""
    name = cursor.take_string()
    return name if name is not None else _read_parts(cursor, _CATALOG_PARTS_MAX)[0]


def _read_parts(cursor: Cursor, parts_max: int) -> tuple[str, ...]:
    parts = cursor.read_names()
    _ensure_few(parts, parts_max)
    return parts


def _ensure_few(parts: tuple[str, ...], parts_max: int) -> None:
    if len(parts) > parts_max:
        raise TooManyNameParts(".".join(parts), parts_max)
