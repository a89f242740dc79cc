"""Settings of a session that would change what a row filter or column mask means.

A policy is parsed and analyzed under the server's settings. What Spark looks at later, while it optimizes and runs the
query, is the session's: there a policy that depends on a setting that the session has changed is not evaluated at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.bind.bound import BoundExpression, BoundInBody, BoundRelation, BoundStatement, BoundView, tables_of
from engine.errors.policy_errors import PolicyForbidsSetting
from engine.sql.query.bodies import inlined_expression

_OF_SUBQUERIES = (
    "spark.sql.legacy.inSubqueryNullability",
    "spark.sql.legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate",
    "spark.sql.legacy.scalarSubqueryCountBugBehavior",
    "spark.sql.optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled",
    "spark.sql.optimizer.decorrelateInnerQuery.enabled",
    "spark.sql.optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled",
    "spark.sql.optimizer.optimizeOneRowRelationSubquery",
    "spark.sql.optimizer.optimizeOneRowRelationSubquery.alwaysInline",
    "spark.sql.optimizer.pullOutNestedDataOuterRefExpressions.enabled",
    "spark.sql.optimizer.scalarSubqueryUseSingleJoin",
)
_TIMES = ("date(", "date_format(", "timestamp(", "unix", "to_char", "to_varchar", "csv", "json", "xml")
_DEPENDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_SUBQUERIES, ("select",)),
    "spark.sql.legacy.codingErrorAction": ("encode", "decode"),
    "spark.sql.legacy.javaCharsets": ("encode", "decode"),
    "spark.sql.legacy.nullInEmptyListBehavior": (" in",),
    "spark.sql.legacy.percentileDiscCalculation": ("percentile",),
    "spark.sql.legacy.timeParserPolicy": _TIMES,
    "spark.sql.legacy.truncateForEmptyRegexSplit": ("split",),
    "spark.sql.mapKeyDedupPolicy": ("map", "json", "variant"),
    "spark.sql.optimizer.enableCsvExpressionOptimization": ("csv",),
    "spark.sql.optimizer.enableJsonExpressionOptimization": ("json",),
    "spark.sql.variant.allowDuplicateKeys": ("variant", "json"),
}
"""For each setting that Spark looks at late, what the text of an expression has in it that may depend on it."""


def ensure_settings_fit(bound: BoundStatement) -> None:
    """Raises `PolicyForbidsSetting`."""
    changed = [key for key in _DEPENDS if key in bound.state.values]
    if not changed:
        return
    for table in tables_of(bound.relations):
        expressions = () if table.policy is None else (*table.policy.filters, *(mask for _, mask in table.policy.masks))
        texts = " ".join(text.lower() for each in expressions for text in _texts(each))
        for key in changed:
            if any(word in texts for word in _DEPENDS[key]):
                raise PolicyForbidsSetting(key, table.label)


def _texts(expression: BoundExpression) -> Iterator[str]:
    yield inlined_expression(expression.query)
    yield from _of_views(expression.relations)


def _of_views(relations: tuple[BoundRelation, ...]) -> Iterator[str]:
    """The texts of the views that a policy reads."""
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundView):
            yield named.query.text
            yield from _of_views(named.relations)
