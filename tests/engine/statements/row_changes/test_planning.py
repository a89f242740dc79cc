"""DELETE and UPDATE: finding rows, files removed whole, and the rows' new values."""

from __future__ import annotations

import pytest

from engine.planning.plans.writes import DeletePlan, ReplaceAll, ReplaceMatching, UpdatePlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake

DELETES = {
    "plain": "true",
    "plain AS t WHERE t.a = 1": "(t.a = 1)",
    "sales WHERE day IS NULL -- why": "(day IS NULL)",
    "sales WHERE true": "(true)",
    "plain WHERE a IN (SELECT a FROM plain)": "(a IN (SELECT a FROM plain))",
    "plain WHERE EXISTS (SELECT * FROM small WHERE small.a = plain.a)": (
        "(EXISTS (SELECT * FROM small WHERE small.a = plain.a))"
    ),
}


@pytest.mark.parametrize("text", DELETES)
def test_the_places_of_deleted_rows(planning: PlanningLake, text: str) -> None:
    plan = planning.plan(DeletePlan, f"DELETE FROM {text}")
    shown = DELETES[text]
    assert plan.places.target == plan.places.scan.relation == "__scan_0"
    assert plan.shown == shown
    assert (plan.description.name, dict(plan.description.parameters)) == ("DELETE", {"predicate": [shown]})
    assert plan.description.operation is TableOperation.DML
    has_subquery = "SELECT" in text
    assert plan.places.is_once is not has_subquery
    assert plan.reads_table is has_subquery
    assert (plan.expression_checks is not None) is ("WHERE" in text and not has_subquery)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("sales", ReplaceAll()),
        ("sales s WHERE s.DAY > '2024-01-01'", "(DAY > '2024-01-01'\n)"),
        ("sales WHERE day IS NULL OR day = current_date()", "(day IS NULL OR day = current_date()\n)"),
        ("sales WHERE day > '2024-01-01' AND id = 2", None),
        ("sales WHERE true", None),
        ("sales WHERE day = (SELECT max(day) FROM sales)", None),
        ("plain WHERE a = 1", None),
    ],
)
def test_files_removed_without_a_scan(planning: PlanningLake, text: str, whole: ReplaceAll | str | None) -> None:
    found = planning.plan(DeletePlan, f"DELETE FROM {text}").whole
    assert (found.condition if isinstance(found, ReplaceMatching) else found) == whole


def test_places_are_numbers_of_files(planning: PlanningLake) -> None:
    """The target's hidden column, and no other relation's, identifies a row's file in the scan."""
    plan = planning.plan(DeletePlan, "DELETE FROM sales WHERE id IN (SELECT id FROM sales)")
    target, other = plan.places.read.scans
    assert plan.places.scan is target and target.metadata == "__place_0" and other.metadata == "_metadata"
    assert target.files["base_row_id"].to_pylist() == [0, 1, 2]
    assert other.files["base_row_id"].to_pylist() == [None] * 3 and other.row_tracking is None


UPDATES = {
    "plain SET b = 'x' WHERE a = 1": "a b",
    "plain t SET t.B = t.a, a = 0": "a b",
    "nested SET place.city = 'D', id = 2": "id place tags m",
    "ruled SET amount = DEFAULT, at = now()": "id at note",
    "ruled SET note = 'x'": "id at amount note",
    "ruled SET day = NULL": "id at day amount note",
}


@pytest.mark.parametrize("text", UPDATES)
def test_the_values_of_changed_rows(planning: PlanningLake, text: str) -> None:
    """A generated column that is not assigned is computed again, and DEFAULT is left to the table."""
    plan = planning.plan(UpdatePlan, f"UPDATE {text}")
    assert list(plan.rows.insert_columns) == UPDATES[text].split()
    assert plan.rows.removes and plan.rows.updates and not plan.rows.extra_columns


def test_commit_description_of_an_update(planning: PlanningLake) -> None:
    plan = planning.plan(UpdatePlan, "UPDATE plain SET b = 'x' WHERE a =\n 1")
    assert (plan.description.name, dict(plan.description.parameters)) == ("UPDATE", {"predicate": "(a = 1)"})
    assert planning.plan(UpdatePlan, "UPDATE plain SET b = 'x'").description.parameters == {}


def test_rows_keep_their_ids_where_the_table_tracks_them(planning: PlanningLake) -> None:
    plan = planning.plan(UpdatePlan, "UPDATE tracked SET b = 'x' WHERE a = 1")

    assert [column.name.split("-col-")[0] for column in plan.rows.extra_columns] == ["_row-id", "_row-commit-version"]
    assert plan.values.scan.row_tracking is not None
    assert plan.values.scan.files["base_row_id"].to_pylist() == [0]


def test_an_update_reads_its_table_in_subqueries_alone(planning: PlanningLake) -> None:
    plan = planning.plan(UpdatePlan, "UPDATE plain t SET b = (SELECT max(b) FROM plain) WHERE t.a > 1")
    assert plan.reads_table and plan.places.is_once
    assert [scan.relation for scan in plan.values.read.scans] == ["__scan_0", "__scan_1"]
    assert not planning.plan(UpdatePlan, "UPDATE plain SET b = (SELECT max(id) FROM sales)").reads_table


def test_names_of_ours_are_in_no_text_of_the_user(planning: PlanningLake) -> None:
    plan = planning.plan(UpdatePlan, "UPDATE plain AS __scan_0 SET b = '__VALUE_0' WHERE a = 1")
    assert plan.values.target == "___scan_0"


REFUSED = {
    "DELETE FROM readable": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "DELETE FROM plain WHERE _metadata.file_path = 'x'": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
    "DELETE FROM plain WHERE plain._metadata.row_index = 1": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
    "DELETE FROM small": "EXPECT_TABLE_NOT_VIEW",
    "UPDATE readable SET id = 1": "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "UPDATE plain SET b = _metadata.file_path": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
    "UPDATE plain SET b = 'x' WHERE _metadata.file_name = 'x'": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_row_changes_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text) == REFUSED[text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("UPDATE plain SET b = _metadata.file_path", "A value of UPDATE"),
        ("UPDATE plain SET b = 'x' WHERE _metadata.file_name = 'x'", "The condition of UPDATE"),
        (
            "MERGE INTO plain t USING sales s ON t.a = s.id WHEN MATCHED THEN UPDATE SET b = t._metadata.file_path",
            "A value of MERGE",
        ),
    ],
)
def test_hidden_column_error_has_a_position(planning: PlanningLake, text: str, words: str) -> None:
    columns = "id BIGINT, amount INT, day DATE" if text.startswith("MERGE") else ""
    assert f"] {words} cannot use _metadata" in str(planning.refuse(text, columns))
