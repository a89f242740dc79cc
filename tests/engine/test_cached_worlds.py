"""The result cache after changes: a repeated query sees the current state, and its answer is cached again.

After each change, a query runs twice along with an uncached session, which adds a comment so that no plan is cached
either. Both return the same rows. The second answer comes from the cache unless it is not cacheable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.fresh_plans import afresh

pytestmark = pytest.mark.spark

ANN = Identity("ann", groups=frozenset({"staff"}))


class World:
    """Two sessions in one engine: one with a result cache and one without."""

    def __init__(self, engine: LakeEngine) -> None:
        self.engine = engine
        self.cached, self.plain = (engine.open_session(ANN, settings={}, catalog=None, schema=None) for _ in range(2))
        self.change("SET gateway.result_cache = off", self.plain)

    def change(self, text: str, *sessions: LakeSession) -> None:
        """Runs a change in one session if it is stored in the catalog, or in both if it is session state."""
        of_session = text.startswith(("SET ", "USE ", "DECLARE ", "RESET ", "*")) or " TEMPORARY " in text
        text = text.removeprefix("*")
        for each in sessions or ((self.cached, self.plain) if of_session else (self.cached,)):
            each.execute(text, StatementRequest(identity=ANN)).close()

    def ask(self, text: str, parameters: tuple[Parameter, ...] = ()) -> tuple[list[Any], bool]:
        """Returns the rows, after comparing them with the uncached session's, and if they came from the cache."""
        cache = self.engine._sources.results
        assert cache is not None
        before = cache.counts.hits
        found = _rows(self.cached, text, parameters)
        hit = cache.counts.hits > before
        expected = _rows(self.plain, afresh(text), parameters)
        assert found == expected, text
        return found, hit

    def close(self) -> None:
        self.cached.close()
        self.plain.close()


def _rows(session: LakeSession, text: str, parameters: tuple[Parameter, ...]) -> list[Any]:
    """Returns sorted rows, or the error condition."""
    try:
        result = session.execute(text, StatementRequest(identity=ANN), parameters)
        table = pa.Table.from_batches(result.batches(), result.schema)
        result.close()
    except SqlError as error:
        return [error.condition]
    return [table.column_names, *sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    options = EngineOptions(
        lake_folder=str(lake),
        allowed_roots=(str(lake),),
        result_cache_bytes=1 << 24,
        result_cache_entry_bytes=1 << 22,
    )
    return LakeEngine(open_sources(options), spark_driver)


@pytest.fixture
def world(engine: LakeEngine, request: pytest.FixtureRequest) -> Iterator[World]:
    """Creates a schema where `t` has one row."""
    opened = World(engine)
    name = f"w{abs(hash(request.node.name)) % 10**9}"
    opened.change(f"CREATE SCHEMA {name}")
    opened.change(f"USE {name}")
    opened.change("CREATE TABLE t AS SELECT 1L AS n, 'a' AS s, DATE '2026-01-02' AS d")
    yield opened
    opened.close()


@dataclass(frozen=True)
class Case:
    """`first` prepares; each item in `changes` changes the answer of `text`, or leaves it unchanged if it begins with
    `=`.
    """

    text: str
    changes: tuple[str, ...]
    first: tuple[str, ...] = ()
    cached: bool = True


CASES = {
    "time zone": Case(
        "SELECT CAST(TIMESTAMP '2026-01-01 00:00:00Z' AS STRING), n FROM t",
        ("SET TIME ZONE 'Asia/Tokyo'", "SET spark.sql.session.timeZone = America/New_York", "SET TIMEZONE = 'UTC'"),
    ),
    "ansi": Case(
        "SELECT CAST(s AS INT), n FROM t", ("SET ANSI_MODE = false", "SET spark.sql.ansi.enabled = true")
    ),
    "settings of queries": Case(
        "SELECT 1E2 AS x, size(CAST(NULL AS ARRAY<INT>)) FROM t",
        ("SET spark.sql.legacy.exponentLiteralAsDecimal.enabled = true", "SET spark.sql.ansi.enabled = false"),
    ),
    "current schema": Case(
        "SELECT n, s FROM t",
        ("USE beside_t", "USE default"),
        ("CREATE SCHEMA beside_t", "CREATE TABLE beside_t.t AS SELECT 2L AS n, 'x' AS s",
         "CREATE TABLE default.t AS SELECT 3L AS n, 'y' AS s"),
    ),
    "current schema asked for": Case("SELECT current_schema(), n FROM t", ("USE beside_s",),
        ("CREATE SCHEMA beside_s", "CREATE TABLE beside_s.t AS SELECT 1L AS n"),
    ),
    "variables": Case(
        "SELECT n + v FROM t", ("SET VAR v = 2", "SET VAR v = 3", "SET VAR v = NULL"), ("DECLARE v INT DEFAULT 1",)
    ),
    "the type of a variable": Case(
        "SELECT typeof(v), n FROM t",
        ("DECLARE OR REPLACE VARIABLE v BIGINT DEFAULT 1", "DECLARE OR REPLACE VARIABLE v STRING DEFAULT '1'"),
        ("DECLARE v INT DEFAULT 1",),
    ),
    "a view replaced": Case(
        "SELECT * FROM v",
        ("CREATE OR REPLACE VIEW v AS SELECT n + 1 AS n FROM t", "CREATE OR REPLACE VIEW v (m) AS SELECT n + 1 FROM t"),
        ("CREATE VIEW v AS SELECT n FROM t",),
    ),
    "a view below a view": Case(
        "SELECT * FROM top",
        ("CREATE OR REPLACE VIEW low AS SELECT n + 1 AS n FROM t", "INSERT INTO t VALUES (5, 'b', NULL)"),
        ("CREATE VIEW low AS SELECT n FROM t", "CREATE VIEW top AS SELECT sum(n) AS n FROM low"),
    ),
    "a table in place of a view": Case(
        "SELECT * FROM v",
        ("DROP VIEW v", "CREATE TABLE v AS SELECT 7L AS n", "DROP TABLE v", "CREATE VIEW v AS SELECT 8L AS n"),
        ("CREATE VIEW v AS SELECT n FROM t",),
    ),
    "a table made again": Case(
        "SELECT sum(n) FROM u",
        ("DROP TABLE u", "CREATE TABLE u AS SELECT 2L AS n", "CREATE OR REPLACE TABLE u AS SELECT 3L AS n"),
        ("CREATE TABLE u AS SELECT 1L AS n",),
    ),
    "a temporary view": Case(
        "SELECT * FROM v",
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT n + 1 AS n FROM t", "*DROP VIEW v"),
        ("CREATE VIEW v AS SELECT n FROM t", "CREATE TEMPORARY VIEW v AS SELECT n + 5 AS n FROM t"),
    ),
    "a function replaced": Case(
        "SELECT f(n) FROM t",
        ("CREATE OR REPLACE FUNCTION g(x BIGINT) RETURNS BIGINT RETURN x + 2",
         "CREATE OR REPLACE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN g(x) * 10"),
        ("CREATE FUNCTION g(x BIGINT) RETURNS BIGINT RETURN x + 1",
         "CREATE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN g(x)"),
    ),
    "a function of a table": Case(
        "SELECT f(1)",
        ("INSERT INTO t VALUES (5, 'b', NULL)",
         "CREATE OR REPLACE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN (SELECT max(n) FROM t) + x + 2"),
        ("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN (SELECT sum(n) FROM t) + x",),
    ),
    "the default of a function's parameter": Case(
        "SELECT f(), n FROM t",
        ("CREATE OR REPLACE FUNCTION f(x INT DEFAULT 2) RETURNS INT RETURN x",),
        ("CREATE FUNCTION f(x INT DEFAULT 1) RETURNS INT RETURN x",),
    ),
    "a mask": Case(
        "SELECT n, s FROM t",
        ("ALTER TABLE t ALTER COLUMN s SET MASK m", "CREATE OR REPLACE FUNCTION m(s STRING) RETURNS STRING RETURN '##'",
         "ALTER TABLE t ALTER COLUMN s DROP MASK"),
        ("CREATE FUNCTION m(s STRING) RETURNS STRING RETURN '***'",),
    ),
    "a mask for members": Case(
        "SELECT n, s FROM t",
        ("ALTER TABLE t ALTER COLUMN s SET MASK m",
         "=CREATE OR REPLACE FUNCTION m(s STRING) RETURNS STRING RETURN CASE WHEN is_member('staff') THEN '-' END",
         "CREATE OR REPLACE FUNCTION m(s STRING) RETURNS STRING RETURN CASE WHEN is_member('other') THEN '-' END"),
        ("CREATE FUNCTION m(s STRING) RETURNS STRING RETURN '-'",),
    ),
    "a row filter with a user": Case(
        "SELECT n, s FROM t",
        ("ALTER TABLE t SET ROW FILTER r ON (s)",
         "CREATE OR REPLACE FUNCTION r(s STRING) RETURNS BOOLEAN RETURN session_user() = 'ann'"),
        ("CREATE FUNCTION r(s STRING) RETURNS BOOLEAN RETURN s = current_user()",),
    ),
    "time travel": Case(
        "SELECT sum(n) FROM t VERSION AS OF 0",
        ("=INSERT INTO t VALUES (5, 'b', NULL)", "=DELETE FROM t", "=RESTORE TABLE t TO VERSION AS OF 0"),
    ),
    "rows come and go": Case(
        "SELECT n, s FROM t",
        ("INSERT INTO t VALUES (5, 'b', NULL)", "UPDATE t SET s = 'c' WHERE n = 5", "DELETE FROM t WHERE n = 1",
         "=OPTIMIZE t", "RESTORE TABLE t TO VERSION AS OF 1", "TRUNCATE TABLE t",
         "MERGE INTO t USING (SELECT 9L AS n) u ON t.n = u.n WHEN NOT MATCHED THEN INSERT (n) VALUES (u.n)"),
    ),
    "columns": Case(
        "SELECT * FROM t",
        (
            "ALTER TABLE t ADD COLUMN more INT",
            "=ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "ALTER TABLE t RENAME COLUMN s TO text",
            "ALTER TABLE t DROP COLUMN d",
        ),
    ),
    "a table renamed": Case(
        "SELECT n FROM t",
        ("ALTER TABLE t RENAME TO elsewhere", "CREATE TABLE t AS SELECT 4L AS n", "DROP TABLE t",
         "ALTER TABLE elsewhere RENAME TO t"),
    ),
    "a change feed": Case(
        "SELECT n, _change_type FROM table_changes('c', 1)",
        ("INSERT INTO c VALUES (2)", "UPDATE c SET n = 3 WHERE n = 2", "DELETE FROM c"),
        ("CREATE TABLE c (n BIGINT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", "INSERT INTO c VALUES (1)"),
    ),
    "a list of tables": Case(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
        ("CREATE TABLE u AS SELECT 1 AS n", "CREATE VIEW w AS SELECT 1 AS n", "DROP TABLE u"),
    ),
    "comments of columns": Case(
        "SELECT comment FROM information_schema.columns WHERE table_schema = current_schema()",
        ("COMMENT ON COLUMN t.n IS 'x'", "COMMENT ON COLUMN t.n IS 'y'"),
        cached=False,  # which tables it follows from is known when it is planned
    ),
    "an Iceberg table": Case(
        "SELECT * FROM i",
        ("INSERT INTO i VALUES (2)", "DELETE FROM i WHERE n = 1", "ALTER TABLE i ADD COLUMN more INT",
         "ALTER TABLE i RENAME COLUMN n TO m", "DROP TABLE i", "CREATE TABLE i USING iceberg AS SELECT 5L AS n"),
        ("CREATE TABLE i USING iceberg AS SELECT 1L AS n",),
    ),
    "an Iceberg branch": Case(
        "SELECT * FROM i VERSION AS OF 'b'",
        ("INSERT INTO i.branch_b VALUES (2)", "=INSERT INTO i VALUES (3)", "INSERT INTO i.branch_b VALUES (4)",
         "ALTER TABLE i CREATE OR REPLACE BRANCH b"),
        ("CREATE TABLE i USING iceberg AS SELECT 1L AS n", "ALTER TABLE i CREATE BRANCH b"),
    ),
    "an Iceberg tag": Case(
        "SELECT * FROM i VERSION AS OF 'b'",
        ("=INSERT INTO i VALUES (3)", "ALTER TABLE i CREATE OR REPLACE TAG b"),
        ("CREATE TABLE i USING iceberg AS SELECT 1L AS n", "ALTER TABLE i CREATE TAG b"),
    ),
    "snapshots of an Iceberg table": Case(
        "SELECT count(*) FROM i.snapshots",
        ("INSERT INTO i VALUES (3)", "DELETE FROM i"),
        ("CREATE TABLE i USING iceberg AS SELECT 1L AS n",),
    ),
    "the time": Case("SELECT n, now() > TIMESTAMP '2020-01-01' FROM t", (), cached=False),
    "the time in a view": Case(
        "SELECT * FROM v", ("=INSERT INTO t SELECT * FROM t WHERE false",),
        ("CREATE VIEW v AS SELECT n, current_date() > DATE '2020-01-01' AS x FROM t",), cached=False,
    ),
    "the time in a function": Case(
        "SELECT f(n) FROM t", (), ("CREATE FUNCTION f(x BIGINT) RETURNS BOOLEAN RETURN now() > DATE '2020-01-01'",),
        cached=False,
    ),
    "today in a function": Case(
        "SELECT f('today') > DATE '2020-01-01', n FROM t", (),
        ("CREATE FUNCTION f(x STRING) RETURNS DATE RETURN CAST(x AS DATE)",), cached=False,
    ),
    "today as a variable": Case(
        "SELECT CAST(v AS DATE) > DATE '2020-01-01', n FROM t", (), ("DECLARE v STRING DEFAULT 'today'",), cached=False
    ),
    "chance in a function": Case(
        "SELECT f(n) FROM t", (), ("CREATE FUNCTION f(x BIGINT) RETURNS BOOLEAN RETURN rand() < 2",), cached=False
    ),
    "time in a policy": Case(
        "SELECT n FROM t", (),
        ("CREATE FUNCTION f(x BIGINT) RETURNS BOOLEAN RETURN now() > DATE '2020-01-01'",
         "ALTER TABLE t SET ROW FILTER f ON (n)"),
        cached=False,
    ),
    "a sample in a view": Case(
        "SELECT count(*) < 2 FROM v", (), ("CREATE VIEW v AS SELECT n FROM t TABLESAMPLE (99.9 PERCENT)",), cached=False
    ),
    "a sample by a seed": Case(
        "SELECT count(*) < 2 FROM t TABLESAMPLE (50 PERCENT) REPEATABLE (3)", (), cached=False
    ),
    "chance in a CTE": Case("WITH c AS (SELECT rand() < 2 AS x FROM t) SELECT x FROM c", (), cached=False),
    "time in nanoseconds": Case("SELECT localtimestamp(9) > DATE '2020-01-01', n FROM t", (), cached=False),
    "time of the day": Case("SELECT current_time(3) IS NULL, n FROM t", (), cached=False),
    "curdate": Case("SELECT curdate() > DATE '2020-01-01', n FROM t", (), cached=False),
    "unix_timestamp with a format": Case("SELECT unix_timestamp() > 5, n FROM t", (), cached=False),
    "timestamp of today": Case(
        "SELECT TIMESTAMP\u00a0'today' > DATE '2020-01-01', n FROM t", (), cached=False
    ),
    "whose partitions": Case("SELECT input_file_block_start() >= 0, n FROM t", (), cached=False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_answer_is_that_of_the_world_as_it_is(world: World, case: Case) -> None:
    for text in case.first:
        world.change(text)
    before, hit = world.ask(case.text)
    for change in ("", *case.changes):
        if change:
            world.change(change.removeprefix("="))
            after, hit = world.ask(case.text)
            assert (after == before) == change.startswith("="), change
            before = after
        if isinstance(before[0], list):  # no error
            found, hit = world.ask(case.text)
            assert found == before, change
            assert hit == case.cached, change


PARAMETERS = (
    ("SELECT n + ?, typeof(?) FROM t", ("INT", "1"), ("INT", "2"), ("BIGINT", "1"), ("STRING", "1"), ("INT", None)),
    ("SELECT n, ? FROM t", ("TIMESTAMP", "2026-01-01 00:00:00"), ("TIMESTAMP", "2026-01-01 00:00:01")),
    ("SELECT n, ? FROM t", ("STRING", "a"), ("STRING", "A"), ("STRING", " a"), ("STRING", "a "), ("STRING", "")),
    ("SELECT n, ? FROM t", ("DECIMAL(5,2)", "1.50"), ("DECIMAL(5,1)", "1.50"), ("DECIMAL(6,2)", "1.50")),
)


@pytest.mark.parametrize("query", PARAMETERS, ids=[text for text, *_ in PARAMETERS])
def test_values_of_markers_have_answers_of_their_own(world: World, query: tuple[Any, ...]) -> None:
    text, *values = query
    for repeated in (False, True):
        for sql_type, value in values:
            markers = tuple(Parameter(value=value, sql_type=sql_type) for _ in range(text.count("?")))
            assert world.ask(text, markers)[1] == repeated, (sql_type, value)


@pytest.mark.parametrize("sql_type", ["DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING"])
@pytest.mark.parametrize("value", ["today", " Now", "yesterday"])
def test_result_with_marker_for_now_is_not_cached(world: World, sql_type: str, value: str) -> None:
    markers = (Parameter(value=value, sql_type=sql_type),)
    for _ in range(2):
        assert not world.ask("SELECT CAST(? AS DATE) > DATE '2020-01-01', n FROM t", markers)[1]


DISTINCT_TEXTS = (
    ("SELECT 'a b', n FROM t", "SELECT 'a  b', n FROM t", "SELECT 'A b', n FROM t", "SELECT 'a\tb', n FROM t"),
    ("SELECT 'a -- b', n FROM t", "SELECT 'a /* x */ -- b', n FROM t", "SELECT 'a' /* x */, n FROM t"),
    ("SELECT n AS x FROM t", "SELECT n AS X FROM t", "SELECT n AS `x ` FROM t", "SELECT n AS ` x` FROM t"),
    ("SELECT s = 'A' FROM t", "SELECT s = 'A' COLLATE UTF8_LCASE FROM t", "SELECT s COLLATE UNICODE_CI = 'A' FROM t"),
    (r"SELECT 'a\tb', n FROM t", r"SELECT r'a\tb', n FROM t"),
    (
        "SELECT 1, n FROM t",
        "SELECT 1L, n FROM t",
        "SELECT 1.0, n FROM t",
        "SELECT 1e0, n FROM t",
        "SELECT '1', n FROM t",
    ),
    ("SELECT n - 1 FROM t", "SELECT n -- 1\n FROM t", "SELECT n /* 1 */ FROM t WHERE n > 0"),
    ("SELECT n FROM t", "SELECT N FROM t", "SELECT t.n AS m FROM t", "SELECT x.n n1 FROM t x"),
)


@pytest.mark.parametrize("texts", DISTINCT_TEXTS, ids=[texts[0] for texts in DISTINCT_TEXTS])
def test_texts_that_mean_something_else_have_answers_of_their_own(world: World, texts: tuple[str, ...]) -> None:
    first = [world.ask(text)[0] for text in texts]
    assert [world.ask(text) for text in texts] == [(rows, True) for rows in first]


def test_only_comments_and_white_space_do_not_count(world: World) -> None:
    world.ask("SELECT n  AS x,s FROM t -- who asks")
    for text in (
        "SELECT n AS x,s FROM t",
        "  SELECT /* a /* b */ c */ n\nAS\tx,s FROM t;",
        "SELECT n AS x,s--\n FROM t",
    ):
        assert world.ask(text)[1], text
    assert not world.ask("SELECT /*+ REPARTITION(2) */ n AS x,s FROM t")[1], "a hint is no comment"


def test_temporary_views_of_one_name_have_answers_of_their_own(world: World) -> None:
    world.change("CREATE TEMPORARY VIEW v AS SELECT n + 1 AS n FROM t", world.cached)
    world.change("CREATE TEMPORARY VIEW v AS SELECT n + 2 AS n FROM t", world.plain)
    world.change("SET gateway.result_cache = on", world.plain)
    for _ in range(2):
        assert [_rows(each, "SELECT n FROM v", ())[1] for each in (world.cached, world.plain)] == ["(2,)", "(3,)"]


def test_a_scripts_variable_counts(world: World) -> None:
    for value in (1, 2, 1):
        rows, _ = world.ask(f"BEGIN DECLARE x INT DEFAULT {value}; SELECT n, x FROM t; END")
        assert rows[1] == f"(1, {value})"
