"""Settings of a session that would change what a row filter, column mask, view or SQL function means.

Policies and views are parsed and analyzed under the settings that were captured when they were created. What Spark
looks at later, while it optimizes and runs the query, is the session's: a policy, or a view over tables that the reader
may not read, that depends on such a setting is rejected if the session has changed it. The body of a SQL function is
analyzed with the text of its caller; a function that reads tables for its caller is rejected under other settings than
those under which it was created.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from catalog.entries import FunctionEntry
from engine.bind.bound import BoundExpression, BoundInBody, BoundRelation, BoundStatement, BoundView, tables_of
from engine.bind.sight import is_hidden
from engine.errors.policy_errors import FunctionForbidsSetting, PolicyForbidsSetting
from engine.runtime.settings import captured_settings
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


_OF_TIMES = ("time", "date", "hour", "minute", "second", "current", "now", "unix", "cast", "::")
"""Words of bodies and types whose values may depend on the time zone."""
_TIME_ZONE = "spark.sql.session.timeZone"

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
    yield inlined_expression(expression.query)
    yield from _of_views(expression.relations)


def _of_views(relations: Sequence[BoundRelation]) -> Iterator[str]:
    """The texts of views, of the functions that they call, and of the views that they read."""
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundView):
            yield _SELECT.sub("", named.query.text, count=1)
            yield from (piece for call in named.query.inlined for piece in call.pieces if isinstance(piece, str))
            yield from _of_views(named.relations)


def _ensure_functions_fit(bound: BoundStatement) -> None:
    """Rejects a function that reads what its caller may not, if it was created under other settings.

    The body takes the place of the call in the caller's text, and is analyzed under the caller's settings with it.
    """
    session = dict(captured_settings(bound.state.values))
    for relation in bound.relations:
        if not isinstance(relation, BoundInBody):
            continue
        if not any(is_hidden(bound.view, table) for table in tables_of((relation,))):
            continue
        for function in {relation.called.name: relation.called, relation.function.name: relation.function}.values():
            created = dict(function.settings)
            for key in sorted(session.keys() | created.keys()):
                if session.get(key) != created.get(key) and _may_depend(function, relation, key):
                    reason = f"it was created with {created[key]}" if key in created else "it was created without one"
                    raise FunctionForbidsSetting(key, str(function.name), reason)


def _may_depend(function: FunctionEntry, relation: BoundInBody, key: str) -> bool:
    if key != _TIME_ZONE:
        return True
    types = (*(each.type for each in function.parameters), *(each.type for each in relation.columns), function.returns)
    text = " ".join((function.body, *types)).lower()
    return any(word in text for word in _OF_TIMES)
