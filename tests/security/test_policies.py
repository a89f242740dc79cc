"""Row filters and column masks: what is read through them, and what would tell of what they hide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.exec.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

HIDDEN = 42
"""The secret of the one hidden row of `t`; what is said to who may not see it never has it."""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    """eve sees the rows of tenant a of `t`, and no ssn; ann owns it, and sees all rows and her own ssn."""
    folder = tmp_path_factory.mktemp("policies") / "lake"
    folder.mkdir()
    found = People(GuardedLake(folder), spark_driver)
    for text in (
        "CREATE SCHEMA shop",
        "CREATE SCHEMA vault",
        "CREATE TABLE vault.u (id INT)",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA shop TO `account users`",
        "CREATE GROUP auditors WITH USER ann",
    ):
        found.rows("root", text)
    for text in (
        "CREATE TABLE shop.t (tenant STRING, secret BIGINT, other BIGINT, ssn STRING, part INT) PARTITIONED BY (part) "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        "INSERT INTO shop.t VALUES ('a', 1, 1, '111', 1), ('a', 2, 2, '222', 1), ('b', 42, 42, '999', 2), "
        "(NULL, 42, 42, '999', 3)",
        "CREATE FUNCTION shop.mine(tenant STRING) RETURNS BOOLEAN RETURN tenant = 'a' OR is_member('auditors')",
        "CREATE FUNCTION shop.masked(ssn STRING, tenant STRING, mask STRING) RETURNS STRING "
        "RETURN CASE WHEN current_user() = 'ann' THEN ssn ELSE concat(mask, tenant) END",
        "CREATE FUNCTION shop.of_int(x INT) RETURNS BOOLEAN RETURN x > 0",
        "ALTER TABLE shop.t SET ROW FILTER shop.mine ON (tenant)",
        "ALTER TABLE shop.t ALTER COLUMN ssn SET MASK shop.masked USING COLUMNS (tenant, '*')",
        "GRANT SELECT, MODIFY ON shop.t TO eve",
        "CREATE VIEW shop.v AS SELECT * FROM shop.t",
        "GRANT SELECT ON shop.v TO eve",
    ):
        found.rows("ann", text)
    found.rows("eve", "CREATE TABLE shop.seen (tenant STRING, secret BIGINT, ssn STRING)")
    yield found
    found.close()


COPY = "(VALUES ('a', 1L, 1L, '*a', 1), ('a', 2L, 2L, '*a', 1)) AS t(tenant, secret, other, ssn, part)"
"""What eve sees."""
QUERIES = (
    "SELECT * FROM {t} ORDER BY secret",
    "SELECT count(*), count(ssn), min(secret), max(secret), max(ssn) FROM {t}",
    "SELECT count(*) FROM {t}",
    "SELECT min(part), max(part), count(DISTINCT part) FROM {t}",
    "SELECT DISTINCT part FROM {t}",
    "SELECT part, count(*) FROM {t} GROUP BY part",
    "SELECT secret FROM {t} WHERE ssn = '999'",
    "SELECT secret FROM {t} WHERE ssn IN ('111', '*a') ORDER BY ssn, secret",
    "SELECT t.ssn, count(*) FROM {t} GROUP BY ssn",
    "SELECT t.* EXCEPT (other) FROM {t} ORDER BY secret",
    "SELECT to_json(struct(*)) FROM {t} ORDER BY secret",
    "SELECT row_number() OVER (PARTITION BY ssn ORDER BY secret) FROM {t} ORDER BY 1",
    "SELECT a.secret FROM {t} JOIN (VALUES ('999'), ('111')) g(s) ON t.ssn = g.s, LATERAL (SELECT t.secret) a",
    "WITH t AS (SELECT * FROM {t}) SELECT * FROM t ORDER BY secret",
    "SELECT typeof(ssn) FROM {t} LIMIT 1",
    "FROM {t} |> WHERE secret > 0 |> AGGREGATE count(*)",
    # What would fail on the hidden rows, in every place from which Spark moves conditions.
    "SELECT tenant FROM {t} WHERE 1 / (secret - 42) < 0",
    "SELECT tenant FROM {t} WHERE secret = other AND 1 / (other - 42) < 0",
    "SELECT tenant FROM {t} WHERE CAST(ssn AS INT) = 999",
    "SELECT count(*) FROM {t} LEFT JOIN (VALUES (1)) g(n) ON 1 / (secret - 42) < 0",
    "SELECT tenant, count(*) FROM {t} GROUP BY tenant, 1 / (secret - 42) HAVING 1 / (count(*)) > 0 ORDER BY ALL",
    "SELECT sum(1) OVER (PARTITION BY 1 / (secret - 42)) FROM {t}",
    "SELECT n FROM {t} LATERAL VIEW explode(array(1 / (secret - 42))) x AS n ORDER BY n",
    "SELECT tenant FROM {t} WHERE 1 / (secret - 42) < 0 UNION ALL SELECT tenant FROM {t} WHERE 1 / (other - 42) < 0",
    "SELECT assert_true(ssn <> '999') FROM {t}",
    "SELECT if(ssn = '999', raise_error(ssn), 1) FROM {t}",
    "SELECT tenant FROM {t} WHERE secret = 42 AND raise_error(concat('seen ', ssn)) IS NULL",
    "SELECT element_at(array(1), CAST(secret AS INT) - 40) FROM {t} WHERE secret > 40",
)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("relation", ["shop.t AS t", "shop.v AS t"])
def test_a_query_sees_what_a_filtered_copy_has(people: People, query: str, relation: str) -> None:
    """Probes 23 to 32: also through a view, whose owner sees more. What fails on visible rows fails here too."""
    expected, found = (_outcome(people, query.format(t=each)) for each in (COPY, relation))
    assert found == expected


def _outcome(people: People, text: str) -> Any:
    try:
        return people.rows("eve", text)
    except SqlError as error:
        assert str(HIDDEN) not in error.message.replace(text, "") and "999" not in error.message.replace(text, "")
        return error.condition


def test_who_may_see_more_does(people: People) -> None:
    assert people.rows("ann", "SELECT count(*), max(secret), max(ssn) FROM shop.t") == [(4, 42, "999")]
    assert people.rows("ann", "SELECT count(*) FROM shop.v") == [(4,)]


def test_changes_are_filtered_too(people: People) -> None:
    """Probe 42."""
    query = "SELECT tenant, secret, ssn, _change_type FROM table_changes('shop.t', 0) ORDER BY secret"
    assert people.rows("eve", query) == [("a", 1, "*a", "insert"), ("a", 2, "*a", "insert")]


def test_variables_of_the_process_stay_text(people: People) -> None:
    """Probe 50."""
    assert people.rows("eve", "SELECT '${env:HOME}', '${system:user.name}'") == [("${env:HOME}", "${system:user.name}")]


def test_what_is_copied_is_what_is_seen(people: People) -> None:
    """Probes 44 and 47."""
    people.rows("eve", "INSERT INTO shop.seen SELECT tenant, secret, ssn FROM shop.t")
    people.rows("eve", "CREATE TABLE shop.copied AS SELECT * FROM shop.t")
    people.rows(
        "eve",
        "MERGE INTO shop.seen USING shop.t ON seen.secret = t.secret "
        "WHEN MATCHED THEN UPDATE SET ssn = t.ssn WHEN NOT MATCHED THEN INSERT (secret) VALUES (t.secret)",
    )
    assert people.rows("eve", "SELECT * FROM shop.seen ORDER BY secret") == [("a", 1, "*a"), ("a", 2, "*a")]
    assert people.rows("eve", "SELECT count(*), max(ssn) FROM shop.copied") == [(2, "*a")]


PLACES = "ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.FILE_METADATA"
NOT_POSSIBLE = "ROW_COLUMN_ACCESS.POLICY_NOT_POSSIBLE"
FORBIDS = "ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED"
REFUSED = (
    ("eve", "EXPLAIN SELECT * FROM shop.t", FORBIDS),
    ("eve", "EXPLAIN FORMATTED SELECT * FROM shop.v", FORBIDS),
    ("ann", "DESCRIBE DETAIL shop.t", FORBIDS),
    ("ann", "DESCRIBE HISTORY shop.t", FORBIDS),
    ("eve", "SHOW PARTITIONS shop.t", FORBIDS),
    ("eve", "UPDATE shop.t SET secret = 0", FORBIDS),
    ("eve", "DELETE FROM shop.t WHERE secret = 42", FORBIDS),
    ("eve", "MERGE INTO shop.t USING shop.seen s ON t.secret = s.secret WHEN MATCHED THEN DELETE", FORBIDS),
    ("eve", "INSERT OVERWRITE shop.t SELECT * FROM shop.t", FORBIDS),
    ("eve", "INSERT INTO shop.t REPLACE WHERE secret = 42 SELECT * FROM shop.t", FORBIDS),
    ("eve", "TRUNCATE TABLE shop.t", FORBIDS),
    ("eve", "ALTER TABLE shop.t ADD CONSTRAINT c CHECK (secret <> 42)", FORBIDS),
    ("eve", "ALTER TABLE shop.t ALTER COLUMN tenant SET NOT NULL", FORBIDS),
    ("eve", "OPTIMIZE shop.t WHERE part = 2", FORBIDS),
    ("eve", "VACUUM shop.t DRY RUN", FORBIDS),
    ("eve", "ANALYZE TABLE shop.t COMPUTE DELTA STATISTICS", FORBIDS),
    ("eve", "CREATE TABLE shop.c DEEP CLONE shop.t", FORBIDS),
    ("eve", "CREATE TABLE shop.c SHALLOW CLONE shop.t", FORBIDS),
    ("eve", "SELECT * FROM shop.t VERSION AS OF 1", "FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM"),
    ("eve", "SELECT * FROM shop.t@v0", "FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM"),
    ("eve", "SELECT input_file_name() FROM shop.t", PLACES),
    ("eve", "SELECT spark_partition_id() FROM shop.v", PLACES),
    (
        "eve",
        "SELECT x FROM (SELECT monotonically_increasing_id() AS x, 1 FROM shop.t)",
        "ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.FILE_METADATA",
    ),
    ("eve", "EXECUTE IMMEDIATE 'SELECT ' || '* FROM vault.u'", "TABLE_OR_VIEW_NOT_FOUND"),
    ("eve", "BEGIN EXECUTE IMMEDIATE 'SELECT * FROM vault.u'; END", "TABLE_OR_VIEW_NOT_FOUND"),
    ("eve", "DELETE FROM IDENTIFIER('vault.' || 'u')", "TABLE_OR_VIEW_NOT_FOUND"),
    ("eve", "EXECUTE IMMEDIATE 'EXPLAIN SELECT * FROM shop.t'", FORBIDS),
    ("eve", "CREATE TABLE shop.d (a STRING, CONSTRAINT c CHECK (shop.mine(a)))", "UNRESOLVED_ROUTINE"),
    (
        "eve",
        "CREATE TABLE shop.d (a STRING, b STRING GENERATED ALWAYS AS (shop.masked(a, a, a)))",
        "UNRESOLVED_ROUTINE",
    ),
    ("eve", "SELECT _metadata.file_path FROM shop.t", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("eve", "ALTER TABLE shop.t DROP ROW FILTER", "INSUFFICIENT_PERMISSIONS"),
    ("eve", "ALTER TABLE shop.t ALTER COLUMN ssn DROP MASK", "INSUFFICIENT_PERMISSIONS"),
    (
        "eve",
        "CREATE OR REPLACE FUNCTION shop.mine(tenant STRING) RETURNS BOOLEAN RETURN TRUE",
        "INSUFFICIENT_PERMISSIONS",
    ),
    ("ann", "ALTER TABLE shop.t RENAME COLUMN tenant TO x", "COLUMN_USED_BY_POLICY"),
    ("ann", "ALTER TABLE shop.t DROP COLUMN ssn", "COLUMN_USED_BY_POLICY"),
    ("ann", "DROP FUNCTION shop.mine", "CANNOT_DROP_FUNCTION_IN_USE"),
    ("ann", "ALTER TABLE shop.t SET ROW FILTER shop.of_int ON (tenant)", NOT_POSSIBLE),
    ("ann", "ALTER TABLE shop.t SET ROW FILTER shop.mine ON ()", "WRONG_NUM_ARGS"),
    ("ann", "ALTER TABLE shop.t SET ROW FILTER shop.nosuch ON (tenant)", "UNRESOLVED_ROUTINE"),
    (
        "ann",
        "ALTER TABLE shop.t SET ROW FILTER shop.masked ON (ssn, tenant, 'x')",
        "ROW_COLUMN_ACCESS.POLICY_NOT_POSSIBLE",
    ),
    (
        "ann",
        "ALTER TABLE shop.t ALTER COLUMN secret SET MASK shop.masked USING COLUMNS (tenant, 'x')",
        "ROW_COLUMN_ACCESS.POLICY_NOT_POSSIBLE",
    ),
)


@pytest.mark.parametrize(("who", "text", "condition"), REFUSED)
def test_what_would_tell_is_refused(people: People, who: str, text: str, condition: str) -> None:
    """Probes 14, 35, 37, 43, 45, 46, 49 and 54."""
    error = people.refuse(who, text)
    assert error.condition == condition
    assert str(HIDDEN) not in error.message.replace(text, "")


def test_a_path_has_the_policies_of_its_table(people: People) -> None:
    """Probes 4 and 5."""
    (location,) = {
        row[0]
        for row in people.rows("root", "SELECT storage_path FROM information_schema.tables WHERE table_name = 't'")
    }
    query = f"SELECT count(*), max(ssn) FROM delta.`{location}`"
    assert people.rows("eve", query) == [(2, "*a")]
    assert people.refuse("eve", f"SELECT * FROM delta.`{location}/part=2`").sqlstate in ("42501", "42P01", "0A000")


def test_who_manages_a_table_is_told_of_its_policies(people: People) -> None:
    filters = (
        "SELECT table_name, filter_name, target_columns FROM information_schema.row_filters WHERE table_name = 't'"
    )
    masks = "SELECT column_name, mask_name, using_columns FROM information_schema.column_masks WHERE table_name = 't'"
    assert people.rows("ann", filters) == [("t", "mine", "tenant")]
    assert people.rows("ann", masks) == [("ssn", "masked", "tenant, '*'")]
    assert people.rows("eve", filters) == people.rows("eve", masks) == []


def test_policies_stay_with_the_table(people: People) -> None:
    """Also by another name, and after it is replaced; they go with it."""
    for text in (
        "CREATE TABLE shop.r (tenant STRING, n INT)",
        "INSERT INTO shop.r VALUES ('a', 1), ('b', 2)",
        "ALTER TABLE shop.r SET ROW FILTER shop.mine ON (tenant)",
        "GRANT SELECT ON shop.r TO eve",
        "ALTER TABLE shop.r RENAME TO shop.renamed",
    ):
        people.rows("ann", text)
    assert people.rows("eve", "SELECT * FROM shop.renamed") == [("a", 1)]
    people.rows("ann", "CREATE OR REPLACE TABLE shop.renamed AS SELECT 'b' AS tenant, 3 AS n")
    assert people.rows("eve", "SELECT * FROM shop.renamed") == []
    people.rows("ann", "CREATE OR REPLACE TABLE shop.renamed AS SELECT 4 AS n")
    assert people.refuse("eve", "SELECT * FROM shop.renamed").condition == "ROW_COLUMN_ACCESS.POLICY_NOT_USABLE"
    people.rows("ann", "ALTER TABLE shop.renamed DROP ROW FILTER")
    assert people.rows("eve", "SELECT * FROM shop.renamed") == [(4,)]


def test_an_appended_row_may_be_one_that_its_writer_does_not_see(people: People) -> None:
    people.rows("eve", "INSERT INTO shop.t VALUES ('b', 42, 42, '998', 2)")
    assert people.rows("eve", "SELECT count(*) FROM shop.t") == [(2,)]
    assert people.rows("ann", "SELECT count(*) FROM shop.t") == [(5,)]
