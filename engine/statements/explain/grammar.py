"""Parse EXPLAIN."""

from __future__ import annotations

from engine.sql.ddl.writes import parse_explained
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_HEADS
from engine.sql.dialect.errors import UnsupportedStatement
from engine.sql.dialect.refusals import WORDS_MAX, refused_kind
from engine.sql.dialect.suggestions import hint
from engine.sql.query.query import is_query, parse_query
from engine.statements.explain.statement import Explain, ExplainMode, ExplainWrite

_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")


_NO_QUERIES = frozenset({"ANALYZE", "DESC", "DESCRIBE", "EXPLAIN", "RESET", "SET", "SHOW", "USE"})


def parse_explain(cursor: Cursor) -> Explain | ExplainWrite:
    """`EXPLAIN [EXTENDED|CODEGEN|COST|FORMATTED] query | INSERT … | DELETE … | UPDATE … | MERGE …`"""
    mode = ExplainMode.SIMPLE
    word = cursor.take_any(*_MODES)
    if word is not None:
        mode = ExplainMode(word.lower())
    inner = parse_explained(cursor)
    if inner is not None:
        return ExplainWrite(mode=mode, inner=inner)
    if not is_query(cursor):
        first = next(iter(cursor.words(1)), "")
        kind = refused_kind(cursor.words(WORDS_MAX)) or (first if first in _NO_QUERIES else None)
        if kind is None:
            raise cursor.fail(f"a query is expected after EXPLAIN{hint(first, sorted(QUERY_HEADS | set(_MODES)))}")
        raise UnsupportedStatement(f"EXPLAIN {kind}")
    return Explain(mode=mode, inner=parse_query(cursor))
