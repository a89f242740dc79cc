"""Derives, from the text alone, the rows that a query needs from its only relation.

    SELECT … FROM (SELECT * FROM s.t WHERE day >= '2024-01-01' AND f(x)) WHERE …     rows of 2024 and later
    WITH r AS (SELECT * FROM s.t WHERE day = '2024-01-01') SELECT … FROM r JOIN r    rows of one day

The result is available before Spark has planned the query, so a format can read less table metadata. Spark evaluates
the conditions all the same. An unrecognized query needs all rows; conditions next to a join or in an outer query are
not recognized. LIMIT is not used: whether part of the metadata lists enough rows is known only after reading it, and
the query then needs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from engine.pruning.predicates import Predicate
from engine.sql.query.conditions import parse_condition
from engine.sql.query.metadata_queries import arguments_present, only_qualifier
from engine.sql.query.values import NeededRows

# SELECT clauses that see only rows for which WHERE is true.
_AFTER_WHERE = frozenset(
    {
        *("expressions", "from_", "hint", "where", "group", "having", "windows", "qualify", "distinct", "order"),
        *("limit", "offset", "sort", "cluster", "distribute"),
    }
)


def needed_rows(tree: exp.Query | exp.Values) -> NeededRows | None:
    """Returns the needed rows if the query names one relation, once; None: all rows."""
    select = _reading_select(tree)
    if select is None or arguments_present(select) - _AFTER_WHERE:
        return None
    called = only_qualifier(select)
    if called is None:
        return None
    where = select.args.get("where")
    conditions = () if where is None else tuple(_conditions(where.this, called))
    return NeededRows(conditions=conditions) if conditions else None


def _reading_select(tree: exp.Expr) -> exp.Select | None:
    """Returns the SELECT that reads the relation itself, through queries with one source, and a WITH with one name."""
    while isinstance(tree, exp.Select):
        ctes = tree.args.get("with_")
        if ctes is not None:
            # Each reference to the CTE reads the same rows, so that its own WHERE holds for
            # all of them. Outer conditions would not.
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
    """Yields the simple conjuncts."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conditions(node.left, called)
        yield from _conditions(node.right, called)
        return
    found = parse_condition(node, called)
    if found is not None:
        yield found
