"""MERGE: reading the source, each clause's rows, and their new values."""

from __future__ import annotations

import pytest

from engine.planning.plans.writes import MergePlan
from engine.tables.operations import IdempotentWrite
from engine.tables.scan import FileLayout
from tests.engine.planning.lake import PlanningLake

SALES = "id BIGINT, amount INT, day DATE"
INTO = "MERGE INTO plain t USING sales s ON t.a = s.id"
FULL = f"""{INTO} WHEN MATCHED AND s.amount IS NULL THEN DELETE
    WHEN MATCHED THEN UPDATE SET b = s.day
    WHEN NOT MATCHED AND s.id > 1 THEN INSERT (A, b) VALUES (s.id, DEFAULT)
    WHEN NOT MATCHED BY SOURCE AND t.a < 0 THEN UPDATE SET b = 'gone'
    WHEN NOT MATCHED BY SOURCE THEN DELETE"""


def test_the_rows_of_each_clause(planning: PlanningLake) -> None:
    """By clause number, and source rows that match some row, which no INSERT takes."""
    plan = planning.plan(MergePlan, FULL, SALES)

    assert (set(plan.deletes), set(plan.by_source)) == ({1, 5}, {4, 5})
    assert [each.clause for each in plan.updates] == [2, 4] and [each.clause for each in plan.inserts] == [3]
    assert not plan.places.is_once and not plan.reads_table


@pytest.mark.parametrize(
    ("clauses", "is_once"),
    [
        ("WHEN MATCHED THEN DELETE", True),
        ("WHEN NOT MATCHED THEN INSERT (a) VALUES (1)", True),
        ("WHEN MATCHED AND t.a IN (SELECT 1) THEN DELETE", False),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", True),
    ],
)
def test_merge_reads_its_target_once_without_subqueries(planning: PlanningLake, clauses: str, is_once: bool) -> None:
    assert planning.plan(MergePlan, f"{INTO} {clauses}", SALES).places.is_once is is_once


def test_merge_actions_of_rows(planning: PlanningLake) -> None:
    plan = planning.plan(MergePlan, FULL, SALES)
    changed, lone = plan.updates
    assert changed.values.target == lone.values.target == "__scan_0"
    assert changed.rows.insert_columns == ("a", "b") and changed.rows.updates and changed.rows.removes

    (insert,) = plan.inserts
    assert insert.rows.insert_columns == ("a",) and not insert.rows.updates and not insert.rows.removes
    assert insert.values.target == "__source_0"


@pytest.mark.parametrize("source", ["sales", "sales VERSION AS OF 1"])
def test_a_table_is_read_as_it_lies(planning: PlanningLake, source: str) -> None:
    plan = planning.plan(MergePlan, INTO.replace("sales", source) + " WHEN MATCHED THEN DELETE", SALES)
    assert plan.source_query is None and plan.source.label.endswith("`sales`")
    assert plan.source.files.num_rows == 3 and plan.source.metadata == "__place_1"
    assert plan.source_table is not None and plan.source_table.snapshot.table_root == str(planning.path("sales"))


@pytest.mark.parametrize("source", ["small", "(SELECT a AS id FROM small)"])
def test_volatile_merge_source_is_materialized(planning: PlanningLake, source: str) -> None:
    plan = planning.plan(MergePlan, INTO.replace("sales", source) + " WHEN MATCHED THEN DELETE", "id BIGINT, X STRING")
    assert plan.source_query is not None and [view.relation for view in plan.source_query.views] == ["__view_0"]
    assert plan.source.files.num_rows == 0 and plan.source.schema.names == ("id", "X")
    assert isinstance(plan.source.layout, FileLayout) and plan.source.layout.schema.names == ("c0", "c1")
    assert plan.reads_table  # through the view


@pytest.mark.parametrize(
    ("clauses", "query"),
    [
        ("WHEN MATCHED THEN DELETE", False),
        ("WHEN MATCHED AND t.a > 1 THEN DELETE", True),
        ("WHEN MATCHED THEN UPDATE SET b = 'x'", True),
        ("WHEN MATCHED AND t.a > 1 THEN DELETE WHEN MATCHED THEN DELETE", True),
        ("WHEN NOT MATCHED THEN INSERT (a) VALUES (1) WHEN NOT MATCHED BY SOURCE THEN DELETE", False),
    ],
)
def test_ambiguous_merge_matches(planning: PlanningLake, clauses: str, query: bool) -> None:
    plan = planning.plan(MergePlan, f"{INTO} {clauses}", SALES)
    assert (plan.duplicates is not None) is query


@pytest.mark.parametrize("clause", ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"])
def test_stars_match_by_name(planning: PlanningLake, clause: str) -> None:
    plan = planning.plan(MergePlan, f"{INTO} {clause}", "B STRING, a INT, more INT")
    (changed,) = (*plan.updates, *plan.inserts)
    assert changed.rows.insert_columns == ("a", "b")


def test_the_table_makes_what_the_source_has_not(planning: PlanningLake) -> None:
    text = "MERGE INTO ruled t USING (SELECT 1) s ON false WHEN NOT MATCHED THEN INSERT *"
    plan = planning.plan(MergePlan, text, "at TIMESTAMP, amount INT, note STRING")
    assert plan.inserts[0].rows.insert_columns == ("at", "amount", "note")
    assert planning.refused(text, "at TIMESTAMP, note STRING") == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


def test_new_columns_of_the_source(planning: PlanningLake) -> None:
    """Only assigned ones; a column that the source lacks is null."""
    text = INTO.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION")
    star = planning.plan(MergePlan, f"{text} WHEN NOT MATCHED THEN INSERT *", "a INT, n INT")
    assert star.definition.config("t").schema.names == ("a", "b", "n")
    assert star.inserts[0].rows.insert_columns == ("a", "n")
    clause = "WHEN MATCHED THEN UPDATE SET n = s.n"
    named = planning.plan(MergePlan, f"{text} {clause}", "a INT, n INT, o INT")
    assert named.definition.config("t").schema.names == ("a", "b", "n")
    assert named.updates[0].rows.insert_columns == ("a", "b", "n")
    assert planning.refused(f"{INTO} {clause}", "a INT, n INT, o INT") == "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"


def test_rows_keep_their_ids(planning: PlanningLake) -> None:
    text = "MERGE INTO tracked t USING sales s ON t.a = s.id WHEN MATCHED THEN UPDATE SET b = 'x'"
    (changed,) = planning.plan(MergePlan, text, SALES).updates
    assert len(changed.rows.extra_columns) == 2


def test_merge_reads_besides_its_target(planning: PlanningLake) -> None:
    itself = INTO.replace("sales", "plain").replace("s.id", "s.a")
    assert planning.plan(MergePlan, f"{itself} WHEN MATCHED THEN DELETE", "a INT, b STRING").reads_table
    assert not planning.plan(MergePlan, f"{INTO} WHEN MATCHED THEN DELETE", SALES).reads_table
    condition = "WHEN MATCHED AND s.amount > (SELECT max(a) FROM plain) THEN DELETE"
    assert planning.plan(MergePlan, f"{INTO} {condition}", SALES).reads_table


def test_idempotent_merge(planning: PlanningLake) -> None:
    settings = {"spark.databricks.delta.write.txnAppId": "app", "spark.databricks.delta.write.txnVersion": "3"}
    plan = planning.plan(MergePlan, f"{INTO} WHEN MATCHED THEN DELETE", SALES, settings)
    assert plan.idempotent_write == IdempotentWrite(app_id="app", version=3)


REFUSED = {
    f"{INTO} WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET b = 'x'": (
        "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"
    ),
    f"{INTO} WHEN NOT MATCHED THEN INSERT (a) VALUES (1) WHEN NOT MATCHED THEN INSERT (a) VALUES (2)": (
        "DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION"
    ),
    f"{INTO} WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE": (
        "DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION"
    ),
    f"{INTO} WHEN MATCHED AND t._metadata.row_index = 1 THEN DELETE": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
    f"{INTO} WHEN MATCHED THEN UPDATE SET b = t._metadata.file_path": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
    f"{INTO} WHEN NOT MATCHED THEN INSERT (a, A) VALUES (1, 2)": "DELTA_CONFLICT_SET_COLUMN",
    f"{INTO} WHEN NOT MATCHED THEN INSERT (c) VALUES (1)": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
    f"{INTO} WHEN NOT MATCHED THEN INSERT (a, b) VALUES (DEFAULT, DEFAULT)": "UNSUPPORTED_FEATURE.STATEMENT",
    f"{INTO} WHEN NOT MATCHED THEN INSERT *": "DELTA_MERGE_UNRESOLVED_EXPRESSION",
    "MERGE INTO readable t USING sales s ON t.id = s.id WHEN MATCHED THEN DELETE": (
        "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_merges_are_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text, SALES) == REFUSED[text]


def test_columns_of_one_name_in_the_source(planning: PlanningLake) -> None:
    assert planning.refused(f"{INTO} WHEN MATCHED THEN DELETE", "id INT, ID INT") == "DELTA_DUPLICATE_COLUMNS_FOUND"
