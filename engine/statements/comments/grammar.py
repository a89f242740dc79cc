"""Parse COMMENT ON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import assert_never

from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_catalog, read_schema, read_table
from engine.statements.comments.statement import Commentable, CommentOn

_COMMENTABLE: Mapping[str, Commentable] = MappingProxyType(
    {
        "CATALOG": Commentable.CATALOG,
        "SCHEMA": Commentable.SCHEMA,
        "DATABASE": Commentable.SCHEMA,
        "NAMESPACE": Commentable.SCHEMA,
        "TABLE": Commentable.TABLE,
        "COLUMN": Commentable.COLUMN,
        "VOLUME": Commentable.VOLUME,
    }
)


_OTHER_COMMENTABLE = ("CONNECTION", "FUNCTION", "PROVIDER", "RECIPIENT", "SHARE", "VIEW")


def parse_comment_on(cursor: Cursor) -> CommentOn:
    """What follows COMMENT ON."""
    word = cursor.take_any(*_COMMENTABLE)
    if word is None:
        other = cursor.take_any(*_OTHER_COMMENTABLE)
        if other is None:
            raise cursor.fail_among([(known,) for known in (*_COMMENTABLE, *_OTHER_COMMENTABLE)])
        raise unsupported_statement(f"COMMENT ON {other}")
    kind = _COMMENTABLE[word]
    match kind:
        case Commentable.CATALOG:
            parts: tuple[str, ...] = (read_catalog(cursor),)
        case Commentable.SCHEMA:
            parts = read_schema(cursor)
        case Commentable.TABLE | Commentable.VOLUME:
            parts = read_table(cursor)
        case Commentable.COLUMN:
            parts = cursor.read_names()
            if len(parts) < 2:
                raise cursor.fail("the column before this needs its table")
        case _:
            assert_never(kind)
    cursor.read("IS")
    return CommentOn(kind=kind, parts=parts, comment=None if cursor.take("NULL") else cursor.read_string())


HEADS: Mapping[tuple[str, ...], Callable[[Cursor], CommentOn]] = MappingProxyType({("COMMENT", "ON"): parse_comment_on})
