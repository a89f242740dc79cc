"""Parses INSERT in all forms (Spark's `insertInto` rule), up to the query, which is read like any other.

Spark allows `WITH c AS (…) INSERT INTO t SELECT …`, and `FROM s INSERT INTO t SELECT …`, with or without WITH. These
clauses belong to the query, so the query's text is the statement's with the INSERT clause blanked out, which preserves
lines and columns. After FROM several INSERTs may follow: each is read as if it were the only one.

A REPLACE condition is kept as text, into which `with_condition_values` substitutes parameter values.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from catalog.conditions import StatementNotSupported, UnsupportedClause
from engine.runtime.parameters import Parameter
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS, tokenize, tokenize_with_constants
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.dialect.tokens import Token, TokenType
from engine.sql.parameters import with_values
from engine.sql.query.names import read_table
from engine.sql.query.query import is_query, parse_query
from engine.sql.query.values import Query, Span
from engine.statements.create_table.grammar_clauses import read_name_list
from engine.statements.insert.statement import (
    DefaultMarker,
    Defaults,
    Insert,
    MultiInsert,
    PartitionItem,
    ReplaceOn,
    ReplaceUsing,
    ReplaceWhere,
)

_Replace = ReplaceWhere | ReplaceUsing | ReplaceOn
_QUERY_WORDS = tuple((leading_words,) for leading_words in sorted(QUERY_LEADING_WORDS - {"("}))
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_BEFORE_VALUE = frozenset({TokenType.COMMA, TokenType.L_PAREN, TokenType.SELECT, TokenType.VALUES})
_AFTER_VALUE = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM, TokenType.SENTINEL})
_CONSTANT_ENDS = frozenset({*_CLOSING, TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})
# Words after which a query in parentheses is a value, or a set of values.
_BEFORE_OPERAND = frozenset(
    "ALL AND ANY BETWEEN CASE DISTINCT DIV ELSE ESCAPE EXISTS FROM ILIKE IN LIKE NOT OR REGEXP RLIKE SOME THEN "
    "WHEN".split()
)
_SET_OPERATIONS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_AFTER_INSERT = frozenset({"INTO", "OVERWRITE", "WITH"})
_END = Token(TokenType.SENTINEL, "")
_DEFAULT_ROW = "VALUES (DEFAULT)"
_NOT_NEWLINE = re.compile(r"[^\n]")


def parse_insert(cursor: Cursor) -> Insert:
    """Parses the text after INSERT."""
    return _read_insert(cursor, led_by=None)


def parse_led_insert(cursor: Cursor) -> Insert | MultiInsert:
    """Parses `WITH … INSERT …`, `[WITH …] FROM … INSERT … [INSERT …]`, from the first word; see
    :func:`is_led_insert`.
    """
    text, (first, *others) = cursor.text, cursor.places_ahead("INSERT", _AFTER_INSERT)
    ends = [*others, cursor.read_rest()[-1].end + 1]
    inserts = []
    for start, end in zip((first, *others), ends, strict=True):
        one = text[:first] + _NOT_NEWLINE.sub(" ", text[first:start]) + text[start:end]
        inserts.append(_parse_led(Cursor(one, tokenize(one)), start))
    return MultiInsert(inserts=tuple(inserts)) if others else inserts[0]


def is_led_insert(cursor: Cursor) -> bool:
    """Returns True if the WITH or FROM clause here belongs to an INSERT."""
    return cursor.words(1) in (["WITH"], ["FROM"]) and cursor.places_ahead("INSERT", _AFTER_INSERT) != []


def _parse_led(cursor: Cursor, place: int) -> Insert:
    start = cursor.offset
    cursor.skip_to(place)
    clauses = Span(start, cursor.offset)
    cursor.read("INSERT")
    return _read_insert(cursor, clauses)


def _read_insert(cursor: Cursor, led_by: Span | None) -> Insert:
    schema_evolution = cursor.take("WITH", "SCHEMA", "EVOLUTION")
    overwrite = cursor.take("OVERWRITE")
    if not overwrite:
        cursor.read("INTO")
    elif cursor.take("DIRECTORY") or cursor.take("LOCAL", "DIRECTORY"):
        raise unsupported_statement("INSERT OVERWRITE DIRECTORY")
    cursor.take("TABLE")
    table = read_table(cursor)
    alias = _take_alias(cursor)
    if cursor.words(2) == ["WITH", "("]:
        raise UnsupportedClause("WITH (…) after the table of an INSERT", "Use settings of the session instead.")
    partition = _take_partition(cursor)
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    by_name = cursor.take("BY", "NAME")
    columns = read_name_list(cursor) if not by_name and cursor.words(1) == ["("] and not is_query(cursor) else ()
    replace = None if overwrite or partition else _take_replace(cursor)
    if alias is not None and replace is None:
        raise cursor.fail("REPLACE is expected: only with it the table of an INSERT has another name")
    if isinstance(replace, ReplaceOn):
        replace = dataclasses.replace(replace, source_alias=cursor.take_alias_at_end())
    has_only_defaults = not (by_name or columns or replace or partition) and cursor.take("DEFAULT", "VALUES")
    source = _read_defaults(cursor) if has_only_defaults else _read_source(cursor, led_by)
    return Insert(
        table_parts=table,
        source=source,
        overwrite=overwrite,
        alias=alias,
        columns=columns,
        by_name=by_name,
        partition=partition,
        if_not_exists=if_not_exists,
        replace=replace,
        schema_evolution=schema_evolution,
        defaults=_defaults(source),
        has_only_defaults=has_only_defaults,
    )


def _take_alias(cursor: Cursor) -> str | None:
    """Reads `AS a`, or `a` alone, which is an alias only before REPLACE."""
    if cursor.take("AS") or cursor.words(2)[1:] == ["REPLACE"] or cursor.words(3)[1:] == ["BY", "NAME"]:
        return cursor.read_name()
    return None


def _take_partition(cursor: Cursor) -> tuple[PartitionItem, ...]:
    if not cursor.take("PARTITION"):
        return ()
    cursor.read("(")
    items: list[PartitionItem] = []
    while not items or cursor.take(","):
        column = cursor.read_name()
        items.append(PartitionItem(column=column, value=cursor.read_text() if cursor.take("=") else None))
    cursor.read(")")
    return tuple(items)


def _take_replace(cursor: Cursor) -> _Replace | None:
    if cursor.take("REPLACE", "WHERE"):
        return ReplaceWhere(condition=_read_condition(cursor))
    if cursor.take("REPLACE", "ON"):
        return ReplaceOn(condition=_read_condition(cursor))
    return ReplaceUsing(columns=read_name_list(cursor)) if cursor.take("REPLACE", "USING") else None


def _read_condition(cursor: Cursor) -> str:
    """Reads a condition, which ends where a query begins: at a query's first word outside parentheses, or at a query in
    parentheses after a value (`t.k = s.k (SELECT …)`). That is not a call: a query among arguments has its own
    parentheses.
    """
    return cursor.read_text(*_QUERY_WORDS, ends_at=_is_query_after_value, ends_at_comma=False, what="a condition")


def _is_query_after_value(cursor: Cursor) -> bool:
    before = cursor.before
    if before is None or cursor.words(1) != ["("] or not is_query(cursor):
        return False
    if before.token_type in _CONSTANT_ENDS:
        return True
    is_name = before.token_type == TokenType.IDENTIFIER or before.text.isidentifier()
    return is_name and before.text.upper() not in _BEFORE_OPERAND and cursor.words(2) != ["(", "("]


def _read_source(cursor: Cursor, led_by: Span | None) -> Query:
    if led_by is None:
        return parse_query(cursor)
    leading_words, clause = cursor.text[: led_by.end], cursor.text[led_by.end : cursor.offset]
    tail = cursor.text[cursor.offset : cursor.read_rest()[-1].end + 1]
    text = leading_words + _NOT_NEWLINE.sub(" ", clause) + tail
    return parse_query(Cursor(text, tokenize(text)))


def _read_defaults(cursor: Cursor) -> Query:
    """Returns the row of DEFAULT VALUES."""
    cursor.ensure_done()
    return parse_query(Cursor(_DEFAULT_ROW, tokenize(_DEFAULT_ROW)))


def _defaults(source: Query) -> Defaults:
    """Finds DEFAULT as an entire value: in VALUES rows, or in the query's own SELECT list."""
    if "default" not in source.text.lower():
        return Defaults()
    tokens = tokenize(source.text)
    if not any(token.token_type == TokenType.DEFAULT for token in tokens):
        return Defaults()
    tokens = tokenize_with_constants(source.text)  # rows are counted
    is_values = tokens[0].token_type == TokenType.VALUES
    if not is_values and tokens[0].token_type != TokenType.SELECT:
        return Defaults()
    list_depth = 1 if is_values else 0
    markers = []
    depth = row = column = 0
    for before, token, follower in zip(tokens, tokens[1:], [*tokens[2:], _END], strict=False):
        kind = token.token_type
        if kind in _OPENING:
            depth += 1
            column = 0 if is_values and depth == list_depth else column
        elif kind in _CLOSING:
            depth -= 1
        elif kind == TokenType.FROM and depth == 0:
            break
        elif kind == TokenType.COMMA and depth == list_depth:
            column += 1
        elif kind == TokenType.COMMA and depth == 0:
            row += 1
        elif kind == TokenType.DEFAULT and depth <= list_depth:
            if before.token_type in _BEFORE_VALUE and follower.token_type in _AFTER_VALUE:
                markers.append(DefaultMarker(row=row, column=column, span=Span(token.start, token.end + 1)))
    if not markers:
        return Defaults()
    return Defaults(markers=tuple(markers), rows=_num_rows(tokens), row_ends=_row_ends(tokens) if is_values else ())


def _row_ends(tokens: Sequence[Token]) -> tuple[int, ...]:
    """Returns the closing parentheses of VALUES rows; empty if anything else follows, or a row has none."""
    ends, depth = [], 0
    for before, token in pairwise(tokens):
        is_first = depth == 0 and before.token_type in (TokenType.VALUES, TokenType.COMMA)
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        is_last = depth == 0 and token.token_type == TokenType.R_PAREN
        if is_first and token.token_type != TokenType.L_PAREN:
            return ()
        if is_last:
            ends.append(token.start)
        elif depth == 0 and token.token_type != TokenType.COMMA:
            return ()
    return tuple(ends)


def _num_rows(tokens: Sequence[Token]) -> int:
    """Returns the VALUES row count, or 1 for a SELECT list; more if a list or another query (UNION) follows."""
    is_values = tokens[0].token_type == TokenType.VALUES
    rows, depth = 1, 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        is_comma = is_values and token.token_type == TokenType.COMMA
        rows += depth == 0 and (is_comma or token.token_type in _SET_OPERATIONS)
    return rows


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Insert | MultiInsert]] = MappingProxyType(
    {("INSERT",): parse_insert}
)


_LED = ("WITH", "FROM")


def with_condition_values(statement: Insert, parameters: Sequence[Parameter]) -> tuple[Insert, Sequence[Parameter]]:
    """Returns the statement with parameter values in its REPLACE condition, and the remaining parameters.

    Positional markers are counted in text order, so the condition must precede the query. Raises
    `StatementNotSupported` otherwise, and for values without a text form.
    """
    clause = statement.replace
    if not isinstance(clause, ReplaceWhere | ReplaceOn) or not parameters:
        return statement, parameters
    text, used = with_values(clause.condition, parameters)
    if used and statement.source.text.lstrip().upper().startswith(_LED):
        raise StatementNotSupported("A ? in a REPLACE condition beside a query that begins with WITH or FROM")
    return replace(statement, replace=replace(clause, condition=text)), parameters[used:]
