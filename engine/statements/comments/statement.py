"""Define COMMENT ON as a value before names are bound."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement


class Commentable(StrEnum):
    CATALOG = "CATALOG"
    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    COLUMN = "COLUMN"
    VOLUME = "VOLUME"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOn(Statement):
    """`COMMENT ON kind name IS 'comment'|NULL`; for a column the last of `parts` is its name."""

    kind: Commentable
    parts: tuple[str, ...]
    comment: str | None
