"""Pieces of Spark's SQL with arguments put in."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from engine.sql.dialect.dialect import parse_query_tree, tokenize

_ATOMS = (exp.Literal, exp.Column, exp.Anonymous, exp.Paren, exp.Cast, exp.Placeholder, exp.Boolean, exp.Subquery)


@lru_cache(500)
def _template(text: str) -> exp.Expr:
    query = f"SELECT {text}"
    found: exp.Expr = parse_query_tree(tokenize(query), query).expressions[0]
    return found


def fill(text: str, *arguments: exp.Expr) -> exp.Expr:
    """Returns the expression `text` with the arguments for `_1`, `_2` and so on."""
    made = exp.Paren(this=_template(text).copy())
    for node in list(made.find_all(exp.Identifier, exp.Anonymous)):
        node.meta.pop("start", None)
    for column in list(made.find_all(exp.Column)):
        if column.name[:1] == "_" and column.name[1:].isdecimal():
            argument = arguments[int(column.name[1:]) - 1].copy()
            column.replace(argument if isinstance(argument, _ATOMS) else exp.Paren(this=argument))
    inner = made.this
    return inner if isinstance(inner, _ATOMS) else made


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """Returns a call of a function of Spark."""
    return exp.Anonymous(this=name, expressions=list(arguments))
