"""Views, SQL functions, policies, constraints and generated columns mean what they meant when they were created.

A reader sets a setting under which the definition would mean something else, and reads the same rows as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.exec.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
SIZE = "spark.sql.legacy.sizeOfNull"
ZONE = "spark.sql.session.timeZone"
EXISTS = "spark.sql.legacy.followThreeValuedLogicInArrayExists"
WITH = "spark.sql.legacy.ctePrecedencePolicy"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("captured") / "lake"
    folder.mkdir()
    found = People(GuardedLake(Path(folder)), spark_driver)
    for who, text in (
        ("root", "CREATE SCHEMA s"),
        ("root", "GRANT USE CATALOG ON CATALOG TO `account users`"),
        ("root", "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA s TO `account users`"),
        ("ann", "CREATE TABLE s.t (id INT, tags ARRAY<STRING>, n STRING, at TIMESTAMP)"),
        (
            "ann",
            "INSERT INTO s.t VALUES (1, array('a'), '1', TIMESTAMP'2024-01-01 23:30:00Z'), "
            "(2, NULL, 'x', TIMESTAMP'2024-01-02 00:30:00Z'), (3, array(CAST(NULL AS STRING)), '3', NULL)",
        ),
    ):
        found.rows(who, text)
    yield found
    found.close()


@dataclass(frozen=True)
class Case:
    """A query over `s.t`, and settings of a reader under which its text alone would have other rows, or fail."""

    query: str
    settings: tuple[tuple[str, str], ...]
    expected: list[tuple[object, ...]]


CASES: dict[str, Case] = {
    "size of NULL": Case(
        "SELECT id FROM s.t WHERE size(tags) > 0 OR size(tags) = -1", ((ANSI, "false"), (SIZE, "true")), [(1,), (3,)]
    ),
    "time zone": Case("SELECT id FROM s.t WHERE CAST(at AS DATE) = '2024-01-01'", ((ZONE, "Asia/Tokyo"),), [(1,)]),
    "three-valued logic": Case(
        "SELECT id FROM s.t WHERE exists(tags, t -> t = 'b') IS NULL", ((EXISTS, "false"),), [(2,), (3,)]
    ),
    "names of WITH": Case(
        "WITH c AS (SELECT 1 AS id) SELECT id FROM (WITH c AS (SELECT 2 AS id) SELECT id FROM c)",
        ((WITH, "LEGACY"),),
        [(2,)],
    ),
}


@pytest.fixture
def changed(people: People) -> Iterator[list[tuple[str, str]]]:
    """Settings that eve has set, which are reset afterwards."""
    changed: list[tuple[str, str]] = []
    yield changed
    for who in ("ann", "eve"):
        people.rows(who, "RESET")


def _set(people: People, who: str, settings: tuple[tuple[str, str], ...]) -> None:
    for key, value in settings:
        people.rows(who, f"SET {key} = {value}")


@pytest.mark.parametrize("case", CASES)
def test_view_has_the_rows_of_its_creation(people: People, changed: object, case: str) -> None:
    name, each = f"s.v{list(CASES).index(case)}", CASES[case]
    people.rows("ann", f"CREATE VIEW {name} AS {each.query}")
    people.rows("ann", f"GRANT SELECT ON {name} TO eve")
    assert sorted(people.rows("eve", f"SELECT * FROM {name}")) == each.expected
    _set(people, "eve", each.settings)
    assert sorted(people.rows("eve", f"SELECT * FROM {name}")) == each.expected
    assert people.rows("eve", f"SELECT count(*) FROM {name}") == [(len(each.expected),)]


def test_view_keeps_the_settings_of_its_creator(people: People, changed: object) -> None:
    """Reads it as a view in the catalog, as one of the session, and through another view."""
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    text = "SELECT id FROM s.t WHERE size(tags) = -1"
    people.rows("ann", f"CREATE VIEW s.legacy AS {text}")
    people.rows("ann", f"CREATE TEMPORARY VIEW own AS {text}")
    people.rows("ann", "RESET")
    people.rows("ann", "CREATE VIEW s.outer AS SELECT * FROM s.legacy WHERE size(array()) = 0")
    assert people.rows("ann", text) == []
    for name in ("s.legacy", "own", "s.outer"):
        assert people.rows("ann", f"SELECT * FROM {name}") == [(2,)]


def test_policy_keeps_the_settings_of_its_function(people: People, changed: object) -> None:
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    people.rows("ann", "CREATE FUNCTION s.is_missing(x ARRAY<STRING>) RETURNS BOOLEAN RETURN size(x) = -1")
    people.rows("ann", "RESET")
    people.rows("ann", "CREATE FUNCTION s.masked(x INT) RETURNS INT RETURN x + 100")
    people.rows("ann", "CREATE TABLE s.filtered AS SELECT id, tags FROM s.t")
    people.rows("ann", "GRANT SELECT ON s.filtered TO eve")
    people.rows("ann", "ALTER TABLE s.filtered SET ROW FILTER s.is_missing ON (tags)")
    for settings in ((), ((SIZE, "false"),), ((ANSI, "true"),)):
        _set(people, "eve", settings)
        assert people.rows("eve", "SELECT id FROM s.filtered") == [(2,)]
    people.rows("ann", "ALTER TABLE s.filtered ALTER COLUMN id SET MASK s.masked")
    error = people.refuse("eve", "SELECT id FROM s.filtered")
    assert "different settings" in error.message


FUNCTIONS: dict[str, tuple[str, tuple[tuple[str, str], ...], bool]] = {
    # the body, what the reader sets, whether the function can still be called
    "size of NULL": ("(SELECT count(*) FROM s.t WHERE size(tags) = k)", ((ANSI, "false"), (SIZE, "true")), False),
    "a zone, with dates": ("(SELECT count(*) FROM s.t WHERE CAST(at AS DATE) = '2024-01-01')", ((ZONE, "Z"),), False),
    "a zone, without dates": ("(SELECT count(tags) FROM s.u WHERE id > k)", ((ZONE, "Z"),), True),
    "planning": ("(SELECT count(*) FROM s.t WHERE id > k)", (("spark.sql.shuffle.partitions", "3"),), True),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function_that_reads_for_its_caller(people: People, changed: object, case: str) -> None:
    body, settings, is_called = FUNCTIONS[case]
    people.rows("ann", "CREATE OR REPLACE TABLE s.u AS SELECT id, tags FROM s.t")
    people.rows("ann", f"CREATE OR REPLACE FUNCTION s.counted(k BIGINT) RETURNS BIGINT RETURN {body}")
    people.rows("ann", "GRANT EXECUTE ON FUNCTION s.counted TO eve")
    before = people.rows("eve", "SELECT s.counted(0)")
    _set(people, "eve", settings)
    if is_called:
        assert people.rows("eve", "SELECT s.counted(0)") == before
    else:
        assert people.refuse("eve", "SELECT s.counted(0)").condition == "ROUTINE_SETTING_NOT_SUPPORTED"
        _set(people, "ann", settings)  # who may read the table by herself
        assert len(people.rows("ann", "SELECT s.counted(0)")) == 1


def test_constraint_and_generated_column_keep_their_settings(people: People, changed: object) -> None:
    """The writer's zone moves the day; the creator's decides."""
    creation = (
        "CREATE TABLE s.{name} (at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), "
        "CONSTRAINT late CHECK (hour(at) >= 12))"
    )
    people.rows("ann", creation.format(name="by_server"))
    _set(people, "ann", ((ZONE, "Asia/Tokyo"),))
    people.rows("ann", creation.format(name="by_tokyo"))
    people.rows("ann", "RESET")
    people.rows("ann", "CREATE TABLE s.by_tokyo_too LIKE s.by_tokyo")
    expected = {"by_server": "2024-01-01", "by_tokyo": "2024-01-02", "by_tokyo_too": "2024-01-02"}
    tokyo = "2024-01-02 05:00:00Z"
    times = {"by_server": "2024-01-01 20:00:00Z", "by_tokyo": tokyo, "by_tokyo_too": tokyo}
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        _set(people, "ann", ((ZONE, zone),))
        for name, day in expected.items():
            time = times[name]
            other = times["by_tokyo" if name == "by_server" else "by_server"].replace("20:00", "01:00")
            people.rows("ann", f"INSERT INTO s.{name} (at) VALUES (TIMESTAMP'{time}')")
            people.rows("ann", f"INSERT INTO s.{name} VALUES (TIMESTAMP'{time}', DATE'{day}')")
            assert people.refuse("ann", f"INSERT INTO s.{name} (at) SELECT TIMESTAMP'{other}'").sqlstate == "23001"
    for name, day in expected.items():
        assert people.rows("ann", f"SELECT DISTINCT CAST(day AS STRING) FROM s.{name}") == [(day,)]
        assert people.rows("ann", f"SELECT count(*) FROM s.{name}") == [(6,)]
    people.rows("ann", "ALTER TABLE s.by_tokyo DROP CONSTRAINT late")
    properties = dict(people.rows("ann", "SHOW TBLPROPERTIES s.by_tokyo"))
    assert not [key for key in properties if "constraint" in key.lower()]
