"""Errors that a client may see: a class is a condition.

Every error that leaves the product is a subclass of :class:`SqlError`. The class declares its condition name and its
SQLSTATE once, its fields are typed (subclasses are dataclasses), and its message is formatted from them in one place.
Condition names are Spark's or Delta's where one exists, so that clients and users meet what they know. The root stands
in `catalog` because that is the lowest package; SQLSTATE is SQL, not wire, so it may live here.

To add one::

    @dataclass(eq=False)
    class TableNotFound(SqlError, condition="TABLE_OR_VIEW_NOT_FOUND", sqlstate="42P01"):
        name: str
        template = "The table or view {name} cannot be found. ..."
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
_declared: dict[str, type[SqlError]] = {}


class SqlError(Exception):
    """Root of every error shown to a client.

    `condition` is the stable name, `sqlstate` its five characters, `template` the message with the fields of the
    class in braces; it says what to do.
    """

    condition: str
    sqlstate: str
    template: str

    def __init_subclass__(cls, *, condition: str | None = None, sqlstate: str | None = None) -> None:
        if condition is None or sqlstate is None:
            if condition is not sqlstate:
                raise TypeError(f"{cls.__name__}: declare both the condition and the SQLSTATE, or neither")
            return  # an abstract family, such as all errors of the log
        if not _SQLSTATE.fullmatch(sqlstate):
            raise TypeError(f"{cls.__name__}: {sqlstate!r} is no SQLSTATE")
        # `dataclass(slots=True)` makes the class twice; only another name for the same condition is a mistake.
        earlier = _declared.get(condition)
        if earlier is not None and earlier.__qualname__ != cls.__qualname__:
            raise TypeError(f"{cls.__name__}: {condition} is already {earlier.__name__}")
        cls.condition, cls.sqlstate = condition, sqlstate
        _declared[condition] = cls

    @property
    def message(self) -> str:
        """The text without condition and SQLSTATE."""
        return self.template.format(**vars(self))

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message} SQLSTATE: {self.sqlstate}"


def declared_errors() -> Iterator[type[SqlError]]:
    """All conditions, for the tests that walk them."""
    yield from _declared.values()


@dataclass(eq=False)
class InternalError(SqlError, condition="INTERNAL_ERROR", sqlstate="XX000"):
    """A bug of ours: the client sees an id, the log the trace."""

    error_id: str
    template = "An internal error occurred; the server's log has the details under id {error_id}."
