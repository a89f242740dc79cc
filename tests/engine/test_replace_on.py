"""INSERT … REPLACE ON: rows that match a query row by the condition are replaced, as in DuckDB."""

from __future__ import annotations

import datetime as dt
import uuid
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest, with_changes
from tests.engine.lake_sessions import actions, refuse, rows, run, table_of, version_of
from tests.samples import with_slow

pytestmark = pytest.mark.spark

OLD = [(1, "a", 1), (2, None, 1), (3, "c", 2), (4, "d", None), (None, "e", 2)]
NEW = [(1, "c", 7), (2, None, 1), (None, "x", 2), (9, "e", None)]
LAYOUTS = {
    "plain": "",
    "partitioned": " PARTITIONED BY (p)",
    "by name": " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "partitioned by id": " PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
}
CONDITIONS = [
    "t.k = q.k",
    "t.k <=> q.k",
    "T.K = Q.K and t.s = q.s",
    "t.k = q.k OR t.s = q.s",
    "abs(t.k - q.k) = 1",
    "t.s = q.s AND NOT (t.p = q.p)",
    "t.k IN (1, 2)",
    "t.k > 100",
    "q.k = 9",
    "q.p = 100",
    "true",
    "false",
    "t.k = NULL",
    "CASE WHEN t.p = 1 THEN q.k = 9 ELSE t.k = q.k END",
    "t.p = q.p AND (t.k < q.k OR q.k IS NULL)",
    "-- which\n t.p = q.p /* they are */",
]
# Each condition in two layouts, the slow ones are the second.
LAID_OUT = [
    *with_slow(zip(CONDITIONS, cycle(LAYOUTS.values())), slow=()),
    *with_slow(zip(CONDITIONS[1:], cycle(LAYOUTS.values())), slow=range(len(CONDITIONS))),
]


@pytest.fixture(params=LAYOUTS.values(), ids=[*LAYOUTS])
def things(session: LakeSession, request: pytest.FixtureRequest) -> None:
    """Two files at least."""
    run(session, "DROP TABLE IF EXISTS things")
    run(session, f"CREATE TABLE things (k INT, s STRING, p INT){request.param}")
    run(session, f"INSERT INTO things VALUES {_values(OLD[:2])}")
    run(session, f"INSERT INTO things VALUES {_values(OLD[2:])}")


def _values(values: list[tuple[Any, ...]]) -> str:
    return ", ".join(f"({', '.join('NULL' if item is None else repr(item) for item in row)})" for row in values)


def _order(row: tuple[Any, ...]) -> str:
    return str(row)


def _remaining_rows(condition: str, new: list[tuple[Any, ...]] = NEW) -> list[tuple[Any, ...]]:
    """Returns the old rows that stay, by DuckDB."""
    condition = condition.replace("<=>", "IS NOT DISTINCT FROM")
    texts = [f"(VALUES {_values(each)}) AS {name}(k, s, p)" for each, name in ((OLD, "t"), (new, "q"))]
    return duckdb.sql(f"SELECT * FROM {texts[0]} WHERE NOT EXISTS (FROM {texts[1]} WHERE {condition}\n)").fetchall()


@pytest.mark.parametrize(("condition", "things"), LAID_OUT, indirect=["things"])
def test_rows_with_a_related_one_are_replaced(session: LakeSession, lake: Path, things: None, condition: str) -> None:
    source = f"SELECT col1 AS k, col2 AS s, col3 AS p FROM VALUES {_values(NEW)}"
    assert run(session, f"INSERT INTO things AS t REPLACE ON {condition} ({source}) AS q") == len(NEW)
    expected = sorted([*_remaining_rows(condition), *NEW], key=_order)
    assert sorted(rows(session, "SELECT * FROM things"), key=_order) == expected
    (info,) = [action["commitInfo"] for action in actions(lake, "things", 3) if "commitInfo" in action]
    assert "\n" not in info["operationParameters"]["replaceOnCond"]
    assert info["operationMetrics"].get("numDeletedRows", "0") == str(len(OLD) - len(_remaining_rows(condition)))


WRITTEN = [
    ("INTO things t REPLACE ON t.k = q.k (SELECT 1 AS k, 'z' AS s, 3 AS p) q", [1]),
    ("INTO things REPLACE ON things.k = q.k (SELECT 1 AS k, 'z' AS s, 3 AS p) AS q", [1]),
    ("INTO default.things REPLACE ON default.things.k = q.k (SELECT 1 AS k, 'z' AS s, 3 AS p) AS q", [1]),
    ("INTO things REPLACE ON spark_catalog.default.Things.k = a SELECT 1 AS a, 'z' AS b, 3 AS c", [1]),
    ("INTO things AS t REPLACE ON t.k = a WITH c AS (SELECT 1 AS a) SELECT a, 'z' AS b, 3 AS c FROM c", [1]),
    ("INTO things AS t REPLACE ON t.k = col1 VALUES (2, 'z', 3), (5, 'y', 3)", [2]),
    ("INTO things AS t REPLACE ON t.k = q.k (SELECT k + 1 AS k, s, p FROM things) AS q", [2, 3, 4]),
    ("INTO things AS t BY NAME REPLACE ON t.k = q.k (SELECT 3 AS p, 'z' AS s, 1 AS k) AS q", [1]),
    ("INTO things AS t REPLACE ON t.k = q.k (SELECT * FROM things WHERE false) AS q", []),
    ("INTO things AS t REPLACE ON true SELECT * FROM things WHERE false", []),
    # values that are stored as others
    ("INTO things AS t REPLACE ON t.k = q.k (SELECT 1.6D AS k, 'z' AS s, 3 AS p) AS q", []),
    ("INTO things AS t REPLACE ON t.k = q.k (SELECT 1.0D AS k, NULL AS s, 3 AS p) AS q", [1]),
    ("INTO things AS t REPLACE ON t.k = q.k AND typeof(q.k) = 'bigint' (SELECT 1L AS k, 'z' AS s, 3 AS p) AS q", [1]),
    ("INTO things AS t REPLACE ON t.k <=> q.k (SELECT NULL AS k, NULL AS s, 3 AS p) AS q", [None]),
]


@pytest.mark.parametrize(
    ("things", "text", "gone"),
    [
        pytest.param(layout, *each, marks=pytest.mark.slow if (row + column) % len(LAYOUTS) else ())
        for row, each in enumerate(WRITTEN)
        for column, layout in enumerate(LAYOUTS.values())
    ],
    indirect=["things"],
)
def test_however_it_is_written(
    session: LakeSession, lake: Path, things: None, text: str, gone: list[int | None]
) -> None:
    """Each text in one layout; the slow ones are the others."""
    before = set((lake / "default" / "things").rglob("*.parquet"))
    run(session, f"INSERT {text}")
    left = rows(session, "SELECT * FROM things")
    for row in OLD:
        assert (row in left) == (row[0] not in gone), row
    is_new = version_of(lake, "things") == 3  # unless no rows come and go
    live = {action["add"]["path"] for action in actions(lake, "things", 3) if "add" in action} if is_new else set()
    written = set((lake / "default" / "things").rglob("*.parquet")) - before
    assert len(written) == len(live), "nothing is left of what only the statement needed"


@pytest.mark.parametrize("stored", ["INT", "DECIMAL(12, 6)"])
def test_replace_on_evaluates_a_random_query_once(session: LakeSession, stored: str) -> None:
    """Each random row that came took away the row with its key, and no other row is gone."""
    run(session, "DROP TABLE IF EXISTS dice")
    run(session, f"CREATE TABLE dice (k {stored}, is_new BOOLEAN)")
    run(session, "INSERT INTO dice SELECT id, false FROM range(0, 200, 1, 2)")
    run(
        session,
        "INSERT INTO dice AS t REPLACE ON t.k = q.k"
        " (SELECT CAST(floor(rand() * 200) AS INT) AS k, true FROM range(0, 60, 1, 3)) AS q",
    )
    new = [int(k) for k, is_new in rows(session, "SELECT * FROM dice") if is_new]
    old = sorted(int(k) for k, is_new in rows(session, "SELECT * FROM dice") if not is_new)
    assert len(new) == 60 and old == [k for k in range(200) if k not in new]


@pytest.mark.parametrize("feed", ["false", "true"])
@pytest.mark.parametrize("old", ["q.old", "old"])
def test_columns_that_come_with_the_statement_can_decide(session: LakeSession, lake: Path, feed: str, old: str) -> None:
    run(session, "DROP TABLE IF EXISTS grows")
    run(session, f"CREATE TABLE grows (k INT, s STRING) TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}')")
    run(session, "INSERT INTO grows VALUES (1, 'a'), (2, 'b'), (4, 'd')")
    run(
        session,
        f"INSERT WITH SCHEMA EVOLUTION INTO grows AS t REPLACE ON t.k = {old}"
        " (SELECT col1 AS k, col2 AS s, col3 AS old FROM VALUES (10, 'x', 1), (20, 'y', 3)) AS q",
    )
    assert rows(session, "SELECT * FROM grows ORDER BY k") == [
        (2, "b", None),
        (4, "d", None),
        (10, "x", 1),
        (20, "y", 3),
    ]
    assert len(table_of(lake, "grows")) == 4
    if feed == "true":
        reported = rows(session, "SELECT _change_type, k, old FROM table_changes('grows', 2) ORDER BY k")
        assert reported == [("delete", 1, None), ("insert", 10, 1), ("insert", 20, 3)]


def test_now_is_one_moment_for_all_that_a_statement_runs(session: LakeSession, lake: Path) -> None:
    """The jobs' clock continues; the statement's instant is long ago."""
    instant = dt.datetime(2024, 2, 29, 23, 59, 59, 123456, dt.UTC)
    request = StatementRequest(identity=Identity("ann"), instant_us=int(instant.timestamp()) * 10**6 + 123456)

    def ask(text: str) -> list[Any]:
        result = session.execute(text, with_changes(request, statement_id=uuid.uuid4().hex))
        try:
            return [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]
        finally:
            result.close()

    run(session, "SET TIME ZONE 'Asia/Tokyo'")
    query = "SELECT current_timestamp(), now(), current_date(), localtimestamp(), (SELECT max(unix_timestamp()))"
    assert ask(query) == [
        (
            instant,
            instant,
            dt.date(2024, 3, 1),
            dt.datetime(2024, 3, 1, 8, 59, 59, 123456),
            int(instant.timestamp()),
        )
    ]
    parts = "CAST(current_time() AS STRING), CAST(current_time(3) AS STRING), hour(localtime())"
    assert ask(f"SELECT {parts}") == [("08:59:59.123456", "08:59:59.123", 8)]
    run(session, "CREATE TABLE timed (k INT, at TIMESTAMP) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    ask("INSERT INTO timed SELECT id, current_timestamp() + make_dt_interval(0, 0, 0, id) FROM range(-2, 3, 1, 1)")
    ask("INSERT INTO timed REPLACE WHERE at < current_timestamp() SELECT -9, current_timestamp() - INTERVAL 1 DAY")
    assert rows(session, "SELECT k FROM timed ORDER BY k") == [(-9,), (0,), (1,), (2,)]
    ask("INSERT INTO timed AS t REPLACE ON t.at > now() (SELECT 9, current_timestamp()) AS q")
    assert rows(session, "SELECT k FROM timed ORDER BY k") == [(-9,), (0,), (9,)]
    reported = rows(session, "SELECT _change_type, k FROM table_changes('timed', 2) ORDER BY _commit_version, k")
    assert reported == [("insert", -9), ("delete", -2), ("delete", -1), ("delete", 1), ("delete", 2), ("insert", 9)]


def test_padded_texts_are_compared_as_the_query_has_them(session: LakeSession) -> None:
    run(session, "CREATE TABLE padded (c CHAR(4), n INT)")
    run(session, "INSERT INTO padded VALUES ('a', 1), ('b', 2)")
    for text, left in (("'a'", 3), ("'a   '", 2)):
        run(session, f"INSERT INTO padded AS t REPLACE ON t.c = q.c (SELECT {text} AS c, 3 AS n) AS q")
        assert len(rows(session, "SELECT * FROM padded")) == left


_Q = "(SELECT 1 AS k, 'z' AS s, 3 AS p) AS q"
REFUSED = [
    (f"AS t REPLACE ON k = 1 {_Q}", "DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION"),
    (f"AS q REPLACE ON q.k = q.k {_Q}", "DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION"),
    (f"AS t REPLACE ON t.nope = 1 {_Q}", "DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION"),
    (f"AS t REPLACE ON things.k = q.k {_Q}", "DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION"),
    ("AS t REPLACE ON t.k = z.k SELECT * FROM things AS z", "DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION"),
    (f"AS t REPLACE ON t.k + q.k {_Q}", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    (f"AS t REPLACE ON t.k = rand() {_Q}", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
    (f"AS t REPLACE ON t.k = max(q.k) {_Q}", "DELTA_AGGREGATION_NOT_SUPPORTED"),
    (f"AS t REPLACE ON t.k = row_number() OVER (ORDER BY q.k) {_Q}", "INVALID_WHERE_CONDITION"),
    (f"AS t REPLACE ON t.k = (SELECT 1) {_Q}", "DELTA_UNSUPPORTED_SUBQUERY"),
    (f"AS t REPLACE ON t.k IN (SELECT k FROM things) {_Q}", "DELTA_UNSUPPORTED_SUBQUERY"),
    (f"AS t REPLACE ON t._metadata.file_path = 'x' {_Q}", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    (f"AS t (k, s, p) REPLACE ON t.k = q.k {_Q}", "INSERT_REPLACE_ON_COLUMN_LIST_NOT_ALLOWED"),
    ("AS t REPLACE ON t.k = q.k (SELECT 1 AS k) AS q", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"),
    ("AS t SELECT 1, 'z', 3", "PARSE_SYNTAX_ERROR"),
    ("AS t REPLACE WHERE k = 1 SELECT 1, 'z', 3", "INSERT_REPLACE_WHERE_TABLE_ALIAS_NOT_ALLOWED"),
]


@pytest.mark.parametrize("things", [""], indirect=True)
@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_ambiguous_replace_on_changes_nothing(
    session: LakeSession, lake: Path, things: None, text: str, condition: str
) -> None:
    before = sorted((lake / "default" / "things").rglob("*.parquet"))
    assert refuse(session, f"INSERT INTO things {text}").condition == condition
    assert version_of(lake, "things") == 2
    assert sorted((lake / "default" / "things").rglob("*.parquet")) == before
