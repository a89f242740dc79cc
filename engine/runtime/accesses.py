"""What a statement is about to touch, as told to who watches statements (`StatementContext.on_authorized`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Use(StrEnum):
    """What happens to an object."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One object. `version` is that of a table which is pinned for the statement; `via_view` names the view through
    which it is reached, with the rights of the view's owner.
    """

    name: str
    kind: str
    use: Use
    version: int | None = None
    via_view: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementAccess:
    """A statement that its principal may run: its kind, such as `Insert`, and each object once."""

    statement: str
    objects: tuple[Access, ...]
