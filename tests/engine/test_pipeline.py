"""The pipeline on the real engine over a lake that deltalake wrote: answers, errors and session state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from catalog.conditions import StatementCancelled
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import sql_type_of
from engine.runtime.statement import Statement
from engine.spark.session import SparkDriver
from engine.statements.listings.statement import ListChecks, ListColumns, ListFunctions, ListSchemas, ListTables
from tests.engine.lake_sessions import refuse

pytestmark = pytest.mark.spark

ITEMS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": ["a", "b", None],
        "day": pa.array([date(2024, 1, 1), date(2024, 1, 2), None], pa.date32()),
    }
)
MORE = pa.table({"id": [4], "name": ["d"], "day": [date(2024, 1, 1)]})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    write_deltalake(root / "shop" / "items", ITEMS, partition_by=["day"], description="What is sold")
    write_deltalake(root / "shop" / "items", MORE, mode="append")
    write_deltalake(root / "other" / "items", pa.table({"id": [1, 9], "price": [1.5, 9.5]}))
    write_deltalake(root / "plain", pa.table({"x": [1, 2]}))
    write_deltalake(
        root / "odd names" / "a b%2", pa.table({"x y": [7]}), configuration={"delta.columnMapping.mode": "name"}
    )
    (root / "broken" / "t" / "_delta_log").mkdir(parents=True)
    (root / "broken" / "t" / "_delta_log" / f"{0:020}.json").write_text("{not json")
    return root


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema="shop")
    yield opened
    opened.close()


def rows(session: LakeSession, statement: str | Statement, *parameters: Parameter) -> list[tuple[Any, ...]]:
    request = StatementRequest(identity=Identity("ann"))
    if isinstance(statement, str):
        result = session.execute(statement, request, parameters)
    else:
        result = session.run(statement, request)
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


QUERIES = [
    ("SELECT 1 AS one, 'x' AS text", [(1, "x")]),
    ("SELECT id FROM items ORDER BY id", [(1,), (2,), (3,), (4,)]),
    ("SELECT items.id FROM shop.items WHERE items.name = 'b'", [(2,)]),
    ("SELECT shop.items.id FROM shop.items WHERE spark_catalog.shop.items.name = 'b'", [(2,)]),
    ("SELECT i.id FROM hive_metastore.shop.items i WHERE i.day IS NULL", [(3,)]),
    ("SELECT a.id, price FROM shop.items a JOIN other.items b ON a.id = b.id", [(1, 1.5)]),
    ("SELECT shop.items.id, price FROM shop.items JOIN other.items ON shop.items.id = other.items.id", [(1, 1.5)]),
    ("WITH items AS (SELECT 42 AS id) SELECT id FROM items", [(42,)]),
    ("WITH x AS (SELECT * FROM items) SELECT count(*) FROM x, x AS y", [(16,)]),
    ("WITH __scan_0 AS (SELECT 77 AS n) SELECT x, n FROM default.plain, __scan_0 WHERE x = 1", [(1, 77)]),
    ("SELECT __view_0.id FROM items AS __view_0, default.plain AS __scan_0 WHERE id = 4 AND x = 1", [(4,)]),
    (
        "SELECT (SELECT max(id) FROM other.items), EXISTS (SELECT 1 FROM default.plain WHERE x = items.id) FROM items "
        "WHERE id IN (1, 4) ORDER BY id",
        [(9, True), (9, False)],
    ),
    ("SELECT count(*) FROM default.plain", [(2,)]),
    (
        "SELECT day, count(*) FROM items GROUP BY day ORDER BY day NULLS LAST",
        [(date(2024, 1, 1), 2), (date(2024, 1, 2), 1), (None, 1)],
    ),
    ("SELECT id FROM items WHERE day = DATE'2024-01-01' ORDER BY id", [(1,), (4,)]),
    ("SELECT id FROM items VERSION AS OF 0 ORDER BY id DESC LIMIT 1", [(3,)]),
    ("SELECT count(*) FROM items@v0, items", [(12,)]),
    ("TABLE default.plain", [(1,), (2,)]),
    ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
    ("FROM default.plain SELECT sum(x)", [(3,)]),
    ("SELECT * FROM range(3)", [(0,), (1,), (2,)]),
    (
        '/* {"app": "dbt"} */ SELECT current_schema(), current_catalog(), current_user() -- end\n;',
        [("shop", "spark_catalog", "ann")],
    ),
]


@pytest.mark.parametrize(("text", "expected"), QUERIES)
def test_a_query_answers_its_rows(session: LakeSession, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(session, text) == expected


def test_a_path_below_the_lake_is_a_table_and_outside_it_is_refused(session: LakeSession, lake: Path) -> None:
    assert rows(session, f"SELECT sum(x) FROM delta.`{lake}/plain`") == [(3,)]
    assert rows(session, f"SELECT count(*) FROM delta.`{lake}/shop/items` VERSION AS OF 0") == [(3,)]
    for path in ("/etc", f"{lake}/../elsewhere", f"{lake.parent}"):
        with pytest.raises(SqlError) as caught:
            rows(session, f"SELECT * FROM delta.`{path}`")
        assert caught.value.sqlstate == "42501"


def test_parameters_are_values_and_never_text(session: LakeSession) -> None:
    named = (Parameter(name="low", value="2", sql_type="bigint"), Parameter(name="text", value="x' OR '1'='1"))
    assert rows(session, "SELECT id FROM items WHERE id < :low AND name <> :text", *named) == [(1,)]
    assert rows(session, "SELECT ?, ?", Parameter(value="5", sql_type="int"), Parameter(value=None)) == [(5, None)]


REFUSALS = [
    ("", "PARSE_EMPTY_STATEMENT", "42617"),
    ("selec 1", "PARSE_SYNTAX_ERROR", "42601"),
    ("SELECT * FROM nope", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("SELECT * FROM nope.items", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("SELECT nope FROM items", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("SELECT nope(id) FROM items", "UNRESOLVED_ROUTINE", "42883"),
    ("SELECT id FROM items JOIN other.items ON shop.items.id = other.items.id", "AMBIGUOUS_REFERENCE", "42704"),
    ("SELECT cast('x' AS int)", "CAST_INVALID_INPUT", "22018"),
    ("SELECT 1 / 0", "DIVIDE_BY_ZERO", "22012"),
    ("USE nope", "SCHEMA_NOT_FOUND", "42704"),
    ("SET spark.jars = x", "CONFIG_NOT_AVAILABLE", "42K0I"),
    ("SET spark.sql.session.timeZone = Mars", "INVALID_CONF_VALUE", "22022"),
    ("DESCRIBE items nope", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ("SHOW PARTITIONS default.plain", "DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE", "42809"),
    ("SELECT * FROM items VERSION AS OF 9", "DELTA_VERSION_NOT_FOUND", "22003"),
    ("SELECT * FROM items TIMESTAMP AS OF '1999-01-01'", "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", "42816"),
    ("SELECT * FROM items TIMESTAMP AS OF 'soon'", "DELTA_TIMESTAMP_INVALID", "42816"),
    ("SELECT * FROM broken.t", "DELTA_MALFORMED_LOG_ENTRY", "XXKDS"),
]


@pytest.mark.parametrize(("text", "condition", "sqlstate"), REFUSALS)
def test_a_refusal_has_its_condition_and_the_session_goes_on(
    session: LakeSession, text: str, condition: str, sqlstate: str
) -> None:
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    assert (caught.value.condition, caught.value.sqlstate) == (condition, sqlstate)
    assert "__scan_" not in str(caught.value) and "__relation_" not in str(caught.value)
    assert rows(session, "SELECT 1") == [(1,)]


COMMANDS = [
    ("SHOW CATALOGS", [("spark_catalog",)]),
    ("SHOW SCHEMAS LIKE 'o*'", [("odd names",), ("other",)]),
    ("SHOW TABLES", [("shop", "items", False)]),
    ("SHOW TABLES IN default", [("default", "plain", False)]),
    ("SHOW TABLES IN other LIKE 'x*'", []),
    ("SHOW VIEWS", []),
    ("SHOW COLUMNS IN items", [("id",), ("name",), ("day",)]),
    ("SHOW CURRENT NAMESPACE", [("spark_catalog", "shop")]),
    ("SHOW FUNCTIONS LIKE 'abs'", [("abs",)]),
    (
        "SHOW PROCEDURES IN spark_catalog.system LIKE 'rewrite_m*|snap*'",
        [("spark_catalog", "system", "system", "rewrite_manifests"), ("spark_catalog", "system", "system", "snapshot")],
    ),
    ("DESCRIBE items", [
        ("id", "bigint", None), ("name", "string", None), ("day", "date", None),
        ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("day", "date", None),
    ]),
    ("DESCRIBE default.plain x", [("col_name", "x"), ("data_type", "bigint"), ("comment", "NULL")]),
    ("DESCRIBE QUERY SELECT id, cast(1 AS decimal(5,2)) AS d FROM items",
     [("id", "bigint", None), ("d", "decimal(5,2)", None)]),
    ("SHOW PARTITIONS items", [("2024-01-01",), ("2024-01-02",), (None,)]),
    ("SHOW PARTITIONS items PARTITION (day = '2024-01-02')", [("2024-01-02",)]),
    ("SHOW TBLPROPERTIES items", [("delta.minReaderVersion", "1"), ("delta.minWriterVersion", "2")]),
    ("SHOW SCHEMAS IN ALL CATALOGS LIKE 'shop'", [("shop", "spark_catalog")]),
    ("SHOW TABLES IN CATALOG spark_catalog SCHEMA LIKE 'sh%'",
     [("shop", "items", False, "", "spark_catalog", "TABLE", "What is sold")]),
    ("SHOW COLUMNS IN CATALOG spark_catalog SCHEMA LIKE 'default' TABLE LIKE 'plain'",
     [("x", "spark_catalog", "default", "plain", "BIGINT", 19, 0, 10, "true", "", 0, "NO", "NO")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), COMMANDS)
def test_a_command_answers_its_rows(session: LakeSession, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(session, text) == expected


def test_extended_describe_and_create_table_say_where_and_what(session: LakeSession, lake: Path) -> None:
    details = {row[0]: row[1] for row in rows(session, "DESCRIBE EXTENDED items")}
    assert details["Location"] == f"{lake}/shop/items" and details["Provider"] == "delta"
    assert details["Comment"] == "What is sold" and details["Version"] == "1"
    ((ddl,),) = rows(session, "SHOW CREATE TABLE items")
    assert "`day` DATE" in ddl and "PARTITIONED BY (`day`)" in ddl and "COMMENT 'What is sold'" in ddl
    ((schema, table, temporary, information),) = rows(session, "SHOW TABLE EXTENDED IN shop LIKE 'it*'")
    assert (schema, table, temporary) == ("shop", "items", False)
    assert "Provider: delta\n" in information and " |-- id: bigint (nullable = true)\n" in information


def test_detail_and_history_are_deltas(session: LakeSession) -> None:
    ((detail),) = rows(session, "DESCRIBE DETAIL items")
    assert detail[0] == "delta" and detail[2] == "spark_catalog.shop.items" and detail[7] == ["day"]
    history = rows(session, "DESCRIBE HISTORY items")
    assert [(row[0], row[4]) for row in history] == [(1, "WRITE"), (0, "WRITE")]
    assert len(rows(session, "DESCRIBE HISTORY items LIMIT 1")) == 1


def test_checks_and_generated_columns_are_listed(session: LakeSession) -> None:
    columns = "id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 7), a INT, b INT GENERATED ALWAYS AS (a + 1)"
    checks = "CONSTRAINT `In order` CHECK (a < b), CONSTRAINT above CHECK (a > 0)"
    rows(session, f"CREATE TABLE shop.computed ({columns}, {checks})")
    names = ("spark_catalog", "shop", "computed")
    found = rows(session, ListChecks(table=(None, "SHOP", "Computed")))
    assert found == [(*names, "above", "a > 0"), (*names, "in order", "a < b")]
    assert rows(session, ListChecks(table=(None, None, "items"))) == []
    assert [(row[3], row[-1]) for row in rows(session, ListColumns(table_pattern="computed"))] == [
        ("id", "GENERATED BY DEFAULT AS IDENTITY (START WITH 7 INCREMENT BY 1)"),
        ("a", None),
        ("b", "GENERATED ALWAYS AS (a + 1)"),
    ]
    rows(session, "DROP TABLE shop.computed")


METADATA: list[tuple[Statement, list[tuple[Any, ...]]]] = [
    (ListSchemas(schema_pattern="s%"), [("spark_catalog", "shop")]),
    (ListSchemas(catalog="nope"), []),
    (ListTables(schema_pattern="shop"), [("spark_catalog", "shop", "items", "TABLE", "What is sold")]),
    (ListTables(types=("VIEW",)), []),
    (
        ListColumns(table_pattern="plain"),
        [("spark_catalog", "default", "plain", "x", "bigint", True, 1, None, None, None)],
    ),
    (ListColumns(schema_pattern="broken"), []),
    (ListFunctions(pattern="abs"), [(None, None, "abs", None)]),
]


@pytest.mark.parametrize(("statement", "expected"), METADATA)
def test_metadata_call_uses_the_same_pipeline(
    session: LakeSession, statement: Statement, expected: list[tuple[Any, ...]]
) -> None:
    assert rows(session, statement) == expected


def test_settings_and_schemas_belong_to_one_session(engine: LakeEngine, session: LakeSession) -> None:
    other = engine.open_session(
        Identity("bob"), settings={"spark.sql.ansi.enabled": "false"}, catalog=None, schema=None
    )
    assert rows(other, "SELECT cast('x' AS int)") == [(None,)]
    rows(session, "USE other")
    assert rows(session, "SELECT count(*) FROM items") == [(2,)]
    assert (session.current_schema, other.current_schema) == ("other", "default")
    assert rows(session, "SET spark.sql.session.timeZone = Asia/Tokyo") == [
        ("spark.sql.session.timeZone", "Asia/Tokyo")
    ]
    assert rows(session, "SELECT current_timezone()") == [("Asia/Tokyo",)]
    assert rows(other, "SELECT current_timezone()") != [("Asia/Tokyo",)]
    assert rows(session, "SET") == [("spark.sql.session.timeZone", "Asia/Tokyo")]
    rows(session, "RESET spark.sql.session.timeZone")
    assert rows(session, "SELECT current_timezone()") == rows(other, "SELECT current_timezone()")
    other.close()


def test_next_statement_reads_new_commit(session: LakeSession, lake: Path) -> None:
    write_deltalake(lake / "shop" / "fresh", pa.table({"x": [1]}))
    assert rows(session, "SELECT count(*) FROM fresh") == [(1,)]
    write_deltalake(lake / "shop" / "fresh", pa.table({"x": [2]}), mode="append")
    assert rows(session, "SELECT count(*) FROM fresh") == [(2,)]


def test_explain_runs_nothing_and_shows_users_names(session: LakeSession) -> None:
    ((text,),) = rows(session, "EXPLAIN SELECT id FROM items WHERE day = DATE'2024-01-01'")
    assert "Physical Plan" in text and "__scan_" not in text


def test_a_statement_cancelled_before_it_starts_runs_nothing(session: LakeSession) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(StatementCancelled):
        session.execute("SELECT 1", StatementRequest(identity=Identity("ann"), cancel=token))


def test_result_columns_carry_their_sql_types(session: LakeSession) -> None:
    text = (
        "SELECT id, name, day, array(id) AS a, named_struct('x', 1) AS s, interval '1' day AS i, null AS n FROM items"
    )
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    assert [sql_type_of(field) for field in result.schema] == [
        "bigint", "string", "date", "array<bigint>", "struct<x:int>", "interval day", "void",
    ]  # fmt: skip
    result.close()


def test_views_stand_on_tables_and_views_and_keep_their_columns(session: LakeSession) -> None:
    rows(session, "CREATE SCHEMA IF NOT EXISTS made COMMENT 'x'")
    rows(session, "CREATE SCHEMA IF NOT EXISTS made")
    rows(
        session,
        "CREATE VIEW made.v (Key COMMENT 'k', total) COMMENT 'about' AS SELECT name, sum(id) FROM items GROUP BY 1",
    )
    rows(session, "CREATE OR REPLACE VIEW made.w AS SELECT v.key, total + 1 AS more FROM made.v")
    rows(session, "USE other")
    assert rows(session, "SELECT total FROM made.v WHERE v.key = 'b'") == [(2,)]
    assert rows(session, "SELECT w.more FROM made.w JOIN made.v ON w.key = made.v.key WHERE more > 4") == [(5,)]
    assert rows(session, "TABLE made.v ORDER BY total LIMIT 1") == [("a", 1)]
    assert rows(session, "DESCRIBE made.v") == [("Key", "string", "k"), ("total", "bigint", None)]
    assert rows(session, "SHOW VIEWS IN made") == [("made", "v", False), ("made", "w", False)]
    columns = [row[3:5] for row in rows(session, ListColumns(schema_pattern="made", table_pattern="w"))]
    assert columns == [("key", "string"), ("more", "bigint")]
    rows(session, "DROP SCHEMA made CASCADE")
    rows(session, "DROP VIEW IF EXISTS made.v")


def test_a_temporary_view_is_one_sessions_own_and_comes_first(engine: LakeEngine, session: LakeSession) -> None:
    rows(session, "CREATE TEMPORARY VIEW items AS SELECT 'mine' AS who")
    assert rows(session, "SELECT who FROM items") == [("mine",)]
    assert rows(session, "SELECT count(*) FROM shop.items") == [(4,)]
    with pytest.raises(SqlError, match="already"):
        rows(session, "CREATE TEMP VIEW items AS SELECT 1 AS x")
    rows(session, "CREATE TEMP VIEW IF NOT EXISTS items AS SELECT 1 AS x")
    assert rows(session, "SELECT who FROM items") == [("mine",)]
    rows(session, "CREATE OR REPLACE TEMP VIEW items AS SELECT 2 AS x")
    assert rows(session, "SELECT x FROM items") == [(2,)]
    other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema="shop")
    assert rows(other, "SELECT count(*) FROM items") == [(4,)]
    other.close()
    rows(session, "DROP VIEW items")
    assert rows(session, "SELECT count(*) FROM items") == [(4,)]


def test_a_session_may_begin_in_a_schema_that_it_makes(engine: LakeEngine) -> None:
    begun = engine.open_session(
        Identity("ann"), settings={}, catalog="hive_metastore", schema="later", may_lack_schema=True
    )
    assert rows(begun, "SELECT current_database()") == [("later",)]
    assert refuse(begun, "SELECT * FROM made").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert refuse(begun, "CREATE TABLE made (k INT)").condition == "SCHEMA_NOT_FOUND"
    rows(begun, "CREATE SCHEMA later")
    rows(begun, "CREATE TABLE made AS SELECT 1 AS k")
    assert rows(begun, "SELECT k FROM later.made") == rows(begun, "SELECT k FROM made") == [(1,)]
    rows(begun, "DROP SCHEMA later CASCADE")
    begun.close()


VIEW_REFUSALS = [
    ("CREATE VIEW w1 AS SELECT * FROM w1", "TABLE_OR_VIEW_NOT_FOUND"),
    ("CREATE OR REPLACE VIEW base AS SELECT * FROM top", "RECURSIVE_VIEW"),
    ("CREATE VIEW base AS SELECT 1 AS x", "TABLE_OR_VIEW_ALREADY_EXISTS"),
    ("CREATE VIEW items AS SELECT 1 AS x", "TABLE_OR_VIEW_ALREADY_EXISTS"),
    ("CREATE VIEW bad (a, b) AS SELECT 1 AS x", "CREATE_VIEW_COLUMN_ARITY_MISMATCH"),
    ("CREATE VIEW bad AS SELECT 1 AS x, 2 AS X", "COLUMN_ALREADY_EXISTS"),
    ("CREATE VIEW bad AS SELECT nope FROM items", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("CREATE VIEW bad AS SELECT reflect('a', 'b') AS x", "UNSUPPORTED_FUNCTION"),
    ("CREATE VIEW bad AS SELECT * FROM mine", "INVALID_TEMP_OBJ_REFERENCE"),
    ("SELECT * FROM base VERSION AS OF 1", "UNSUPPORTED_FEATURE.TIME_TRAVEL"),
    ("DROP VIEW items", "DISCOVERED_OBJECT_NOT_CHANGEABLE"),
    ("DROP VIEW nope", "TABLE_OR_VIEW_NOT_FOUND"),
    ("SHOW PARTITIONS base", "EXPECT_TABLE_NOT_VIEW"),
    ("DROP SCHEMA nope", "SCHEMA_NOT_FOUND"),
    ("CREATE SCHEMA shop", "SCHEMA_ALREADY_EXISTS"),
]


@pytest.mark.parametrize(("text", "condition"), VIEW_REFUSALS)
def test_invalid_view_is_rejected(session: LakeSession, text: str, condition: str) -> None:
    rows(session, "CREATE OR REPLACE VIEW base AS SELECT id FROM items")
    rows(session, "CREATE OR REPLACE VIEW top AS SELECT id + 1 AS id FROM base")
    rows(session, "CREATE OR REPLACE TEMP VIEW mine AS SELECT 1 AS x")
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    assert caught.value.condition == condition
    rows(session, "DROP VIEW top")
    rows(session, "DROP VIEW base")
