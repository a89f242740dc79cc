"""Session settings that would change the meaning of a row filter, column mask, view or SQL function.

Policies, views and SQL functions are parsed and analyzed under the settings that were captured at their creation. For
settings that Spark reads later, during optimization and execution, the session's values apply. A policy, or a view or
function over tables that the reader may not read, is rejected if it depends on such a setting and the session has
changed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from catalog.conditions import FunctionForbidsSetting, PolicyForbidsSetting
from engine.binding.bound import BoundExpression, BoundInBody, BoundRelation, BoundStatement, BoundView, tables_of
from engine.binding.visibility import is_hidden
from engine.sql.query.bodies import inlined_expression, readable

# Read by Spark's optimizer rules when the whole plan is rewritten, long after the captured
# settings were in effect.
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
# For each setting that Spark reads late, the words in an expression's text that indicate a dependency.
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

# Like `_DEPENDS`, for settings that Spark reads again when it analyzes the text that calls a function.
_COERCED_AGAIN = {
    "spark.sql.function.concatBinaryAsString": ("concat", "||"),
    "spark.sql.function.eltOutputAsString": ("elt",),
}

# A view's first SELECT is not a subquery.
_SELECT = re.compile(r"\bselect\b", re.IGNORECASE)


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
    """Yields the labels of protected tables, and of views over tables that the principal may not read, with the texts
    that determine their rows.
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
    """Yields the texts of views, of functions that they call, and of views that they read."""
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundView):
            yield _SELECT.sub("", named.query.text, count=1)
            pieces = (piece for call in named.query.inlined for piece in call.pieces if isinstance(piece, str))
            yield from map(readable, pieces)
            yield from _of_views(named.relations)


def _ensure_functions_fit(bound: BoundStatement) -> None:
    """Rejects a function that reads objects its caller may not read, if it depends on a setting that Spark reads late
    and whose value differed at the function's creation.
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
                # A function's result is cast to its declared type, so that settings on
                # casts always matter.
                text = f"cast({function.body})".lower()
                if is_other and any(word in text for word in words):
                    reason = f"it was created with {created[key]}" if key in created else "it was created without one"
                    raise FunctionForbidsSetting(key, str(function.name), reason)
