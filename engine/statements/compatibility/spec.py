"""Other systems' statements that clients send, and that have little effect: the objects that they refer to do not
exist.

There is no cache to refresh, since each statement reads the newest version; and there are no locks, multi-statement
transactions, indexes or roles. Results are empty, with the other system's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, Outcome
from engine.runtime.results import empty_result, string_rows
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_table
from engine.statements.spec import StatementSpec, unrestricted


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(Statement):
    """`REFRESH [TABLE] t | 'path' | FUNCTION f`, `INVALIDATE METADATA [t]`, `MSCK [REPAIR TABLE] t …`

    `table_parts` is None without a table name.
    """

    table_parts: tuple[str, ...] | None = None


class Absent(StrEnum):
    """Object kinds that do not exist here."""

    LOCKS = "LOCKS"
    TRANSACTIONS = "TRANSACTIONS"
    COMPACTIONS = "COMPACTIONS"
    INDEXES = "INDEXES"
    ROLES = "ROLES"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAbsent(Statement):
    """`SHOW LOCKS|TRANSACTIONS|INDEX|ROLES …`; `table_parts` is the statement's table, if any."""

    kind: Absent
    table_parts: tuple[str, ...] | None = None


ForeignStatement = Refresh | ShowAbsent


def parse_refresh(cursor: Cursor) -> Refresh:
    """Parses the text after REFRESH: `[TABLE] t`, `'path'`, `FUNCTION f`. Spark also takes a path without quotes."""
    if cursor.words(1) in (["/"], ["."]):
        raise unsupported_statement("REFRESH of a path without quotes")
    for words in (("MATERIALIZED", "VIEW"), ("STREAMING", "TABLE")):
        if cursor.take(*words):
            raise unsupported_statement(f"REFRESH {' '.join(words)}")
    if cursor.take_strings():
        return Refresh()
    if cursor.words(1) == ["FUNCTION"] and cursor.count > 1 and cursor.words(2)[1:] != ["."]:
        cursor.read("FUNCTION")
        cursor.read_names()
        return Refresh()
    return _of_table(cursor)


def parse_invalidate(cursor: Cursor) -> Refresh:
    """Parses the text after INVALIDATE: Impala's `METADATA [t]`."""
    cursor.read("METADATA")
    return Refresh() if cursor.is_done else Refresh(table_parts=read_table(cursor))


def parse_msck(cursor: Cursor) -> Refresh:
    """Parses the text after MSCK: `[REPAIR] TABLE t [ADD|DROP|SYNC PARTITIONS | SYNC METADATA]`.

    The log has all partitions.
    """
    cursor.take("REPAIR")
    cursor.read("TABLE")
    found = Refresh(table_parts=read_table(cursor))
    if cursor.take_any("ADD", "DROP", "SYNC") and not cursor.take("METADATA"):
        cursor.read("PARTITIONS")
    return found


def show_locks(cursor: Cursor) -> ShowAbsent:
    """Reads `[t] [EXTENDED]`."""
    named = None if cursor.is_done else read_table(cursor)
    cursor.take("EXTENDED")
    return ShowAbsent(kind=Absent.LOCKS, table_parts=named)


def show_indexes(cursor: Cursor) -> ShowAbsent:
    """Parses `ON t [FROM|IN schema]`; DBeaver sends the name as a text, without its schema."""
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


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Refresh | ShowAbsent]] = MappingProxyType(
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


# Hive's columns.
_COLUMNS: Mapping[Absent, tuple[str, ...]] = MappingProxyType(
    {
        Absent.LOCKS: ("tab_name", "mode"),
        Absent.TRANSACTIONS: ("txnid", "state", "startedtime", "lastheartbeattime", "user", "host"),
        Absent.COMPACTIONS: ("compactionid", "dbname", "tabname", "partname", "type", "state"),
        Absent.INDEXES: ("idx_name", "tab_name", "col_names", "idx_tab_name", "idx_type", "comment"),
        Absent.ROLES: ("role",),
    }
)


def answer_foreign(_: BoundStatement, statement: ForeignStatement) -> Outcome:
    """Returns no rows; binding has found the statement's table, if any."""
    if isinstance(statement, Refresh):
        return Outcome(result=empty_result())
    return Outcome(result=string_rows(_COLUMNS[statement.kind], []))


def _bind(statement: Refresh | ShowAbsent, binder: Binder) -> BoundNames:
    named = statement.table_parts
    return BoundNames(relations=() if named is None else (binder.bind_for_columns(named),))


SPECS: tuple[StatementSpec[Any], ...] = (
    unrestricted(
        Refresh,
        "REFRESH",
        syntax="REFRESH {[TABLE] table | 'path' | FUNCTION function} | INVALIDATE METADATA [table] | "
        "MSCK REPAIR TABLE table",
        example="REFRESH TABLE orders",
        bind=_bind,
        answer=answer_foreign,
    ),
    unrestricted(
        ShowAbsent,
        "SHOW LOCKS",
        syntax="SHOW {LOCKS [table] [EXTENDED] | TRANSACTIONS | COMPACTIONS | INDEXES ON table | [CURRENT] ROLES}",
        example="SHOW LOCKS",
        bind=_bind,
        answer=answer_foreign,
    ),
)
