"""Types of a query's columns that Spark does not have, as far as they follow from the query's text."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp

from catalog.errors import SqlError
from engine.sql.dialect.dialect import SyntaxFailure
from engine.sql.postgres.reader import BUGS, is_query, last_name, read_query, tokens_of
from engine.sql.postgres.types import type_name

_MAY_HAVE = re.compile(r"(?i)->(?!>)|#>(?!>)|\bjsonb?\b|uuid")
_TYPES = ("json", "jsonb", "uuid")


@lru_cache(500)
def result_types(text: str) -> tuple[str | None, ...]:
    """Returns `json`, `jsonb` or `uuid` for the columns of a SELECT that certainly have it, and None for the others; an
    empty tuple if none has.
    """
    if _MAY_HAVE.search(text) is None:
        return ()
    try:
        tokens = tokens_of(text)
        tree = read_query(tokens, text) if is_query(tokens) else None
    except (SyntaxFailure, SqlError, RecursionError, *BUGS):  # its error follows when it is described or run
        return ()
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select) or any(one.is_star for one in tree.expressions):
        return ()
    found = tuple(map(_type_of, tree.expressions))
    return found if any(found) else ()


def _type_of(node: exp.Expr) -> str | None:
    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    if isinstance(node, exp.JSONExtract | exp.JSONBExtract) and not isinstance(
        node, exp.JSONExtractScalar | exp.JSONBExtractScalar
    ):
        return _type_of(node.this) or "json"
    if isinstance(node, exp.Anonymous) and last_name(node) == "gen_random_uuid":
        return "uuid"
    name = type_name(node.to) if isinstance(node, exp.Cast) else None
    return name if name in _TYPES else None
