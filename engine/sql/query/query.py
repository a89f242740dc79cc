"""Parses the rest of a statement as a query: tokens → tree → positions of table names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from catalog.conditions import UnsupportedClause
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS, SyntaxFailure, parse_query_tree, tokenize
from engine.sql.query.metadata_queries import metadata_query
from engine.sql.query.needed_rows import needed_rows
from engine.sql.query.plain_values import plain_rows
from engine.sql.query.scopes import read_names
from engine.sql.query.source_text import slice_text
from engine.sql.query.values import Query

# Matching literals takes longer than parsing a long list of constants, which is one token.
_PLAIN_CHARACTERS_MAX = 10_000

# Tokens that follow USING if a script is named; a JOIN's USING is followed by a parenthesis.
_SCRIPT_TOKENS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.COLON, TokenType.PLACEHOLDER})


def is_query(cursor: Cursor) -> bool:
    """Returns whether a query begins here. In parentheses it must begin with a word that cannot be a column there."""
    words = cursor.words(cursor.count)
    opening = next((index for index, word in enumerate(words) if word != "("), len(words))
    head = words[opening : opening + 2]
    if not opening:
        return head[:1] != [] and head[0] in QUERY_LEADING_WORDS
    return head[:1] in (["SELECT"], ["WITH"]) or head == ["VALUES", "("]


def parse_query(cursor: Cursor) -> Query:
    """Parses all remaining tokens. The query's text keeps white space and comments before it, and nothing else."""
    tokens = cursor.read_rest()
    start = 0 if cursor.is_first(tokens[0]) else tokens[0].start
    text = slice_text(cursor.text, start, tokens[-1].end + 1)
    # Literals contain no name and no query: a tree would only repeat the text.
    if tokens[0].token_type == TokenType.VALUES and len(text) <= _PLAIN_CHARACTERS_MAX and plain_rows(text) is not None:
        return Query(text=text)
    if start:
        tokens = tokenize(text)
    _ensure_no_script(tokens)
    _ensure_one_limit(tokens, start)
    try:
        tree = parse_query_tree(tokens, text)
    except SyntaxFailure as failure:
        raise SyntaxFailure(failure.reason, failure.offset + start) from None
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise SyntaxFailure("a query is expected", start + tokens[0].start)
    named = read_names(tree, text, tokens)
    needed = needed_rows(tree) if len(named.relations) == 1 else None
    return replace(named, metadata_query=metadata_query(tree), needed=needed)


def _ensure_one_limit(tokens: Sequence[Token], start: int) -> None:
    """Raises for `LIMIT 5, 10`, which sqlglot reads and Spark does not."""
    for index, token in enumerate(tokens):
        if token.token_type == TokenType.LIMIT:
            skipped, comma, count = (*tokens[index + 1 : index + 4], *(token,) * 3)[:3]
            if (skipped.token_type, comma.token_type) == (TokenType.NUMBER, TokenType.COMMA):
                reason = f"LIMIT takes one number; write LIMIT {count.text} OFFSET {skipped.text}"
                raise SyntaxFailure(reason, start + comma.start)


def query_tree(text: str) -> exp.Expr:
    """Parses a text that is one query into a tree."""
    return parse_query_tree(tokenize(text), text)


def lone_source(text: str, several: SyntaxFailure) -> tuple[str, bool]:
    """Returns the only source's name in the query (empty without a name), and whether it is just a table."""
    tree = parse_query_tree(tokenize(text), text)
    source = tree.args["from_"].this
    if any(tree.args.get(clause) for clause in tree.args if clause not in ("expressions", "from_", "with_", "kind")):
        raise several
    is_table = isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier | exp.Dot)
    is_table = is_table and not any(source.args.get(clause) for clause in ("sample", "pivots", "joins", "laterals"))
    return source.alias_or_name, is_table


def _ensure_no_script(tokens: Sequence[Token]) -> None:
    for token, follower in pairwise(tokens):
        if token.token_type == TokenType.USING and follower.token_type in _SCRIPT_TOKENS:
            raise UnsupportedClause(
                "TRANSFORM … USING (also MAP and REDUCE)", "It runs a program on the server; use SQL functions."
            )
