"""A write's identity columns, and where their high-water marks are stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.conditions import IdentityExhausted, IdentityValueGiven
from engine.enforcement.identity import generate_identities, moved_high_water_marks
from engine.tables.column_metadata import LONG_MAX, LONG_MIN, IdentityColumn
from tests.engine.enforcement.write_plans import LONG, column, plan

ALWAYS = IdentityColumn(name="i", start=1, step=1, allow_explicit=False, high_water_mark=None)
BY_DEFAULT = replace(ALWAYS, allow_explicit=True)
COLUMNS = (column("i", LONG), column("a"))


def table_config(identity: IdentityColumn) -> dict[str, object]:
    return {"identities": (identity,)}


@pytest.mark.parametrize("identity", [ALWAYS, BY_DEFAULT], ids=["always", "by default"])
def test_missing_values_are_given_out(identity: IdentityColumn) -> None:
    assert generate_identities(plan(*COLUMNS, given="a", table_config=table_config(identity))).identities == (identity,)


def test_values_may_be_given_by_default_only() -> None:
    assert generate_identities(plan(*COLUMNS, given="i a", table_config=table_config(BY_DEFAULT))).identities == ()
    with pytest.raises(IdentityValueGiven):
        generate_identities(plan(*COLUMNS, given="i a", table_config=table_config(ALWAYS)))
    with pytest.raises(IdentityValueGiven):
        generate_identities(plan(*COLUMNS, given="a", constants={"i": "1"}, table_config=table_config(ALWAYS)))


@pytest.mark.parametrize(
    "identity",
    [replace(ALWAYS, high_water_mark=LONG_MAX), replace(ALWAYS, step=-1, high_water_mark=LONG_MIN)],
    ids=["greatest", "least"],
)
def test_values_run_out(identity: IdentityColumn) -> None:
    with pytest.raises(IdentityExhausted):
        generate_identities(plan(*COLUMNS, given="a", table_config=table_config(identity)))


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
def test_high_water_mark_follows_written_values(
    identity: IdentityColumn, written: dict[str, tuple[int, int]], mark: int | None
) -> None:
    moved = moved_high_water_marks((identity,), written)
    assert len(moved) == (mark is not None)
    assert all(str(mark) in repr(change) for change in moved)
