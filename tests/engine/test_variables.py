"""Session variables, EXECUTE IMMEDIATE and scripts: the same statements in our session and in plain Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from catalog.conditions import StatementCancelled
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from engine.statements.scripting.grammar_declarations import KNOWN_CONDITIONS
from tests.engine.lake_sessions import table
from tests.fix_spark import INTERPRETED

pytestmark = pytest.mark.spark


@pytest.fixture
def session(tmp_path: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    (tmp_path / "default").mkdir()
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def answered(session: LakeSession, text: str) -> Any:
    """Returns the rows, or condition and SQLSTATE."""
    try:
        found = table(session, text)
    except SqlError as error:
        return error.condition, error.sqlstate
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


class PlainSpark:
    """A stock Spark session, in our session's process."""

    def __init__(self, driver: SparkDriver) -> None:
        self._jvm: Any = driver.process.gateway.jvm
        self._session = self._jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get().newSession()
        for key, value in INTERPRETED.items():
            self._session.conf().set(key, value)
        for key in ("enabled", "continueHandlerEnabled", "cursorEnabled"):
            self._session.conf().set(f"spark.sql.scripting.{key}", "true")
        self._session.conf().set("spark.sql.session.timeZone", "UTC")

    def answered(self, text: str) -> Any:
        try:
            rows = self._session.sql(text).collectAsList()
        except Py4JJavaError as error:
            known = json.loads(self._jvm.deltagateway.protocol.ExceptionDetails.describe(error.java_exception))
            return known["condition"], known["sqlstate"]
        return [tuple(row.get(column) for column in range(row.length())) for row in rows]


VARIABLES = [
    "DECLARE x",
    "SELECT x",
    "DECLARE VARIABLE y INT",
    "DECLARE VARIABLE y INT",
    "DECLARE OR REPLACE VARIABLE y INT DEFAULT 5",
    "SELECT y, session.y, system.session.y, Y",
    "SELECT y.y",
    "SELECT nosuch.y",
    "DECLARE a1, a2, a3 INT = 7",
    "SELECT a1, a2, a3",
    "DECLARE b1, b1 INT",
    "DECLARE foo.q INT",
    "DECLARE session.q1 INT DEFAULT 3",
    "DECLARE system.session.q2 INT DEFAULT q1 + 1",
    "SELECT q1, q2",
    "DECLARE s1 INT DEFAULT (SELECT 1)",
    "DECLARE s2 INT DEFAULT 'abc'",
    "DECLARE s3 INT DEFAULT '12'",
    "DECLARE s4 TINYINT DEFAULT 1000",
    "DECLARE s5 INT DEFAULT nosuch",
    "DECLARE s6 DEFAULT sum(1)",
    "DECLARE s7 INT NOT NULL",
    "DECLARE s8 DEFAULT named_struct('p', 1, 'q', array('x'))",
    "SELECT s3, s8.p, session.s8.q[0]",
    "SET VAR y = 10",
    "SET VARIABLE y = '11'",
    "SELECT y",
    "SET VAR y = 'abc'",
    "SET VAR y = DEFAULT",
    "SELECT y",
    "SET VAR y = DEFAULT + 1",
    "SET VAR nosuch = 1",
    "SET VAR y = nosuch",
    "SET VAR y = 1, session.y = 2",
    "SET VAR a1 = 1, a2 = a1 + 1, a3 = y",
    "SELECT a1, a2, a3",
    "SET VAR a1 = a3, a2 = a1",
    "SELECT a1, a2, a3",
    "SET VAR (a1, a2) = (SELECT 3, 4)",
    "SET VAR (a1, a2) = (SELECT 3)",
    "SET VAR (a1, a2) = (SELECT DEFAULT, 8)",
    "SELECT a1, a2",
    "SET VAR (a1, a2) = (VALUES (1, 2), (3, 4))",
    "SET VAR (a1, a2) = (SELECT 1, 2 WHERE false)",
    "SELECT a1, a2",
    "SET VAR a1 = (SELECT max(id) FROM range(9))",
    "SET VAR a2 = (SELECT id FROM range(2))",
    "SELECT a1, a2",
    "SET VAR a1 = 3000000000",
    "SET VAR foo.y = 1",
    "SET y = 3",
    "SET VAR y",
    "SELECT id, a3 FROM range(2) t(id)",
    "SELECT a3, session.a3 FROM VALUES (100) t(a3)",
    "SELECT 1 AS a3, a3",
    "SELECT * FROM range(9) ORDER BY id LIMIT a3",
    "SELECT a3 AS k, count(*) FROM range(3) GROUP BY a3",
    "SELECT transform(array(1), a3 -> a3 + 1)[0]",
    "CREATE VIEW v1 AS SELECT a3",
    "DROP TEMPORARY VARIABLE y",
    "DROP TEMPORARY VARIABLE y",
    "DROP TEMPORARY VARIABLE IF EXISTS y",
    "DROP TEMPORARY VARIABLE foo.a3",
    "DROP TEMPORARY VARIABLE session.a3",
    "SELECT a3",
]

IMMEDIATE = [
    "DECLARE q STRING DEFAULT 'SELECT 42'",
    "DECLARE i, j INT DEFAULT 1",
    "EXECUTE IMMEDIATE 'SELECT ? + ?' USING 1, 2",
    "EXECUTE IMMEDIATE 'SELECT :a + :b' USING 1 AS a, 2 AS b",
    "EXECUTE IMMEDIATE 'SELECT :a + :b' USING (1 AS a, 2 AS b)",
    "EXECUTE IMMEDIATE 'SELECT :a' USING 1",
    "EXECUTE IMMEDIATE 'SELECT ?' USING 1 AS a",
    "EXECUTE IMMEDIATE 'SELECT 1' USING 1",
    "EXECUTE IMMEDIATE 'SELECT :a + ?' USING 1 AS a, 2",
    "EXECUTE IMMEDIATE q",
    "EXECUTE IMMEDIATE q INTO i",
    "SELECT i",
    "EXECUTE IMMEDIATE q INTO i, j",
    "EXECUTE IMMEDIATE q INTO i, i",
    "EXECUTE IMMEDIATE 'SELECT 1 WHERE false' INTO i",
    "SELECT i",
    "EXECUTE IMMEDIATE 'SELECT id FROM range(2)' INTO i",
    "EXECUTE IMMEDIATE 'SELECT id + 5 FROM range(?)' INTO session.i USING 1",
    "SELECT i",
    "EXECUTE IMMEDIATE 'SELECT ''abc''' INTO i",
    "EXECUTE IMMEDIATE 'SET VAR i = 77'",
    "EXECUTE IMMEDIATE 'SET VAR i = 77' INTO j",
    "EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''SELECT i'''",
    "EXECUTE IMMEDIATE 'BEGIN SELECT 5; END'",
    "EXECUTE IMMEDIATE i",
    "EXECUTE IMMEDIATE NULL",
    "EXECUTE IMMEDIATE cast(null as string)",
    "EXECUTE IMMEDIATE concat('SELECT ', i)",
    "EXECUTE IMMEDIATE nosuch",
    "EXECUTE IMMEDIATE 'SELECT :i + 1' USING i",
    "EXECUTE IMMEDIATE 'SELECT ?' USING (SELECT 1)",
    "EXECUTE IMMEDIATE (SELECT 'SELECT 1')",
    "EXECUTE IMMEDIATE 'SELECT ?[1]' USING array(1, i)",
    "EXECUTE IMMEDIATE 'SELECT :a' USING 1 AS a, 2 AS a",
    "EXECUTE IMMEDIATE 'SELEC i'",
    "EXECUTE IMMEDIATE ''",
    "EXECUTE IMMEDIATE 'DECLARE kk INT DEFAULT 3'",
    "SELECT kk",
]

SCRIPTS = [
    "DECLARE i INT DEFAULT 5",
    "BEGIN SELECT 1; SELECT 2; END",
    "BEGIN END",
    "BEGIN NOT ATOMIC SELECT 1; END;",
    "BEGIN DECLARE x INT DEFAULT 3; SET x = x + 1; SELECT x; END",
    "BEGIN DECLARE x INT DEFAULT 3; DECLARE x INT; END",
    "BEGIN DECLARE x INT DEFAULT 3; BEGIN DECLARE x INT DEFAULT 9; SET x = 8; END; SELECT x; END",
    "BEGIN l1: BEGIN DECLARE x INT = 3; l2: BEGIN DECLARE x INT = 9; SELECT l1.x, l2.x, x; END l2; END l1; END",
    "BEGIN DECLARE OR REPLACE VARIABLE x INT; END",
    "BEGIN DECLARE a, b INT DEFAULT 4; SET (a, b) = (SELECT 30, b); SELECT a, b; END",
    "BEGIN DECLARE session.zz INT DEFAULT 4; SELECT zz; END",
    "BEGIN DECLARE i INT DEFAULT 1000; SET session.i = 3; SELECT i, session.i; END",
    "BEGIN SELECT 1; DECLARE x INT; END",
    "BEGIN IF true THEN DECLARE x INT; END IF; END",
    "BEGIN DECLARE a INT DEFAULT 6; SET a = 1; SET a = DEFAULT; SELECT a; END",
    "BEGIN SET nosuch = 1; END",
    "BEGIN SET VAR i = 5; END",
    "BEGIN DROP TEMPORARY VARIABLE i; END",
    "BEGIN DECLARE x INT DEFAULT (SELECT 5); SELECT x; END",
    "BEGIN DECLARE x INT = 5; DECLARE y INT = x + 1; SELECT y; END",
    "BEGIN DECLARE x INT = 5; SELECT x FROM VALUES (1) t(x); END",
    "BEGIN IF 1 = 1 THEN SELECT 'a'; ELSEIF true THEN SELECT 'b'; ELSE SELECT 'c'; END IF; END",
    "BEGIN IF NULL THEN SELECT 'a'; ELSE SELECT 'c'; END IF; END",
    "BEGIN IF cast(null as boolean) THEN SELECT 'a'; ELSE SELECT 'c'; END IF; END",
    "BEGIN IF (SELECT true WHERE false) THEN SELECT 'a'; ELSE SELECT 'c'; END IF; END",
    "BEGIN IF (SELECT id = 1 FROM range(3)) THEN SELECT 'a'; ELSE SELECT 'c'; END IF; END",
    "BEGIN IF CASE WHEN 1 = 1 THEN true ELSE false END THEN SELECT 'a'; END IF; END",
    "BEGIN CASE 2 WHEN 1 THEN SELECT 'one'; WHEN '2' THEN SELECT 'two'; ELSE SELECT 'x'; END CASE; END",
    "BEGIN CASE WHEN 1 = 2 THEN SELECT 'one'; ELSE SELECT 'x'; END CASE; END",
    "BEGIN CASE NULL WHEN NULL THEN SELECT 'one'; ELSE SELECT 'two'; END CASE; END",
    "BEGIN CASE WHEN 1 THEN SELECT 'one'; END CASE; END",
    "BEGIN DECLARE x INT DEFAULT 0; WHILE x < 3 DO SET x = x + 1; SELECT x; END WHILE; END",
    "BEGIN DECLARE x INT DEFAULT 0; REPEAT SET x = x + 1; UNTIL x >= 5 END REPEAT; SELECT x; END",
    "BEGIN DECLARE x, s INT = 0; l: LOOP SET x = x + 1; IF x = 2 THEN ITERATE l; END IF; IF x > 4 THEN LEAVE l; END IF;"
    " SET s = s + x; END LOOP l; SELECT x, s; END",
    "BEGIN LEAVE nosuch; END",
    "BEGIN l: BEGIN SELECT 1; LEAVE l; SELECT 2; END; END",
    "BEGIN l: BEGIN ITERATE l; END; END",
    "BEGIN l: LOOP LEAVE l; END LOOP m; END",
    "BEGIN LOOP SELECT 1; END LOOP m; END",
    "BEGIN l: LOOP l: LOOP LEAVE l; END LOOP; LEAVE l; END LOOP; END",
    "BEGIN session: BEGIN SELECT 1; END; END",
    "BEGIN DECLARE s INT DEFAULT 0; FOR r AS SELECT id, id * 2 AS d FROM range(4) DO SET s = s + r.id * d; END FOR;"
    " SELECT s; END",
    "BEGIN DECLARE s INT DEFAULT 0; FOR SELECT id AS k FROM range(4) DO SET s = s + k; END FOR; SELECT s; END",
    "BEGIN FOR r AS SELECT 1 AS a, 2 AS a DO SELECT a; END FOR; END",
    "BEGIN FOR r AS SELECT named_struct('p', 1) AS s, array(1, 2) AS arr DO SELECT s.p, arr[1]; END FOR; END",
    "BEGIN l: FOR r AS SELECT id FROM range(9) ORDER BY id DO IF r.id = 2 THEN LEAVE l; END IF; SELECT r.id; END FOR;"
    " END",
    "BEGIN FOR r AS SELECT id FROM range(3) ORDER BY id DO FOR q AS SELECT r.id AS k DO SELECT r.id, q.k, k; END FOR;"
    " END FOR; END",
    "BEGIN SELECT 1/0; SELECT 'after'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 'caught'; END; SELECT 1/0; SELECT 'after'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE VALUE '22012', SQLSTATE '22018' SELECT 'div'; SELECT 1/0; END",
    "BEGIN DECLARE x INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR DIVIDE_BY_ZERO SET x = x + 1; SELECT 1/0;"
    " BEGIN SELECT 1/0; SET x = x + 10; END; SELECT x; END",
    "BEGIN DECLARE x INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET x = x + 1; IF 1/0 = 1 THEN SELECT 1;"
    " ELSE SELECT 2; END IF; CASE 1/0 WHEN 1 THEN SELECT 1; END CASE; FOR r AS SELECT 1/0 AS q DO SELECT 1; END FOR;"
    " SELECT x; END",
    "BEGIN DECLARE EXIT HANDLER FOR NOT FOUND SELECT 'none'; SELECT 1 WHERE false; SELECT 'after'; END",
    "BEGIN BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'inner'; SELECT 1/0; SELECT 'no'; END; SELECT 'on'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'outer'; BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '22018'"
    " SELECT 'inner'; SELECT 1/0; END; SELECT 'after'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'any'; DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO SELECT 'div';"
    " DECLARE EXIT HANDLER FOR SQLSTATE '22012' SELECT 'state'; SELECT 1/0; END",
    "BEGIN DECLARE EXIT HANDLER FOR UNRESOLVED_COLUMN SELECT 'unresolved'; SELECT nosuch; END",
    "BEGIN DECLARE EXIT HANDLER FOR TABLE_OR_VIEW_NOT_FOUND SELECT 'no table'; SELECT * FROM nosuch; END",
    "BEGIN DECLARE EXIT HANDLER FOR USER_RAISED_EXCEPTION SELECT 'raised'; SELECT raise_error('boom'); END",
    "BEGIN DECLARE c CONDITION FOR SQLSTATE '45000'; DECLARE EXIT HANDLER FOR c SELECT 'c'; SELECT 1/0; END",
    "BEGIN DECLARE c CONDITION FOR SQLSTATE '00000'; SELECT 1; END",
    "BEGIN DECLARE c CONDITION; DECLARE c CONDITION; SELECT 1; END",
    "BEGIN DECLARE EXIT HANDLER FOR nosuchcondition SELECT 'x'; SELECT 1; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'x'; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'y'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION, SQLSTATE '22012' SELECT 1; SELECT 2; END",
    "BEGIN SELECT 1; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'x'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'h'; EXECUTE IMMEDIATE 'SELECT 1/0'; END",
    "BEGIN DECLARE lx INT DEFAULT 4; EXECUTE IMMEDIATE 'SELECT lx'; END",
    "BEGIN DECLARE lx INT DEFAULT 4; EXECUTE IMMEDIATE 'SELECT ? + 1' INTO lx USING lx; SELECT lx; END",
    "BEGIN EXECUTE IMMEDIATE 'DECLARE sv INT DEFAULT 3'; SELECT sv; END",
    "BEGIN SELECT 1; SHOW CATALOGS; END",
    "BEGIN SELECT 1 AS end, if(true, 2, 3), CASE 1 WHEN 1 THEN 4 END; END",
    "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT id FROM range(3) ORDER BY id; OPEN c; FETCH c INTO x;"
    " FETCH NEXT FROM c INTO x; CLOSE c; SELECT x; END",
    "BEGIN DECLARE x, n INT DEFAULT 0; DECLARE done BOOLEAN DEFAULT false;"
    " DECLARE c INSENSITIVE CURSOR FOR SELECT id FROM range(4) ORDER BY id FOR READ ONLY;"
    " DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = true; OPEN c; REPEAT FETCH FROM c INTO x;"
    " IF NOT done THEN SET n = n + x; END IF; UNTIL done END REPEAT; CLOSE c; SELECT n; END",
    "BEGIN DECLARE x INT DEFAULT 7; DECLARE c CURSOR FOR SELECT 1 WHERE false; OPEN c; FETCH c INTO x; SELECT x; END",
    "BEGIN DECLARE x, y INT; DECLARE c CURSOR FOR SELECT id, id * ? FROM range(?, 9) ORDER BY id; OPEN c USING 2, 3;"
    " FETCH c INTO x, y; CLOSE c; OPEN c USING (3, 4); FETCH c INTO y, i; SELECT x, y, i; END",
    "BEGIN DECLARE x STRING; DECLARE c CURSOR FOR SELECT :a || :b; OPEN c USING 'p' AS b, 'q' AS a; FETCH c INTO x;"
    " SELECT x; END",
    "BEGIN DECLARE v INT DEFAULT 1; DECLARE x INT; DECLARE c CURSOR FOR SELECT v; SET v = 2; OPEN c; SET v = 3;"
    " FETCH c INTO x; SELECT x; END",
    "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 1; OPEN c; l: BEGIN DECLARE c CURSOR FOR SELECT 2; OPEN c;"
    " FETCH l.c INTO x; END; SELECT x; END",
    "BEGIN DECLARE x INT; o: BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; BEGIN DECLARE c CURSOR FOR SELECT 2;"
    " FETCH o.c INTO x; END; END; SELECT x; END",
    "BEGIN DECLARE c INT DEFAULT 5; DECLARE c CURSOR FOR SELECT 6; OPEN c; FETCH c INTO c; SELECT c; END",
    "BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE C CURSOR FOR SELECT 2; SELECT 1; END",
    "BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; OPEN c; END",
    "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 1; FETCH c INTO x; END",
    "BEGIN DECLARE c CURSOR FOR SELECT 1; CLOSE c; END",
    "BEGIN OPEN nosuch; END",
    "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 1, 2; OPEN c; FETCH c INTO x; END",
    "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 'a'; OPEN c; FETCH c INTO x; END",
    "BEGIN SELECT 1; DECLARE c CURSOR FOR SELECT 1; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; DECLARE c CURSOR FOR SELECT 1; END",
    "BEGIN DECLARE c CURSOR FOR SELECT * FROM nosuch; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'none'; OPEN c; END",
    "BEGIN SELECT 1",
    "BEGIN SELECT 1 END",
    "BEGIN SELECT 1; END; SELECT 2",
    "BEGIN SET TIME ZONE 'UTC'; END",
    "lbl: BEGIN SELECT 1; END",
    "SELECT i, sv",
]


@pytest.mark.parametrize("statements", [VARIABLES, IMMEDIATE, SCRIPTS], ids=["variables", "immediate", "scripts"])
def test_each_statement_answers_what_spark_answers(
    session: LakeSession, spark_driver: SparkDriver, statements: list[str]
) -> None:
    plain = PlainSpark(spark_driver)
    pairs = [(text, answered(session, text), plain.answered(text)) for text in statements]
    assert [(text, ours) for text, ours, _ in pairs] == [(text, sparks) for text, _, sparks in pairs]


def test_handlers_may_be_for_each_error_of_spark(spark_driver: SparkDriver) -> None:
    jvm: Any = spark_driver.process.gateway.jvm
    stream = jvm.Thread.currentThread().getContextClassLoader().getResourceAsStream("error/error-conditions.json")
    found = json.loads(bytes(stream.readAllBytes()))
    names = {name for name in found if not name.startswith("_LEGACY")}
    names |= {f"{name}.{part}" for name in names for part in found[name].get("subClass", {})}
    assert names == KNOWN_CONDITIONS


TABLES = [
    ("DECLARE n INT DEFAULT 1", []),
    ("CREATE TABLE t (a INT, b INT)", []),
    ("INSERT INTO t VALUES (n, n + 1), (2, 20)", []),
    ("INSERT INTO t SELECT n + 2, 30", []),
    ("SELECT a, b FROM t WHERE a = n", [(1, 2)]),
    ("SELECT count(*), max(n) FROM t WHERE a > n", [(2, 1)]),
    ("SET VAR n = (SELECT max(b) FROM t)", []),
    ("SELECT n", [(30,)]),
    ("CREATE TABLE made AS SELECT n AS x, * FROM t WHERE b = n", []),
    ("SELECT * FROM made", [(30, 3, 30)]),
    ("CREATE TABLE d (a INT, b INT DEFAULT n) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')", None),
    ("CREATE TABLE d (a INT, CONSTRAINT k CHECK (a > n))", None),
    ("ALTER TABLE t ADD CONSTRAINT k CHECK (a < n)", None),
    ("CREATE VIEW v AS SELECT * FROM t WHERE b = n", ("INVALID_TEMP_OBJ_REFERENCE", "42K0F")),
    ("CREATE VIEW v AS SELECT a FROM t WHERE a = 1", []),
    ("CREATE TEMPORARY VIEW w AS SELECT a, n AS m FROM v", []),
    ("SELECT * FROM w", [(1, 30)]),
    ("SET VAR n = DEFAULT", []),
    ("SELECT * FROM w", [(1, 1)]),
    (
        "BEGIN DECLARE i INT DEFAULT 0; WHILE i < 3 DO INSERT INTO made VALUES (i, 0, 0); SET i = i + 1; END WHILE;"
        " SELECT count(*), sum(x) FROM made; END",
        [(4, 33)],
    ),
    (
        "BEGIN FOR r AS SELECT a, b FROM t DO INSERT INTO made VALUES (-1, r.a, b); END FOR;"
        " SELECT sum(a), sum(b) FROM made WHERE x = -1; END",
        [(6, 52)],
    ),
    ("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (?, ?)' USING 9, 90", []),
    ("EXECUTE IMMEDIATE 'SELECT b FROM t WHERE a = :a' USING 9 AS a", [(90,)]),
    ("BEGIN INSERT INTO t VALUES (10, 0); SELECT 1/0; END", ("DIVIDE_BY_ZERO", "22012")),
    ("SELECT count(*) FROM t", [(5,)]),
    ("EXECUTE IMMEDIATE 'CREATE TABLE from_text (a INT)'", []),
    ("SELECT count(*) FROM from_text", [(0,)]),
    ("SELECT a FROM t TIMESTAMP AS OF session.nosuch", None),
]


def test_variables_and_scripts_over_tables(session: LakeSession) -> None:
    """None: rejected, with any message."""
    for text, expected in TABLES:
        found = answered(session, text)
        if expected is None:
            assert isinstance(found, tuple), text
        else:
            assert (text, found) == (text, expected)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT reflect('java.lang.System', 'nanoTime')",
        "DECLARE z DEFAULT reflect('java.lang.System', 'nanoTime')",
        "SET VAR n = java_method('java.lang.System', 'nanoTime')",
        "SET VAR n = (SELECT count(*) FROM parquet.`/etc`)",
        "EXECUTE IMMEDIATE 'SELECT reflect(\\'java.lang.System\\', \\'nanoTime\\')'",
        "EXECUTE IMMEDIATE 'SELECT 1' USING reflect('java.lang.System', 'nanoTime')",
        "BEGIN IF reflect('java.lang.System', 'nanoTime') > '' THEN SELECT 1; END IF; END",
        "BEGIN FOR r AS SELECT * FROM text.`/etc/passwd` DO SELECT 1; END FOR; END",
        "BEGIN DECLARE x STRING DEFAULT reflect('java.lang.System', 'nanoTime'); END",
        "BEGIN CASE reflect('java.lang.System', 'nanoTime') WHEN '' THEN SELECT 1; END CASE; END",
    ],
)
def test_variable_expressions_are_guarded(session: LakeSession, text: str) -> None:
    table(session, "DECLARE n INT")
    assert answered(session, text) in [
        ("UNSUPPORTED_FUNCTION", "0A000"),
        ("FUNCTION_NOT_AVAILABLE", "0A000"),
        ("UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", "0A000"),
    ]


def test_values_of_every_type_survive(session: LakeSession) -> None:
    for expression in (
        "double('NaN')",
        "array(1.5D, NULL, double('-Infinity'))",
        "map('k', named_struct('t', timestamp'2024-06-01 12:00:00.123456', 'd', date'2024-02-29'))",
        "interval '1-2' year to month",
        "interval '1 02:03:04.5' day to second",
        "x'00ff'",
        "timestamp_ntz'2024-06-01 12:00:00'",
        "cast(1.230 AS DECIMAL(38, 3))",
        "cast(NULL AS ARRAY<INT>)",
        "'it''s \\u00fc'",
    ):
        table(session, f"DECLARE OR REPLACE v DEFAULT {expression}")
        expected = table(session, f"SELECT string({expression}) AS c")
        assert table(session, "SELECT string(v) AS c") == expected, expression
        assert table(session, "EXECUTE IMMEDIATE 'SELECT string(?) AS c' USING v") == expected, expression
    table(session, "DECLARE w DEFAULT parse_json('[1, \"a\"]')")
    table(session, "BEGIN DECLARE l VARIANT; SET l = w; EXECUTE IMMEDIATE 'SELECT :x' INTO w USING l AS x; END")
    assert answered(session, "SELECT to_json(w)") == [('[1,"a"]',)]


def test_a_timestamp_is_the_same_instant_in_another_zone(session: LakeSession) -> None:
    table(session, "SET TIME ZONE 'UTC'")
    table(session, "DECLARE at DEFAULT timestamp'2024-06-01 12:00:00'")
    table(session, "SET TIME ZONE 'America/New_York'")
    assert answered(session, "SELECT string(at)") == [("2024-06-01 08:00:00",)]


def test_variables_belong_to_one_session(tmp_path: Path, spark_driver: SparkDriver) -> None:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path))), spark_driver)
    ann, bob = (engine.open_session(Identity(name), settings={}, catalog=None, schema=None) for name in ("ann", "bob"))
    table(ann, "DECLARE x INT DEFAULT 1")
    assert answered(bob, "SELECT x") == ("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "42703")
    table(bob, "DECLARE x INT DEFAULT 2")
    assert (answered(ann, "SELECT x"), answered(bob, "SELECT x")) == ([(1,)], [(2,)])
    ann.close()
    bob.close()


def test_a_text_that_runs_itself_ends(session: LakeSession) -> None:
    table(session, "DECLARE q STRING DEFAULT 'EXECUTE IMMEDIATE q'")
    assert answered(session, "EXECUTE IMMEDIATE q") == ("EXECUTE_IMMEDIATE_TOO_DEEP", "54001")


def test_a_script_takes_parameters_by_name_alone(session: LakeSession) -> None:
    request = StatementRequest(identity=Identity("ann"))
    text = "BEGIN DECLARE x INT; SET x = :n + 1; SELECT x; END"
    stream = session.execute(text, request, [Parameter(value="4", sql_type="int", name="n")])
    assert [batch.to_pylist() for batch in stream.batches()] == [[{"x": 5}]]
    with pytest.raises(SqlError) as caught:
        session.execute("BEGIN SELECT ?; END", request, [Parameter(value="4", sql_type="int")])
    assert caught.value.condition == "UNSUPPORTED_FEATURE.SQL_SCRIPTING_WITH_POSITIONAL_PARAMETERS"


def test_a_handler_catches_no_cancelling(session: LakeSession) -> None:
    """The loop ends as soon as the statement is cancelled, though every error has a handler."""
    cancel = CancelToken()
    text = "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 1; WHILE true DO SELECT 1/0; END WHILE; END"
    rounds = 0

    def now_ms() -> int:  # called once per statement in a script
        nonlocal rounds
        rounds += 1
        if rounds == 5:
            cancel.cancel()
        return 0

    with pytest.raises(StatementCancelled):
        session.execute(text, StatementRequest(identity=Identity("ann"), cancel=cancel, now_ms=now_ms))
    assert rounds == 5
    assert answered(session, "SELECT 1") == [(1,)]
