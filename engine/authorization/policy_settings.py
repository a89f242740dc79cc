"""Settings of a session that would change what a row filter, column mask, view or SQL function means.

Policies, views and SQL functions are parsed and analyzed under the settings that were captured when they were created.
What Spark looks at later, while it optimizes and runs the query, is the session's: a policy, or a view or function over
tables that the reader may not read, that depends on such a setting is rejected if the session has changed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from catalog.conditions import FunctionForbidsSetting, PolicyForbidsSetting
from engine.binding.bound import BoundExpression, BoundInBody, BoundRelation, BoundStatement, BoundView, tables_of
from engine.binding.sight import is_hidden
from engine.sql.query.bodies import inlined_expression, readable

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
    "spark.sql.legacy.castComplexTypesToString.enabled": ("cast", "::", "string"),
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

_COERCED_AGAIN = {
    "spark.sql.function.concatBinaryAsString": ("concat", "||"),
    "spark.sql.function.eltOutputAsString": ("elt",),
}
"""As `_DEPENDS`, of settings that Spark looks at again when it analyzes the text that calls a function."""

_SELECT = re.compile(r"\bselect\b", re.IGNORECASE)
"""The first one of a view is no subquery."""


def ensure_settings_fit(bound: BoundStatement) -> None:
    """Raises `PolicyForbidsSetting`, `FunctionForbidsSetting`."""
    _ensure_functions_fit(bound)
    changed = [key for key in _DEPENDS if key in bound.state.values]
    if not changed:
        return
    for label, pieces in _hidden_texts(bound.relations):
        texts = " ".join(pieces).lower()
        for key in changed:
            if any(word in texts for word in _DEPENDS[key]):
                raise PolicyForbidsSetting(key, label)


def _hidden_texts(relations: Sequence[BoundRelation]) -> Iterator[tuple[str, list[str]]]:
    """The labels of protected tables, and of views over tables that the principal may not read, with the texts that
    decide which rows they have.
    """
    for table in tables_of(relations):
        policy = table.policy
        expressions = () if policy is None else (*policy.filters, *(mask for _, mask in policy.masks))
        yield table.label, [text for each in expressions for text in _texts(each)]
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundView) and named.is_hidden:
            yield named.label, list(_of_views((named,)))


def _texts(expression: BoundExpression) -> Iterator[str]:
    yield readable(inlined_expression(expression.query))
    yield from _of_views(expression.relations)


def _of_views(relations: Sequence[BoundRelation]) -> Iterator[str]:
    """The texts of views, of the functions that they call, and of the views that they read."""
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundView):
            yield _SELECT.sub("", named.query.text, count=1)
            pieces = (piece for call in named.query.inlined for piece in call.pieces if isinstance(piece, str))
            yield from map(readable, pieces)
            yield from _of_views(named.relations)


def _ensure_functions_fit(bound: BoundStatement) -> None:
    """Rejects a function that reads what its caller may not, if it depends on a setting that Spark looks at late and
    that was another one when the function was created.
    """
    for relation in bound.relations:
        if not isinstance(relation, BoundInBody):
            continue
        if not any(is_hidden(bound.view, table) for table in tables_of((relation,))):
            continue
        for function in {relation.called.name: relation.called, relation.function.name: relation.function}.values():
            created = dict(function.settings)
            for key, words in sorted((_DEPENDS | _COERCED_AGAIN).items()):
                is_other = bound.state.values.get(key) != created.get(key)
                text = f"cast({function.body})".lower()
                if is_other and any(word in text for word in words):
                    reason = f"it was created with {created[key]}" if key in created else "it was created without one"
                    raise FunctionForbidsSetting(key, str(function.name), reason)
