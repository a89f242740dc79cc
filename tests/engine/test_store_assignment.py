"""Store assignment: casts and errors for values with other types, under each policy."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run, version_of

pytestmark = pytest.mark.spark

COLUMNS = (
    "d DATE, i INT, b BOOLEAN, n DECIMAL(5,2), s STRUCT<a: INT, c: DATE>, l ARRAY<BIGINT>, m MAP<INT, DOUBLE>, "
    "v VARCHAR(3), t TIMESTAMP"
)
DAY = datetime.date(2022, 2, 14)
NULLS = (None,) * 9

ACCEPTED: list[tuple[str, tuple[Any, ...]]] = [
    ("INSERT INTO assigned (d, i) VALUES ('2022-02-14', '7')", (DAY, 7, *NULLS[2:])),
    ("INSERT INTO assigned (i, d) SELECT * FROM VALUES (' 7 ', '2022-2-14') AS x(a, b)", (DAY, 7, *NULLS[2:])),
    ("INSERT INTO assigned BY NAME SELECT 'true' AS b, '1.255' AS n", (None, None, True, Decimal("1.26"), *NULLS[4:])),
    (
        "INSERT INTO assigned BY NAME SELECT named_struct('c', '2022-02-14', 'a', '1') AS s",
        (*NULLS[:4], {"a": 1, "c": DAY}, *NULLS[5:]),
    ),
    (
        "INSERT INTO assigned (s) SELECT named_struct('x', '1', 'y', '2022-02-14')",
        (*NULLS[:4], {"a": 1, "c": DAY}, *NULLS[5:]),
    ),
    (
        "INSERT INTO assigned (l, m) VALUES (array('1', NULL), map('2', '2.5'))",
        (*NULLS[:5], [1, None], [(2, 2.5)], *NULLS[7:]),
    ),
    ("INSERT INTO assigned (v, b) VALUES (123, 1)", (None, None, True, *NULLS[3:7], "123", None)),
    ("INSERT INTO assigned (i) VALUES (timestamp_seconds(5))", (None, 5, *NULLS[2:])),
    ("UPDATE assigned SET i = '8', d = '2022-02-14' WHERE i = 0", (DAY, 8, *NULLS[2:])),
    ("UPDATE assigned SET s.c = '2022-02-14' WHERE i = 0", (None, 0, None, None, {"a": None, "c": DAY}, *NULLS[5:])),
    (
        "MERGE INTO assigned a USING (SELECT '0' AS k, '2022-02-14' AS d) AS g ON a.i = g.k "
        "WHEN MATCHED THEN UPDATE SET d = g.d",
        (DAY, 0, *NULLS[2:]),
    ),
    (
        "MERGE INTO assigned a USING (SELECT '2022-02-14' AS day) AS g ON false "
        "WHEN NOT MATCHED THEN INSERT (d, i) VALUES (g.day, '7')",
        (DAY, 7, *NULLS[2:]),
    ),
]

REFUSED = [
    ("INSERT INTO assigned (d, i) VALUES ('2022-02-14', 'seven')", "CAST_INVALID_INPUT", ("column i", "'seven'")),
    ("INSERT INTO assigned (d) VALUES ('2022-02-30')", "CAST_INVALID_INPUT", ("column d", "'2022-02-30'")),
    ("INSERT INTO assigned (d) SELECT string(id) FROM range(10, 13)", "CAST_INVALID_INPUT", ("column d", "'1")),
    ("INSERT INTO assigned (i) VALUES ('3000000000')", "CAST_INVALID_INPUT", ("column i", "'3000000000'")),
    ("INSERT INTO assigned (s) SELECT named_struct('a', 'x', 'c', NULL)", "CAST_INVALID_INPUT", ("column s", "'x'")),
    ("INSERT INTO assigned (b) VALUES ('perhaps')", "CAST_INVALID_INPUT", ("column b", "'perhaps'")),
    (
        "INSERT INTO assigned (n) VALUES ('1234.5')",
        "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        ("column n", "1234.5"),
    ),
    ("INSERT INTO assigned (v) VALUES (1234)", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT", ("3",)),
    ("INSERT INTO assigned (d) VALUES (1)", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", ("`d`",)),
    ("INSERT INTO assigned (i) VALUES (array('1'))", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", ("`i`",)),
    ("UPDATE assigned SET d = 'x' WHERE i = 0", "CAST_INVALID_INPUT", ("column d", "'x'")),
    (
        "MERGE INTO assigned a USING (SELECT 0 AS k) AS g ON a.i = g.k WHEN MATCHED THEN UPDATE SET i = 'y'",
        "CAST_INVALID_INPUT",
        ("column i", "'y'"),
    ),
]


@pytest.fixture
def assigned(session: LakeSession) -> None:
    run(session, f"CREATE OR REPLACE TABLE assigned ({COLUMNS})")
    run(session, "INSERT INTO assigned (i) VALUES (0)")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_are_cast_to_their_columns(session: LakeSession, assigned: None, ansi: str) -> None:
    """Also if the session's own casts return nulls, which dbt sets."""
    run(session, f"SET spark.sql.ansi.enabled = {ansi}")
    selected = ACCEPTED if ansi == "true" else ACCEPTED[:2]
    for text, expected in selected:
        run(session, "INSERT OVERWRITE assigned (i) VALUES (0)")
        run(session, text)
        found = rows(session, "SELECT * FROM assigned")
        remaining = [] if text.startswith("UPDATE") or "WHEN MATCHED" in text else [(None, 0, *NULLS[2:])]
        assert sorted(found, key=str) == sorted([expected, *remaining], key=str), text


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_wrong_value_is_an_error_that_names_it_and_its_column(
    session: LakeSession, assigned: None, lake: Path, ansi: str
) -> None:
    run(session, f"SET spark.sql.ansi.enabled = {ansi}")
    before = version_of(lake, "assigned")
    for text, condition, reported in REFUSED if ansi == "true" else REFUSED[:2]:
        error = refuse(session, text)
        assert error.condition == condition and all(word in error.full_message for word in reported), (
            text,
            error.message,
        )
    assert version_of(lake, "assigned") == before


def test_the_policies(session: LakeSession, assigned: None) -> None:
    run(session, "SET spark.sql.storeAssignmentPolicy = STRICT")
    assert refuse(session, "INSERT INTO assigned (i) VALUES ('7')").condition == (
        "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
    )
    assert refuse(session, "INSERT INTO assigned (i) VALUES (7L)").condition == (
        "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
    )
    run(session, "INSERT INTO assigned (l) VALUES (array(1))")
    run(session, "SET spark.sql.storeAssignmentPolicy = LEGACY")
    run(session, "INSERT OVERWRITE assigned (d, i, n, s) VALUES ('x', '7', 12345, named_struct('a', 'z', 'c', 'y'))")
    assert rows(session, "SELECT d, i, n, s.a, s.c FROM assigned") == [(None, 7, None, None, None)]


@pytest.mark.parametrize("policy", ["ANSI", "STRICT"])
def test_the_value_of_a_partition_is_no_null_where_it_is_wrong(session: LakeSession, policy: str) -> None:
    run(session, "CREATE OR REPLACE TABLE parted (i INT, d DATE) PARTITIONED BY (d)")
    run(session, "SET spark.sql.ansi.enabled = false")
    run(session, f"SET spark.sql.storeAssignmentPolicy = {policy}")
    run(session, "INSERT INTO parted PARTITION (d = '2022-02-14') VALUES (1)")
    error = refuse(session, "INSERT INTO parted PARTITION (d = 'never') VALUES (1)")
    assert (error.condition, "column d" in error.full_message) == ("CAST_INVALID_INPUT", True), error
    assert rows(session, "SELECT * FROM parted") == [(1, DAY)]


@pytest.mark.parametrize("source", ["SELECT 1 AS id", "SELECT 2 AS id", "SELECT 1 AS id WHERE false"])
def test_merge_insert_is_checked_without_matching_rows(session: LakeSession, source: str) -> None:
    run(session, "CREATE OR REPLACE TABLE merged AS SELECT 1 AS id, 1 AS v")
    merge = f"MERGE INTO merged t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 2"
    error = refuse(session, f"{merge} WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, array(1))")
    assert error.condition == "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
    assert rows(session, "SELECT id, v FROM merged") == [(1, 1)]
