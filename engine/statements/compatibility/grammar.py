"""The grammar of other systems' statements: REFRESH, INVALIDATE METADATA, MSCK, and SHOW of what there is none of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import read_table
from engine.statements.compatibility.statement import Absent, Refresh, ShowAbsent


def parse_refresh(cursor: Cursor) -> Refresh:
    """What follows REFRESH: `[TABLE] t`, `'path'`, `FUNCTION f`."""
    if cursor.take_strings():
        return Refresh()
    if cursor.words(1) == ["FUNCTION"] and cursor.count > 1 and cursor.words(2)[1:] != ["."]:
        cursor.read("FUNCTION")
        cursor.read_names()
        return Refresh()
    return _of_table(cursor)


def parse_invalidate(cursor: Cursor) -> Refresh:
    """What follows INVALIDATE: Impala's `METADATA [t]`."""
    cursor.read("METADATA")
    return Refresh() if cursor.is_done else Refresh(table_parts=read_table(cursor))


def parse_msck(cursor: Cursor) -> Refresh:
    """What follows MSCK: `[REPAIR] TABLE t [ADD|DROP|SYNC PARTITIONS | SYNC METADATA]`. The log has all partitions."""
    cursor.take("REPAIR")
    cursor.read("TABLE")
    found = Refresh(table_parts=read_table(cursor))
    if cursor.take_any("ADD", "DROP", "SYNC") and not cursor.take("METADATA"):
        cursor.read("PARTITIONS")
    return found


def show_locks(cursor: Cursor) -> ShowAbsent:
    """`[t] [EXTENDED]`"""
    named = None if cursor.is_done else read_table(cursor)
    cursor.take("EXTENDED")
    return ShowAbsent(kind=Absent.LOCKS, table_parts=named)


def show_indexes(cursor: Cursor) -> ShowAbsent:
    """`ON t [FROM|IN schema]`; DBeaver gives the name as a text, without its schema."""
    cursor.read("ON")
    if cursor.take_strings():
        return ShowAbsent(kind=Absent.INDEXES)
    table = read_table(cursor)
    schema = cursor.read_names() if cursor.take_any("FROM", "IN") else ()
    return ShowAbsent(kind=Absent.INDEXES, table_parts=(*schema, *table))


def _of_table(cursor: Cursor) -> Refresh:
    if cursor.words(1) == ["TABLE"] and cursor.count > 1 and cursor.words(2)[1:] != ["."]:
        cursor.read("TABLE")
    return Refresh(table_parts=read_table(cursor))


HEADS: Mapping[tuple[str, ...], Callable[[Cursor], Refresh | ShowAbsent]] = MappingProxyType(
    {
        ("INVALIDATE",): parse_invalidate,
        ("MSCK",): parse_msck,
        ("REFRESH",): parse_refresh,
        ("SHOW", "LOCKS"): show_locks,
        ("SHOW", "TRANSACTIONS"): lambda _: ShowAbsent(kind=Absent.TRANSACTIONS),
        ("SHOW", "COMPACTIONS"): lambda _: ShowAbsent(kind=Absent.COMPACTIONS),
        ("SHOW", "INDEX"): show_indexes,
        ("SHOW", "INDEXES"): show_indexes,
        ("SHOW", "FORMATTED", "INDEX"): show_indexes,
        ("SHOW", "FORMATTED", "INDEXES"): show_indexes,
        ("SHOW", "CURRENT", "ROLES"): lambda _: ShowAbsent(kind=Absent.ROLES),
        ("SHOW", "ROLES"): lambda _: ShowAbsent(kind=Absent.ROLES),
    }
)
