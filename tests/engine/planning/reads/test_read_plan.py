"""A query's plan: the user's text over scans and views, each once if its names mean the same version."""

from __future__ import annotations

import pytest

from engine.delta.spec.actions import AddCdcFile
from engine.planning.plans.reads import ReadPlan, SchemaPlan
from tests.engine.planning.lake import PlanningLake, data_file

# A query, its scans with their numbers of files, and its views.
RELATIONS: dict[str, tuple[list[tuple[str, int]], list[str]]] = {
    "SELECT 1": ([], []),
    "SELECT * FROM plain a JOIN plain b JOIN plain VERSION AS OF 0 c": ([("__scan_0", 2), ("__scan_1", 0)], []),
    "SELECT plain.a FROM plain WHERE default.plain.a > (SELECT max(a) FROM plain)": ([("__scan_0", 2)], []),
    "WITH plain AS (SELECT 1 a) SELECT * FROM plain, default.plain": ([("__scan_0", 2)], []),
    "SELECT * FROM small, plain, small s": ([("__scan_0", 2)], ["__view_0"]),
    "SELECT * FROM smaller": ([("__scan_0", 2)], ["__view_0", "__view_1"]),
    "SELECT '__SCAN_0' FROM plain": ([("___scan_0", 2)], []),
    "SELECT * FROM hiding": ([("___scan_0", 2)], ["__view_0"]),
}


@pytest.fixture(scope="module", autouse=True)
def views(planning: PlanningLake) -> None:
    planning.make_view("smaller", "SELECT a + 1 FROM small", "b INT")
    planning.make_view("hiding", "SELECT a AS __scan_0 FROM plain", "b INT")


@pytest.mark.parametrize("text", RELATIONS)
def test_query_has_one_scan_per_version_and_one_view_scan_per_view(planning: PlanningLake, text: str) -> None:
    """A view follows those that it reads; no internal name is in any text, including views' texts."""
    scans, views = RELATIONS[text]
    plan = planning.plan(ReadPlan, text)
    assert [(scan.relation, scan.files.num_rows) for scan in plan.scans] == scans
    assert [view.relation for view in plan.views] == views


def test_a_view_has_the_columns_that_it_was_made_with(planning: PlanningLake) -> None:
    (view,) = planning.plan(ReadPlan, "SELECT * FROM small").views
    assert view.columns == (("a", "a", ""),) and not view.temporary
    assert view.label == "`spark_catalog`.`default`.`small`"


REFUSED = {
    "SELECT * FROM empty": "DELTA_READ_TABLE_WITHOUT_COLUMNS",
    "SELECT * FROM unreadable": "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    "SELECT 1 WHERE EXISTS (SELECT * FROM unreadable)": "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
}


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("head", ["", "EXPLAIN ", "DESCRIBE QUERY "])
def test_invalid_read_plan_is_rejected(planning: PlanningLake, head: str, text: str) -> None:
    assert planning.refused(head + text) == REFUSED[text]


def test_a_table_that_only_writers_cannot_know_is_read(planning: PlanningLake) -> None:
    assert planning.plan(ReadPlan, "SELECT * FROM readable").scans[0].files.num_rows == 1


def test_the_changes_of_a_table_are_a_scan_for_each_kind_of_files(planning: PlanningLake) -> None:
    planning.make("CREATE TABLE fed_reads (a INT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    planning.commit("fed_reads", data_file("1.parquet"))
    planning.commit("fed_reads", data_file("2.parquet"), AddCdcFile(path="_change_data/c.parquet", size=10))
    one = planning.plan(ReadPlan, "SELECT * FROM table_changes('fed_reads', 1, 1)")
    assert [scan.files.num_rows for scan in one.scans] == [1] and one.views == ()
    both = planning.plan(ReadPlan, "SELECT * FROM table_changes('fed_reads', 1) c")
    assert [view.relation for view in both.views] == ["__view_0"]
    assert [scan.relation for scan in both.scans] == ["__scan_0", "__scan_1"]
    for scan in both.scans:
        assert scan.schema.names == ("a", "_change_type", "_commit_version", "_commit_timestamp")
        assert scan.table_root == str(planning.path("fed_reads"))


def test_the_columns_of_a_query(planning: PlanningLake) -> None:
    read = planning.plan(SchemaPlan, "DESCRIBE QUERY SELECT a FROM plain").read
    assert [scan.files.num_rows for scan in read.scans] == [2]
