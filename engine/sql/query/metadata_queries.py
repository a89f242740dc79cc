"""Detects metadata-only queries: queries that one table's log may be able to answer.

    SELECT count(*), min(day) AS first, max(t.day) FROM s.t WHERE region = 'north'
    SELECT region, count(*) FROM t GROUP BY region
    SELECT DISTINCT day FROM t

Anything besides a select list, a simple condition and one grouping column (an order, a limit, a sample, an effective
hint) disqualifies the query. Whether the log has the answer is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from engine.sql.query.conditions import parse_condition
from engine.sql.query.values import Aggregate, AggregateKind, MetadataQuery

_SELECT_ARGUMENTS = frozenset({"expressions", "from_", "hint", "where", "group", "distinct"})
_TABLE_ARGUMENTS = frozenset({"this", "db", "catalog", "alias", "version"})
_OF_COLUMN: Mapping[str, AggregateKind] = MappingProxyType(
    {"min": AggregateKind.MIN, "max": AggregateKind.MAX, "count": AggregateKind.COUNT_VALUES}
)


def metadata_query(tree: exp.Query | exp.Values) -> MetadataQuery | None:
    """Returns the requested values, in the result's column order; None for every other query."""
    if not isinstance(tree, exp.Select) or arguments_present(tree) - _SELECT_ARGUMENTS:
        return None
    called = only_qualifier(tree)
    if called is None:
        return None
    group = _group(tree)
    found = [_item(expression, group) for expression in tree.expressions]
    items = tuple(item for item in found if item is not None)
    where = tree.args.get("where")
    condition = None if where is None else parse_condition(where.this, called)
    if len(items) < len(found) or (where is not None and condition is None) or not _is_whole(tree, items, group):
        return None
    return MetadataQuery(items=items, condition=condition, group=group)


def only_qualifier(tree: exp.Select) -> str | None:
    """Returns the qualifier for columns of the query's only table; None if the query reads anything else."""
    source = tree.args.get("from_")
    table = source.this if source is not None else None
    if (
        not isinstance(table, exp.Table)
        or isinstance(table.this, exp.Func)
        or arguments_present(table) - _TABLE_ARGUMENTS
    ):
        return None
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    return str(table.alias_or_name)


def _group(tree: exp.Select) -> str | None:
    """Returns the only column in GROUP BY, or in a SELECT DISTINCT."""
    group = tree.args.get("group")
    if group is not None and arguments_present(group) == {"expressions"}:
        expressions = group.expressions
    elif tree.args.get("distinct") is not None and not arguments_present(tree.args["distinct"]):
        expressions = [expression.unalias() for expression in tree.expressions]
    else:
        return None
    is_column = len(expressions) == 1 and isinstance(expressions[0], exp.Column)
    return _column_name(expressions[0])[0] if is_column else None


def _is_whole(tree: exp.Select, items: tuple[Aggregate, ...], group: str | None) -> bool:
    """Returns whether the grouping was understood; a query with both DISTINCT and GROUP BY is not accepted."""
    is_grouped = tree.args.get("group") is not None
    is_distinct = tree.args.get("distinct") is not None
    if is_grouped and is_distinct:
        return False
    return bool(items) and (is_grouped or is_distinct) == (group is not None)


def arguments_present(node: exp.Expr) -> set[str]:
    """Returns the names of the node's arguments that have a value which is not false or empty."""
    return {name for name, value in node.args.items() if value}


def _item(expression: exp.Expr, group: str | None) -> Aggregate | None:
    """Returns one item of the select list; its name is the alias, or Spark's name for the column."""
    alias = expression.alias if isinstance(expression, exp.Alias) else None
    inner = expression.unalias()
    if isinstance(inner, exp.Column):
        column, qualifier = _column_name(inner)
        if column is None or column != group:
            return None
        return Aggregate(kind=AggregateKind.VALUE, name=alias or column, column=column, qualifier=qualifier)
    return _aggregate(inner, alias)


def _aggregate(call: exp.Expr, alias: str | None) -> Aggregate | None:
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1 or not isinstance(call.this, str):
        return None
    function, argument = call.this.lower(), call.expressions[0]
    if function == "count" and (_is_bare_star(argument) or _is_one(argument)):
        return Aggregate(kind=AggregateKind.COUNT_ROWS, name=alias or "count(1)")
    if function not in _OF_COLUMN or not isinstance(argument, exp.Column):
        return None
    column, qualifier = _column_name(argument)
    if column is None:
        return None
    name = alias or f"{function}({column})"
    return Aggregate(kind=_OF_COLUMN[function], column=column, qualifier=qualifier, name=name)


def _column_name(column: exp.Column) -> tuple[str | None, str | None]:
    """Returns the column name and its qualifier; no name if further parts may be struct fields."""
    if not isinstance(column.this, exp.Identifier) or column.args.get("db") or column.args.get("catalog"):
        return None, None
    qualifier = column.args.get("table")
    return column.this.this, qualifier.this if qualifier is not None else None


def _is_bare_star(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Star) and not arguments_present(argument)


def _is_one(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Literal) and not argument.is_string and argument.this == "1"
