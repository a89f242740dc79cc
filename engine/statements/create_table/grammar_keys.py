"""Parses primary and foreign key clauses for columns and tables, in Databricks' grammar.

Keys are informational. Clauses that would enforce them or extend them (ENFORCED, actions on changes, TIMESERIES) are
rejected with errors that name them.
"""

from __future__ import annotations

from catalog.conditions import UnsupportedClause
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import read_table
from engine.tables.keys import ForeignKeyDef, KeyDef, PrimaryKeyDef

_ADVICE = "Keys are informational: nobody enforces them. Leave it out, or write NOT ENFORCED."
# Clauses that state the default.
_NEUTRAL = (
    *(("NOT", "ENFORCED"), ("NOT", "DEFERRABLE"), ("DEFERRABLE",), ("INITIALLY", "DEFERRED"), ("NOVALIDATE",)),
    *(("MATCH", "FULL"), ("ON", "UPDATE", "NO", "ACTION"), ("ON", "DELETE", "NO", "ACTION")),
)
_REFUSED = (("ENFORCED",), ("INITIALLY",), ("ON", "UPDATE"), ("ON", "DELETE"), ("MATCH",))


def take_key(cursor: Cursor, name: str | None, column: str | None) -> KeyDef | None:
    """Reads the key at the cursor, called `name`, for the table or for the `column` whose definition contains it."""
    if cursor.take("PRIMARY", "KEY"):
        columns = (column,) if column is not None else _read_columns(cursor)
        return PrimaryKeyDef(name=name, columns=columns, rely=_take_characteristics(cursor))
    if cursor.take("FOREIGN", "KEY"):
        columns = (column,) if column is not None else _read_columns(cursor)
        cursor.read("REFERENCES")
    elif column is not None and cursor.take("REFERENCES"):
        columns = (column,)
    else:
        return None
    parent = read_table(cursor)
    parent_columns = _read_columns(cursor) if cursor.words(1) == ["("] else ()
    return ForeignKeyDef(
        name=name,
        columns=columns,
        parent_parts=parent,
        parent_columns=parent_columns,
        rely=_take_characteristics(cursor),
    )


def _read_columns(cursor: Cursor) -> tuple[str, ...]:
    cursor.read("(")
    names: list[str] = []
    while not names or cursor.take(","):
        names.append(cursor.read_name())
        if cursor.take("TIMESERIES"):
            raise UnsupportedClause("TIMESERIES in a primary key", "Leave it out.")
    cursor.read(")")
    return tuple(names)


def _take_characteristics(cursor: Cursor) -> bool:
    """Returns True if RELY is present."""
    rely = False
    while True:
        if any(cursor.take(*words) for words in _NEUTRAL):
            continue
        if cursor.take("RELY"):
            rely = True
        elif cursor.take("NORELY") or cursor.take("NO", "RELY"):
            rely = False
        else:
            break
    for words in _REFUSED:
        if cursor.take(*words):
            raise UnsupportedClause(" ".join(words), _ADVICE)
    return rely
