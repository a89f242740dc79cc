"""Which queries ask for nothing but counts and extremes of one whole table, so that the log may answer them.

    SELECT count(*), min(day) AS first, max(t.day) FROM s.t

Anything beside such a list and the one table (a condition, a grouping, a sample, a hint that does something) makes it
another query. Whether the log knows the answer is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from engine.statements import Aggregate, AggregateKind

_SELECT_ARGUMENTS = frozenset({"expressions", "from_", "hint"})
_TABLE_ARGUMENTS = frozenset({"this", "db", "catalog", "alias", "version"})
_EXTREMES: Mapping[str, AggregateKind] = MappingProxyType({"min": AggregateKind.MIN, "max": AggregateKind.MAX})


def whole_table_aggregates(tree: exp.Query | exp.Values) -> tuple[Aggregate, ...]:
    """The aggregates in the order of the result's columns; empty for every other query."""
    if not isinstance(tree, exp.Select) or _given(tree) - _SELECT_ARGUMENTS:
        return ()
    source = tree.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or isinstance(table.this, exp.Func) or _given(table) - _TABLE_ARGUMENTS:
        return ()
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return ()
    found = [_aggregate(expression) for expression in tree.expressions]
    return tuple(item for item in found if item is not None) if all(found) else ()


def _given(node: exp.Expression) -> set[str]:
    return {name for name, value in node.args.items() if value}


def _aggregate(expression: exp.Expression) -> Aggregate | None:
    """One item of the list; its name is the alias, or what Spark calls such a column."""
    call = expression.this if isinstance(expression, exp.Alias) else expression
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1 or not isinstance(call.this, str):
        return None
    function, argument = call.this.lower(), call.expressions[0]
    alias = expression.alias if isinstance(expression, exp.Alias) else None
    if function == "count" and (_is_bare_star(argument) or _is_one(argument)):
        return Aggregate(kind=AggregateKind.COUNT_ROWS, name=alias or "count(1)")
    if function in _EXTREMES and isinstance(argument, exp.Column) and isinstance(argument.this, exp.Identifier):
        if argument.args.get("db") or argument.args.get("catalog"):
            return None  # more parts may be fields of a struct
        column = argument.this.this
        qualifier = argument.args.get("table")
        return Aggregate(
            kind=_EXTREMES[function],
            column=column,
            qualifier=qualifier.this if qualifier is not None else None,
            name=alias or f"{function}({column})",
        )
    return None


def _is_bare_star(argument: exp.Expression) -> bool:
    return isinstance(argument, exp.Star) and not _given(argument)


def _is_one(argument: exp.Expression) -> bool:
    return isinstance(argument, exp.Literal) and not argument.is_string and argument.this == "1"
