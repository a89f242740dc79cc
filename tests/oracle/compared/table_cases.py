"""Statements that create a table or change its definition, and its description."""

from __future__ import annotations

from tests.oracle.compared.case import Case, files_of, made

_COLUMNS = "id INT COMMENT 'the key', s STRUCT<a: INT, b: STRING>, day DATE"
_ROW = files_of("SELECT 1, named_struct('a', 1, 'b', 'x'), DATE'2024-01-01'")
_MAPPED = {"columnMapping__mode": "name"}
_DESCRIBING = ("DESCRIBE DETAIL {t}", "DESCRIBE HISTORY {t}", "SHOW TBLPROPERTIES {t}", "DESCRIBE TABLE {t}")

TABLE_CASES: dict[str, Case] = {
    "plain": made(_COLUMNS, *_ROW, asks=_DESCRIBING),
    "described": made(
        _COLUMNS, *_ROW, clauses="PARTITIONED BY (day) COMMENT 'a ''text'''", asks=_DESCRIBING, checkpointInterval="20"
    ),
    "clustered": made(
        _COLUMNS,
        *_ROW,
        "ALTER TABLE {t} CLUSTER BY (s.a)",
        "ALTER TABLE {t} CLUSTER BY NONE",
        clauses="CLUSTER BY (id, day)",
        asks=_DESCRIBING,
    ),
    "properties": made(
        _COLUMNS,
        "ALTER TABLE {t} SET TBLPROPERTIES ('my.key' = 'v', 'delta.appendOnly' = 'true')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES ('my.key')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('my.key', 'delta.appendOnly')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'maybe')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.noSuchThing' = 'true')",
        "COMMENT ON TABLE {t} IS 'new'",
        "COMMENT ON TABLE {t} IS NULL",
        asks=_DESCRIBING,
    ),
    "features": made(
        _COLUMNS,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.v2Checkpoint' = 'supported')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.minReaderVersion' = '3', 'delta.minWriterVersion' = '7')",
        asks=_DESCRIBING,
    ),
    "versions": made(
        _COLUMNS,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')",
        minWriterVersion="2",
        minReaderVersion="1",
    ),
    "columns": made(
        _COLUMNS,
        *_ROW,
        "ALTER TABLE {t} ADD COLUMN n INT COMMENT 'new'",
        "ALTER TABLE {t} ADD COLUMNS (x STRING FIRST, y STRING AFTER id, s.c DOUBLE AFTER a)",
        "ALTER TABLE {t} ADD COLUMN id INT",
        "ALTER TABLE {t} ALTER COLUMN n COMMENT 'other'",
        "ALTER TABLE {t} ALTER COLUMN y FIRST",
        "ALTER TABLE {t} ALTER COLUMN y AFTER s",
        "ALTER TABLE {t} ALTER COLUMN s.b FIRST",
        "ALTER TABLE {t} RENAME COLUMN y TO z",
        "ALTER TABLE {t} DROP COLUMN y",
        "ALTER TABLE {t} REPLACE COLUMNS (id INT, s STRUCT<a: INT, b: STRING, c: DOUBLE>, day DATE, x STRING)",
    ),
    "mapped columns": made(
        _COLUMNS,
        *_ROW,
        "ALTER TABLE {t} RENAME COLUMN day TO date",
        "ALTER TABLE {t} RENAME COLUMN s.a TO `a b`",
        "ALTER TABLE {t} DROP COLUMN id",
        "ALTER TABLE {t} DROP COLUMNS (s.b)",
        "ALTER TABLE {t} DROP COLUMN nothing",
        "ALTER TABLE {t} ADD COLUMN id STRING",
        asks=_DESCRIBING,
        **_MAPPED,
    ),
    "types": made(
        "b TINYINT, d DECIMAL(5,2), a ARRAY<SMALLINT>, day DATE, v VARCHAR(3)",
        *files_of("SELECT 1Y, 1.5, array(1S), DATE'2024-01-01', 'abc'"),
        "ALTER TABLE {t} ALTER COLUMN b TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(10,4)",
        "ALTER TABLE {t} ALTER COLUMN v TYPE VARCHAR(5)",
        "ALTER TABLE {t} ALTER COLUMN v TYPE STRING",
        "ALTER TABLE {t} ALTER COLUMN b TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN day TYPE STRING",
        *files_of("SELECT 5000000000, 123456.5, array(7S), DATE'2024-01-02', 'abcdef'"),
        enableTypeWidening="true",
    ),
    "elements": made(
        "a ARRAY<SMALLINT>",
        *files_of("SELECT array(1S)"),
        "ALTER TABLE {t} ALTER COLUMN a.element TYPE INT",
        *files_of("SELECT array(70000)"),
        enableTypeWidening="true",
    ),
    "constraints": made(
        "id INT NOT NULL, n INT",
        *files_of("SELECT 1, 1"),
        "ALTER TABLE {t} ADD CONSTRAINT small CHECK (n < 10)",
        "ALTER TABLE {t} ADD CONSTRAINT small CHECK (n < 20)",
        "ALTER TABLE {t} ADD CONSTRAINT broken CHECK (n > 1)",
        "INSERT INTO {t} VALUES (2, 10)",
        "INSERT INTO {t} VALUES (NULL, 1)",
        "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL",
        "ALTER TABLE {t} DROP CONSTRAINT small",
        "ALTER TABLE {t} DROP CONSTRAINT small",
    ),
    "defaults": made(
        "id INT, n INT DEFAULT 5",
        *files_of("SELECT 1, DEFAULT"),
        "INSERT INTO {t} (id) VALUES (2)",
        "ALTER TABLE {t} ALTER COLUMN n SET DEFAULT 6",
        "ALTER TABLE {t} ALTER COLUMN n DROP DEFAULT",
        "ALTER TABLE {t} ADD COLUMN m INT DEFAULT 7",
        "INSERT INTO {t} (id) VALUES (3)",
        feature__allowColumnDefaults="supported",
    ),
    "generated": made(
        "id INT, twice INT GENERATED ALWAYS AS (id * 2), n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5)",
        "INSERT INTO {t} (id) SELECT 1",
        "INSERT INTO {t} (id, twice) SELECT 1, 3",
        "INSERT INTO {t} (id, n) SELECT 1, 3",
        "ALTER TABLE {t} ALTER COLUMN n SYNC IDENTITY",
        "ALTER TABLE {t} DROP COLUMN id",
    ),
    "dropped features": made(
        _COLUMNS,
        *_ROW,
        "ALTER TABLE {t} DROP FEATURE deletionVectors",
        "ALTER TABLE {t} DROP FEATURE nothing",
    ),
    "replaced": made(
        _COLUMNS,
        *_ROW,
        "CREATE OR REPLACE TABLE {t} (id BIGINT) COMMENT 'new' TBLPROPERTIES ('a' = 'b')",
        "REPLACE TABLE {t} (id BIGINT, p INT) PARTITIONED BY (p)",
        "CREATE TABLE IF NOT EXISTS {t} (id INT)",
        "CREATE TABLE {t} (id INT)",
        asks=_DESCRIBING,
    ),
}
