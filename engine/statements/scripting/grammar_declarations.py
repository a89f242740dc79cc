"""Parses script declarations besides variables: labels, conditions, handlers and cursors; OPEN, FETCH and CLOSE.

Names are checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files

from catalog.conditions import (
    CursorQualifier,
    DuplicateHandler,
    DuplicateSqlstateHandler,
    EndLabelAlone,
    HandlerConditionNotFound,
    HandlerConditionTwice,
    HandlerMixesConditions,
    HandlerSqlstateTwice,
    InvalidSqlstate,
    IterateInBlock,
    LabelForbidden,
    LabelsDiffer,
    LabelTaken,
    UnknownLabel,
)
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.query.query import parse_query
from engine.statements.scripting.grammar_immediate import parse_arguments
from engine.statements.scripting.statement import CloseCursor, DeclareCursor, FetchCursor, Handler, OpenCursor
from engine.statements.variables.grammar import read_variable_names
from engine.statements.variables.statement import Names

# Spark's error conditions, which a handler may name; with and without the part after the dot.
KNOWN_CONDITIONS = frozenset(files(__package__).joinpath("spark_conditions.tsv").read_text().split())

_FORBIDDEN = frozenset({"builtin", "session", "system"})
_SQLSTATE = re.compile(r"(?!00|01|XX)[A-Z0-9]{5}")


@dataclass(slots=True)
class Declared:
    """A block's declarations so far, which restrict further declarations."""

    cursors: set[str] = field(default_factory=set)
    has_handler: bool = False
    has_statement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The condition list after HANDLER FOR."""

    names: tuple[str, ...] = ()
    sqlstates: tuple[str, ...] = ()
    sql_exception: bool = False
    not_found: bool = False


class Labels:
    """The enclosing labels and FOR variables, with True for a loop's label, and None for a variable."""

    def __init__(self) -> None:
        self._open: dict[str, bool | None] = {}

    @contextmanager
    def within(self, label: str | None, *, is_loop: bool) -> Iterator[None]:
        """Opens `label` for the duration of the block."""
        with self._open_label(label, is_loop):
            yield

    @contextmanager
    def with_variable(self, name: str | None) -> Iterator[None]:
        """Opens a FOR variable, which shares the labels' namespace, but cannot be a jump target."""
        with self._open_label(name, None):
            yield

    @contextmanager
    def _open_label(self, name: str | None, is_loop: bool | None) -> Iterator[None]:
        if name is None:
            yield
            return
        if name in _FORBIDDEN:
            raise LabelForbidden(name)
        if name in self._open:
            raise LabelTaken(name)
        self._open[name] = is_loop
        yield
        del self._open[name]

    def ensure_may_jump(self, word: str, label: str) -> None:
        """Checks the label after `word`, LEAVE or ITERATE.

        Raises `UnknownLabel`, or `IterateInBlock` if ITERATE names a label that is not a loop's.
        """
        is_loop = self._open.get(label)
        if is_loop is None:
            raise UnknownLabel(label, word)
        if word == "ITERATE" and not is_loop:
            raise IterateInBlock(label)

    @staticmethod
    def ensure_ends(label: str | None, end: str) -> None:
        """Checks that `end`, the label after END, matches."""
        if label is None:
            raise EndLabelAlone(end)
        if label != end:
            raise LabelsDiffer(label, end)


def ensure_sqlstate(value: str) -> str:
    """Returns `value` in upper case."""
    if not _SQLSTATE.fullmatch(value.upper()):
        raise InvalidSqlstate(value)
    return value.upper()


def read_conditions(cursor: Cursor, declared: frozenset[str]) -> Conditions:
    """Reads a list with SQLSTATE, SQLEXCEPTION, NOT FOUND and names; `declared` are the script's own conditions."""
    names: list[str] = []
    sqlstates: list[str] = []
    sql_exception = not_found = False
    count = 0
    while not count or cursor.take(","):
        count += 1
        if cursor.take("SQLSTATE"):
            cursor.take("VALUE")
            sqlstates.append(ensure_sqlstate(cursor.read_string()))
        elif cursor.take("SQLEXCEPTION"):
            sql_exception = True
        elif cursor.take("NOT", "FOUND"):
            not_found = True
        else:
            names.append(".".join(cursor.read_names()).upper())
    if count > 1 and (sql_exception or not_found):
        raise HandlerMixesConditions()
    for name in names:
        if names.count(name) > 1:
            raise HandlerConditionTwice(name)
        if name not in declared | KNOWN_CONDITIONS:
            raise HandlerConditionNotFound(name)
    for value in sqlstates:
        if sqlstates.count(value) > 1:
            raise HandlerSqlstateTwice(value)
    return Conditions(names=tuple(names), sqlstates=tuple(sqlstates), sql_exception=sql_exception, not_found=not_found)


def ensure_new_handler(handler: Handler, others: Sequence[Handler]) -> None:
    """Checks that a block has one handler per condition."""
    for other in others:
        for name in _condition_names(handler) & _condition_names(other):
            raise DuplicateHandler(name)
        for value in set(handler.sqlstates) & set(other.sqlstates):
            raise DuplicateSqlstateHandler(value)


def _condition_names(handler: Handler) -> set[str]:
    general = [("SQLEXCEPTION", handler.sql_exception), ("NOT FOUND", handler.not_found)]
    return {*handler.conditions, *(name for name, is_meant in general if is_meant)}


_PARTS_MAX = 2


def parse_declare_cursor(cursor: Cursor) -> DeclareCursor:
    """Parses the text after DECLARE: `name [ASENSITIVE | INSENSITIVE] CURSOR FOR query [FOR READ ONLY]`"""
    name = cursor.read_name()
    cursor.take_any("ASENSITIVE", "INSENSITIVE")
    cursor.read("CURSOR")
    cursor.read("FOR")
    start = cursor.offset
    text = cursor.read_text(("FOR", "READ", "ONLY"), ends_at_comma=False, what="a query")
    try:
        query = parse_query(Cursor(text, tokenize(text)))
    except SyntaxFailure as failure:
        raise SyntaxFailure(failure.reason, start + failure.offset) from None
    cursor.take("FOR", "READ", "ONLY")
    cursor.ensure_done()
    return DeclareCursor(name=name, query=query)


def parse_cursor_statement(cursor: Cursor) -> OpenCursor | FetchCursor | CloseCursor:
    """Parses OPEN, FETCH or CLOSE."""
    if cursor.take("OPEN"):
        parts = _read_cursor(cursor)
        arguments, row = parse_arguments(cursor)
        statement: OpenCursor | FetchCursor | CloseCursor = OpenCursor(
            parts=parts, arguments=arguments, arguments_row=row
        )
    elif cursor.take("FETCH"):
        if not cursor.take("NEXT", "FROM"):
            cursor.take("FROM")
        parts = _read_cursor(cursor)
        cursor.read("INTO")
        statement = FetchCursor(parts=parts, targets=read_variable_names(cursor))
    else:
        cursor.read("CLOSE")
        statement = CloseCursor(parts=_read_cursor(cursor))
    cursor.ensure_done()
    return statement


def _read_cursor(cursor: Cursor) -> Names:
    parts = cursor.read_names()
    if len(parts) > _PARTS_MAX:
        raise CursorQualifier(".".join(parts))
    return parts
