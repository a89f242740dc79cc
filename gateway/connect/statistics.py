"""Statistics of columns as queries with aggregate functions of SQL, and the messages that such plans consist of. Pure.

Spark's planner would run a job for each of them, outside of a statement and its limits. Names and types of the columns,
and the answers for nulls and for no rows, are Spark's.
"""

from __future__ import annotations

from typing import Any

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from gateway.connect.proto import pb2

STATISTICS = frozenset({"cov", "corr", "approx_quantile", "freq_items", "crosstab"})
_SUPPORT_MIN = 1e-4
_ACCURACY_MAX = (1 << 31) - 1
_ASCENDING = pb2.Expression.SortOrder.SORT_DIRECTION_ASCENDING
_NULLS_FIRST = pb2.Expression.SortOrder.SORT_NULLS_FIRST


def rewritten(kind: str, statistic: Any) -> pb2.Relation:
    """Returns a relation with a statistic's answer, with Spark's names and types of its columns."""
    match kind:
        case "cov":
            # Spark takes a null as 0, and has 0 for less than two rows.
            pair = (_number(statistic.col1, 0.0), _number(statistic.col2, 0.0))
            return aggregate(statistic.input, named(_or_else(function("covar_samp", *pair), 0.0), "cov"))
        case "corr":
            if statistic.HasField("method") and statistic.method != "pearson":
                raise ConnectFeatureNotSupported(f"The correlation {statistic.method}", "Use pearson.")
            pair = (_number(statistic.col1, 0.0), _number(statistic.col2, 0.0))
            return aggregate(statistic.input, named(_or_else(function("corr", *pair), float("nan")), "corr"))
        case "approx_quantile":
            return _quantiles(statistic)
        case "freq_items":
            return _frequent_items(statistic)
        case "crosstab":
            return _crosstab(statistic)
        case _:  # a member of `STATISTICS`
            raise ConnectPlanInvalid(f"the statistic {kind} is unknown")


def _quantiles(statistic: pb2.StatApproxQuantile) -> pb2.Relation:
    error = max(statistic.relative_error, 1 / _ACCURACY_MAX)
    accuracy = literal(integer=max(1, min(_ACCURACY_MAX, round(1 / error))))
    probabilities = function("array", *(literal(double=one) for one in statistic.probabilities))
    arrays = []
    for name in statistic.cols:
        missing = cast(literal(null=pb2.DataType(null=pb2.DataType.NULL())), "double")
        value = function("nanvl", cast(column(name), "double"), missing)  # neither nulls nor NaN count
        found = function("percentile_approx", value, probabilities, accuracy)
        arrays.append(function("coalesce", found, cast(function("array"), "array<double>")))
    return aggregate(statistic.input, named(function("array", *arrays), "approx_quantile"))


def _frequent_items(statistic: pb2.StatFreqItems) -> pb2.Relation:
    """Returns the items that are in at least this share of the rows, exactly: Spark's own answer may have others."""
    support = statistic.support if statistic.HasField("support") else 0.01
    if not _SUPPORT_MIN <= support <= 1:
        raise ConnectPlanInvalid(f"the support of freqItems is {support}, but must be from {_SUPPORT_MIN} to 1")
    result = pb2.Relation()
    for name in statistic.cols:
        item = named(column(name), "item")
        groups = aggregate(statistic.input, named(function("count", literal(integer=1)), "n"), groups=(item,))
        total = pb2.Expression()
        total.window.window_function.CopyFrom(function("sum", column("n")))
        with_total = project(groups, column("item"), column("n"), named(total, "total"))
        least = function("*", column("total"), literal(double=support))
        frequent = filtered(with_total, function(">=", column("n"), least))
        items = aggregate(frequent, named(function("collect_list", column("item")), f"{name}_freqItems"))
        if result.WhichOneof("rel_type") is None:
            result = items
            continue
        joined = pb2.Relation()
        joined.join.left.CopyFrom(result)
        joined.join.right.CopyFrom(items)
        joined.join.join_type = pb2.Join.JOIN_TYPE_CROSS
        result = joined
    if result.WhichOneof("rel_type") is None:
        raise ConnectPlanInvalid("freqItems has no columns")
    return result


def _crosstab(statistic: pb2.StatCrosstab) -> pb2.Relation:
    """Returns the counts of pairs: a pivot without values, whose missing counts are 0."""
    first, second = (_text_of(column(name)) for name in (statistic.col1, statistic.col2))
    counts = function("count", literal(integer=1))
    found = aggregate(statistic.input, counts, groups=(named(first, f"{statistic.col1}_{statistic.col2}"),))
    found.aggregate.group_type = pb2.Aggregate.GROUP_TYPE_PIVOT
    without_quotes = function("regexp_replace", second, literal(string="`"), literal(string=""))
    found.aggregate.pivot.col.CopyFrom(without_quotes)
    filled = pb2.Relation()
    filled.fill_na.input.CopyFrom(found)
    filled.fill_na.values.append(pb2.Expression.Literal(long=0))
    return filled


def _number(name: str, missing: float) -> pb2.Expression:
    return _or_else(cast(column(name), "double"), missing)


def _or_else(value: pb2.Expression, missing: float) -> pb2.Expression:
    return function("coalesce", value, literal(double=missing))


def _text_of(value: pb2.Expression) -> pb2.Expression:
    return function("coalesce", cast(value, "string"), literal(string="null"))


# ---------------------------------------------------------------------------------------------------------- messages


def column(name: str) -> pb2.Expression:
    """Returns a column by its name as clients write it, with backquotes around special characters."""
    return pb2.Expression(unresolved_attribute=pb2.Expression.UnresolvedAttribute(unparsed_identifier=name))


def literal(**value: Any) -> pb2.Expression:
    """Returns a literal with the given field of `Expression.Literal`."""
    return pb2.Expression(literal=pb2.Expression.Literal(**value))


def function(name: str, *arguments: pb2.Expression) -> pb2.Expression:
    """Returns a call of a function by its name in SQL."""
    return pb2.Expression(
        unresolved_function=pb2.Expression.UnresolvedFunction(function_name=name, arguments=arguments)
    )


def cast(value: pb2.Expression, sql_type: str) -> pb2.Expression:
    """Returns a cast to a type in DDL spelling."""
    return pb2.Expression(cast=pb2.Expression.Cast(expr=value, type_str=sql_type))


def named(value: pb2.Expression, name: str) -> pb2.Expression:
    """Returns the expression with an alias."""
    return pb2.Expression(alias=pb2.Expression.Alias(expr=value, name=[name]))


def aggregate(rows: pb2.Relation, *values: pb2.Expression, groups: tuple[pb2.Expression, ...] = ()) -> pb2.Relation:
    """Returns one row for each group, with the columns of `groups` before `values`."""
    return pb2.Relation(
        aggregate=pb2.Aggregate(
            input=rows,
            group_type=pb2.Aggregate.GROUP_TYPE_GROUPBY,
            grouping_expressions=groups,
            aggregate_expressions=values,
        )
    )


def project(rows: pb2.Relation, *values: pb2.Expression) -> pb2.Relation:
    """Returns a relation with these expressions as its columns."""
    return pb2.Relation(project=pb2.Project(input=rows, expressions=values))


def filtered(rows: pb2.Relation, condition: pb2.Expression) -> pb2.Relation:
    """Returns a relation with the rows that satisfy the condition."""
    return pb2.Relation(filter=pb2.Filter(input=rows, condition=condition))


def limited(rows: pb2.Relation, number: int) -> pb2.Relation:
    """Returns a relation with at most this number of rows."""
    return pb2.Relation(limit=pb2.Limit(input=rows, limit=number))


def ordered(rows: pb2.Relation, value: pb2.Expression) -> pb2.Relation:
    """Returns all rows in ascending order, nulls first."""
    order = pb2.Expression.SortOrder(child=value, direction=_ASCENDING, null_ordering=_NULLS_FIRST)
    return pb2.Relation(sort=pb2.Sort(input=rows, order=[order], is_global=True))
