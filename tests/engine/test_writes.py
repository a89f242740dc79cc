"""DDL and INSERT on the real engine: another reader sees the written rows, and a rejected statement leaves nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from catalog.conditions import StatementCancelled
from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def run(session: LakeSession, text: str, request: StatementRequest | None = None) -> int | None:
    """Returns the number of affected rows."""
    result = session.execute(text, request or StatementRequest(identity=Identity("ann")))
    result.close()
    return result.rows_modified


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def refuse(session: LakeSession, text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        run(session, text)
    return caught.value


# --- CREATE TABLE, DROP TABLE ----------------------------------------------------------------------------------------


def test_a_created_table_is_one_for_other_readers(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE people (id BIGINT NOT NULL COMMENT 'key', name VARCHAR(10), `at` TIMESTAMP, tags ARRAY<STRING>, "
        "pos STRUCT<x: DOUBLE, y: DECIMAL(10, 2) NOT NULL>, day DATE, CONSTRAINT positive CHECK (id > 0)) "
        "USING delta PARTITIONED BY (DAY) COMMENT 'who' TBLPROPERTIES ('delta.appendOnly' = true, owner = 'me')",
    )
    table = DeltaTable(lake / "default" / "people")
    assert table.version() == 0
    assert [field.name for field in table.schema().fields] == ["id", "name", "at", "tags", "pos", "day"]
    assert table.metadata().partition_columns == ["day"]
    assert table.metadata().description == "who"
    assert table.metadata().configuration == {
        "delta.appendOnly": "true",
        "owner": "me",
        "delta.constraints.positive": "id > 0",
    }
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (1, 3)
    assert table.history()[0]["operation"] == "CREATE TABLE"
    assert [row[:2] for row in rows(session, "DESCRIBE people")][:3] == [
        ("id", "bigint"),
        ("name", "varchar(10)"),
        ("at", "timestamp"),
    ]
    assert rows(session, "SELECT count(*) FROM people") == [(0,)]


def test_show_create_table_answers_what_makes_the_same_table(session: LakeSession, lake: Path) -> None:
    run(
        session,
        "CREATE TABLE first (a INT NOT NULL COMMENT 'it''s', b INT GENERATED ALWAYS AS (a + 1), c STRING DEFAULT 'x', "
        "v VARCHAR(3), s STRUCT<Ab: INT NOT NULL COMMENT 'it''s', `c``d`: ARRAY<MAP<STRING, STRUCT<E: INT>>>>, "
        "p DATE, CHECK (a > 0)) PARTITIONED BY (p) COMMENT 'c' TBLPROPERTIES ('k' = 'v')",
    )
    ((text,),) = rows(session, "SHOW CREATE TABLE first")
    run(session, text.replace("`first`", "`second`", 1))
    ((again,),) = rows(session, "SHOW CREATE TABLE second")
    assert again == text.replace("`first`", "`second`", 1)
    logs = [(lake / "default" / name / "_delta_log" / f"{0:020}.json").read_text() for name in ("first", "second")]
    first, second = ([json.loads(line) for line in log.splitlines()] for log in logs)
    assert [action["protocol"] for action in first if "protocol" in action] == [
        action["protocol"] for action in second if "protocol" in action
    ]
    schemas = [action["metaData"]["schemaString"] for action in (*first, *second) if "metaData" in action]
    assert schemas[0] == schemas[1]
    assert json.loads(schemas[1])["fields"][4]["type"]["fields"][0] == {
        "name": "Ab",
        "type": "integer",
        "nullable": False,
        "metadata": {"comment": "it's"},
    }


def test_if_not_exists_leaves_what_is_there(session: LakeSession) -> None:
    run(session, "CREATE TABLE IF NOT EXISTS once (a INT)")
    run(session, "CREATE TABLE IF NOT EXISTS once (a INT, b INT)")
    assert [row[0] for row in rows(session, "DESCRIBE once")] == ["a"]
    assert refuse(session, "CREATE TABLE once (a INT)").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_an_existing_location_is_registered_as_it_is(session: LakeSession, lake: Path) -> None:
    run(session, f"CREATE TABLE here (a INT, b STRING) LOCATION '{lake}/elsewhere/here'")
    run(session, "DROP TABLE here")
    assert (lake / "elsewhere" / "here" / "_delta_log").is_dir(), "an external table's files stay"
    assert refuse(session, f"CREATE TABLE again (a INT) LOCATION '{lake}/elsewhere/here'").condition == (
        "DELTA_CREATE_TABLE_SCHEME_MISMATCH"
    )
    run(session, f"CREATE TABLE again LOCATION '{lake}/elsewhere/here'")
    assert [row[0] for row in rows(session, "DESCRIBE again")] == ["a", "b"]
    assert DeltaTable(lake / "elsewhere" / "here").version() == 0


def test_a_dropped_managed_table_leaves_nothing(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE gone (a INT)")
    run(session, "DROP TABLE gone")
    assert not (lake / "default" / "gone").exists()
    assert refuse(session, "DROP TABLE gone").condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(session, "DROP TABLE IF EXISTS gone")
    run(session, "CREATE TABLE gone (b STRING)")
    assert [row[0] for row in rows(session, "DESCRIBE gone")] == ["b"]


DEFINITION_REFUSALS = [
    ("CREATE TABLE bad (a INT, A STRING)", "DELTA_DUPLICATE_COLUMNS_FOUND"),
    ("CREATE TABLE bad (`a b` INT)", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ("CREATE TABLE bad (a INTERVAL DAY)", "DELTA_UNSUPPORTED_DATA_TYPES"),
    ("CREATE TABLE bad (a INT, b INT) PARTITIONED BY (c)", "DELTA_PARTITION_COLUMN_NOT_FOUND"),
    ("CREATE TABLE bad (a INT) PARTITIONED BY (a)", "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION"),
    ("CREATE TABLE bad (a INT) TBLPROPERTIES ('delta.nope' = '1')", "DELTA_UNKNOWN_CONFIGURATION"),
    ("CREATE TABLE bad (a INT, CHECK (a + 1))", "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"),
    ("CREATE TABLE bad (a INT, CHECK (nope > 1))", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
    ("CREATE TABLE bad (a INT, CHECK (reflect('java.lang.System', 'exit')))", "UNSUPPORTED_FUNCTION"),
    ("CREATE TABLE bad (a INT, CHECK (a > (SELECT 1)))", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ("CREATE TABLE bad (a INT, b STRING GENERATED ALWAYS AS (a + 1))", "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"),
    ("CREATE TABLE bad (a INT, b INT GENERATED ALWAYS AS (b + 1))", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    ("CREATE TABLE bad (a INT, b INT DEFAULT a)", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
    ("CREATE TABLE bad (a INT) AS SELECT 1 AS a", "_LEGACY_ERROR_TEMP_0035"),
    ("CREATE OR REPLACE TABLE bad (a INT COMMENT 'x') AS SELECT 1 AS a", "_LEGACY_ERROR_TEMP_0035"),
    ("CREATE TABLE bad (CHECK (a > rand())) AS SELECT 1 AS a", "_LEGACY_ERROR_TEMP_0035"),
    ("CREATE TABLE bad (a, b) AS SELECT 1, 2", "PARSE_SYNTAX_ERROR"),
    ("CREATE CATALOG system", "FORBIDDEN_OPERATION"),
    ("CREATE CATALOG IF NOT EXISTS `SYSTEM`", "FORBIDDEN_OPERATION"),
    ("CREATE TABLE bad (a INT) USING parquet", "DATA_SOURCE_NOT_FOUND"),
    ("CREATE TABLE bad (a INT) LOCATION '/etc/bad'", "PATH_NOT_ALLOWED"),
    ("CREATE TABLE nope.bad (a INT)", "SCHEMA_NOT_FOUND"),
]


@pytest.mark.parametrize(("text", "condition"), DEFINITION_REFUSALS)
def test_invalid_table_is_rejected(session: LakeSession, lake: Path, text: str, condition: str) -> None:
    assert refuse(session, text).condition == condition
    assert not (lake / "default" / "bad").exists()
    assert refuse(session, "SELECT * FROM bad").condition == "TABLE_OR_VIEW_NOT_FOUND"


# --- INSERT ----------------------------------------------------------------------------------------------------------


def table_of(lake: Path, name: str) -> pa.Table:
    """Returns the table as deltalake reads it."""
    return DeltaTable(lake / "default" / name).to_pyarrow_table()


def actions(lake: Path, name: str, version: int) -> list[dict[str, Any]]:
    log = lake / "default" / name / "_delta_log" / f"{version:020}.json"
    return [json.loads(line) for line in log.read_text().splitlines()]


def version_of(lake: Path, name: str) -> int:
    return DeltaTable(lake / "default" / name).version()


INSERTS = [
    ("VALUES (1, 'a', 1.5), (2, NULL, NULL)", 2, [(1, "a", 1.5), (2, None, None)]),
    ("(f, i) VALUES (2.5, 7)", 1, [(7, None, 2.5)]),
    ("BY NAME SELECT 3 AS i, 'x' AS s", 1, [(3, "x", None)]),
    ("BY NAME SELECT 0.5 AS f, 'x' AS S, 3 AS i", 1, [(3, "x", 0.5)]),
    ("SELECT id, string(id), id / 2 FROM range(3)", 3, [(0, "0", 0.0), (1, "1", 0.5), (2, "2", 1.0)]),
    ("SELECT 1, 1, 1", 1, [(1, "1", 1.0)]),
    ("VALUES (DEFAULT, 'd', DEFAULT)", 1, [(None, "d", None)]),
    ("SELECT * FROM (SELECT 4 AS i, 'b' AS s, 1 AS f) -- end", 1, [(4, "b", 1.0)]),
    (
        "VALUES (1, current_user(), if(now() > DATE'2020-01-01', 1, 0)), (2, NULL, 2)",
        2,
        [(1, "ann", 1.0), (2, None, 2.0)],
    ),
    ("SELECT 1, 'x', 1 UNION ALL VALUES (2, current_user(), 2)", 2, [(1, "x", 1.0), (2, "ann", 2.0)]),
    ("SELECT a.*, b.* FROM VALUES (2, current_user()) a CROSS JOIN VALUES (2) b", 1, [(2, "ann", 2.0)]),
]


@pytest.mark.parametrize(("text", "count", "expected"), INSERTS)
def test_an_insert_adds_its_rows(
    session: LakeSession, lake: Path, text: str, count: int, expected: list[tuple[Any, ...]]
) -> None:
    run(session, "DROP TABLE IF EXISTS plain")
    run(session, "CREATE TABLE plain (i INT, s STRING, f DOUBLE)")
    assert run(session, f"INSERT INTO plain {text}") == count
    assert sorted(rows(session, "SELECT * FROM plain"), key=str) == sorted(expected, key=str)
    assert sorted((tuple(row.values()) for row in table_of(lake, "plain").to_pylist()), key=str) == sorted(
        expected, key=str
    )
    (info,) = [action["commitInfo"] for action in actions(lake, "plain", 1) if "commitInfo" in action]
    assert (info["operation"], info["operationMetrics"]["numOutputRows"]) == ("WRITE", str(count))
    assert info["operationParameters"]["mode"] == "Append"


def test_an_insert_of_no_rows_makes_no_version(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE unchanged (i INT)")
    nothing = "SELECT 1 WHERE false"
    for text in (
        f"INTO unchanged {nothing}",
        f"OVERWRITE unchanged {nothing}",
        "INTO unchanged BY NAME SELECT 1 AS i WHERE false",
    ):
        assert run(session, f"INSERT {text}") == 0
        assert version_of(lake, "unchanged") == 0
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO unchanged BY NAME SELECT 1 AS more WHERE false")
    assert version_of(lake, "unchanged") == 1, "a new column is a version"


CHECKED = (
    "CREATE TABLE checked (id INT NOT NULL, s VARCHAR(3), n INT, g INT GENERATED ALWAYS AS (id * 2), "
    "pos STRUCT<x: INT NOT NULL, y: INT>, d STRING DEFAULT 'none', day DATE, "
    "CONSTRAINT small CHECK (n < 10), CONSTRAINT pair CHECK (id <> n OR n IS NULL)) PARTITIONED BY (day)"
)
GOOD = "(1, 'abc', 5, 2, named_struct('x', 1, 'y', NULL), 'd', DATE'2024-01-01')"
VIOLATIONS = [
    (  # the row violates NOT NULL and a constraint; Delta reports the constraint
        "VALUES (NULL, 'a', 1, NULL, named_struct('x', 1, 'y', 2), '', NULL)",
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        "id : null",
    ),
    ("VALUES (1, 'a', 2, 2, named_struct('x', NULL, 'y', 2), '', NULL)", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "pos.x"),
    ("(id, n, pos) VALUES (1, 2, NULL)", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "pos.x"),
    (
        "VALUES (1, 'a', 10, 2, named_struct('x', 1, 'y', 2), '', NULL)",
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        "n : 10",
    ),
    ("(id, pos) VALUES (1, named_struct('x', 1, 'y', 2))", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "n : null"),
    ("(id, n, pos) VALUES (3, 3, named_struct('x', 1, 'y', 2))", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "id : 3"),
    ("VALUES (1, 'a', 1, 3, named_struct('x', 1, 'y', 2), '', NULL)", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "g : 3"),
    ("VALUES (1, 'abcd', 1, 2, named_struct('x', 1, 'y', 2), '', NULL)", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT", "3"),
    ("(n, pos) VALUES (1, named_struct('x', 1, 'y', 2))", "DELTA_MISSING_NOT_NULL_COLUMN_VALUE", "id"),
    (
        f"SELECT * FROM VALUES {GOOD}, {GOOD.replace('5', '50')}",
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        "small (n < 10)",
    ),
    ("VALUES (1, 2)", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "checked"),
    ("(id, nope) VALUES (1, 2)", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "nope"),
    ("(id, ID) VALUES (1, 2)", "DELTA_DUPLICATE_COLUMNS_FOUND", "ID"),
    (f"VALUES {GOOD.replace('(1', '(current_date()')}", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "`id`"),
    (f"VALUES {GOOD.replace('(1', '(3000000000')}", "CAST_OVERFLOW_IN_TABLE_INSERT", "id"),
    ("BY NAME SELECT 1 AS id, 2 AS nope", "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS", "nope"),
    ("SELECT reflect('java.lang.System', 'exit')", "UNSUPPORTED_FUNCTION", "reflect"),
    ("SELECT * FROM parquet.`/etc`", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", "parquet"),
    ("SELECT raise_error('mine')", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "checked"),
]


@pytest.fixture(scope="module")
def checked(engine: LakeEngine) -> None:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, CHECKED)
    run(session, f"INSERT INTO checked VALUES {GOOD}")
    session.close()


def test_columns_that_a_table_computes(session: LakeSession, lake: Path, checked: None) -> None:
    run(session, "CREATE TABLE added (id INT, g INT GENERATED ALWAYS AS (id * 2), d STRING DEFAULT concat('n', 'o'))")
    run(session, "INSERT INTO added (id) VALUES (4), (NULL)")
    run(session, "INSERT INTO added VALUES (5, 10, 'x'), (6, 12, DEFAULT)")
    expected = [(4, 8, "no"), (5, 10, "x"), (6, 12, "no"), (None, None, "no")]
    assert rows(session, "SELECT * FROM added ORDER BY id NULLS LAST") == expected


@pytest.mark.parametrize(("text", "condition", "reported"), VIOLATIONS)
def test_a_violation_writes_nothing(
    session: LakeSession, lake: Path, checked: None, text: str, condition: str, reported: str
) -> None:
    before, files = version_of(lake, "checked"), set((lake / "default" / "checked").rglob("*.parquet"))
    error = refuse(session, f"INSERT INTO checked {text}")
    assert (error.condition, reported in error.full_message) == (condition, True), error
    assert version_of(lake, "checked") == before
    assert set((lake / "default" / "checked").rglob("*.parquet")) == files


# --- OVERWRITE, TRUNCATE, CREATE TABLE AS ----------------------------------------------------------------------------


def days(session: LakeSession) -> list[tuple[Any, ...]]:
    return rows(session, "SELECT day, v FROM days ORDER BY day NULLS LAST, v")


@pytest.fixture
def three_days(session: LakeSession) -> None:
    run(session, "DROP TABLE IF EXISTS days")
    run(session, "CREATE TABLE days (v INT, day STRING) PARTITIONED BY (day)")
    run(session, "INSERT INTO days VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'a')")


OVERWRITES = [
    ("STATIC", "OVERWRITE days VALUES (9, 'z')", [("z", 9)]),
    ("STATIC", "OVERWRITE days SELECT v + 1, day FROM days WHERE day = 'b'", [("b", 3)]),
    ("STATIC", "OVERWRITE days PARTITION (day = 'a') VALUES (9)", [("a", 9), ("b", 2), (None, 3)]),
    ("STATIC", "OVERWRITE days PARTITION (day = NULL) SELECT 9", [("a", 1), ("a", 4), ("b", 2), (None, 9)]),
    ("STATIC", "OVERWRITE days PARTITION (day) VALUES (9, 'z')", [("z", 9)]),
    ("DYNAMIC", "OVERWRITE days VALUES (9, 'b'), (8, 'z')", [("a", 1), ("a", 4), ("b", 9), ("z", 8), (None, 3)]),
    ("STATIC", "INTO days PARTITION (day = 'c') VALUES (9)", [("a", 1), ("a", 4), ("b", 2), ("c", 9), (None, 3)]),
    ("STATIC", "INTO days REPLACE WHERE day IN ('a', 'z') VALUES (9, 'z')", [("b", 2), ("z", 9), (None, 3)]),
    ("STATIC", "INTO days REPLACE WHERE day IS NULL SELECT * FROM days WHERE false", [("a", 1), ("a", 4), ("b", 2)]),
]


@pytest.mark.parametrize(("mode", "text", "expected"), OVERWRITES)
def test_an_overwrite_replaces_what_it_says(
    session: LakeSession, lake: Path, three_days: None, mode: str, text: str, expected: list[tuple[Any, ...]]
) -> None:
    run(session, f"SET spark.sql.sources.partitionOverwriteMode = {mode}")
    run(session, f"INSERT {text}")
    assert days(session) == expected
    found = [(row["day"], row["v"]) for row in table_of(lake, "days").to_pylist()]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_rows_outside_of_the_replaced_condition_are_refused(session: LakeSession, lake: Path, three_days: None) -> None:
    error = refuse(session, "INSERT INTO days REPLACE WHERE day = 'a' VALUES (9, 'b')")
    assert error.condition == "DELTA_REPLACE_WHERE_MISMATCH" and "day : b" in error.full_message
    assert version_of(lake, "days") == 1


def test_truncate_removes_every_row_and_append_only_tables_refuse_it(
    session: LakeSession, lake: Path, three_days: None
) -> None:
    run(session, "TRUNCATE TABLE days")
    assert days(session) == [] and table_of(lake, "days").num_rows == 0
    run(session, "CREATE TABLE kept (a INT) TBLPROPERTIES ('delta.appendOnly' = true)")
    run(session, "INSERT INTO kept VALUES (1)")
    for text in ("TRUNCATE TABLE kept", "INSERT OVERWRITE kept VALUES (2)"):
        assert refuse(session, text).condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert rows(session, "SELECT * FROM kept") == [(1,)] and version_of(lake, "kept") == 1


def test_create_table_as_has_the_querys_columns_and_rows(session: LakeSession, lake: Path) -> None:
    count = run(
        session,
        "CREATE TABLE made PARTITIONED BY (k) COMMENT 'of a query' "
        "AS SELECT id, id % 2 AS k, array(id) AS l FROM range(5)",
    )
    assert count == 5
    assert rows(session, "SELECT id, k, l FROM made ORDER BY id")[3] == (3, 1, [3])
    assert version_of(lake, "made") == 0 and table_of(lake, "made").num_rows == 5
    (info,) = [action["commitInfo"] for action in actions(lake, "made", 0) if "commitInfo" in action]
    assert (info["operation"], info["operationMetrics"]["numFiles"]) == ("CREATE TABLE AS SELECT", "2")
    assert refuse(session, "CREATE TABLE unmade AS SELECT 1 / id AS x FROM range(2)").condition == "DIVIDE_BY_ZERO"
    assert (
        refuse(session, "CREATE TABLE unmade AS SELECT NULL AS x").condition == "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"
    )
    assert refuse(session, "CREATE TABLE unmade AS SELECT 1 AS x, 2 AS X").condition == "DELTA_DUPLICATE_COLUMNS_FOUND"
    assert refuse(session, "SELECT * FROM unmade").condition == "TABLE_OR_VIEW_NOT_FOUND"


# --- At once, and cut off ---------------------------------------------------------------------------------------------


def test_sessions_that_insert_at_once_all_land(engine: LakeEngine, session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE shared (id INT)")

    def insert(first: int) -> None:
        other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
        for number in range(3):
            run(other, f"INSERT INTO shared VALUES ({first + number})")
        other.close()

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(insert, (0, 10, 20)))
    expected = [(first + number,) for first in (0, 10, 20) for number in range(3)]
    assert rows(session, "SELECT id FROM shared ORDER BY id") == expected
    assert version_of(lake, "shared") == 9


def test_sessions_that_create_one_table_at_once_make_one(engine: LakeEngine, session: LakeSession) -> None:
    def create(number: int) -> str:
        other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
        try:
            run(other, f"CREATE TABLE raced AS SELECT {number} AS n")
            return "made"
        except SqlError as error:
            return error.condition
        finally:
            other.close()

    with ThreadPoolExecutor(3) as threads:
        outcomes = sorted(threads.map(create, range(3)))
    assert outcomes == ["TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_OR_VIEW_ALREADY_EXISTS", "made"]
    assert len(rows(session, "SELECT * FROM raced")) == 1


def test_a_cancelled_insert_leaves_the_table_as_it_was(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE slow (id BIGINT)")
    request = StatementRequest(identity=Identity("ann"))
    threading.Timer(1.5, request.cancel.cancel).start()
    with pytest.raises(StatementCancelled):
        run(session, "INSERT INTO slow SELECT id FROM range(0, 1000000000000, 1, 2) WHERE hash(id) % 100 = 1", request)
    assert rows(session, "SELECT count(*) FROM range(0, 10, 1, 2)") == [(10,)], "its tasks have ended"
    assert version_of(lake, "slow") == 0
    assert rows(session, "SELECT count(*) FROM slow") == [(0,)]
    assert not list((lake / "default" / "slow").rglob("*.parquet"))


# --- Column mapping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["name", "id"])
def test_files_of_a_mapped_table_have_physical_names_and_ids(session: LakeSession, lake: Path, mode: str) -> None:
    run(
        session,
        f"CREATE TABLE mapped_{mode} (`a b` INT NOT NULL, s STRUCT<`x.y`: INT, z: ARRAY<STRUCT<q: INT>>>, p INT) "
        f"PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')",
    )
    run(session, f"INSERT INTO mapped_{mode} VALUES (1, named_struct('x.y', 2, 'z', array(named_struct('q', 3))), 4)")
    assert refuse(session, f"INSERT INTO mapped_{mode} VALUES (NULL, NULL, 4)").condition == (
        "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    )
    written = [(1, {"x.y": 2, "z": [{"q": 3}]}, 4)]
    assert rows(session, f"SELECT * FROM mapped_{mode}") == written
    query = QueryBuilder().register("t", DeltaTable(lake / "default" / f"mapped_{mode}"))
    assert pa.table(query.execute('SELECT "a b", p FROM t').read_all()).to_pylist() == [{"a b": 1, "p": 4}]
    log = actions(lake, f"mapped_{mode}", 0) + actions(lake, f"mapped_{mode}", 1)
    (metadata,) = [action["metaData"] for action in log if "metaData" in action]
    (add,) = [action["add"] for action in log if "add" in action]
    columns = {field["name"]: field for field in json.loads(metadata["schemaString"])["fields"]}
    physical = {name: field["metadata"]["delta.columnMapping.physicalName"] for name, field in columns.items()}
    assert add["partitionValues"] == {physical["p"]: "4"}
    stats = json.loads(add["stats"])
    assert stats["minValues"][physical["a b"]] == 1 and list(stats["minValues"][physical["s"]].values()) == [2]
    stored = pq.read_schema(lake / "default" / f"mapped_{mode}" / unquote(add["path"]))
    assert [field.name for field in stored] == [physical["a b"], physical["s"]]
    ids = [int(field.metadata[b"PARQUET:field_id"]) for field in stored]
    assert ids == [columns[name]["metadata"]["delta.columnMapping.id"] for name in ("a b", "s")]
