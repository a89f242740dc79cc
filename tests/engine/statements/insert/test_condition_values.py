"""Parameters in REPLACE conditions."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.runtime.parameters import Parameter
from engine.runtime.variables import RowValue
from engine.statements.insert.grammar import with_condition_values
from engine.statements.insert.statement import Insert, ReplaceOn, ReplaceWhere
from engine.statements.parse import parse

P = Parameter
CASES = [
    ("REPLACE WHERE d = ? SELECT ?", [P(value="x"), P(value="1")], "d = CAST('x' AS string)", 1),
    ("REPLACE WHERE d > :a AND e = :b SELECT :a", [P(value="1", sql_type="INT", name="a"), P(value=None, name="b")],
     "d > CAST('1' AS INT) AND e = CAST(NULL AS string)", 2),
    ("REPLACE WHERE d = '?:a' SELECT :a", [P(value="1", name="a")], "d = '?:a'", 1),
    ("REPLACE WHERE v:a = :a SELECT 1", [P(value="it's \\", name="a")], "v:a = CAST('it\\'s \\\\' AS string)", 1),
    ("REPLACE ON t.k = s.k AND t.x < :x (SELECT 1 AS k) s", [P(value="2", sql_type="decimal(5,2)", name="x")],
     "t.k = s.k AND t.x < CAST('2' AS decimal(5,2))", 1),
    ("REPLACE WHERE d = :other SELECT 1", [P(value="1", name="a")], "d = :other", 1),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "parameters", "condition", "left"), CASES)
def test_values_stand_in_the_condition(clause: str, parameters: list[Parameter], condition: str, left: int) -> None:
    statement = parse(f"INSERT INTO t {clause}")
    assert isinstance(statement, Insert)
    bound, rest = with_condition_values(statement, parameters)
    assert isinstance(bound.replace, ReplaceWhere | ReplaceOn)
    assert bound.replace.condition == condition and bound.source == statement.source and len(rest) == left


REFUSED = [
    ("REPLACE WHERE d = ? WITH q AS (SELECT 1) SELECT * FROM q", P(value="1")),
    ("REPLACE WHERE d = ? SELECT 1", P(value="1", sql_type="INT) OR (1")),
    ("REPLACE WHERE d = ? SELECT 1", P(value=None, row_value=RowValue("struct<>", "", 0))),
]


@pytest.mark.parametrize(("clause", "parameter"), REFUSED)
def test_values_that_cannot(clause: str, parameter: Parameter) -> None:
    statement = parse(f"INSERT INTO t {clause}")
    assert isinstance(statement, Insert)
    with pytest.raises(SqlError) as refused:
        with_condition_values(statement, [parameter])
    assert refused.value.condition == "UNSUPPORTED_FEATURE.STATEMENT"
