"""IN with a long list and VALUES with many rows: Spark answers the same to a form that it does not shorten.

Spark analyzes a list with an expression in it value by value, like a short one.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import refuse, rows, run, table, version_of

pytestmark = pytest.mark.spark

COUNT = 2500
NUMBERS = ", ".join(str(number) for number in range(-500, COUNT, 3))
QUOTED = ", ".join(f"'{number}'" for number in range(-500, COUNT, 3))
DAYS = ", ".join(f"DATE '20{number % 90 + 10}-01-{number % 28 + 1:02}'" for number in range(COUNT))
COLUMNS = (
    "t TINYINT, i INT, b BIGINT, f FLOAT, x DOUBLE, n DECIMAL(9, 2), s STRING, c CHAR(4), d DATE, ts TIMESTAMP, "
    "o BOOLEAN, y BINARY, st STRUCT<k: INT>"
)
VALUES = (
    "(1, 1, 1, 1, 1, 1, '1', '1', DATE'2024-01-01', '2024-01-01 00:00:00', true, X'31', named_struct('k', 1)), "
    "(4, 4, 4, 4.5, 4.5, 4.5, '4 ', '4', DATE'2025-01-02', '2025-01-02 01:00:00', false, X'34', named_struct('k', 4)), "
    "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
    "(-2, -2, 9007199254740993, float('NaN'), double('NaN'), -2, 'x', 'x', DATE'1999-01-01', '1999-01-01', true, X'', "
    "named_struct('k', NULL)), "
    "(100, 100, 100, -0.0, -0.0D, 100, '100', '100', DATE'2010-01-01', '2010-01-01', false, X'313030', NULL)"
)

# Each is a value and its list, to which an expression, 7777, is added if it has numbers.
CONDITIONS = {
    "numbers of their type": f"i IN ({NUMBERS})",
    "none of them": f"i NOT IN ({NUMBERS})",
    "a null": f"i IN ({NUMBERS}, NULL)",
    "none and a null": f"i NOT IN ({NUMBERS}, NULL)",
    "a smaller column": f"t IN ({NUMBERS})",
    "a larger column": f"b IN ({NUMBERS}, 9007199254740993)",
    "longs for ints": f"i IN ({NUMBERS}, 9007199254740993)",
    "doubles": f"x IN ({NUMBERS}, 4.5D, 0D)",
    "floats": f"f IN ({NUMBERS}, 4.5D, 1e300)",
    "NaN": f"x IN ({NUMBERS}, 4.5, 9007199254740992)",
    "decimals": f"n IN ({NUMBERS}, 4.50, 1.000)",
    "decimals for ints": f"i IN ({NUMBERS}, 1.0, 4.00)",
    "long decimals": f"b IN ({NUMBERS}, 12345678901234567890.5, 1.0)",
    "numbers for texts": f"s IN ({NUMBERS})",
    "texts for numbers": f"i IN ({QUOTED})",
    "texts and numbers": f"i IN ({NUMBERS}, '4')",
    "texts": f"s IN ({QUOTED}, '4 ', 'x')",
    "texts with a null": f"s NOT IN ({QUOTED}, NULL)",
    "texts of a fixed length": f"c IN ({QUOTED}, 'x   ', '100')",
    "dates": f"d IN ({DAYS})",
    "texts for dates": f"d IN ({DAYS}, '2024-01-01')",
    "timestamps": f"ts IN ({DAYS}, TIMESTAMP '2025-01-02 01:00:00')",
    "dates for texts": f"s IN ({DAYS}, '2024-01-01')",
    "truths": "o IN (" + ", ".join(["true"] * COUNT) + ")",
    "bytes": "y IN (" + ", ".join(["X'31'", "X'ff'"] * COUNT) + ")",
    "a field": f"st.k IN ({NUMBERS})",
    "an expression": f"i * 2 IN ({NUMBERS})",
    "a function": f"cast(coalesce(s, '4') AS STRING) IN ({QUOTED})",
    "a literal": f"1 IN ({NUMBERS})",
    "no value": f"NULL IN ({NUMBERS})",
    "with others": f"i > 0 AND (b IN ({NUMBERS}) OR s IN ({QUOTED}))",
    "not true": f"(i IN ({NUMBERS})) IS NULL",
    "collated": f"s COLLATE UTF8_LCASE IN ({QUOTED}, 'X')",
    "no common type": f"o IN ({NUMBERS})",
    "no number": f"i IN ({QUOTED}, 'x')",
    "too large a number": f"i IN ({QUOTED}, '99999999999')",
    "no column": f"nope IN ({NUMBERS})",
    "an aggregate": f"max(i) IN ({NUMBERS})",
    "a query as a value": f"(SELECT max(i) FROM kinds) IN ({NUMBERS})",
    "a struct": f"st IN ({NUMBERS})",
}
FORMS = {
    "a query": "SELECT * EXCEPT (st) FROM kinds WHERE {}",
    "a query below": "SELECT count(*), sum(b) FROM (SELECT * FROM kinds WHERE {}) WHERE b > 0",
    "a join": "SELECT count(*) FROM kinds JOIN range(3) AS r ON {}",
    "an outer join": "SELECT count(*), count(id) FROM kinds LEFT JOIN range(3) AS r ON {}",
    "a WITH clause": "WITH k AS (SELECT * FROM kinds WHERE {}) SELECT count(*) FROM k",
    "a subquery": "SELECT count(*) FROM range(3) WHERE EXISTS (SELECT 1 FROM kinds WHERE {})",
    "a column": "SELECT count(CASE WHEN {} THEN 1 END) AS c FROM kinds",
    "a group": "SELECT o, count(*) FROM kinds GROUP BY o, i, b, s HAVING max(i) > 0 OR count(*) IN ("
    + NUMBERS
    + ") ORDER BY 1, 2",
}


FIRST = {NUMBERS: "INT", QUOTED: "STRING", DAYS: "DATE", "true, true": "BOOLEAN", "X'31'": "BINARY"}


def one_by_one(condition: str) -> str:
    """Casts each list's first value, which makes it a non-literal."""
    for values, kind in FIRST.items():
        condition = condition.replace(f"IN ({values}", f"IN (CAST({values.partition(', ')[0]} AS {kind}), {values}")
    return condition


@pytest.fixture(scope="module")
def kinds(engine: LakeEngine) -> LakeSession:
    made = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(made, f"CREATE TABLE kinds ({COLUMNS})")
    run(made, f"INSERT INTO kinds VALUES {VALUES}")
    return made


def answer(session: LakeSession, text: str) -> object:
    """Returns cells as text, which distinguishes NaN and -0.0, or an error's condition."""
    try:
        found = table(session, text)
    except SqlError as error:
        return error.condition
    return sorted(map(str, found.to_pylist()))


@pytest.mark.parametrize(
    ("case", "is_ansi"),
    [
        pytest.param(case, is_ansi, marks=() if is_ansi or DAYS not in CONDITIONS[case] else pytest.mark.slow)
        for case in CONDITIONS
        for is_ansi in (True, False)
    ],
)
def test_a_long_list_means_what_it_says(kinds: LakeSession, case: str, is_ansi: bool) -> None:
    run(kinds, f"SET spark.sql.ansi.enabled = {str(is_ansi).lower()}")
    condition = CONDITIONS[case]
    assert one_by_one(condition) != condition
    text = FORMS["a query"]
    assert answer(kinds, text.format(condition)) == answer(kinds, text.format(one_by_one(condition)))


@pytest.mark.parametrize("form", FORMS)
def test_wherever_it_is(kinds: LakeSession, form: str) -> None:
    run(kinds, "RESET spark.sql.ansi.enabled")
    for case in ("a larger column", "none and a null", "texts"):
        text = FORMS[form].format(CONDITIONS[case])
        found = answer(kinds, text)
        assert isinstance(found, list) and found == answer(kinds, one_by_one(text))


def test_a_column_is_called_as_it_was(kinds: LakeSession) -> None:
    name = table(kinds, f"SELECT i IN ({NUMBERS}) FROM kinds").schema.names[0]
    assert name == f"(i IN ({NUMBERS}))"


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_files_are_left_out_by_it(session: LakeSession, kind: str) -> None:
    run(session, f"CREATE TABLE parts_{kind} (id BIGINT, p INT) USING {kind} PARTITIONED BY (p)")
    run(session, f"INSERT INTO parts_{kind} SELECT /*+ COALESCE(1) */ id, 0 FROM range(10)")
    run(session, f"INSERT INTO parts_{kind} SELECT /*+ COALESCE(1) */ id + 5000, 0 FROM range(10)")
    run(session, f"INSERT INTO parts_{kind} SELECT /*+ COALESCE(1) */ id, 1000000 FROM range(10)")
    for condition, files in ((f"id IN ({NUMBERS})", 2), (f"p IN ({NUMBERS}, 0)", 2), (f"p IN ({QUOTED}, '0')", 2)):
        request = StatementRequest(identity=Identity("ann"))
        result = session.execute(f"SELECT * FROM parts_{kind} WHERE {condition}", request)
        assert sum(batch.num_rows for batch in result.batches()) == (6 if "id" in condition else 20)
        result.close()
        (read,) = request.profile.reads
        assert read.files == files


def test_rows_are_changed_by_it(session: LakeSession) -> None:
    for name, form in (("changed", str), ("changed_each", one_by_one)):
        run(session, f"CREATE TABLE {name} (id BIGINT, s STRING)")
        run(session, f"INSERT INTO {name} SELECT id, string(id) FROM range(3000)")
        assert run(session, form(f"DELETE FROM {name} WHERE id IN ({NUMBERS}, NULL)")) == 833
        assert run(session, form(f"UPDATE {name} AS a SET s = 'x' WHERE a.s NOT IN ({QUOTED}) AND id > 10")) == 2160
        run(
            session,
            form(
                f"MERGE INTO {name} AS t USING (SELECT 20 AS k) ON id = k AND id IN ({NUMBERS}, 20) "
                "WHEN MATCHED THEN UPDATE SET s = 'm'"
            ),
        )
    assert rows(session, "SELECT * FROM changed ORDER BY id") == rows(session, "SELECT * FROM changed_each ORDER BY id")


def test_a_view_keeps_its_text(session: LakeSession, engine: LakeEngine) -> None:
    run(session, "CREATE TABLE viewed AS SELECT id FROM range(100)")
    run(session, f"CREATE VIEW long_view AS SELECT id FROM viewed WHERE id IN ({NUMBERS})")
    assert rows(session, "SELECT count(*) FROM long_view") == [(33,)]
    shown = rows(session, "SHOW CREATE TABLE long_view")[0][0]
    assert f"id IN ({NUMBERS})" in shown


def test_a_long_list_is_no_list_of_expressions(kinds: LakeSession) -> None:
    for condition, has_set in ((f"b IN ({NUMBERS})", True), (f"c IN ({QUOTED})", False), ("b IN (1, 2)", False)):
        plan = rows(kinds, f"EXPLAIN EXTENDED SELECT i FROM kinds WHERE {condition}")[0][0]
        analyzed = plan.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized")[0]
        assert ("INSET" in analyzed) is has_set


ROWS = ", ".join(f"({k}, 'it''s {k}', {k}.5, DATE '2024-01-{k % 28 + 1:02}', NULL)" for k in range(2000))
CAST_ROWS = (
    ROWS.replace("(", "(cast(").replace(", 'it''s", " AS bigint), 'it''s").replace("NULL", "cast(NULL AS boolean)")
)
SOURCES = {
    "VALUES": f"VALUES {ROWS}",
    "a query": f"SELECT * FROM (VALUES {ROWS}) AS v(a, b, c, d, e)",
    "a cast query": f"SELECT cast(a AS BIGINT), b, c, d, e FROM VALUES {ROWS} AS v(a, b, c, d, e)",
    "cast rows": f"VALUES {CAST_ROWS}",
}
TABLES = {
    "plain": "k BIGINT, s STRING, x DOUBLE, d DATE, o BOOLEAN",
    "checked": "k BIGINT NOT NULL, s VARCHAR(20), x DOUBLE, d DATE, o BOOLEAN, "
    "g BIGINT GENERATED ALWAYS AS (k * 2), i BIGINT GENERATED ALWAYS AS IDENTITY, e STRING DEFAULT 'none', "
    "CONSTRAINT small CHECK (k < 2000)",
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", TABLES)
def test_many_rows_are_one_commit(session: LakeSession, lake: Path, kind: str, source: str) -> None:
    name = f"{kind}_{source.replace(' ', '_')}"
    properties = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    run(session, f"CREATE TABLE {name} ({TABLES[kind]}) {properties}")
    before = version_of(lake, name)
    assert run(session, f"INSERT INTO {name} (k, s, x, d, o) {SOURCES[source]}") == 2000
    assert version_of(lake, name) == before + 1
    found = rows(session, f"SELECT k, s, x, d, o FROM {name} ORDER BY k")
    assert found == [(k, f"it's {k}", k + 0.5, date(2024, 1, k % 28 + 1), None) for k in range(2000)]
    if kind == "checked":
        counts = rows(session, f"SELECT count(DISTINCT i), sum(g - 2 * k), min(e), max(e) FROM {name}")
        assert counts == [(2000, 0, "none", "none")]
        beyond = SOURCES[source].replace("(1999", "(2999")
        error = refuse(session, f"INSERT INTO {name} (k, s, x, d, o) {beyond}")
        assert "small" in str(error) and version_of(lake, name) == before + 1


def test_rows_of_different_lengths_are_refused(session: LakeSession) -> None:
    for odd in ("(1, 2)", "(1, 'a', 2.5, DATE '2024-01-01')"):
        error = refuse(session, f"SELECT * FROM VALUES {ROWS}, {odd}, {ROWS} AS v(a, b, c, d, e)")
        assert error.condition.startswith("INVALID_INLINE_TABLE")
