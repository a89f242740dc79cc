"""Partition filters from generation expressions: the derived condition never excludes a matching row."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.log.file_table import encode_partition_values, partition_schema
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
from engine.pruning.generation_filters import derive
from engine.pruning.predicates import (
    ALWAYS,
    And,
    Cast,
    Column,
    Compare,
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
    compare,
)
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.types.schema import DataType, PrimitiveType, StructField, StructType
from tests.engine.delta.row_evaluation import Row, evaluate_row
from tests.examples import examples

EPOCH = datetime(1970, 1, 1)
TIMESTAMP, NTZ, DATE, STRING = (
    PrimitiveType.TIMESTAMP,
    PrimitiveType.TIMESTAMP_NTZ,
    PrimitiveType.DATE,
    PrimitiveType.STRING,
)
TYPES: dict[tuple[str, ...], DataType] = {("ts",): TIMESTAMP, ("ntz",): NTZ, ("d",): DATE, ("s",): STRING}
RESULT_TYPES: dict[type, DataType] = {
    DateOf: DATE,
    PartOf: PrimitiveType.INTEGER,
    FormattedDate: STRING,
    TruncatedDate: DATE,
    TruncatedTimestamp: TIMESTAMP,
    Beginning: STRING,
}


def table(generated: dict[str, GenerationExpression]) -> TableColumns:
    partitions = [
        StructField(name, RESULT_TYPES.get(type(expression), TYPES[expression.base]))
        for name, expression in generated.items()
    ]
    base = [StructField(path[0], kind) for path, kind in TYPES.items()]
    return TableColumns(schema=StructType((*base, *partitions)), partition_columns=tuple(generated), time_zone=UTC)


def survivors(generated: dict[str, GenerationExpression], predicate: Predicate, values: list[dict[str, Any]]) -> str:
    """Returns the files with these partition values that the derived condition keeps."""
    columns = table(generated)
    maps = pa.array([list(value.items()) for value in values], pa.map_(pa.string(), pa.string()))
    texts = encode_partition_values(maps, partition_schema(generated))
    pruning = FilePruning(columns, len(values), lambda name: pa.chunked_array([texts.column(name)]))
    mask, _ = pruning.partition_mask(derive(predicate, columns, generated))
    return "".join("#" if keep else "." for keep in mask)


def at(operator: str, *fields: int) -> Compare:
    return compare("ts", operator, datetime(*fields, tzinfo=UTC))  # type: ignore[arg-type, misc]


DAYS = [{"p": f"2024-05-{day:02d}"} for day in range(1, 10)] + [{"p": None}]
MONTHS = [{"p": f"2024-{month:02d}"} for month in range(1, 10)] + [{"p": None}]
HOURS = [{"p": f"2024-05-03T{hour:02d}:00:00Z"} for hour in (0, 12, 23)] + [{"p": "2024-05-09 00:00:00"}]
LETTERS = [{"p": text} for text in ("a", "ab", "b", "ba", "c", None)]


@pytest.mark.parametrize(
    ("expression", "predicate", "remaining"),
    [
        (DateOf(("ts",)), at(">=", 2024, 5, 4), "..#######" + "#"),
        (DateOf(("ts",)), at("<", 2024, 5, 4), "####....." + "#"),
        (DateOf(("ts",)), at("=", 2024, 5, 4, 12), "..###...." + "#"),
        (DateOf(("ts",)), And((at(">=", 2024, 5, 4), at("<=", 2024, 5, 5))), "..###...." + "#"),
        (DateOf(("ts",)), Or((at("=", 2024, 5, 1, 20), at(">", 2024, 5, 9, 1))), "##.....##" + "#"),
        (DateOf(("ts",)), Not(at("<", 2024, 5, 4)), "..#######" + "#"),
        (DateOf(("ts",)), at("!=", 2024, 5, 4), "#########" + "#"),
        (DateOf(("ts",)), IsNull(Column(("ts",))), "........." + "#"),
        (DateOf(("ts",)), IsNotNull(Column(("ts",))), "#########" + "#"),
        (DateOf(("ts",)), Or((at("=", 2024, 5, 4), Unknown())), "#########" + "#"),
        (DateOf(("ts",)), And((at(">=", 2024, 5, 8), Unknown())), "......###" + "#"),
        (DateOf(("ts",)), compare("d", "=", date(2024, 5, 4)), "#########" + "#"),
        (DateOf(("d",)), compare("d", "=", date(2024, 5, 4)), "...#....." + "#"),
        (DateOf(("d",)), compare("d", "<", date(2024, 5, 4)), "####....." + "#"),
        (DateOf(("ntz",)), compare("ntz", ">", datetime(2024, 5, 4, 23)), "...######" + "#"),
        (DateOf(("ntz",)), Compare(Operator.LESS, Cast(Column(("ntz",)), DATE), Literal.of(date(2024, 5, 4))),
         "####....." + "#"),
        (DateOf(("ts",)), Compare(Operator.EQUAL, Cast(Column(("ts",)), DATE), Literal.of(date(2024, 5, 4))),
         ".#####..." + "#"),
        (DateOf(("ts",)), In(Column(("ts",)), tuple(Literal.of(datetime(2024, 5, n, 12, tzinfo=UTC)) for n in (2, 8))),
         "###...###" + "#"),
        (SameAs(("d",)), compare("d", "<", date(2024, 5, 4)), "###......" + "#"),
        (SameAs(("ts",)), at("=", 2024, 5, 4), "#########" + "#"),
        (TruncatedDate(("d",), TruncationUnit.MONTH), compare("d", ">", date(2024, 5, 31)), "#########" + "#"),
        (TruncatedDate(("d",), TruncationUnit.MONTH), compare("d", ">", date(2024, 6, 1)), "........." + "#"),
        (TruncatedDate(("d",), TruncationUnit.WEEK), compare("d", "=", date(2024, 5, 8)), ".....#..." + "#"),
        (TruncatedDate(("d",), TruncationUnit.HOUR), compare("d", "=", date(2024, 5, 8)), "#########" + "#"),
    ],
    ids=str,
)  # fmt: skip
def test_days(expression: GenerationExpression, predicate: Predicate, remaining: str) -> None:
    assert survivors({"p": expression}, predicate, DAYS) == remaining


@pytest.mark.parametrize(
    ("expression", "predicate", "values", "remaining"),
    [
        (FormattedDate(("ts",), "yyyy-MM"), at("<", 2024, 3, 10), MONTHS, "###......#"),
        (FormattedDate(("ts",), "yyyy-MM"), at(">", 2024, 8, 1, 1), MONTHS, "......####"),
        (FormattedDate(("ts",), "MM"), at(">", 2024, 8, 1, 1), MONTHS, "##########"),
        (FormattedDate(("d",), "yyyy-MM"), compare("d", "=", date(2024, 3, 10)), MONTHS, "..#......#"),
        (FormattedDate(("ts",), "yyyy-MM"), at(">", 2024, 8, 1, 1), [{"p": "+12024-01"}, {"p": "0800-01"}], "#."),
        (TruncatedTimestamp(("ts",), TruncationUnit.HOUR), at("=", 2024, 5, 3, 12, 30), HOURS, "###."),
        (TruncatedTimestamp(("ts",), TruncationUnit.HOUR), at(">=", 2024, 5, 7), HOURS, "...#"),
        (Beginning(("s",), 1), compare("s", "=", "abc"), LETTERS, "#....#"),
        (Beginning(("s",), 1), compare("s", ">", "b"), LETTERS, "..####"),
        (Beginning(("s",), 2), compare("s", "<", "b"), LETTERS, "###..#"),
        (Beginning(("s",), 2), compare("s", "!=", "b"), LETTERS, "######"),
        (Beginning(("s",), 2), StartsWith(Column(("s",)), "b"), LETTERS, "..##.#"),
        (Beginning(("s",), 2), StartsWith(Column(("s",)), "bax"), LETTERS, "...#.#"),
        (Beginning(("s",), 2), In(Column(("s",)), (Literal.of("abx"), Literal.of("c"))), LETTERS, ".#..##"),
        (SameAs(("s",)), StartsWith(Column(("s",)), "b"), LETTERS, "..##.#"),
    ],
    ids=str,
)
def test_generation_expression_leaves_the_expected_partitions(
    expression: GenerationExpression, predicate: Predicate, values: list[dict[str, Any]], remaining: str
) -> None:
    assert survivors({"p": expression}, predicate, values) == remaining


PARTS: dict[str, GenerationExpression] = {
    "y": PartOf(Part.YEAR, ("d",)),
    "m": PartOf(Part.MONTH, ("d",)),
    "dd": PartOf(Part.DAY, ("d",)),
}
CALENDAR = [{"y": y, "m": m, "dd": d} for y, m, d in [("2023", "12", "31"), ("2024", "5", "3"), ("2024", "5", "4"),
            ("2024", "6", "1"), ("2025", "1", "1"), ("2024", None, "1")]]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "predicate", "remaining"),
    [
        ("y m dd", compare("d", ">=", date(2024, 5, 4)), "..####"),
        ("y m dd", compare("d", "<=", date(2024, 5, 3)), "##...#"),
        ("y m dd", compare("d", "=", date(2024, 5, 4)), "..#..#"),
        ("y m", compare("d", ">", date(2024, 5, 4)), ".#####"),
        ("y", compare("d", "<", date(2024, 5, 4)), "####.#"),
        ("y dd", compare("d", "<", date(2024, 5, 4)), "####.#"),
        ("m dd", compare("d", "<", date(2024, 5, 4)), "######"),
        ("y m dd", IsNull(Column(("d",))), "......"),
    ],
)
def test_parts_of_a_date_act_together(names: str, predicate: Predicate, remaining: str) -> None:
    assert survivors({name: PARTS[name] for name in names.split()}, predicate, CALENDAR) == remaining


def test_columns_of_unsuitable_types_derive_no_partition_filter() -> None:
    char = StructField("s", STRING, metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})
    columns = TableColumns(schema=StructType((char, StructField("p", STRING))), partition_columns=("p",))
    assert derive(compare("s", "=", "abc"), columns, {"p": Beginning(("s",), 1)}) == ALWAYS
    assert derive(compare("s", "=", "abc"), columns, {}) == ALWAYS
    assert derive(compare("ts", "=", 5), table({"p": DateOf(("ts",))}), {"p": DateOf(("ts",))}) == ALWAYS
    assert derive(compare("none", "=", 5), table({"p": DateOf(("ts",))}), {"p": DateOf(("ts",))}) == ALWAYS


# --- Every expression, as a writer in any zone computes it ---------------------------------------------------------

ZONES = [ZoneInfo(name) for name in ("UTC", "Pacific/Apia", "America/St_Johns", "Asia/Kolkata", "Pacific/Kiritimati")]
BASES = [("ts",), ("ntz",), ("d",)]
DATE_UNITS = [TruncationUnit.YEAR, TruncationUnit.QUARTER, TruncationUnit.MONTH, TruncationUnit.WEEK]
temporal = st.sampled_from([*BASES, ("ts",), ("ts",)])
EXPRESSIONS: dict[str, st.SearchStrategy[GenerationExpression]] = {
    "date": temporal.map(DateOf),
    "year": temporal.map(lambda base: PartOf(Part.YEAR, base)),
    "format": st.builds(FormattedDate, temporal, st.sampled_from(sorted(DATE_FORMATS))),
    "trunc": st.builds(TruncatedDate, temporal, st.sampled_from(DATE_UNITS)),
    "date_trunc": st.builds(TruncatedTimestamp, temporal, st.sampled_from(TruncationUnit)),
    "substring": st.builds(Beginning, st.just(("s",)), st.integers(1, 3)),
    "same": st.sampled_from([*BASES, ("s",)]).map(SameAs),
}
instants = st.integers(-5, 5).map(lambda hours: 1_325_203_200_000_000 + hours * 3_600_000_000) | st.integers(
    -2_000_000_000_000_000, 4_000_000_000_000_000
)
strings = st.text("ab\x01é", max_size=4)


def computed(expression: GenerationExpression, row: Row, zone: ZoneInfo, *, local_text: bool) -> str | None:
    """Returns the partition value that a writer in `zone` gives a row, as text."""
    value = row[expression.base]
    if value is None:
        return None
    if isinstance(expression, Beginning):
        return str(value)[: expression.length]
    local = local_time(value, TYPES[expression.base], zone) if expression.base != ("s",) else EPOCH
    match expression:
        case SameAs():
            return str(value) if expression.base == ("s",) else (
                local.date().isoformat() if expression.base == ("d",) else local.isoformat(" "))  # fmt: skip
        case DateOf():
            return local.date().isoformat()
        case PartOf():
            return str(local.year)
        case FormattedDate(format=spelled):
            return local.strftime(DATE_FORMATS[spelled])
        case TruncatedDate(unit=unit):
            return truncated(local, unit).date().isoformat()
        case TruncatedTimestamp(unit=unit):
            start = truncated(local, unit)
            return start.isoformat(" ") if local_text else start.replace(tzinfo=zone).astimezone(UTC).isoformat(" ")
        case _:
            raise AssertionError(expression)


def local_time(value: int, kind: DataType, zone: ZoneInfo) -> datetime:
    if kind is DATE:
        return EPOCH + timedelta(days=value)
    moment = EPOCH + timedelta(microseconds=value)
    return moment if kind is NTZ else moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


def truncated(local: datetime, unit: TruncationUnit) -> datetime:
    day = datetime(local.year, local.month, local.day)
    match unit:
        case TruncationUnit.YEAR:
            return datetime(local.year, 1, 1)
        case TruncationUnit.QUARTER:
            return datetime(local.year, (local.month + 2) // 3 * 3 - 2, 1)
        case TruncationUnit.MONTH:
            return datetime(local.year, local.month, 1)
        case TruncationUnit.WEEK:
            return day - timedelta(days=day.isoweekday() - 1)
        case TruncationUnit.DAY:
            return day
        case TruncationUnit.HOUR:
            return day + timedelta(hours=local.hour)


@st.composite
def derivations(draw: st.DrawFn, kind_of_expression: str) -> tuple[GenerationExpression, Row, Predicate]:
    expression = draw(EXPRESSIONS[kind_of_expression])
    moment = draw(instants)
    row: Row = {
        ("ts",): draw(st.none() | st.just(moment)),
        ("ntz",): moment,
        ("d",): moment // 86_400_000_000,
        ("s",): draw(strings),
    }
    path = expression.base
    kind = TYPES[path]
    near = st.integers(-3, 3).map(lambda hours: hours * 3_600_000_000) | st.just(0)
    leaves = list[Predicate]()
    for _ in range(draw(st.integers(1, 2))):
        operand: Any = Column(path)
        compared = kind
        if kind is not STRING and draw(st.booleans()):
            compared = draw(st.sampled_from([DATE, TIMESTAMP, NTZ]))
            operand = Column(path) if compared is kind else Cast(Column(path), compared)
        value: Any = draw(strings) if kind is STRING else moment + draw(near)
        if compared is DATE:
            value //= 86_400_000_000
        if kind is STRING and draw(st.integers(0, 3)) == 0:
            leaves.append(StartsWith(operand, value))
        else:
            leaves.append(Compare(draw(st.sampled_from(Operator)), operand, Literal(value, compared)))
    combined: Predicate = And(tuple(leaves)) if draw(st.booleans()) else Or(tuple(leaves))
    predicates: list[Predicate] = [combined, combined, combined, Not(combined), IsNull(Column(path))]
    return expression, row, draw(st.sampled_from(predicates))


@pytest.mark.parametrize("kind_of_expression", EXPRESSIONS)
@examples(150)
@given(data=st.data(), writer=st.sampled_from(ZONES), local_text=st.booleans())
def test_a_matching_row_is_never_excluded(
    kind_of_expression: str, data: st.DataObject, writer: ZoneInfo, local_text: bool
) -> None:
    expression, row, predicate = data.draw(derivations(kind_of_expression))
    if evaluate_row(predicate, row, TYPES) is True:
        text = computed(expression, row, writer, local_text=local_text)
        assert survivors({"p": expression}, predicate, [{"p": text}]) == "#"
