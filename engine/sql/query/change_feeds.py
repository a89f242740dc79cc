"""`table_changes('name', start[, end])` and `table_changes_by_path('/path', start[, end])` as a query's relations.

The grammar treats them as functions in FROM; later stages treat them as relations that name a table. So the table is
resolved, pinned and authorized like a table that is read by its name. For that reason the first argument is a literal;
the others are expressions without columns, which are evaluated when the table is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp
from sqlglot.errors import TokenError

from catalog.conditions import UnsupportedClause, WrongArgumentCount
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import CHANGE_FEED, SPAN, SyntaxFailure, tokenize
from engine.sql.dialect.functions import TABLE_CHANGES, TABLE_CHANGES_BY_PATH
from engine.sql.query.names import read_table
from engine.sql.query.values import ChangeRange, Relation, Span

_ARGUMENTS_MIN, _ARGUMENTS_MAX = 2, 3


def is_change_feed(node: exp.Table) -> bool:
    """Returns whether `node` is a call of one of the two functions."""
    return isinstance(node.this, exp.Anonymous) and CHANGE_FEED in node.this.meta


def read_change_feed(node: exp.Table, text: str) -> Relation:
    """Returns the relation for the call in `node`.

    Raises `WrongArgumentCount`, `UnsupportedClause` for a computed name, and for AS OF after the call.
    """
    call = node.this
    function = call.meta[CHANGE_FEED]
    arguments = call.expressions
    if not _ARGUMENTS_MIN <= len(arguments) <= _ARGUMENTS_MAX:
        raise WrongArgumentCount(function, len(arguments), _ARGUMENTS_MIN, _ARGUMENTS_MAX)
    if node.args.get("version"):
        raise UnsupportedClause(f"AS OF after {function}", "The function's arguments say which versions are read.")
    bounds = [text[slice(*argument.meta[SPAN])] for argument in arguments[1:]]
    return Relation(
        name_parts=_NAMES[function](_literal(arguments[0], function), arguments[0].meta[SPAN][0]),
        span=Span(*call.meta[SPAN]),
        alias=node.alias or None,
        changes=ChangeRange(*bounds),
    )


def _literal(argument: exp.Expr, function: str) -> str:
    is_string = isinstance(argument, exp.RawString) or (isinstance(argument, exp.Literal) and argument.is_string)
    if not is_string:
        raise UnsupportedClause(f"A computed first argument of {function}", "Write it as a string in quotes.")
    return argument.name


def _parts_of_name(name: str, offset: int) -> tuple[str, ...]:
    """Returns the parts of a name in a string; each part may be in backticks."""
    try:
        cursor = Cursor(name, tokenize(name))
        parts = read_table(cursor)
        cursor.ensure_done()
    except (SyntaxFailure, TokenError):
        raise SyntaxFailure(f"{name!r} is no name of a table", offset) from None
    return parts


def _parts_of_path(path: str, _: int) -> tuple[str, ...]:
    return ("delta", path)


_NAMES: Mapping[str, Callable[[str, int], tuple[str, ...]]] = MappingProxyType(
    {TABLE_CHANGES: _parts_of_name, TABLE_CHANGES_BY_PATH: _parts_of_path}
)
