"""Errors about Iceberg tables have Spark's and Iceberg's conditions, errors about Delta tables have Delta's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from catalog.errors import SqlError, declared_errors
from engine.iceberg.spec.conditions import OF_SPARK, SAME_ENDING, iceberg_condition
from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, run
from tests.tidy.sources import MODULES

# Statement, condition, SQLSTATE: the last ones are about Delta tables, or about Delta.
CASES = [
    ("INSERT INTO f VALUES (NULL, 2, NULL)", "NOT_NULL_ASSERT_VIOLATION", "42000"),
    ("INSERT INTO f (d) VALUES (2)", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA", "KD000"),
    ("INSERT INTO f (id, id) VALUES (2, 2)", "COLUMN_ALREADY_EXISTS", "42711"),
    ("INSERT INTO f (id, nope) VALUES (2, 2)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("INSERT INTO f SELECT 1, 2, NULL FROM d TIMESTAMP AS OF 'nonsense'", "DELTA_TIMESTAMP_INVALID", "42816"),
    ("INSERT INTO f REPLACE WHERE d = 3 VALUES (1, 2, NULL)", "ICEBERG_REPLACE_WHERE_MISMATCH", "44000"),
    (
        "INSERT INTO f REPLACE ON (nope = id) VALUES (1, 2, NULL)",
        "ICEBERG_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION",
        "42703",
    ),
    ("INSERT OVERWRITE f PARTITION (nope = 1) VALUES (1, 2)", "NON_PARTITION_COLUMN", "42000"),
    ("ALTER TABLE f ADD COLUMN id INT", "COLUMN_ALREADY_EXISTS", "42711"),
    ("ALTER TABLE f ADD COLUMN nope.x INT", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("ALTER TABLE f ADD COLUMN id.x INT", "ICEBERG_ADD_COLUMN_PARENT_NOT_STRUCT", "42KD3"),
    ("ALTER TABLE f ADD COLUMN x INT NOT NULL", "ICEBERG_OPERATION_NOT_ALLOWED_DETAIL", "0AKDC"),
    ("ALTER TABLE f DROP COLUMN nope", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("ALTER TABLE f RENAME COLUMN nope TO x", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("ALTER TABLE f REPLACE COLUMNS (id INT)", "ICEBERG_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP", "0AKDC"),
    ("ALTER TABLE f ALTER COLUMN id SYNC IDENTITY", "ICEBERG_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN", "429BQ"),
    ("ALTER TABLE iceberg.`{lake}/default/f` RENAME TO x", "ICEBERG_CANNOT_RENAME_PATH", "22KD1"),
    ("UPDATE f SET id = 1, id = 2", "INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS", "42601"),
    ("UPDATE f SET d.x = 1", "ICEBERG_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT", "0AKDC"),
    ("UPDATE f SET s.nope = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("UPDATE f SET id = NULL", "NOT_NULL_ASSERT_VIOLATION", "42000"),
    ("UPDATE f SET id = sum(id)", "ICEBERG_AGGREGATION_NOT_SUPPORTED", "42903"),
    ("DELETE FROM f WHERE rand() > 0.5", "INVALID_NON_DETERMINISTIC_EXPRESSIONS", "42K0E"),
    (
        "{m} WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET d = 2",
        "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
        "42613",
    ),
    (
        "{m} WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED THEN INSERT *",
        "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
        "42613",
    ),
    (
        "{m} WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        "42613",
    ),
    ("{m} WHEN NOT MATCHED THEN INSERT *", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("{m} WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 1)", "INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS", "42601"),
    (
        "MERGE INTO f USING (SELECT 1 id FROM range(2)) x ON f.id = x.id WHEN MATCHED THEN UPDATE SET d = 3",
        "MERGE_CARDINALITY_VIOLATION",
        "23K01",
    ),
    ("CREATE TABLE g (id INT, id INT) USING iceberg", "COLUMN_ALREADY_EXISTS", "42711"),
    ("CREATE TABLE g (id INT GENERATED ALWAYS AS (1)) USING iceberg", "ICEBERG_CHANGE_NOT_SUPPORTED", "0A000"),
    ("CREATE TABLE g (id BIGINT GENERATED ALWAYS AS IDENTITY) USING iceberg", "ICEBERG_CHANGE_NOT_SUPPORTED", "0A000"),
    (
        "CREATE TABLE g (id INT, d INT) USING iceberg PARTITIONED BY (id) CLUSTER BY (d)",
        "SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED",
        "42908",
    ),
    ("CREATE TABLE g (c INTERVAL DAY) USING iceberg", "ICEBERG_UNSUPPORTED_DATA_TYPES", "0AKDC"),
    ("REPLACE TABLE nope (id INT) USING iceberg", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("SHOW PARTITIONS plain", "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY", "42601"),
    ("SELECT * FROM none", "ICEBERG_READ_TABLE_WITHOUT_COLUMNS", "428GU"),
    ("SELECT * FROM f TIMESTAMP AS OF 'nonsense'", "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT", "42K0E"),
    ("RESTORE TABLE f TO TIMESTAMP AS OF 'nonsense'", "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT", "42K0E"),
    ("SELECT * FROM table_changes('f', NULL)", "ICEBERG_CDC_READ_NULL_RANGE_BOUNDARY", "22004"),
    ("SELECT * FROM table_changes('f', rand())", "ICEBERG_UNSUPPORTED_EXPRESSION", "0A000"),
    ("INSERT INTO d VALUES (NULL)", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "23502"),
    ("INSERT INTO d SELECT CAST(NULL AS INT) FROM f", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "23502"),
    ("ALTER TABLE d DROP COLUMN nope", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703"),
    ("SELECT * FROM d TIMESTAMP AS OF 'nonsense'", "DELTA_TIMESTAMP_INVALID", "42816"),
    ("REPLACE TABLE nope (id INT)", "DELTA_CANNOT_REPLACE_MISSING_TABLE", "42P01"),
    ("CREATE TABLE g SHALLOW CLONE f", "DELTA_TABLE_ONLY_OPERATION", "0AKDD"),
    ("CONVERT TO DELTA f PARTITIONED BY (d INT)", "DELTA_PARTITION_SCHEMA_IN_ICEBERG_TABLES", "42613"),
]
# Conditions for features that Iceberg lacks, and for Delta statements.
ONLY_DELTA = re.compile(
    "DELTA_(AGGREGATE_IN_|CANNOT_MODIFY_APPEND_ONLY|CDC_NON_CONSTANT|CLONE_|CLUSTERING_|CONSTRAINT_|FEATURE_|GENERATED_"
    "|IDENTITY_COLUMNS_(EXPLICIT|UPDATE)|IDENTITY_COLUMN_|INVALID_|LOG_FILE|MALFORMED_LOG|MODE_|NON_BOOLEAN_CHECK"
    "|NON_DETERMINISTIC_EXPRESSION_IN|OPTIMIZE_FULL|PARTITION_SCHEMA_IN_ICEBERG|UNKNOWN_PRIVILEGE|UNSUPPORTED_CLONE"
    "|UNSUPPORTED_EXPRESSION_|VACUUM_|VIOLATE_CONSTRAINT|ZORDERING_).*"
)


DELTA_PACKAGES = ("engine.delta.", "engine.formats.delta.")


@pytest.mark.spark
def test_errors_are_called_as_the_table_calls_them(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE f (id INT NOT NULL, d INT, s STRUCT<a: INT>) USING iceberg PARTITIONED BY (d)")
    run(session, "INSERT INTO f VALUES (1, 2, NULL)")
    run(session, "CREATE TABLE plain (id INT) USING iceberg")
    run(session, "CREATE TABLE none USING iceberg")
    run(session, "CREATE TABLE d (id INT NOT NULL)")
    merge = "MERGE INTO f USING (SELECT 1 id) x ON f.id = x.id"
    found = []
    for statement, _, _ in CASES:
        error = refuse(session, statement.format(m=merge, lake=lake))
        assert str(error).startswith(f"[{error.condition}] ") and f" SQLSTATE: {error.sqlstate}" in str(error)
        found.append((statement, error.condition, error.sqlstate))
    assert found == CASES


def test_each_condition_is_shared_or_of_delta_alone() -> None:
    others = "".join(module.text for name, module in MODULES.items() if not name.startswith(DELTA_PACKAGES))
    raised = set(re.findall(r"\b[A-Z]\w+", others))
    shared = {error.condition for error in declared_errors() if error.__name__ in raised}
    delta = {name for name in shared if name.startswith("DELTA_")}
    known = OF_SPARK.keys() | {f"DELTA_{ending}" for ending in SAME_ENDING}
    assert sorted(name for name in delta - known if not ONLY_DELTA.fullmatch(name)) == []
    assert sorted(name for name in known if ONLY_DELTA.fullmatch(name)) == []
    assert known <= {error.condition for error in declared_errors()}


def test_own_condition_is_its_own() -> None:
    declared: dict[str, type[SqlError]] = {error.condition: error for error in declared_errors()}
    for condition, error in declared.items():
        found = iceberg_condition(condition, error.sqlstate)
        assert iceberg_condition(*found) == found
        assert re.fullmatch(r"[0-9A-Z]{5}", found[1])
