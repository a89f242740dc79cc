"""Exact limits on generated partition columns: slack for zones, truncation, formats, and the ends of the calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from engine.pruning.generation_expressions import (
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
from engine.pruning.generation_filters import derive
from engine.pruning.predicates import (
    ALWAYS,
    And,
    Cast,
    Column,
    Compare,
    Constant,
    In,
    IsNull,
    Literal,
    Operator,
    Or,
    Predicate,
    StartsWith,
    compare,
)
from engine.pruning.table_columns import TableColumns
from engine.types.schema import DataType, PrimitiveType, StructField, StructType
from tests.engine.pruning.test_generation_filters import DATE, NTZ, STRING, TIMESTAMP, table

EPOCH = datetime(1970, 1, 1)
US = timedelta(microseconds=1)
EVENING, MORNING = datetime(2024, 5, 3, 18), datetime(2024, 5, 4, 6)


def shown(predicate: Predicate) -> str:
    match predicate:
        case And(children=()):
            return "TRUE"
        case Constant(value=value):
            return str(value).upper()
        case And(children=children):
            return " & ".join(f"({shown(child)})" if isinstance(child, Or) else shown(child) for child in children)
        case Or(children=children):
            return " | ".join(f"({shown(child)})" if isinstance(child, And) else shown(child) for child in children)
        case IsNull(column=column):
            return f"{column.path[0]} null"
        case Compare(operator=operator, operand=Column(path=path), literal=literal):
            return f"{path[0]} {operator.value} {shown_value(literal)}"
        case StartsWith(operand=Column(path=path), prefix=prefix):
            return f"{path[0]} {prefix}*"
        case In(operand=Column(path=path), literals=literals):
            return f"{path[0]} in {[shown_value(literal) for literal in literals]}"
        case _:
            raise AssertionError(predicate)


def shown_value(literal: Literal) -> str:
    if literal.type is DATE:
        return str((EPOCH + timedelta(days=literal.value)).date())  # type: ignore[arg-type]
    if literal.type is TIMESTAMP:
        return str(EPOCH + timedelta(microseconds=literal.value))  # type: ignore[arg-type]
    return str(literal.value)


def derived(predicate: Predicate, **generated: GenerationExpression) -> str:
    return shown(derive(predicate, table(generated), generated))


def ts(operator: str, moment: datetime) -> Compare:
    return compare("ts", operator, moment.replace(tzinfo=UTC))


def cast(base: str, target: DataType, value: int | None, operator: str = "=") -> Compare:
    return Compare(Operator(operator), Cast(Column((base,)), target), Literal(value, target))


MAY_4 = 19_847  # days since 1970
DAY_US = 86_400_000_000
BOTH = "p null | (p >= {} & p <= {})"


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (ts(">=", EVENING), "p null | p >= 2024-05-03"),
        (ts(">=", EVENING - US), "p null | p >= 2024-05-02"),
        (ts(">", EVENING), "p null | p >= 2024-05-03"),
        (ts("<=", MORNING - US), "p null | p <= 2024-05-04"),
        (ts("<=", MORNING), "p null | p <= 2024-05-05"),
        (ts("<", MORNING), "p null | p <= 2024-05-05"),
        (ts("=", MORNING), BOTH.format("2024-05-03", "2024-05-05")),
        (ts("<=>", MORNING), BOTH.format("2024-05-03", "2024-05-05")),
        (ts("!=", MORNING), "TRUE"),
        (cast("ts", DATE, MAY_4), BOTH.format("2024-05-02", "2024-05-06")),
        (cast("ts", NTZ, MAY_4 * DAY_US), BOTH.format("2024-05-02", "2024-05-05")),
        (cast("ts", NTZ, MAY_4 * DAY_US + DAY_US // 2), BOTH.format("2024-05-03", "2024-05-06")),
        (cast("ts", STRING, None), "TRUE"),
        (In(Column(("ts",)), (Literal(None, TIMESTAMP),)), "TRUE"),
        (In(Column(("ts",)), (Literal(5, NTZ), Literal(5, TIMESTAMP))), "TRUE"),
        (
            In(Column(("ts",)), (Literal(None, TIMESTAMP), Literal(DAY_US // 2, TIMESTAMP))),
            BOTH.format("1969-12-31", "1970-01-02"),
        ),
        (
            In(Column(("ts",)), (Literal(9 * DAY_US + DAY_US // 2, TIMESTAMP), Literal(DAY_US // 2, TIMESTAMP))),
            "p null | (p >= 1969-12-31 & p <= 1970-01-02) | (p >= 1970-01-09 & p <= 1970-01-11)",
        ),
        (ts("<=", datetime(9999, 12, 31, 23)), "TRUE"),
        (ts("=", datetime(9999, 12, 31, 23)), "p null | p >= 9999-12-31"),
        (ts(">=", datetime(1, 1, 1, 1)), "TRUE"),
        (ts("=", datetime(1, 1, 1, 1)), "p null | p <= 0001-01-01"),
    ],
    ids=str,
)
def test_dates_of_instants_have_slack_for_any_zone(predicate: Predicate, expected: str) -> None:
    assert derived(predicate, p=DateOf(("ts",))).replace("((", "(").replace("))", ")") == expected


@pytest.mark.parametrize(
    ("base", "predicate", "expected"),
    [
        ("ntz", compare("ntz", "=", datetime(2024, 5, 4)), BOTH.format("2024-05-04", "2024-05-04")),
        ("ntz", cast("ntz", DATE, MAY_4), BOTH.format("2024-05-04", "2024-05-04")),
        ("ntz", cast("ntz", DATE, MAY_4, "<="), "p null | p <= 2024-05-04"),
        ("ntz", cast("ntz", TIMESTAMP, MAY_4 * DAY_US), BOTH.format("2024-05-03", "2024-05-04")),
        ("d", compare("d", "=", date(2024, 5, 4)), BOTH.format("2024-05-04", "2024-05-04")),
        ("d", cast("d", NTZ, MAY_4 * DAY_US), BOTH.format("2024-05-04", "2024-05-04")),
        ("d", cast("d", NTZ, MAY_4 * DAY_US - 1), BOTH.format("2024-05-03", "2024-05-03")),
        ("d", cast("d", TIMESTAMP, MAY_4 * DAY_US), BOTH.format("2024-05-03", "2024-05-04")),
        ("d", cast("d", PrimitiveType.LONG, 5), "TRUE"),
    ],
    ids=str,
)
def test_dates_of_local_times_have_slack_for_casts_to_instants_only(
    base: str, predicate: Predicate, expected: str
) -> None:
    assert derived(predicate, p=DateOf((base,))) == expected


@pytest.mark.parametrize(
    ("unit", "day", "expected"),
    [
        (TruncationUnit.YEAR, date(2024, 5, 8), "2024-01-01"),
        (TruncationUnit.QUARTER, date(2024, 1, 1), "2024-01-01"),
        (TruncationUnit.QUARTER, date(2024, 3, 31), "2024-01-01"),
        (TruncationUnit.QUARTER, date(2024, 4, 1), "2024-04-01"),
        (TruncationUnit.QUARTER, date(2024, 12, 31), "2024-10-01"),
        (TruncationUnit.MONTH, date(2024, 5, 31), "2024-05-01"),
        (TruncationUnit.WEEK, date(2024, 5, 5), "2024-04-29"),
        (TruncationUnit.WEEK, date(2024, 5, 6), "2024-05-06"),
    ],
)
def test_truncated_dates_begin_at_the_start_of_their_unit(unit: TruncationUnit, day: date, expected: str) -> None:
    found = derived(compare("d", "=", day), p=TruncatedDate(("d",), unit))
    assert found == BOTH.format(expected, expected)


NOON = datetime(2024, 5, 8, 12, 34, 56, 789)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (TruncationUnit.HOUR, "2024-05-05 12:00:00"),
        (TruncationUnit.DAY, "2024-05-05 00:00:00"),
        (TruncationUnit.WEEK, "2024-05-03 00:00:00"),
        (TruncationUnit.MONTH, "2024-04-28 00:00:00"),
        (TruncationUnit.QUARTER, "2024-03-29 00:00:00"),
        (TruncationUnit.YEAR, "2023-12-29 00:00:00"),
    ],
)
def test_truncated_local_timestamps_have_slack_for_zones_and_clock_changes(unit: TruncationUnit, expected: str) -> None:
    """24 hours for a clock change and 54 hours for the partition value's zone are three days and six hours."""
    low = datetime.fromisoformat(expected) - timedelta(hours=6)
    found = derived(compare("ntz", "=", NOON), p=TruncatedTimestamp(("ntz",), unit))
    assert found == BOTH.format(low, NOON + timedelta(days=3, hours=6))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (ts(">=", datetime(2024, 5, 3, 18, 30)), "p null | p >= 2024-04-30 18:00:00"),
        (ts("<=", datetime(2024, 5, 3, 6, 30)), "p null | p <= 2024-05-06 06:30:00"),
        (ts("<=", datetime(9999, 12, 30)), "TRUE"),
        (ts(">=", datetime(1, 1, 3)), "TRUE"),
    ],
    ids=str,
)
def test_truncated_instants_have_slack_for_zones(predicate: Predicate, expected: str) -> None:
    assert derived(predicate, p=TruncatedTimestamp(("ts",), TruncationUnit.HOUR)) == expected


@pytest.mark.parametrize(
    ("base", "spelled", "predicate", "expected"),
    [
        ("ts", "yyyy-MM-dd", ts(">=", EVENING), "p null | p >= 2024-05-03 | p +*"),
        ("ts", "yyyy-MM-dd", ts("<=", MORNING), "p null | p <= 2024-05-05"),
        ("d", "yyyy-MM-dd", compare("d", "<=", date(2024, 5, 4)), "p null | p <= 2024-05-05"),
        ("d", "yyyy-MM-dd", compare("d", ">=", date(2024, 5, 4)), "p null | p >= 2024-05-03 | p +*"),
        ("d", "yyyy-MM", compare("d", "<=", date(800, 5, 30)), "p null | p <= 0800-05"),
        ("d", "yyyy-MM", compare("d", "<=", date(800, 5, 31)), "p null | p <= 0800-06"),
        ("d", "yyyy-MM", compare("d", "<=", date(9999, 12, 31)), "TRUE"),
        ("d", "yyyy-MM", compare("d", ">=", date(1, 1, 1)), "TRUE"),
        ("d", "MM", compare("d", "=", date(2024, 5, 4)), "TRUE"),
    ],
    ids=str,
)
def test_formatted_dates_have_slack_for_clock_changes(
    base: str, spelled: str, predicate: Predicate, expected: str
) -> None:
    found = derived(predicate, p=FormattedDate((base,), spelled))
    assert found.replace("(", "").replace(")", "") == expected


PARTS = {part.name.lower(): PartOf(part, ("ntz",)) for part in Part}
MOMENT = datetime(2024, 5, 4, 12, 30)


@pytest.mark.parametrize(
    ("names", "operator", "expected"),
    [
        ("year", ">=", "year null | year >= 2024"),
        ("year month", "<=", "year null | month null | year < 2024 | (year = 2024 & month <= 5)"),
        (
            "year month day hour",
            ">=",
            "year null | month null | day null | hour null | year > 2024 | (year = 2024 & (month > 5 | "
            "(month = 5 & (day > 4 | (day = 4 & hour >= 12)))))",
        ),
        ("month day", ">=", "TRUE"),
        ("year day", "<=", "year null | year <= 2024"),
    ],
)
def test_parts_of_a_time_are_compared_together(names: str, operator: str, expected: str) -> None:
    found = derived(compare("ntz", operator, MOMENT), **{name: PARTS[name] for name in names.split()})
    assert found == expected


def test_parts_of_another_type_are_not_compared() -> None:
    columns = TableColumns(
        schema=StructType((StructField("ntz", NTZ), StructField("y", PrimitiveType.LONG))), partition_columns=("y",)
    )
    assert derive(compare("ntz", "=", MOMENT), columns, {"y": PartOf(Part.YEAR, ("ntz",))}) == ALWAYS


S = Column(("s",))


@pytest.mark.parametrize(
    ("length", "predicate", "expected"),
    [
        (2, compare("s", "=", "abc"), "p null | p = ab"),
        (2, compare("s", "<=>", "abc"), "p null | p = ab"),
        (2, compare("s", "<", "abc"), "p null | p <= ab"),
        (2, compare("s", ">", "abc"), "p null | p >= ab"),
        (2, compare("s", "!=", "abc"), "TRUE"),
        (2, compare("s", "=", None), "TRUE"),
        (0, compare("s", "=", "abc"), "TRUE"),
        (2, StartsWith(S, "ab"), "p null | p ab*"),
        (2, StartsWith(S, "abc"), "p null | p = ab"),
        (2, StartsWith(S, None), "p null | p None*"),
        (2, StartsWith(Cast(S, STRING), "ab"), "TRUE"),
        (2, In(S, (Literal.of("abc"), Literal(None, STRING), Literal.of("a"))), "p null | p in ['ab', 'a']"),
        (2, In(S, (Literal.of("abc"), Literal.of(b"a"))), "TRUE"),
        (2, IsNull(S), "p null"),
    ],
    ids=str,
)
def test_beginnings_of_texts(length: int, predicate: Predicate, expected: str) -> None:
    assert derived(predicate, p=Beginning(("s",), length)) == expected


@pytest.mark.parametrize(
    ("base", "predicate", "expected"),
    [
        ("s", compare("s", "!=", "abc"), "p null | p != abc"),
        ("d", compare("d", "=", date(2024, 5, 4)), "p null | p = 2024-05-04"),
        ("d", IsNull(Column(("d",))), "p null"),
        ("ts", ts("=", NOON), "TRUE"),
    ],
    ids=str,
)
def test_copies_of_a_column_have_its_condition(base: str, predicate: Predicate, expected: str) -> None:
    assert derived(predicate, p=SameAs((base,))) == expected


def test_cast_of_a_column_is_the_cast_of_its_copy() -> None:
    generated: dict[str, Any] = {"p": SameAs(("d",))}
    condition = derive(cast("d", NTZ, 5), table(generated), generated)
    assert condition == Or(
        (IsNull(Column(("p",))), Compare(Operator.EQUAL, Cast(Column(("p",)), NTZ), Literal(5, NTZ)))
    )


@pytest.mark.parametrize(("count", "alternatives"), [(100, 101), (101, 2)])
def test_long_list_is_compared_by_its_ends(count: int, alternatives: int) -> None:
    literals = tuple(Literal(day, DATE) for day in range(count))
    generated: dict[str, Any] = {"p": DateOf(("d",))}
    condition = derive(In(Column(("d",)), literals), table(generated), generated)
    assert isinstance(condition, Or)
    found = condition.children[-1]
    assert 1 + (len(found.children) if isinstance(found, Or) else 1) == alternatives
    if count > 100:
        assert shown(found) == "p >= 1970-01-01 & p <= 1970-04-11"


def test_partition_column_with_another_order_has_no_condition() -> None:
    char = StructField("p", STRING, metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})
    columns = TableColumns(schema=StructType((StructField("s", STRING), char)), partition_columns=("p",))
    assert derive(compare("s", "=", "abc"), columns, {"p": Beginning(("s",), 1)}) == ALWAYS
    assert derive(compare("s", "=", "abc"), columns, {"gone": Beginning(("s",), 1)}) == ALWAYS
