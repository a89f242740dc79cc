"""Generated columns are computed if missing, and checked if given."""

from __future__ import annotations

from engine.enforcement.computed_columns import compute_generated
from tests.engine.enforcement.write_plans import DATE, column, plan

COLUMNS = (column("t"), column("day", DATE), column("a b"))
CONSTRAINTS = {"generations": {"day": "CAST(t AS DATE)", "a b": "t + 1 -- a comment", "gone": "t"}}


def test_missing_generated_column_is_computed_with_its_type() -> None:
    computed = compute_generated(plan(*COLUMNS, given="t", table_config=CONSTRAINTS))
    assert computed.generated == {
        "day": "CAST((CAST(t AS DATE)\n) AS date)",
        "a b": "CAST((t + 1 -- a comment\n) AS int)",
    }
    assert computed.checks == ()


def test_supplied_generated_value_is_checked() -> None:
    """By the query or by the PARTITION clause; null equals null."""
    write = plan(*COLUMNS, given="t day", constants={"a b": "1"}, table_config=CONSTRAINTS)
    computed = compute_generated(write)
    assert computed.generated == {}
    assert [(check.text, check.shown) for check in computed.checks] == [
        ("`day` <=> (CAST(t AS DATE)\n)", (("day",), ("t",))),
        ("`a b` <=> (t + 1 -- a comment\n)", (("a b",), ("t",))),
    ]
    error = computed.checks[0].error({"day": "2024-01-01"})
    assert error.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES" and "Generated Column" in str(error)
