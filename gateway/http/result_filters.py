"""Conditions on the columns of a held result, which select its rows for display.

The parameter `filter` is a JSON list of objects, which all hold for a selected row:

    {"column": 0, "operator": "contains", "value": "text"}     the displayed text contains it, in any letter case
    {"column": 0, "operator": "equals", "value": "text"}
    {"column": 0, "operator": "range", "from": "1", "to": "5"}  both ends are included, and one may be missing
    {"column": 0, "operator": "is_null"}
    {"column": 0, "operator": "is_not_null"}

`equals` and `range` compare numbers, dates and timestamps as values of the column's type and others as displayed text.
A timestamp is in the session's time zone. A timestamp without a time of day covers its whole day.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import InvalidField
from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text, wall_clock
from gateway.sessions.operation import Operation

_CONDITIONS_MAX = 100
_PAGE_BYTES = 4 << 20
# More digits than any decimal, so that rounding a bound to a column's scale never fails.
_EXACT = Context(prec=400)


class Operator(StrEnum):
    CONTAINS = "contains"
    EQUALS = "equals"
    RANGE = "range"
    IS_NULL = "is_null"
    IS_NOT_NULL = "is_not_null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    column: int
    operator: Operator
    value: str = ""
    low: str | None = None
    high: str | None = None


def parse_conditions(text: str | None, width: int) -> tuple[Condition, ...]:
    """Parses the parameter `filter` of a result with `width` columns; raises `InvalidField`."""
    if not text:
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidField("filter", "must be JSON") from error
    if not isinstance(found, list) or len(found) > _CONDITIONS_MAX:
        raise InvalidField("filter", f"must be a list of at most {_CONDITIONS_MAX} conditions")
    return tuple(_condition(each, width) for each in found)


def _condition(given: Any, width: int) -> Condition:
    if not isinstance(given, dict):
        raise InvalidField("filter", "must have objects as conditions")
    column, operator = given.get("column"), given.get("operator")
    if type(column) is not int or not 0 <= column < width:
        raise InvalidField("filter", f"must have positions among {width} columns")
    if operator not in list(Operator):
        raise InvalidField("filter", f"must have one of the operators {', '.join(Operator)}")
    texts = {name: given.get(name) for name in ("value", "from", "to")}
    if any(each is not None and not isinstance(each, str) for each in texts.values()):
        raise InvalidField("filter", "must have text as value, from and to")
    if operator in {Operator.CONTAINS, Operator.EQUALS} and texts["value"] is None:
        raise InvalidField("filter", f"must have a value for {operator}")
    return Condition(
        column=column, operator=Operator(operator), value=texts["value"] or "", low=texts["from"], high=texts["to"]
    )


def matching_positions(operation: Operation, conditions: tuple[Condition, ...]) -> pa.Array:
    """Returns the positions of the rows that satisfy all conditions, in ascending order."""
    found, offset = [], 0
    for page in operation.pages(_PAGE_BYTES):
        matches = page_mask(page, operation, conditions)
        found.append(pc.add(pc.indices_nonzero(matches), pa.scalar(offset, pa.uint64())))
        offset += page.num_rows
    return pa.concat_arrays(found) if found else pa.array([], pa.uint64())


def page_mask(page: pa.Table, operation: Operation, conditions: tuple[Condition, ...]) -> pa.Array:
    """Returns for each row of `page` if it satisfies all conditions."""
    matches = pa.repeat(pa.scalar(True), page.num_rows)
    for each in conditions:
        column = page.column(each.column).combine_chunks()
        found = _matches(column, page.schema.field(each.column), operation.time_zone, each)
        matches = pc.and_(matches, pc.fill_null(found, False))
    return matches


def _matches(column: pa.Array, field: pa.Field, time_zone: str, condition: Condition) -> pa.Array:
    low, high = condition.low, condition.high
    match condition.operator:
        case Operator.IS_NULL:
            return pc.is_null(column)
        case Operator.IS_NOT_NULL:
            return pc.is_valid(column)
        case Operator.CONTAINS:
            text = to_text(column, sql_type_of(field), time_zone)
            return pc.match_substring(text, condition.value, ignore_case=True)
        case Operator.EQUALS:
            low = high = condition.value
        case Operator.RANGE:
            pass
    values = _comparable(column, field, time_zone)
    if pa.types.is_floating(values.type) and (low or "").strip().lower() == "nan":
        return pc.is_nan(values)
    parts = list(_bounds(values, field.name, low, high))
    return pc.and_(parts[0], parts[1])


def _comparable(column: pa.Array, field: pa.Field, time_zone: str) -> pa.Array:
    """Returns values with an order: timestamps as the session's wall clock, values without numbers as text."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return column
    if pa.types.is_timestamp(kind):
        local = wall_clock(column.cast(pa.timestamp("us", "UTC")), time_zone) if kind.tz else column
        return local.cast(pa.timestamp("us"))
    return to_text(column, sql_type_of(field), time_zone)


def _bounds(values: pa.Array, name: str, low: str | None, high: str | None) -> Iterator[pa.Array]:
    """Yields a mask for each end of a range; a missing end holds for all values that are not null."""
    for text, is_high in ((low, False), (high, True)):
        bound = True if text is None else _bound(text, values.type, name, is_high)
        if isinstance(bound, bool):
            yield pc.and_(pc.is_valid(values), pa.scalar(bound))
        else:
            yield (pc.less_equal if is_high else pc.greater_equal)(values, bound)


def _bound(text: str, kind: pa.DataType, name: str, is_high: bool) -> pa.Scalar | bool:
    """Returns an end of a range as a value of `kind`; True or False if all or no values are within it."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.scalar(text, kind)
    try:
        if pa.types.is_floating(kind):
            return pa.scalar(float(text), pa.float64())
        if pa.types.is_date(kind):
            return pa.scalar(dt.date.fromisoformat(text.strip()), kind)
        if pa.types.is_timestamp(kind):
            return pa.scalar(_timestamp(text.strip(), is_high), kind)
        return _exact_bound(text, kind, is_high)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InvalidField("filter", f"must have values of the type of {name} ({kind}), not {text!r}") from error


def _timestamp(text: str, is_high: bool) -> dt.datetime:
    found = dt.datetime.fromisoformat(text)
    if found.tzinfo:
        raise ValueError(text)
    is_day = len(text) <= len("2024-01-01")
    return dt.datetime.combine(found, dt.time.max) if is_day and is_high else found


def _exact_bound(text: str, kind: pa.DataType, is_high: bool) -> pa.Scalar | bool:
    """Rounds towards the inside of the range, because the column has no values in between."""
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    number = Decimal(text)
    if not number.is_finite():
        raise InvalidOperation
    rounding = "ROUND_FLOOR" if is_high else "ROUND_CEILING"
    rounded = number.quantize(Decimal(1).scaleb(-scale), rounding, _EXACT)
    try:
        return pa.scalar(rounded if pa.types.is_decimal(kind) else int(rounded), kind)
    except (ValueError, OverflowError):  # beyond the type's values
        return (number > 0) == is_high
