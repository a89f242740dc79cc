"""Copy-on-write UPDATE: all rows in one query, if possible."""

from __future__ import annotations

import pytest

from engine.planning.plans.write_plan import TaskPerFile
from engine.planning.plans.writes import RewrittenRows, UpdatePlan
from tests.engine.planning.lake import PlanningLake


def rewritten(planning: PlanningLake, text: str) -> RewrittenRows | None:
    return planning.plan(UpdatePlan, f"UPDATE {text}").rewritten


def test_rows_that_change_and_others_are_one_query(planning: PlanningLake) -> None:
    found = rewritten(planning, "plain t SET b = upper(t.b) WHERE a = 1")
    assert found is not None
    assert found.rows.copied_columns is not None and dict(found.rows.copied_columns.before) == {"b": "__before_0"}


def test_rows_that_stay_keep_the_version_that_changed_them(planning: PlanningLake) -> None:
    found = rewritten(planning, "tracked SET b = 'x'")
    assert found is not None and found.values.scan.row_tracking is not None


COPIED_VALUES = {
    "nested SET place.city = 'D'": "place tags m",  # values in nested types may have lengths
    "ruled SET amount = DEFAULT": "day amount",
    "chars SET s = 'x'": "a v s",
    "sales SET amount = 1": "amount day",
}


@pytest.mark.parametrize("text", COPIED_VALUES)
def test_old_values_are_copied_if_constraints_may_change_them(planning: PlanningLake, text: str) -> None:
    found = rewritten(planning, text)
    assert found is not None and found.rows.copied_columns is not None
    assert list(found.rows.copied_columns.before) == COPIED_VALUES[text].split()


SHUFFLED = {
    "sales SET amount = 1": False,
    "sales SET day = NULL": True,
    "by_day SET at = now()": True,
    "sized SET a = 1": True,
    "optimized SET a = 1": True,
    "plain SET a = 1": False,
}


@pytest.mark.parametrize("text", SHUFFLED)
def test_a_file_comes_for_each_where_rows_stay_in_their_partition(planning: PlanningLake, text: str) -> None:
    made = {
        "by_day": "(at TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(at AS DATE))) PARTITIONED BY (d)",
        "sized": "(a INT) TBLPROPERTIES ('delta.targetFileSize' = '1mb')",
        "optimized": "(a INT) TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'true')",
    }
    name = text.split()[0]
    if name in made and not planning.path(name).exists():
        planning.make(f"CREATE TABLE {name} {made[name]}")
    found = rewritten(planning, text)
    assert found is not None
    assert found.rows.arrangement == (None if SHUFFLED[text] else TaskPerFile())


@pytest.mark.parametrize(
    "text",
    [
        "vectors SET a = 1",
        "fed SET a = 1",
        "plain SET b = (SELECT max(b) FROM plain)",
        "plain SET a = 1, b = concat((SELECT 'x'), b)",
    ],
)
def test_rows_go_to_files_of_their_own(planning: PlanningLake, text: str) -> None:
    """Cases: deletion vectors, a feed, and a value that may be a join."""
    if text.startswith("fed") and not planning.path("fed").exists():
        planning.make("CREATE TABLE fed (a INT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    assert rewritten(planning, text) is None
