"""Labels of result columns, as PostgreSQL derives them from unnamed expressions.

An alias counts as it is written if it is quoted, else in lower case. A column has its own name, a call the function's,
a cast the name of its operand or else of its type; anything else is `?column?`.
"""

from __future__ import annotations

from sqlglot import exp

from engine.sql.postgres.reader import SIGNED, last_name
from engine.sql.postgres.types import type_name

UNNAMED = "?column?"
_KEYWORDS: dict[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentSchema: "current_schema",
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.CurrentRole: "current_role",
    exp.Extract: "extract",
    exp.StrPosition: "position",
    exp.Substring: "substring",
    exp.Overlay: "overlay",
    exp.Exists: "exists",
    exp.Array: "array",
}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
# The functions that PostgreSQL calls for `INTERVAL '1' …` and `AT TIME ZONE`.
_OTHERS: dict[type[exp.Expr], str] = {exp.Interval: "interval", exp.AtTimeZone: "timezone"}


def folded(identifier: exp.Expr) -> str:
    """Returns an identifier's name, in lower case unless it is quoted."""
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()


def label_of(projection: exp.Expr) -> str:
    """Returns the label of a projection that is no star."""
    if isinstance(projection, exp.Alias):
        alias = projection.args["alias"]
        return folded(alias) if isinstance(alias, exp.Identifier) else str(alias)
    return _name_of(projection)[0] or UNNAMED


def _name_of(node: exp.Expr | None) -> tuple[str | None, bool]:
    """Returns an expression's name, and whether it has precedence over the name of a type around it."""
    if node is not None and node.meta.get(SIGNED):
        return None, True
    match node:
        case exp.Column():
            return folded(node.this), True
        case exp.Paren() | exp.Window() | exp.Filter() | exp.WithinGroup() | exp.Bracket() | exp.Collate():
            return _name_of(node.this)
        case exp.Dot():
            last = node.expression
            return (folded(last), True) if isinstance(last, exp.Identifier) else _name_of(last)
        case exp.Anonymous():
            return last_name(node), True
        case exp.Cast():
            name, is_strong = _name_of(node.this)
            return (name, True) if name and is_strong else (type_name(node.to).removeprefix("_"), False)
        case exp.Case():
            name, is_strong = _name_of(node.args.get("default"))
            return (name, True) if name and is_strong else ("case", False)
        case exp.Trim():
            return _TRIMS.get((node.args.get("position") or "").upper(), "btrim"), True
        case exp.Subquery():
            return _name_of_query(node.this), True
        case exp.Select() | exp.SetOperation():
            return _name_of_query(node), True
        case _:  # a sqlglot node
            return _keyword(node)


def _keyword(node: exp.Expr | None) -> tuple[str | None, bool]:
    if node is not None and type(node) in _OTHERS:
        return _OTHERS[type(node)], False
    return (None if node is None else _KEYWORDS.get(type(node))), True


def _name_of_query(query: exp.Expr) -> str | None:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    first = next(iter(query.expressions), None) if isinstance(query, exp.Select) else None
    return None if first is None or isinstance(first, exp.Star) else label_of(first)
