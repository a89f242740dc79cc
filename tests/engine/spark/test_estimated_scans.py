"""Spark plans joins by logged statistics of the remaining files, from any writer. Answers do not depend on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

BY_COST = "spark.sql.cbo.enabled"
# One column per type that Spark estimates, or must not.
COLUMNS = (
    "id BIGINT, b TINYINT, h SMALLINT, i INT, r FLOAT, x DOUBLE, m DECIMAL(9,2), w DECIMAL(30,4), s STRING,"
    " v VARCHAR(9), o BOOLEAN, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, y BINARY, a STRUCT<k: INT>, p STRING"
)
VALUES = (
    "id, CAST(id % 5 AS BYTE), CAST(id % 7 AS SHORT), CAST(id % 3 AS INT), CAST(id AS FLOAT), nullif(id, 3) / 2,"
    " CAST(id AS DECIMAL(9,2)), CAST(id * 1000000 AS DECIMAL(30,4)), 's' || id % 4, 'v' || id % 6, id % 2 = 0,"
    " date_add(DATE'2024-01-01', CAST(id AS INT)), timestamp_micros(id * 1000000), timestamp_ntz'2024-01-01 00:00:00',"
    " CAST('y' || id % 3 AS BINARY), named_struct('k', CAST(id AS INT)), 'p' || id % 2"
)
# Wrong statistics that prune no file: bounds for columns without conditions here, or valid ones.
WRONG: tuple[dict[str, Any], ...] = (
    {"numRecords": 2**62, "minValues": {"i": 5}, "maxValues": {"i": -5}, "nullCount": {"i": 2**62}},
    {"numRecords": 0, "minValues": {"x": -1e308}, "maxValues": {"x": 1e308}, "nullCount": {"id": -4}},
    {"numRecords": 1, "minValues": {"id": -(2**63)}, "maxValues": {"id": 2**63 - 1}, "nullCount": {"id": 0}},
    {"numRecords": 7, "minValues": {"w": 0}, "maxValues": {"w": 99999999999999999999999999.9999}, "nullCount": {}},
    {},
)


@pytest.fixture(scope="module")
def tables(engine: LakeEngine, lake: Path) -> Iterator[LakeSession]:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    for table, count in (("big", 60), ("few", 6), ("odd", 20)):
        run(session, f"CREATE TABLE {table} ({COLUMNS}) PARTITIONED BY (p)")
        run(session, f"INSERT INTO {table} SELECT {VALUES} FROM range({count})")
    run(session, "INSERT INTO big (id) VALUES (NULL), (1000)")
    run(session, "DELETE FROM big WHERE id IN (10, 20, 30)")
    _spoil(lake / "default" / "odd" / "_delta_log")
    yield session
    session.close()


def _spoil(log: Path) -> None:
    """Give each file statistics that are wrong."""
    commits = list(log.glob("*.json"))
    assert commits
    for commit in commits:
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for number, add in enumerate(action["add"] for action in actions if "add" in action):
            add["stats"] = json.dumps(WRONG[number % len(WRONG)])
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in log.glob("*.crc"):
        checksum.unlink()


def _estimated(session: LakeSession, text: str) -> dict[str, str]:
    """Returns Spark's row estimate for each relation, by its label's last part."""
    ((plan,),) = rows(session, f"EXPLAIN COST {text}")
    assert isinstance(plan, str)
    found = re.findall(r"Relation \[id#.*?Statistics\(sizeInBytes=[^,]*, rowCount=([^,)]*)", plan)
    return {str(number): count for number, count in enumerate(found)}


def test_spark_expects_what_is_left(tables: LakeSession) -> None:
    text = "SELECT count(*) FROM big a JOIN few b ON a.id = b.id WHERE {0}"
    assert set(_estimated(tables, text.format("true")).values()) == {"59", "6"}
    assert set(_estimated(tables, text.format("a.p = 'p1'")).values()) == {"30", "6"}
    assert set(_estimated(tables, text.format("a.id >= 1000")).values()) == {"2", "0"}
    run(tables, f"SET {BY_COST} = false")
    assert _estimated(tables, text.format("true")) == {}
    run(tables, f"RESET {BY_COST}")


# Conditions, and the maximum number of rows out of 60 that each leaves, as far as Spark can tell.
COMPARED = (
    ("low < high", 60),
    ("low < high AND high <= 29", 30),  # 0 to 59, as far as the value shows
    ("high > low AND low < 30", 30),
    ("low < high AND low < 30 AND high < 30", 30),  # the value of one column
    ("low < high OR id = 1", 60),
    ("low < high AND high >= other AND other < low", 60),
)


def test_column_comparison_is_not_estimated(tables: LakeSession) -> None:
    run(tables, "CREATE TABLE compared (id BIGINT, low INT, high INT, other INT)")
    run(tables, "INSERT INTO compared SELECT id, int(id), int(id), int(id) FROM range(60)")
    found = {}
    for condition, _ in COMPARED:
        text = f"SELECT count(*) FROM compared a JOIN few b ON a.id = b.id WHERE {condition}"
        ((plan,),) = rows(tables, f"EXPLAIN COST {text.replace('id = 1', 'a.id = 1')}")
        (count,) = re.findall(r"Filter [^\n]*low#[^\n]*Statistics\(sizeInBytes=[^,]*, rowCount=(\d+)\)", str(plan))
        found[condition] = int(count)
    assert all(abs(found[condition] - most) <= 1 for condition, most in COMPARED), found


def test_groups_that_are_joined_with_few_are_made_of_their_rows_alone(tables: LakeSession) -> None:
    """TPC-H 17 is such a query. Unset, this applies only to much larger tables."""
    threshold = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"
    averages = "(SELECT h, avg(x) AS x FROM big GROUP BY h) g"
    text = f"SELECT f.id, g.x FROM few f JOIN {averages} ON f.h = g.h WHERE f.s = 's1' ORDER BY f.id"
    expected = rows(tables, text)
    assert "might_contain" not in str(rows(tables, f"EXPLAIN {text}")) and len(expected) == 2
    run(tables, f"SET {threshold} = 0")
    assert "might_contain" in str(rows(tables, f"EXPLAIN {text}"))
    assert rows(tables, text) == expected
    run(tables, f"RESET {threshold}")


FIXED = (
    "SELECT count(*) FROM big a JOIN odd b ON a.i = b.i JOIN few c ON b.id = c.id",
    "SELECT a.id FROM big a, few b, odd c WHERE a.x = b.x AND b.r = c.r AND a.d > DATE'2024-01-02'",
    "SELECT a.s, count(*) FROM big a JOIN few b ON a.o = b.o AND a.y = b.y WHERE b.r < double('NaN') GROUP BY a.s",
    "SELECT count(*) FROM big a JOIN few b ON a.n = b.n AND a.n <= timestamp_ntz'2024-01-01 00:00:00'",
    "SELECT count(*) FROM big a JOIN odd b ON a.a.k = b.a.k WHERE a.v = 'v1' OR b.v IN ('v1', 'v2', 'v3')",
    "SELECT id FROM big WHERE id IN (SELECT id FROM odd WHERE m >= 2) AND s NOT IN (SELECT s FROM few WHERE s > 's2')",
    "SELECT count(*) FROM odd a JOIN odd b ON a.w = b.w AND a.m = b.m JOIN big c ON c.h = a.h AND c.b = b.b",
    "SELECT a.id FROM big a LEFT JOIN odd b USING (id) FULL JOIN few c ON b.i = c.i WHERE a.p <=> 'p0' OR c.m < 3",
)


def _random_join(random: Random) -> str:
    tables = random.sample(("big a", "few b", "odd c", "few d", "odd e"), random.randrange(2, 5))
    names = [table[-1] for table in tables]
    columns = ("id", "b", "h", "i", "r", "x", "m", "w", "s", "v", "o", "d", "t", "y", "p", "a.k")
    text = tables[0]
    for position, table in enumerate(tables[1:], 1):
        column, kind = random.choice(columns), random.choice(("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT SEMI JOIN"))
        if kind == "LEFT SEMI JOIN" and position < len(tables) - 1:
            kind = "JOIN"
        text += f" {kind} {table} ON {random.choice(names[:position])}.{column} = {names[position]}.{column}"
    conditions = (
        "id <> 7", "b >= 1", "h BETWEEN 1 AND 4", "i = 2", "x > 1.5", "m <= 12.5", "s = 's1'", "v <> 'v2'", "o",
        "p = 'p1'", "d > DATE'2024-01-05'", "y IS NOT NULL", "t IS NOT NULL", "s LIKE '%2'", "r < 40",
        "id IN (1, 2, 3, 5, 8, 13)",
    )  # fmt: skip
    where = " AND ".join(f"{names[0]}.{condition}" for condition in random.sample(conditions, random.randrange(3)))
    return f"SELECT count(*), sum({names[0]}.id) FROM {text} WHERE {where or 'true'}"


def test_answers_do_not_depend_on_estimates(tables: LakeSession) -> None:
    random = Random(4)
    texts = [*FIXED, *(_random_join(random) for _ in range(8))]
    found = [sorted(map(repr, rows(tables, text))) for text in texts]
    run(tables, f"SET {BY_COST} = false")
    for text, ours in zip(texts, found, strict=True):
        assert ours == sorted(map(repr, rows(tables, text))), text
    run(tables, f"RESET {BY_COST}")


# A table column's values, the table's definition, a condition, and if it is joined before a table whose filter is known
# to keep a tenth of the rows.
ORDERED: dict[str, tuple[str, str, str, bool]] = {
    "many values": ("'s' || id % 50", "", "s = 's1'", True),
    "one of a list": ("'s' || id % 50", "", "s IN ('s1', 's2')", True),
    "two values, one of them rare": ("CASE WHEN id % 20 = 0 THEN 's1' ELSE 's0' END", "", "s = 's1'", False),
    "a value for each row": ("'s' || id", "", "s = 's1'", True),
    "physical names": ("'s' || id % 50", "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", "s = 's1'", True),
    "one number": ("CAST('Infinity' AS DOUBLE)", "", "s = double('Infinity')", False),
    "true and false": ("id % 2 = 0", "", "s <=> true", False),
}


@pytest.mark.parametrize("name", ORDERED)
def test_joins_are_ordered_by_the_values_in_a_file(name: str, tables: LakeSession) -> None:
    """Unless sizes are given, one of three values is the estimate for an unknown value."""
    values, properties, condition, is_first = ORDERED[name]
    run(tables, f"CREATE OR REPLACE TABLE texts {properties} AS SELECT id AS k, {values} AS s FROM range(1000)")
    run(tables, "CREATE OR REPLACE TABLE numbers AS SELECT id AS k, CAST(id % 10 AS INT) AS n FROM range(1000)")
    run(tables, "CREATE OR REPLACE TABLE facts AS SELECT id, id % 1000 AS a, id % 999 AS b FROM range(5000)")
    text = "SELECT count(*) FROM facts JOIN numbers ON b = numbers.k JOIN texts ON a = texts.k WHERE n = 3 AND "
    ((plan,),) = rows(tables, f"EXPLAIN COST {text}{condition}")
    optimized = str(plan).partition("== Physical Plan ==")[0]
    joins = [re.sub(r"#\d+L?", "", line) for line in optimized.splitlines() if "Join Inner" in line]
    assert ("k = a" in joins[-1] or "a = k" in joins[-1]) == is_first, optimized
    sizes = {float(found) for found in re.findall(r"Filter .*\bs#.*rowCount=([^,)]*)", optimized)}
    assert min(sizes) >= 333, optimized
    expected = rows(tables, text + condition)
    run(tables, f"SET {BY_COST} = false")
    assert rows(tables, text + condition) == expected
    run(tables, f"RESET {BY_COST}")


# Values in each half of a table's rows, and the table's definition.
MULTIPLYING: dict[str, tuple[str, str]] = {
    "texts": ("'m' || id % 2", "delta"),
    "numbers far apart": ("id % 2 * 1000000000", "delta"),
    "decimals far apart": ("CAST(id % 2 * 10000 AS DECIMAL(9,2))", "delta"),
    "floating point": ("CAST(id % 2 AS DOUBLE)", "delta"),
    "true and false": ("id % 2 = 0", "delta"),
    "texts in Iceberg": ("'m' || id % 2", "iceberg"),
    "numbers in Iceberg": ("id % 2 * 1000000000", "iceberg"),
    "as many numbers as rows": ("id % 2 * 999", "delta"),
}


@pytest.mark.parametrize("name", MULTIPLYING)
def test_multiplying_join_is_planned_after_key_joins(name: str, tables: LakeSession) -> None:
    """TPC-DS 85 has such a join: a log does not record that a column has few values."""
    values, made = MULTIPLYING[name]
    rows_of = f"SELECT id AS k, {values} AS m, id % 3 = 0 AS e FROM range(1000)"
    run(tables, "DROP TABLE IF EXISTS halves")
    run(tables, f"CREATE TABLE halves USING {made} AS {rows_of}")
    run(tables, "CREATE OR REPLACE TABLE pairs AS SELECT id, id % 1000 AS a, (id + 2) % 1000 AS b FROM range(5000)")
    text = (
        "SELECT count(*) FROM pairs JOIN halves p ON a = p.k JOIN halves q ON b = q.k AND p.m = q.m"
        " WHERE (p.e AND a < 900) OR (NOT p.e AND b < 800)"
    )
    ((plan,),) = rows(tables, f"EXPLAIN COST {text}")
    optimized = str(plan).partition("== Physical Plan ==")[0]
    joins = [re.sub(r"#\d+L?", "", line) for line in optimized.splitlines() if "Join Inner" in line]
    assert len(joins) == 2 and all(re.search(r"\b(k = [ab]|[ab] = k)\b", join) for join in joins), optimized
    expected = rows(tables, text)
    run(tables, f"SET {BY_COST} = false")
    assert rows(tables, text) == expected
    run(tables, f"RESET {BY_COST}")
