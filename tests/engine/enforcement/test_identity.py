"""A write's identity columns, and where their high-water marks are stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.conditions import IdentityExhausted, IdentityValueGiven
from engine.enforcement.identity import generate_identities, moved_high_water_marks
from engine.tables.column_metadata import GREATEST, LEAST, IdentityColumn
from tests.engine.enforcement.write_plans import LONG, column, plan

ALWAYS = IdentityColumn(name="i", start=1, step=1, allow_explicit=False, high_water_mark=None)
BY_DEFAULT = replace(ALWAYS, allow_explicit=True)
COLUMNS = (column("i", LONG), column("a"))


def rules(identity: IdentityColumn) -> dict[str, object]:
    return {"identities": (identity,)}


@pytest.mark.parametrize("identity", [ALWAYS, BY_DEFAULT], ids=["always", "by default"])
def test_missing_values_are_given_out(identity: IdentityColumn) -> None:
    assert generate_identities(plan(*COLUMNS, given="a", rules=rules(identity))).identities == (identity,)


def test_values_may_be_given_by_default_only() -> None:
    assert generate_identities(plan(*COLUMNS, given="i a", rules=rules(BY_DEFAULT))).identities == ()
    with pytest.raises(IdentityValueGiven):
        generate_identities(plan(*COLUMNS, given="i a", rules=rules(ALWAYS)))
    with pytest.raises(IdentityValueGiven):
        generate_identities(plan(*COLUMNS, given="a", constants={"i": "1"}, rules=rules(ALWAYS)))


@pytest.mark.parametrize(
    "identity",
    [replace(ALWAYS, high_water_mark=GREATEST), replace(ALWAYS, step=-1, high_water_mark=LEAST)],
    ids=["greatest", "least"],
)
def test_values_run_out(identity: IdentityColumn) -> None:
    with pytest.raises(IdentityExhausted):
        generate_identities(plan(*COLUMNS, given="a", rules=rules(identity)))


@pytest.mark.parametrize(
    ("identity", "written", "mark"),
    [
        (ALWAYS, {"i": (1, 5)}, 5),
        (replace(ALWAYS, high_water_mark=5), {"i": (6, 9)}, 9),
        (replace(ALWAYS, high_water_mark=9), {"i": (6, 9)}, None),
        (replace(ALWAYS, step=-2), {"i": (-5, 1)}, -5),
        (ALWAYS, {}, None),
    ],
)
def test_marks_move_with_the_values(
    identity: IdentityColumn, written: dict[str, tuple[int, int]], mark: int | None
) -> None:
    moved = moved_high_water_marks((identity,), written)
    assert len(moved) == (mark is not None)
    assert all(str(mark) in repr(change) for change in moved)
