"""DELETE, UPDATE and MERGE on a table with hidden rows and values: they change what a query would find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

ROWS = "('a', 1, '111', 1), ('a', 2, '222', 1), ('b', 42, '999', 1), (NULL, 43, '998', 2), ('a', 5, NULL, 2)"
STORED = [("a", 1, "111", 1), ("a", 2, "222", 1), ("b", 42, "999", 1), (None, 43, "998", 2), ("a", 5, None, 2)]
HIDDEN = STORED[2:4]
PROPERTIES = {
    "plain": "",
    "vectors": "TBLPROPERTIES (delta.enableDeletionVectors = true)",
    "feed": "TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableRowTracking = true)",
    "iceberg": "USING iceberg TBLPROPERTIES (write.delete.mode = 'merge-on-read', write.merge.mode = 'merge-on-read')",
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    """Yields a server where eve may change ann's tables, and sees tenant a's rows in them, and the first digit in
    ssn.
    """
    folder = tmp_path_factory.mktemp("changes") / "lake"
    folder.mkdir()
    found = People(GuardedLake(folder), spark_driver)
    for text in (
        "CREATE SCHEMA shop",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA shop TO `account users`",
    ):
        found.rows("root", text)
    for text in (
        "CREATE FUNCTION shop.mine(tenant STRING) RETURNS BOOLEAN RETURN tenant = 'a' OR current_user() = 'ann'",
        "CREATE FUNCTION shop.digit(ssn STRING) RETURNS STRING "
        "RETURN CASE WHEN current_user() = 'ann' THEN ssn ELSE left(ssn, 1) END",
    ):
        found.rows("ann", text)
    for table in PROPERTIES:
        _fresh(found, table)
        for text in (
            f"ALTER TABLE shop.{table} SET ROW FILTER shop.mine ON (tenant)",
            f"ALTER TABLE shop.{table} ALTER COLUMN ssn SET MASK shop.digit",
            f"GRANT SELECT, MODIFY ON shop.{table} TO eve",
        ):
            found.rows("ann", text)
    yield found
    found.close()


def _fresh(people: People, table: str = "plain") -> None:
    """`table` with its first rows; a table that is replaced keeps its policies."""
    rows = f"SELECT * FROM VALUES {ROWS} AS t(tenant, n, ssn, part)"
    people.rows("ann", f"CREATE OR REPLACE TABLE shop.{table} {PROPERTIES[table]} PARTITIONED BY (part) AS {rows}")


def _stored(people: People, table: str = "plain") -> list[tuple[Any, ...]]:
    return people.rows("ann", f"SELECT tenant, n, ssn, part FROM shop.{table} ORDER BY n")


def _expected(visible: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted([*visible, *HIDDEN], key=lambda row: int(row[1]))


SOURCE = "(VALUES (1, '1'), (42, '9'), (7, '7')) AS s(n, ssn)"
Change = tuple[str, list[tuple[Any, ...]], int]
CHANGES: tuple[Change, ...] = (
    ("DELETE FROM {t}", [], 3),
    ("DELETE FROM {t} WHERE part = 1", [("a", 5, None, 2)], 2),
    ("DELETE FROM {t} WHERE n IN (SELECT n FROM {t} WHERE t.n > 1)", [("a", 1, "111", 1)], 2),
    ("DELETE FROM {t} WHERE ssn = '222' OR n = 42 OR tenant IS NULL", [STORED[0], STORED[1], STORED[4]], 0),
    ("DELETE FROM {t} WHERE ssn = '2'", [STORED[0], STORED[4]], 1),
    ("DELETE FROM {t} WHERE 1 / (n - 42) > 0", [STORED[0], STORED[1], STORED[4]], 0),
    ("UPDATE {t} SET n = n * 10", [("a", 10, "111", 1), ("a", 20, "222", 1), ("a", 50, None, 2)], 3),
    ("UPDATE {t} SET part = 3 WHERE ssn = '1'", [("a", 1, "111", 3), STORED[1], STORED[4]], 1),
    ("UPDATE {t} SET ssn = 'new' WHERE n <= 2", [("a", 1, "new", 1), ("a", 2, "new", 1), STORED[4]], 2),
    ("UPDATE {t} SET tenant = ssn WHERE n = 1", [("1", 1, "111", 1), STORED[1], STORED[4]], 1),
    (
        "MERGE INTO {t} USING " + SOURCE + " ON t.n = s.n AND t.ssn = s.ssn WHEN MATCHED THEN UPDATE SET part = 9 "
        "WHEN NOT MATCHED THEN INSERT (tenant, n, ssn) VALUES ('a', 100 + s.n, s.ssn) "
        "WHEN NOT MATCHED BY SOURCE AND t.n = 2 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 6",
        [("a", 1, "111", 9), ("a", 6, None, 2), ("a", 107, "7", None), ("a", 142, "9", None)],
        5,
    ),
    (
        "MERGE INTO {t} USING " + SOURCE + " ON t.n = s.n WHEN MATCHED THEN DELETE",
        [STORED[1], STORED[4]],
        1,
    ),
    ("MERGE INTO {t} USING shop.plain AS s ON t.n = s.n WHEN MATCHED AND s.n > 1 THEN DELETE", [STORED[0]], 2),
)


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("plain", CHANGES),
        ("vectors", CHANGES[4:11:3]),
        ("feed", CHANGES[4:11:3]),
        ("iceberg", (CHANGES[0], *CHANGES[4:11:3])),
    ],
)
def test_changes_are_of_visible_rows(people: People, table: str, changes: tuple[Change, ...]) -> None:
    """Probe 45: unassigned values stay unchanged, and so do hidden rows."""
    for text, visible, count in changes:
        assert people.count("eve", text.format(t=f"shop.{table} AS t")) == count, text
        assert _stored(people, table) == _expected(visible), text
        if count:
            _fresh(people, table)


def test_changes_of_hidden_rows_are_hidden(people: People) -> None:
    """eve's change feed has only her rows, also for another principal's statement."""
    people.rows("ann", "UPDATE shop.feed SET part = 5 WHERE n IN (1, 42)")
    people.rows("eve", "DELETE FROM shop.feed WHERE n > 1")
    (version,) = people.rows("ann", "SELECT max(_commit_version) FROM table_changes('shop.feed', 0)")[0]
    feed = f"SELECT n, ssn, _change_type FROM table_changes('shop.feed', {version - 1}) ORDER BY ALL"
    assert people.rows("eve", feed) == [
        (1, "1", "update_postimage"),
        (1, "1", "update_preimage"),
        (2, "2", "delete"),
        (5, None, "delete"),
    ]
    _fresh(people, "feed")


FORBIDS = "ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED"
REFUSED = (
    ("UPDATE {t} SET tenant = to_json(struct(*))", FORBIDS),
    ("UPDATE {t} SET tenant = to_json(struct(t.*))", FORBIDS),
    ("DELETE FROM {t} WHERE hash(*) = 1", FORBIDS),
    ("DELETE FROM {t} WHERE (SELECT max(x.n) FROM (SELECT t.*) x(n, a, b, c)) = 1", FORBIDS),
    ("DELETE FROM {t} WHERE (SELECT max(x.n) FROM (SELECT *) x(n, a, b, c)) = 1", FORBIDS),
    ("UPDATE {t} SET tenant = __stored_0", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("DELETE FROM {t} WHERE __place_0.row_index = 0", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("UPDATE {t} SET n = CAST(concat(ssn, 'x') AS BIGINT)", "CAST_INVALID_INPUT"),
    ("UPDATE {t} SET tenant = input_file_name()", "ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.FILE_METADATA"),
    ("UPDATE {t} SET part = spark_partition_id()", "ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.FILE_METADATA"),
    (
        "MERGE INTO {t} USING (VALUES (1), (1)) AS s(n) ON t.n = s.n AND t.ssn <> '' "
        "WHEN MATCHED THEN UPDATE SET n = 3",
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
    ),
    ("INSERT OVERWRITE shop.plain VALUES ('a', 1, 'x', 1)", FORBIDS),
    ("TRUNCATE TABLE shop.plain", FORBIDS),
)


def test_errors_do_not_reveal_hidden_values(people: People) -> None:
    """Probes 29, 31 and 46: neither by a `*`, nor by internal names, nor in a message."""
    for pattern, condition in REFUSED:
        text = pattern.format(t="shop.plain AS t")
        error = people.refuse("eve", text)
        assert error.condition == condition, (text, error)
        for value in ("111", "222", "999", "998", "part-"):
            assert value not in error.full_message.replace(text, ""), (text, error.message)
    assert _stored(people) == _expected([STORED[0], STORED[1], STORED[4]])


def test_table_constraints_reveal_nothing(people: People) -> None:
    """A constraint's result over a masked column would reveal its value; for other columns it may be reported."""
    for text in (
        "CREATE TABLE shop.rules (a STRING, n INT, ssn STRING, CONSTRAINT small CHECK (n < 9))",
        "INSERT INTO shop.rules VALUES ('a', 1, '111')",
        "ALTER TABLE shop.rules ALTER COLUMN ssn SET MASK shop.digit",
        "GRANT SELECT, MODIFY ON shop.rules TO eve",
    ):
        people.rows("ann", text)
    error = people.refuse("eve", "UPDATE shop.rules SET n = 9")
    assert error.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert "111" not in error.full_message
    for text in (
        "ALTER TABLE shop.rules ALTER COLUMN ssn DROP MASK",
        "ALTER TABLE shop.rules ADD CONSTRAINT same CHECK (a <> ssn)",
        "ALTER TABLE shop.rules ALTER COLUMN ssn SET MASK shop.digit",
    ):
        people.rows("ann", text)
    for text in (
        "UPDATE shop.rules SET a = '111'",
        "MERGE INTO shop.rules t USING (VALUES (1)) AS s(n) ON t.n = s.n WHEN MATCHED THEN UPDATE SET a = '111'",
    ):
        assert people.refuse("eve", text).condition == FORBIDS
    assert people.count("eve", "DELETE FROM shop.rules WHERE ssn = '1'") == 1
