"""Parses DESCRIBE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import UnsupportedClause
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.bodies import is_known_function
from engine.sql.query.names import SCHEMA_WORDS, read_catalog, read_schema, read_table, read_table_or_path
from engine.sql.query.query import is_query, parse_query
from engine.statements.describe.statement import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
)
from engine.statements.functions.grammar_calls import read_function
from engine.statements.functions.statement import DescribeFunction
from engine.statements.policies.grammar import parse_describe_policy
from engine.statements.volumes.statement import DescribeVolume


def parse_describe(cursor: Cursor) -> Statement:
    """Parses `DESCRIBE` for a table, a column, a schema, a query, a table's history or its details."""
    if cursor.words(1)[:1] != ["TABLE"] and is_query(cursor):
        return DescribeQuery(inner=parse_query(cursor))
    if _is_word_with_name(cursor, "QUERY"):
        cursor.read("QUERY")
        return DescribeQuery(inner=parse_query(cursor))
    if _is_word_with_name(cursor, "HISTORY"):
        cursor.read("HISTORY")
        parts = read_table_or_path(cursor)
        limit = _read_limit(cursor) if cursor.take("LIMIT") else None
        return DescribeHistory(table_parts=parts, limit=limit)
    if _is_word_with_name(cursor, "DETAIL"):
        cursor.read("DETAIL")
        return DescribeDetail(table_parts=read_table_or_path(cursor))
    if _is_word_with_name(cursor, "CATALOG"):
        cursor.read("CATALOG")
        extended = _take_before_name(cursor, "EXTENDED")
        return DescribeCatalog(catalog=read_catalog(cursor), extended=extended)
    for word in SCHEMA_WORDS:
        if _is_word_with_name(cursor, word):
            cursor.read(word)
            extended = _take_before_name(cursor, "EXTENDED")
            return DescribeSchema(schema_parts=read_schema(cursor), extended=extended)
    if _is_word_with_name(cursor, "FUNCTION"):
        cursor.read("FUNCTION")
        extended = _take_before_name(cursor, "EXTENDED")
        if not cursor.is_name() and not cursor.is_done:
            raise unsupported_statement("DESCRIBE FUNCTION of an operator")
        function = read_function(cursor)
        if len(function) == 1 and is_known_function(function[0]):
            raise unsupported_statement("DESCRIBE FUNCTION of a function of Spark's")
        return DescribeFunction(function_parts=function, extended=extended)
    if _is_word_with_name(cursor, "VOLUME"):
        cursor.read("VOLUME")
        return DescribeVolume(volume_parts=read_table(cursor))
    if cursor.words(1) == ["POLICY"] and cursor.words(3)[2:] == ["ON"]:
        cursor.read("POLICY")
        return parse_describe_policy(cursor)
    if _is_word_with_name(cursor, "PROCEDURE"):
        raise unsupported_statement("DESCRIBE PROCEDURE")
    return _describe_table(cursor)


def _describe_table(cursor: Cursor) -> DescribeTable:
    _take_before_name(cursor, "TABLE")
    extended = _take_before_name(cursor, "EXTENDED") or _take_before_name(cursor, "FORMATTED")
    parts = read_table(cursor)
    if cursor.words(2) == ["PARTITION", "("]:
        raise unsupported_statement("DESCRIBE TABLE … PARTITION")
    column = cursor.read_names() if cursor.is_name() and cursor.words(2) != ["AS", "JSON"] else ()
    as_json = cursor.take("AS", "JSON")
    if as_json and (column or not extended):
        raise UnsupportedClause("AS JSON without EXTENDED, or of a column", "Write DESCRIBE TABLE EXTENDED t AS JSON.")
    return DescribeTable(table_parts=parts, extended=extended, column_parts=column, as_json=as_json)


def _is_word_with_name(cursor: Cursor, word: str) -> bool:
    """Returns True if `word` is a keyword here, so followed by something; alone, or before a dot, it is a name."""
    words = cursor.words(2)
    return words[:1] == [word] and cursor.count > 1 and words[1:] != ["."]


def _take_before_name(cursor: Cursor, word: str) -> bool:
    return _is_word_with_name(cursor, word) and cursor.take(word)


def _read_limit(cursor: Cursor) -> int:
    limit = cursor.take_number()
    if limit is None:
        raise cursor.fail("a whole number is expected after LIMIT")
    return limit


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {("DESC",): parse_describe, ("DESCRIBE",): parse_describe}
)
