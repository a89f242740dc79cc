"""Which rows of the one relation that it names a query needs, as far as its text says so.

    SELECT … FROM (SELECT * FROM s.t WHERE day >= '2024-01-01' AND f(x)) WHERE …     rows of 2024 and later
    WITH r AS (SELECT * FROM s.t WHERE day = '2024-01-01') SELECT … FROM r JOIN r    rows of one day

Before Spark has planned a query this is known, and so a format may look at less of a table's metadata. Spark evaluates
the conditions all the same. What is not recognized needs all rows: conditions beside a join or of an outer query.
A LIMIT says nothing here: whether some of the metadata names enough rows is known when they were read, and the query
has to have the rest of it then.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from engine.pruning.predicates import Predicate
from engine.sql.query.conditions import parse_condition
from engine.sql.query.log_questions import given, table_called
from engine.sql.query.values import NeededRows

_AFTER_WHERE = frozenset(
    {
        *("expressions", "from_", "hint", "where", "group", "having", "windows", "qualify", "distinct", "order"),
        *("limit", "offset", "sort", "cluster", "distribute"),
    }
)
"""Clauses of a SELECT that see no row for which its WHERE is not true."""


def needed_rows(tree: exp.Query | exp.Values) -> NeededRows | None:
    """Of a query that names one relation, once; None: all."""
    select = _reading(tree)
    if select is None or given(select) - _AFTER_WHERE:
        return None
    called = table_called(select)
    if called is None:
        return None
    where = select.args.get("where")
    conditions = () if where is None else tuple(_conditions(where.this, called))
    return NeededRows(conditions=conditions) if conditions else None


def _reading(tree: exp.Expr) -> exp.Select | None:
    """The SELECT that reads the relation itself, through queries that read one source, and a WITH of one name."""
    while isinstance(tree, exp.Select):
        ctes = tree.args.get("with_")
        if ctes is not None:
            if len(ctes.expressions) != 1 or ctes.args.get("recursive"):
                return None
            tree = ctes.expressions[0].this
            continue
        source = tree.args.get("from_")
        if source is None or not isinstance(source.this, exp.Subquery):
            return tree
        tree = source.this.this
    return None


def _conditions(node: exp.Expr, called: str) -> Iterator[Predicate]:
    """The conjuncts that are plain."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conditions(node.left, called)
        yield from _conditions(node.right, called)
        return
    found = parse_condition(node, called)
    if found is not None:
        yield found
