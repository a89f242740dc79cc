"""Columns that neither the statement nor another rule has a value for."""

from __future__ import annotations

import pytest

from catalog.conditions import NotNullColumnMissing
from engine.enforcement.computed_columns import default_text, fill_defaults
from engine.tables.column_metadata import IdentityColumn
from tests.engine.enforcement.write_plans import INT, STRING, column, plan

IDENTITY = IdentityColumn(name="i", start=1, step=1, allow_explicit=False, high_water_mark=None)


@pytest.mark.parametrize(
    ("text", "expected"), [(None, "NULL"), ("1 + 1", "(1 + 1\n)"), ("'a' || 'b'", "('a' || 'b'\n)"), (7, "NULL")]
)
def test_the_value_of_default(text: object, expected: str) -> None:
    assert default_text(column("a", CURRENT_DEFAULT=text) if text is not None else column("a")) == expected


def test_missing_columns_have_their_default_or_null() -> None:
    columns = (
        column("a"),
        column("b", STRING, CURRENT_DEFAULT="'x'"),
        column("c"),
        column("n", nullable=False, CURRENT_DEFAULT="3"),
        column("p"),
        column("i"),
        column("g"),
    )
    write = plan(
        *columns, given="a", constants={"p": "1"}, identities=(IDENTITY,), table_config={"generations": {"g": "a + 1"}}
    )
    assert fill_defaults(write).constants == {
        "p": "1",
        "b": "CAST(('x'\n) AS string)",
        "c": "CAST(NULL AS int)",
        "n": "CAST((3\n) AS int)",
    }


@pytest.mark.parametrize("default", [{}, {"CURRENT_DEFAULT": 3}])
def test_a_column_that_cannot_be_null_has_to_be_given(default: dict[str, object]) -> None:
    with pytest.raises(NotNullColumnMissing):
        fill_defaults(plan(column("a", INT, False, **default), column("b"), given="b"))
