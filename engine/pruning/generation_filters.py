"""Derives conditions on generated partition columns from conditions on their source columns.

A table partitioned by `day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))` is usually queried by `ts`. :func:`derive`
returns a condition on `day`: a predicate that is TRUE for every row for which the given one is TRUE. It is intended to
be ANDed to it for pruning, never to replace it.

Two difficulties are both handled by deriving less:

- The partition value was computed in the writer's session zone, which the log does not contain, while the query runs in
another one. No zone differs from UTC by more than 18 hours, so ranges are widened by that (by twice as much if the
reader's zone matters too). A one-day range becomes a range over at most a few days, and never a wrong one.
- The expression must preserve the order. Only expressions that do are in :data:`GenerationExpression`; strict
comparisons become `<=` and `>=`, because the truncated part may differ.

Every condition is combined with IS NULL: an empty string becomes a null partition value.

Callers pass the generation expressions only if the table's protocol has the feature: without it, writers need not keep
the columns consistent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias, assert_never

from engine.pruning.generation_expressions import (
    DATE_FORMATS,
    Beginning,
    DateOf,
    FormattedDate,
    GenerationExpression,
    Part,
    PartOf,
    SameAs,
    TruncatedDate,
    TruncatedTimestamp,
    TruncationUnit,
)
from engine.pruning.predicates import (
    ALWAYS,
    And,
    Cast,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    columns_of,
    compare,
    conjunction,
    push_down_not,
)
from engine.pruning.table_columns import TableColumns
from engine.types.schema import DataType, PrimitiveType

_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
_ZONE_US = 18 * _HOUR_US
_EPOCH = datetime(1970, 1, 1)
# For a longer IN only the minimum and maximum literals are used.
_LITERALS_MAX = 100

_FIELDS: Mapping[Part, Callable[[datetime], int]] = {
    Part.YEAR: lambda moment: moment.year,
    Part.MONTH: lambda moment: moment.month,
    Part.DAY: lambda moment: moment.day,
    Part.HOUR: lambda moment: moment.hour,
}

# The maximum distance between the writer's local time for a value and a literal it equals: by the base column's type
# and the type used in the comparison.
_SLACK_US: Mapping[tuple[DataType, DataType], int] = {
    (PrimitiveType.DATE, PrimitiveType.DATE): 0,
    (PrimitiveType.DATE, PrimitiveType.TIMESTAMP): _ZONE_US,
    (PrimitiveType.DATE, PrimitiveType.TIMESTAMP_NTZ): 0,
    (PrimitiveType.TIMESTAMP_NTZ, PrimitiveType.TIMESTAMP_NTZ): 0,
    (PrimitiveType.TIMESTAMP_NTZ, PrimitiveType.DATE): 0,
    (PrimitiveType.TIMESTAMP_NTZ, PrimitiveType.TIMESTAMP): _ZONE_US,
    (PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP): _ZONE_US,
    (PrimitiveType.TIMESTAMP, PrimitiveType.DATE): 2 * _ZONE_US,
    (PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ): 2 * _ZONE_US,
}
# The maximum distance between a local midnight and UTC; its text without an offset is read in yet another zone.
_PARTITION_SLACK = timedelta(microseconds=3 * _ZONE_US)
# DATE_FORMAT converts a time without a zone in the session's zone, which may have skipped it.
_CLOCK_GAP = timedelta(hours=24)

_RELAXED: Mapping[Operator, Operator] = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.NULL_SAFE_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.LESS_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.LESS_OR_EQUAL,
    Operator.GREATER: Operator.GREATER_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.GREATER_OR_EQUAL,
}
# Units that TRUNC accepts; it returns null for others.
_DATE_UNITS = frozenset([TruncationUnit.YEAR, TruncationUnit.QUARTER, TruncationUnit.MONTH, TruncationUnit.WEEK])

Leaf: TypeAlias = Compare | In | StartsWith | IsNull
Limit: TypeAlias = Callable[[datetime, bool], Predicate | None]


def derive(predicate: Predicate, columns: TableColumns, generated: Mapping[str, GenerationExpression]) -> Predicate:
    """Returns a predicate that is TRUE for the generated partition columns whenever `predicate` is TRUE; the constant
    TRUE if nothing is known.

    `generated` has the expressions for partition columns by logical name.
    """
    if not generated:
        return ALWAYS
    return _Derivation(columns, generated).of(push_down_not(predicate))


@dataclass(frozen=True, slots=True)
class _Interval:
    """The writer's local times, both ends included; None is unlimited."""

    low: datetime | None
    high: datetime | None


@dataclass(frozen=True, slots=True)
class _Derivation:
    columns: TableColumns
    generated: Mapping[str, GenerationExpression]

    def of(self, predicate: Predicate) -> Predicate:
        match predicate:
            case And(children=children):
                parts = tuple(self.of(child) for child in children)
                return conjunction(tuple(part for part in parts if part != ALWAYS))
            case Or(children=children):
                parts = tuple(self.of(child) for child in children)
                return ALWAYS if ALWAYS in parts else Or(parts)
            case Compare() | In() | StartsWith() | IsNull():
                return self._leaf(predicate)
            case Constant():
                return predicate
            case IsNotNull() | Not() | Unknown():
                return ALWAYS
            case _:
                assert_never(predicate)

    def _leaf(self, leaf: Leaf) -> Predicate:
        (path,) = columns_of(leaf) or ((),)
        base = self.columns.resolve(path)
        if base is None or not base.has_byte_order:
            return ALWAYS
        conditions: list[Predicate] = []
        parts: dict[Part, Column] = {}
        for name, expression in self.generated.items():
            column = Column((name,))
            partition = self.columns.resolve((name,))
            if self.columns.resolve(expression.base) != base or partition is None or not partition.has_byte_order:
                continue
            if isinstance(leaf, IsNull):
                conditions.append(IsNull(column))
            elif isinstance(expression, PartOf):
                if partition.data_type is PrimitiveType.INTEGER:
                    parts[expression.part] = column
            else:
                found = _condition(leaf, _Generated(column, partition.data_type, expression, base.data_type))
                if found is not None:
                    conditions.append(Or((IsNull(column), found)))
        found = _by_parts(leaf, base.data_type, parts)
        return conjunction((*conditions, found) if found is not None else tuple(conditions))


@dataclass(frozen=True, slots=True)
class _Generated:
    """A partition column, its generation expression, and the types of both."""

    column: Column
    data_type: DataType
    expression: SameAs | DateOf | FormattedDate | TruncatedDate | TruncatedTimestamp | Beginning
    base_type: DataType


def _condition(leaf: Leaf, generated: _Generated) -> Predicate | None:
    """Returns a condition on one partition column that holds if `leaf` is TRUE; None if nothing is known."""
    match generated.expression:
        case SameAs():
            # A timestamp's text may have no offset; then it is read in another zone than the base column's values.
            same = generated.base_type == generated.data_type is not PrimitiveType.TIMESTAMP
            return _on_column(leaf, generated.column) if same else None
        case Beginning(length=length):
            texts = generated.base_type is generated.data_type is PrimitiveType.STRING
            return _on_beginning(leaf, generated.column, length) if texts and length > 0 else None
        case DateOf() | TruncatedDate() | FormattedDate() | TruncatedTimestamp():
            return _within(leaf, generated.base_type, lambda moment, lower: _limit(generated, moment, lower))
        case _:
            assert_never(generated.expression)


def _on_column(leaf: Leaf, column: Column) -> Predicate | None:
    """Returns the leaf for another column with the same values."""
    if isinstance(leaf, IsNull):
        return IsNull(column)
    return replace(leaf, operand=replace(leaf.operand, column=column) if isinstance(leaf.operand, Cast) else column)


def _on_beginning(leaf: Leaf, column: Column, length: int) -> Predicate | None:
    """Returns the leaf for the first `length` characters of its values."""
    if isinstance(leaf, IsNull) or isinstance(leaf.operand, Cast):
        return None
    if isinstance(leaf, StartsWith):
        if leaf.prefix is None or len(leaf.prefix) <= length:
            return StartsWith(column, leaf.prefix)
        return Compare(Operator.EQUAL, column, Literal.of(leaf.prefix[:length]))
    if isinstance(leaf, In):
        texts = [literal.value for literal in leaf.literals if literal.value is not None]
        if not all(isinstance(text, str) for text in texts):
            return None
        return In(column, tuple(Literal.of(text[:length]) for text in texts if isinstance(text, str)))
    operator = _RELAXED.get(leaf.operator)
    if operator is None or not isinstance(leaf.literal.value, str):
        return None
    return Compare(operator, column, Literal.of(leaf.literal.value[:length]))


def _within(leaf: Leaf, base_type: DataType, limit: Limit) -> Predicate | None:
    """Returns the condition that `limit` derives for the leaf's times; None if it derives nothing for some time."""
    alternatives: list[Predicate] = []
    for interval in _intervals(leaf, base_type):
        limits = [] if interval.low is None else [limit(interval.low, True)]
        limits += [] if interval.high is None else [limit(interval.high, False)]
        known = tuple(one for one in limits if one is not None)
        if not known:
            return None
        alternatives.append(conjunction(known))
    return alternatives[0] if len(alternatives) == 1 else Or(tuple(alternatives))


def _intervals(leaf: Leaf, base_type: DataType) -> list[_Interval]:
    """Returns the writer's local times for the base column if the leaf is TRUE."""
    anything = [_Interval(None, None)]
    if isinstance(leaf, IsNull | StartsWith):
        return anything
    compared = leaf.operand.type if isinstance(leaf.operand, Cast) else base_type
    if not isinstance(compared, PrimitiveType) or not isinstance(base_type, PrimitiveType):
        return anything
    slack = _SLACK_US.get((base_type, compared))
    literals = leaf.literals if isinstance(leaf, In) else (leaf.literal,)
    moments = [literal.value for literal in literals if literal.value is not None and literal.type is compared]
    times = sorted(value for value in moments if isinstance(value, int))
    if slack is None or not times or len(times) < sum(literal.value is not None for literal in literals):
        return anything
    if isinstance(leaf, Compare):
        operator = _RELAXED.get(leaf.operator)
        low = times[0] if operator in (Operator.EQUAL, Operator.GREATER_OR_EQUAL) else None
        high = times[0] if operator in (Operator.EQUAL, Operator.LESS_OR_EQUAL) else None
        return [_interval(low, high, compared, slack)]
    if len(times) > _LITERALS_MAX:
        return [_interval(times[0], times[-1], compared, slack)]
    return [_interval(time, time, compared, slack) for time in times]


def _interval(low: int | None, high: int | None, compared: PrimitiveType, slack_us: int) -> _Interval:
    """Returns an interval from days or microseconds, with their slack."""
    unit, last = (_DAY_US, _DAY_US - 1) if compared is PrimitiveType.DATE else (1, 0)
    return _Interval(
        low=None if low is None else _moment(low * unit - slack_us),
        high=None if high is None else _moment(high * unit + last + slack_us),
    )


def _moment(microseconds: int) -> datetime | None:
    """Returns None outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _shift(moment: datetime, delta: timedelta) -> datetime | None:
    try:
        return moment + delta
    except OverflowError:
        return None


def _limit(generated: _Generated, moment: datetime, lower: bool) -> Predicate | None:
    """Returns a limit on the partition column for times from `moment` on (`lower`), or up to it."""
    column = generated.column
    gap = timedelta(0) if generated.base_type is PrimitiveType.TIMESTAMP else _CLOCK_GAP
    away = -gap if lower else gap
    match generated.expression, generated.data_type:
        case DateOf(), PrimitiveType.DATE:
            return _bound_filter(column, moment.date(), lower)
        case TruncatedDate(unit=unit), PrimitiveType.DATE if unit in _DATE_UNITS:
            return _bound_filter(column, _truncate(moment, unit).date(), lower)
        case FormattedDate(format=spelled), PrimitiveType.STRING if spelled in DATE_FORMATS:
            shifted = _shift(moment, away)
            if shifted is None:
                return None
            bound = _bound_filter(column, _format(shifted, spelled), lower)
            return Or((bound, StartsWith(column, "+"))) if lower else bound  # years after 9999 begin with a plus sign
        case TruncatedTimestamp(unit=unit), PrimitiveType.TIMESTAMP:
            start = _shift(_truncate(moment, unit) if lower else moment, away)
            shifted = None if start is None else _shift(start, -_PARTITION_SLACK if lower else _PARTITION_SLACK)
            return None if shifted is None else _bound_filter(column, shifted.replace(tzinfo=UTC), lower)
        case _:  # any other pair of an expression and a type
            return None


def _bound_filter(column: Column, value: int | str | date | datetime, lower: bool) -> Compare:
    return Compare(Operator.GREATER_OR_EQUAL if lower else Operator.LESS_OR_EQUAL, column, Literal.of(value))


def _format(moment: datetime, spelled: str) -> str:
    # Python omits leading zeros in a year with fewer than four digits.
    text = moment.strftime(DATE_FORMATS[spelled])
    return f"{moment.year:04d}{text[text.index('-') :]}"


def _truncate(moment: datetime, unit: TruncationUnit) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case TruncationUnit.HOUR:
            return day.replace(hour=moment.hour)
        case TruncationUnit.DAY:
            return day
        case TruncationUnit.WEEK:
            return day - timedelta(days=day.weekday())  # the year 1 began on a Monday
        case TruncationUnit.MONTH:
            return day.replace(day=1)
        case TruncationUnit.QUARTER:
            return day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1)
        case TruncationUnit.YEAR:
            return day.replace(month=1, day=1)
        case _:
            assert_never(unit)


def _by_parts(leaf: Leaf, base_type: DataType, parts: Mapping[Part, Column]) -> Predicate | None:
    """Returns a condition on year, month, day and hour together, as far as they follow each other without a gap."""
    chain = [(part, parts[part]) for part in itertools.takewhile(parts.__contains__, Part)]
    if not chain:
        return None
    found = _within(leaf, base_type, lambda moment, lower: _lexicographic(moment, chain, lower))
    return None if found is None else Or((*(IsNull(column) for _, column in chain), found))


def _lexicographic(moment: datetime, chain: Sequence[tuple[Part, Column]], lower: bool) -> Predicate:
    (part, column), rest = chain[0], chain[1:]
    value = _FIELDS[part](moment)
    if not rest:
        return _bound_filter(column, value, lower)
    beyond = Compare(Operator.GREATER if lower else Operator.LESS, column, Literal.of(value))
    return Or((beyond, And((compare(column.path, "=", value), _lexicographic(moment, rest, lower)))))
