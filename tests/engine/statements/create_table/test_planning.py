"""CREATE TABLE and DROP TABLE: the entry, the first version's definition, and tables that are there already."""

from __future__ import annotations

import pytest

from catalog.conditions import TableAlreadyExists, TableNotFound
from engine.planning.plans.ddl import CreateTablePlan, DropTablePlan
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake, shown_columns


def create(planning: PlanningLake, text: str) -> CreateTablePlan:
    return planning.plan(CreateTablePlan, f"CREATE TABLE {text}")


def test_a_managed_table(planning: PlanningLake) -> None:
    plan = create(planning, "made (a INT NOT NULL, b STRING) PARTITIONED BY (B) COMMENT 'c' TBLPROPERTIES ('x' = 'y')")
    assert plan.entry is not None and plan.entry.managed and plan.entry.owner == "ann" and not plan.is_path
    assert plan.entry.location == str(planning.path("made")) and plan.entry.comment is None
    assert shown_columns(plan.definition) == "a int NOT NULL, b string"
    assert plan.description is not None and plan.description.operation is TableOperation.METADATA
    assert (plan.description.name, dict(plan.description.parameters)) == (
        "CREATE TABLE",
        {"isManaged": True, "description": "c", "partitionBy": ["b"], "clusterBy": [], "properties": {"x": "y"}},
    )
    assert plan.expression_checks is None and plan.tolerated == ()


def test_a_table_at_a_place(planning: PlanningLake) -> None:
    place = f"{planning.folder}/outside/one"
    named = create(planning, f"made (a INT) LOCATION '{place}'")
    assert named.entry is not None and not named.entry.managed and named.entry.location == place
    by_path = create(planning, f"delta.`{place}` (a INT)")
    assert by_path.is_path and by_path.entry is not None and by_path.entry.location == place


def test_expressions_are_checked(planning: PlanningLake) -> None:
    plan = create(planning, "made (a INT, b INT GENERATED ALWAYS AS (a + 1), CHECK (a > 0))")
    assert plan.expression_checks is not None
    assert len(plan.expression_checks.checks) == 2


def test_if_not_exists(planning: PlanningLake) -> None:
    assert create(planning, "IF NOT EXISTS plain (zz DATE)").entry is None
    assert create(planning, "IF NOT EXISTS made (a INT)").tolerated == (TableAlreadyExists,)


SAME = [
    "",
    "(id BIGINT, AMOUNT INT, day DATE) PARTITIONED BY (DAY)",
    "PARTITIONED BY (day)",
    "COMMENT 'told' TBLPROPERTIES ('x' = 'y')",
]


@pytest.fixture(scope="module", autouse=True)
def apart(planning: PlanningLake) -> None:
    """Tables whose names are not used any more."""
    columns = "(id BIGINT, amount INT, day DATE) PARTITIONED BY (day) COMMENT 'told' TBLPROPERTIES ('x' = 'y')"
    planning.make(f"CREATE TABLE apart {columns}")
    planning.make("CREATE TABLE apart_clustered (a INT, b INT) CLUSTER BY (a)")


@pytest.mark.parametrize("says", SAME)
def test_a_table_that_lies_there_gets_a_name(planning: PlanningLake, says: str) -> None:
    """Anything is allowed for clauses that the statement omits."""
    plan = create(planning, f"again {says} LOCATION '{planning.path('apart')}'")
    assert plan.entry is not None and plan.entry.location == str(planning.path("apart"))
    assert plan.definition is None and plan.description is None


DIFFERS = {
    "(id BIGINT, day DATE) PARTITIONED BY (day)": "DELTA_CREATE_TABLE_SCHEME_MISMATCH",
    "(id INT, amount INT, day DATE) PARTITIONED BY (day)": "DELTA_CREATE_TABLE_SCHEME_MISMATCH",
    "(id BIGINT NOT NULL, amount INT, day DATE) PARTITIONED BY (day)": "DELTA_CREATE_TABLE_SCHEME_MISMATCH",
    "(id BIGINT, amount INT, day DATE)": "DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING",
    "PARTITIONED BY (id)": "DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING",
    "CLUSTER BY (id)": "DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING",
    "TBLPROPERTIES ('x' = 'z')": "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
    "TBLPROPERTIES ('delta.appendOnly' = 'true')": "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
    "COMMENT 'other'": "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
}


@pytest.mark.parametrize("says", DIFFERS)
def test_a_table_that_lies_there_and_differs(planning: PlanningLake, says: str) -> None:
    text = f"CREATE TABLE again {says} LOCATION '{planning.path('apart')}'"
    assert planning.refused(text) == DIFFERS[says]


def test_clustering_of_a_table_that_lies_there(planning: PlanningLake) -> None:
    place = f"LOCATION '{planning.path('apart_clustered')}'"
    assert create(planning, f"again (a INT, b INT) CLUSTER BY (A) {place}").definition is None
    for says in ("(a INT, b INT)", "CLUSTER BY (b)"):
        assert planning.refused(f"CREATE TABLE again {says} {place}") == "DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING"


REFUSED = {
    "CREATE TABLE made (a INT) TBLPROPERTIES ('delta.appendOnly' = '', 'delta.appendonly' = '')": "DUPLICATE_KEY",
    "CREATE TABLE plain (a INT)": "TABLE_OR_VIEW_ALREADY_EXISTS",
    "CREATE TABLE small (a INT)": "TABLE_OR_VIEW_ALREADY_EXISTS",
    "CREATE TABLE made (a INT) OPTIONS ('x' = 'y')": "UNSUPPORTED_CLAUSE",
    "CREATE TABLE made (a INT, b INT) PARTITIONED BY (a) CLUSTER BY (b)": "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
    "CREATE TABLE made (a DATE) PARTITIONED BY (years(a))": "UNSUPPORTED_LAYOUT",
    "CREATE TABLE made (a INT) PARTITIONED BY (zz)": "DELTA_PARTITION_COLUMN_NOT_FOUND",
    "CREATE TABLE made (a INT) PARTITIONED BY (a)": "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION",
    "CREATE TABLE made (i BIGINT GENERATED ALWAYS AS IDENTITY, b INT) PARTITIONED BY (i)": (
        "DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED"
    ),
    "CREATE TABLE made (a INT) USING csv": "DATA_SOURCE_NOT_FOUND",
    "DROP TABLE small": "EXPECT_TABLE_NOT_VIEW",
    "DROP TABLE nowhere": "TABLE_OR_VIEW_NOT_FOUND",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_table_ddl_is_rejected(planning: PlanningLake, text: str) -> None:
    assert planning.refused(text) == REFUSED[text]


def test_dropped_tables(planning: PlanningLake) -> None:
    plan = planning.plan(DropTablePlan, "DROP TABLE plain")
    assert plan.entry is not None and plan.entry.location == str(planning.path("plain")) and plan.tolerated == ()
    assert planning.plan(DropTablePlan, "DROP TABLE IF EXISTS plain").tolerated == (TableNotFound,)
    assert planning.plan(DropTablePlan, "DROP TABLE IF EXISTS nowhere").entry is None
    assert planning.plan(DropTablePlan, "DROP TABLE unreadable").entry is not None  # its log is not looked at
