"""Views, SQL functions, policies, constraints and generated columns keep their meaning from creation.

A reader changes a setting under which the definition would have another meaning, and reads the same rows as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.runtime.settings import SETTINGS, captured_settings
from engine.spark.session import SparkDriver
from engine.sql.query.bodies import BODY_CALL
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
    """A query over `s.t`, and a reader's settings under which its text alone would return other rows, or fail."""

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
    """Reads it as a catalog view, as a session view, and through another view."""
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    text = "SELECT id FROM s.t WHERE size(tags) = -1"
    people.rows("ann", f"CREATE VIEW s.legacy AS {text}")
    people.rows("ann", f"CREATE TEMPORARY VIEW own AS {text}")
    people.rows("ann", "RESET")
    people.rows("ann", "CREATE VIEW s.outer AS SELECT * FROM s.legacy WHERE size(array()) = 0")
    assert people.rows("ann", text) == []
    for name in ("s.legacy", "own", "s.outer"):
        assert people.rows("ann", f"SELECT * FROM {name}") == [(2,)]


def test_policy_keeps_the_settings_of_its_functions(people: People, changed: object) -> None:
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    people.rows("ann", "CREATE FUNCTION s.is_missing(x ARRAY<STRING>) RETURNS BOOLEAN RETURN size(x) = -1")
    people.rows("ann", "RESET")
    people.rows(
        "ann",
        "CREATE FUNCTION s.masked(x INT, tags ARRAY<STRING>) RETURNS INT "
        "RETURN x + coalesce(size(CAST(NULL AS ARRAY<INT>)), 100)",
    )
    people.rows("ann", "CREATE TABLE s.filtered AS SELECT id, tags FROM s.t")
    people.rows("ann", "GRANT SELECT ON s.filtered TO eve")
    people.rows("ann", "ALTER TABLE s.filtered SET ROW FILTER s.is_missing ON (tags)")
    for settings in ((), ((SIZE, "false"),), ((ANSI, "true"),)):
        _set(people, "eve", settings)
        assert people.rows("eve", "SELECT id FROM s.filtered") == [(2,)]
    people.rows("ann", "RESET")
    people.rows("ann", "ALTER TABLE s.filtered ALTER COLUMN id SET MASK s.masked USING COLUMNS (tags)")
    captured: list[tuple[tuple[str, str], ...]] = [(), ((ANSI, "false"), (SIZE, "false")), ((SIZE, "true"),)]
    for values in captured:
        _set(people, "eve", values)
        _set(people, "ann", values)
        assert people.rows("eve", "SELECT id FROM s.filtered") == [(102,)]
        people.rows("ann", "UPDATE s.filtered SET tags = NULL WHERE id > 0")
        people.rows(
            "ann",
            "MERGE INTO s.filtered f USING (SELECT 102 AS id) x ON f.id = x.id "
            "WHEN MATCHED THEN UPDATE SET tags = NULL",
        )
    people.rows("ann", "ALTER TABLE s.filtered DROP ROW FILTER")
    assert sorted(people.rows("eve", "SELECT id FROM s.filtered")) == [(101,), (102,), (103,)]


LATE = "spark.sql.legacy.scalarSubqueryCountBugBehavior"
BINARY = "spark.sql.function.concatBinaryAsString"

FUNCTIONS: dict[str, tuple[str, str, str, tuple[tuple[str, str], ...], object]] = {
    # parameters and type; body; arguments; settings under which the body alone has another value; its value
    "zone of a cast": ("(a TIMESTAMP) RETURNS DATE", "CAST(a AS DATE)", "at", ((ZONE, "Asia/Tokyo"),), "2024-01-01"),
    "zone of a literal": (
        "() RETURNS BIGINT",
        "unix_seconds(TIMESTAMP'2024-01-01 00:00:00')",
        "",
        ((ZONE, "Asia/Tokyo"),),
        "1704067200",
    ),
    "ANSI, in the cast of the result": ("(x INT) RETURNS INT", "x + 1L", "2147483647", ((ANSI, "false"),), "overflow"),
    "ANSI, in the cast of an argument": ("(x INT) RETURNS INT", "x", "n || 'x'", ((ANSI, "false"),), "invalid"),
    "size of NULL": ("(x ARRAY<STRING>) RETURNS INT", "size(x)", "NULL", ((ANSI, "false"), (SIZE, "true")), None),
    "size of NULL, of a default": (
        "(x ARRAY<STRING> DEFAULT CAST(NULL AS ARRAY<STRING>)) RETURNS INT",
        "coalesce(size(x), 7)",
        "",
        ((ANSI, "false"), (SIZE, "true")),
        "7",
    ),
    "three-valued logic of a view": (  # no body has a lambda
        "() RETURNS BIGINT",
        "(SELECT count(*) FROM s.unknown)",
        "",
        ((EXISTS, "false"),),
        "2",
    ),
    "names of WITH": (
        "() RETURNS INT",
        "(WITH c AS (SELECT 1 AS id) SELECT max(id) FROM (WITH c AS (SELECT 2 AS id) SELECT id FROM c))",
        "",
        ((WITH, "LEGACY"),),
        "2",
    ),
    "a table, and an argument of the row": (
        "(k INT) RETURNS BIGINT",
        "(SELECT count(*) FROM s.t WHERE size(tags) = k)",
        "id - 2",
        ((ANSI, "false"), (SIZE, "true")),
        "0",
    ),
    "a table by day": (
        "(k INT) RETURNS BIGINT",
        "(SELECT count(*) FROM s.t WHERE CAST(at AS DATE) = '2024-01-01' AND id >= k)",
        "id",
        ((ZONE, "Asia/Tokyo"),),
        "1",
    ),
    "a view that calls a function": (
        "(k INT) RETURNS BIGINT",
        "(SELECT sum(coalesce(size, 10) + coalesce(s.size_of(NULL), 100)) FROM s.sizes WHERE id > k)",
        "id - 1",
        ((ANSI, "false"), (SIZE, "true")),
        "312",
    ),
    "a function in a function": (
        "(k INT) RETURNS INT",
        "coalesce(s.size_of(NULL), k) + coalesce(size(CAST(NULL AS ARRAY<INT>)), 10)",
        "id",
        ((ANSI, "false"), (SIZE, "true")),
        "11",
    ),
}


@pytest.fixture(scope="module")
def sizes(people: People) -> None:
    """A function, and a view that calls it; eve may use neither."""
    people.rows("ann", "CREATE FUNCTION s.size_of(x ARRAY<STRING>) RETURNS INT RETURN size(x)")
    people.rows("ann", "CREATE VIEW s.sizes AS SELECT id, s.size_of(tags) AS size FROM s.t")
    people.rows("ann", "CREATE VIEW s.unknown AS SELECT id FROM s.t WHERE exists(tags, t -> t = 'b') IS NULL")


def _value(people: People, text: str) -> object:
    """Returns a single row's value as text, or its error."""
    try:
        [(value,)] = people.rows("eve", text)
    except SqlError as error:
        return {"22003": "overflow", "22018": "invalid"}[error.sqlstate]
    return value


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function_has_the_value_of_its_creation(people: People, sizes: None, changed: object, case: str) -> None:
    """Calls it in SELECT, WHERE, WITH, an aggregate and a temporary view, before and after SET."""
    signature, body, argument, settings, expected = FUNCTIONS[case]
    name = f"s.f{list(FUNCTIONS).index(case)}"
    people.rows("ann", f"CREATE FUNCTION {name}{signature} RETURN {body}")
    people.rows("ann", f"GRANT EXECUTE ON FUNCTION {name} TO eve")
    rows = "(SELECT 1 AS id, '1' AS n, TIMESTAMP'2024-01-01 23:30:00Z' AS at)"
    call = f"CAST({name}({argument}) AS STRING)"
    texts = (
        f"SELECT {call} FROM {rows}",
        f"SELECT max({call}) FROM {rows}",
        f"WITH q AS (SELECT {call} AS v FROM {rows}) SELECT v FROM q",
        f"SELECT '{expected}' FROM {rows} WHERE {call} = '{expected}'",
    )
    known = texts if expected is not None else texts[:-1]
    assert [_value(people, text) for text in known] == [expected] * len(known)
    _set(people, "eve", settings)
    assert [_value(people, text) for text in known] == [expected] * len(known)
    if expected not in ("overflow", "invalid"):
        people.rows("eve", f"CREATE OR REPLACE TEMPORARY VIEW own AS {texts[0]}")
        assert _value(people, "SELECT * FROM own") == expected


def test_session_has_its_own_settings_beside_those_of_a_function(people: People, sizes: None, changed: object) -> None:
    people.rows("ann", "GRANT EXECUTE ON FUNCTION s.size_of TO eve")
    _set(people, "eve", ((ANSI, "false"), (SIZE, "true")))
    assert people.rows("eve", "SELECT s.size_of(NULL), size(NULL), s.size_of(array('a'))") == [(None, -1, 1)]
    assert people.rows("eve", "SELECT s.size_of(if(size(NULL) = -1, array('a'), NULL))") == [(1,)]
    people.rows("ann", "REVOKE EXECUTE ON FUNCTION s.size_of FROM eve")


def test_function_keeps_the_settings_of_its_creator(people: People, sizes: None, changed: object) -> None:
    """Calls one that was created under other settings than the server's, also by others that were not."""
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    people.rows("ann", "CREATE FUNCTION s.legacy_size(x ARRAY<STRING>) RETURNS INT RETURN size(x)")
    people.rows(
        "ann", "CREATE FUNCTION s.missing() RETURNS BIGINT RETURN (SELECT sum(id) FROM s.t WHERE size(tags) < 0)"
    )
    assert people.rows("ann", "SELECT s.legacy_size(NULL), s.missing(), s.size_of(NULL)") == [(-1, 2, None)]
    people.rows("ann", "RESET")
    people.rows("ann", "CREATE FUNCTION s.both() RETURNS BIGINT RETURN s.missing() + s.legacy_size(NULL)")
    people.rows("ann", "CREATE VIEW s.of_both AS SELECT s.both() AS a, s.missing() AS b, size(NULL) AS c")
    people.rows("ann", "GRANT SELECT ON s.of_both TO eve")
    for settings in ((), ((ANSI, "false"), (SIZE, "false"))):
        _set(people, "eve", settings)
        assert people.rows("ann", "SELECT s.both(), s.legacy_size(NULL), size(NULL)") == [(1, -1, None)]
        assert people.rows("eve", "SELECT * FROM s.of_both") == [(1, 2, None)]


def test_writes_call_functions_under_the_settings_of_these(people: People, sizes: None, changed: object) -> None:
    people.rows(
        "ann", "CREATE FUNCTION s.counted(k INT) RETURNS BIGINT RETURN (SELECT count(*) FROM s.t WHERE size(tags) = k)"
    )
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    unknown, known = "s.size_of(NULL)", "(size(NULL) = -1)"
    for text in (
        f"CREATE TABLE s.w AS SELECT 1 AS id, {unknown} AS n",
        f"INSERT INTO s.w VALUES (2, {unknown})",
        f"INSERT INTO s.w SELECT 3, {unknown}",
        "INSERT INTO s.w SELECT 4, size(NULL)",
    ):
        people.rows("ann", text)
    assert people.rows("ann", "SELECT * FROM s.w ORDER BY id") == [(1, None), (2, None), (3, None), (4, -1)]
    people.rows("ann", f"UPDATE s.w SET n = s.counted(id) WHERE {unknown} IS NULL AND {known} AND id < 3")
    people.rows(
        "ann", f"UPDATE s.w SET n = coalesce({unknown}, 30) WHERE id = 3 AND s.counted(1) = 2 AND s.counted(-1) = 0"
    )
    assert people.rows("ann", "SELECT * FROM s.w ORDER BY id") == [(1, 2), (2, 0), (3, 30), (4, -1)]
    people.rows(
        "ann",
        "MERGE INTO s.w USING (SELECT 3 AS id UNION ALL SELECT 9) x "
        f"ON s.w.id = x.id AND {unknown} IS NULL WHEN MATCHED AND {known} AND {unknown} IS NULL "
        f"THEN UPDATE SET n = s.counted(-1) WHEN NOT MATCHED THEN INSERT (id, n) VALUES (x.id, {unknown})",
    )
    assert people.rows("ann", "SELECT * FROM s.w ORDER BY id") == [(1, 2), (2, 0), (3, 0), (4, -1), (9, None)]
    people.rows("ann", f"DELETE FROM s.w WHERE coalesce({unknown}, 9) = id OR s.counted(1) = id")
    assert people.rows("ann", "SELECT * FROM s.w ORDER BY id") == [(1, 2), (3, 0), (4, -1)]
    error = people.refuse("ann", f"INSERT INTO s.w REPLACE WHERE coalesce({unknown}, 3) = id SELECT 3, 3")
    assert error.condition == "ROUTINE_SETTING_NOT_SUPPORTED.REPLACE_WHERE"
    people.rows("ann", "RESET")
    people.rows("ann", f"INSERT INTO s.w REPLACE WHERE coalesce({unknown}, 3) = id SELECT 3, 3")
    assert people.rows("ann", "SELECT * FROM s.w ORDER BY id") == [(1, 2), (3, 3), (4, -1)]


REFUSED: dict[str, tuple[str, tuple[str, str]]] = {
    "read by the optimizer": ("(SELECT count(*) FROM s.t WHERE id > k)", (LATE, "true")),
    "read with the caller's text": (
        "(SELECT count(*) FROM s.t WHERE typeof(X'41' || X'41') = 'binary')",
        (BINARY, "true"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_function_that_reads_for_its_caller_rejects_a_late_setting(people: People, changed: object, case: str) -> None:
    body, setting = REFUSED[case]
    people.rows("ann", f"CREATE OR REPLACE FUNCTION s.late(k BIGINT) RETURNS BIGINT RETURN {body}")
    people.rows("ann", "GRANT EXECUTE ON FUNCTION s.late TO eve")
    assert people.rows("eve", "SELECT s.late(0)") == [(3,)]
    _set(people, "eve", (setting,))
    assert people.refuse("eve", "SELECT s.late(0)").condition == "ROUTINE_SETTING_NOT_SUPPORTED"
    people.rows("ann", f"SET {setting[0]} = {setting[1]}")  # who may read the table by herself
    assert len(people.rows("ann", "SELECT s.late(0)")) == 1


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_no_setting_of_a_reader_changes_what_a_function_reads(people: People, changed: object, step: int) -> None:
    """Sets each flag that may change a value, or some of them; the function has the same value, or is rejected for the
    setting.
    """
    people.rows(
        "ann",
        """CREATE OR REPLACE FUNCTION s.digest(k INT) RETURNS STRING RETURN (
        SELECT concat_ws(',', count(*), sum(size(coalesce(tags, array()))), max(CAST(at AS STRING)), min(hour(at)),
            count_if(coalesce(size(tags), 0) = 1), sum(1.10BD / id), typeof(X'41' || X'41'), typeof(max(id) / 3BD),
            max(elt(1, n, 'x')), count_if(n IN ('1', 'x')), max(date_format(at, 'yyyy-MM-dd')), count_if(id NOT IN (9)),
            max(CAST(array(1, NULL) AS STRING)), max(CAST(named_struct('a', NULL) AS STRING)))
        FROM s.t WHERE id >= k AND id IN (SELECT id FROM s.t))""",
    )
    people.rows("ann", "GRANT EXECUTE ON FUNCTION s.digest TO eve")
    expected = people.rows("eve", "SELECT s.digest(1)")
    flags = [
        row for row in SETTINGS.values() if row.expected == "true or false" and captured_settings({row.key: "true"})
    ][::step]
    differing, refused = [], []
    for flag in flags:
        for value in ("true", "false"):
            people.rows("eve", f"SET {flag.key} = {value}")
            try:
                found = people.rows("eve", "SELECT s.digest(1)")
            except SqlError as error:
                refused.append((flag.key, value, error.condition))
                continue
            if found != expected:
                differing.append((flag.key, value, found))
        people.rows("eve", f"RESET {flag.key}")
    assert not differing
    assert {condition for _, _, condition in refused} == {"ROUTINE_SETTING_NOT_SUPPORTED"}
    assert 0 < len(refused) < len(flags)


def test_errors_name_the_function_and_not_its_text(people: People, sizes: None, changed: object) -> None:
    _set(people, "ann", ((ANSI, "false"), (SIZE, "true")))
    error = people.refuse("ann", "SELECT coalesce(s.size_of(NULL), 3) OVER (ORDER BY 1)")
    assert error.position is not None and "s.size_of(NULL)" in error.position.excerpt
    assert "__body" not in error.full_message and "%" not in error.full_message
    call = BODY_CALL + "('%7B%7D')"
    for text in (f"SELECT {call}", f"SELECT * FROM s.t WHERE `{call[:30]}`('') = 1"):
        assert people.refuse("ann", text).sqlstate == "42883"


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
