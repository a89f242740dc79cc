"""Conditions on a table's rows from a query's text, in the types of the table's columns."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from engine.binding.bound import BoundTable
from engine.planning.reads.narrowing import narrow_relations, needed_condition
from engine.planning.semantics.conditions import whole_files_matching
from engine.pruning.predicates import Column, Compare, Literal, Operator, Predicate, conjunction
from engine.pruning.table_columns import TableColumns
from engine.runtime.query_settings import DATES_AS_TEXTS
from engine.sql.expressions import parse_expression
from engine.sql.query.values import Query
from engine.statements.parse import parse
from engine.types.schema import DecimalType, PrimitiveType, StructField, StructType
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.planning.lake import PlanningLake

INTEGER, DATE, TIMESTAMP = PrimitiveType.INTEGER, PrimitiveType.DATE, PrimitiveType.TIMESTAMP
COLUMNS = TableColumns(
    schema=StructType(
        (
            StructField("i", INTEGER),
            StructField("day", DATE),
            StructField("at", TIMESTAMP),
            StructField("n", PrimitiveType.TIMESTAMP_NTZ),
            StructField("c", DecimalType(9, 2)),
        )
    )
)
ZONES_US = 18 * 3_600_000_000
NEW_YEAR_US = 19_723 * 86_400_000_000


def compare(name: str, operator: Operator, value: int, type_: PrimitiveType) -> Compare:
    return Compare(operator, Column((name,)), Literal(value, type_))


def after(name: str, us: int, type_: PrimitiveType = TIMESTAMP) -> Compare:
    return compare(name, Operator.GREATER_OR_EQUAL, us - ZONES_US, type_)


def before(name: str, us: int, type_: PrimitiveType = TIMESTAMP) -> Compare:
    return compare(name, Operator.LESS_OR_EQUAL, us + ZONES_US, type_)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("I = 3", [Compare(Operator.EQUAL, Column(("I",)), Literal(3, INTEGER))]),
        ("day = '2024-01-01'", [compare("day", Operator.EQUAL, 19_723, DATE)]),
        ("day = 'new year'", []),
        ("i = 5000000000", []),
        ("c = 3", []),
        ("other = 3", []),
        ("at > '2024-01-01'", [after("at", NEW_YEAR_US)]),
        ("at <= DATE'2024-01-01'", [before("at", NEW_YEAR_US)]),
        (
            "at BETWEEN TIMESTAMP'2024-01-01 00:00:01' AND '2024-01-01 00:00:02'",
            [after("at", NEW_YEAR_US + 10**6), before("at", NEW_YEAR_US + 2 * 10**6)],
        ),
        ("at = '2024-01-01 00:00:01'", [after("at", NEW_YEAR_US + 10**6), before("at", NEW_YEAR_US + 10**6)]),
        ("at <> '2024-01-01'", []),
        ("NOT at < '2024-01-01'", []),
        ("at < '2024'", []),
        ("n < '2024-01-01 00:00'", [before("n", NEW_YEAR_US, PrimitiveType.TIMESTAMP_NTZ)]),
        (
            "i = 3 AND f(day) AND at >= '2024-01-01'",
            [compare("i", Operator.EQUAL, 3, INTEGER), after("at", NEW_YEAR_US)],
        ),
    ],
)
def test_conditions(condition: str, expected: list[Predicate]) -> None:
    query = parse(f"SELECT * FROM t WHERE {condition}")
    assert isinstance(query, Query)
    found = conjunction(()) if query.needed is None else needed_condition(query.needed, COLUMNS)
    assert found == conjunction(tuple(expected))


def test_dates_that_are_compared_as_texts_narrow_nothing(tmp_path: Path) -> None:
    planning = PlanningLake(tmp_path)
    handmade = HandmadeTable(tmp_path / "t", columns=[{"id": 1, "name": "day", "required": False, "type": "date"}])
    handmade.commit(handmade.data({"day": [date(2024, 1, 1)]}))
    for settings, is_narrowed in (({}, True), ({DATES_AS_TEXTS: "true"}, False)):
        bound = planning.bound("SELECT * FROM t WHERE day < '2024-01-02'", settings)
        assert isinstance(bound.statement, Query)
        assert (narrow_relations(bound.statement, bound.relations) is not bound.relations) is is_narrowed
        (table,) = bound.relations
        assert isinstance(table, BoundTable)
        whole = whole_files_matching(table, parse_expression("day < '2024-01-02'"))
        assert (whole is not None) is is_narrowed
