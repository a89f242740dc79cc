"""PostgreSQL's dialect on Spark: answers are PostgreSQL's, and what cannot be translated is rejected with its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import SqlDialect, StatementRequest
from engine.spark.session import SparkDriver
from engine.sql.postgres.translate import translate
from tests.engine.sql.postgres.dialect_cases import (
    Refusal,
    answers,
    comparable,
    queries,
    refusals,
    spark_statements,
)

ANN = Identity("ann")
# `make test` runs each sixth query.
_STEP = 6
CASES = [
    pytest.param(text, answer, id=text[:70], marks=pytest.mark.slow if number % _STEP else ())
    for number, (text, answer) in enumerate(zip(queries(), answers(), strict=True))
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    lake = tmp_path_factory.mktemp("lake")
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(ANN, settings={}, catalog=None, schema=None)
    for statement in spark_statements():
        for _ in opened.execute(statement, StatementRequest(identity=ANN)).batches():
            pass
    yield opened
    opened.close()


def _run(session: LakeSession, text: str) -> tuple[list[str], list[tuple[object, ...]]]:
    stream = session.execute(text, StatementRequest(identity=ANN, dialect=SqlDialect.POSTGRES))
    rows = [row for batch in stream.batches() for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
    return list(stream.schema.names), rows


def _rows(session: LakeSession, text: str, *parameters: Parameter) -> list[dict[str, object]]:
    request = StatementRequest(identity=ANN, dialect=SqlDialect.POSTGRES)
    return [row for batch in session.execute(text, request, parameters).batches() for row in batch.to_pylist()]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_query_has_postgresqls_labels_and_rows(session: LakeSession, text: str, expected: dict[str, object]) -> None:
    labels, rows = _run(session, text)
    assert comparable(text, rows) == expected["rows"]
    assert labels == expected["labels"]


@pytest.mark.parametrize("refusal", refusals(), ids=lambda refusal: refusal.text[:60])
def test_construct_without_equivalent_gets_0a000_with_its_place(refusal: Refusal) -> None:
    with pytest.raises(SqlError) as raised:
        translate(refusal.text)
    assert raised.value.sqlstate == "0A000"
    position = raised.value.position
    assert position is not None and (position.line, position.column) == (1, refusal.offset + 1)


def test_error_of_a_temporary_table_names_what_to_use() -> None:
    with pytest.raises(SqlError) as raised:
        translate("CREATE TEMPORARY TABLE t (a int)")
    assert raised.value.message.startswith("CREATE TEMPORARY TABLE is not supported in PostgreSQL's dialect")
    assert "CREATE TEMPORARY VIEW" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("select id frm numbers where", 15),
        ("select a, from numbers", 11),
        ("select * from numbers where (a = 1", 35),
        ("select 'open", 1),
        ("select 1; select 2", 9),
    ],
)
def test_syntax_error_has_its_place(text: str, column: int) -> None:
    with pytest.raises(SqlError) as raised:
        translate(text)
    assert raised.value.sqlstate == "42601"
    assert raised.value.position is not None and raised.value.position.column == column


@pytest.mark.parametrize(
    ("text", "sqlstate", "word"),
    [
        ("select id,\n  nosuch + 5/2 from numbers", "42703", "nosuch"),
        ("select count(*) from numbers where nosuch = 1", "42703", "nosuch"),
        ("select id from nosuch_table", "42P01", "nosuch_table"),
        ("select id, nosuch_function(id) from numbers", "42883", "nosuch_function"),
    ],
)
def test_error_of_spark_has_its_place_in_the_users_text(
    session: LakeSession, text: str, sqlstate: str, word: str
) -> None:
    with pytest.raises(SqlError) as raised:
        _run(session, text)
    assert raised.value.sqlstate == sqlstate
    position = raised.value.position
    assert position is not None
    assert text.splitlines()[position.line - 1][position.column - 1 :].startswith(word)


def test_parameters_become_named_markers(session: LakeSession) -> None:
    parameters = (
        Parameter(value="2", sql_type="int", name="p1"),
        Parameter(value="x", name="p2"),
        Parameter(value=None, sql_type="int", name="p3"),
    )
    request = StatementRequest(identity=ANN, dialect=SqlDialect.POSTGRES)
    text = "select id, $2 || 'y' as t, $3::int as n from numbers where id = $1 limit $1"
    batches = session.execute(text, request, parameters).batches()
    assert [row for batch in batches for row in batch.to_pylist()] == [{"id": 2, "t": "xy", "n": None}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('insert into "T" ("a b") values (\'x\\y\')', "insert into `T` (`a b`) VALUES ('x\\\\y')"),
        ("update t set a = $1 where b = 'c\\d'", "UPDATE `t` SET `a` = :p1 WHERE `b` = 'c\\\\d'"),
        ('update t set a = a / 2, "B c" = 5/2', "UPDATE `t` SET `a` = pg_divide(`a`, 2), `B c` = pg_divide(5, 2)"),
        (
            "delete from t where x ~* 'a' and y = any('{1,2}'::int[])",
            (
                "DELETE FROM `t` WHERE `x` RLIKE '(?i)a' AND exists(CAST(array('1', '2') AS ARRAY<INT>), "
                "`pg_item` -> `y` = `pg_item`)"
            ),
        ),
        (
            "merge into t using s on t.id = s.id when matched then update set a = s.a / 2",
            "MERGE INTO `t` USING `s` ON `t`.`id` = `s`.`id` WHEN MATCHED THEN UPDATE SET `a` = pg_divide(`s`.`a`, 2)",
        ),
        (
            "merge into t using s on t.id = s.id when not matched then insert (id) values (s.id)",
            "MERGE INTO `t` USING `s` ON `t`.`id` = `s`.`id` WHEN NOT MATCHED THEN INSERT (`id`) VALUES (`s`.`id`)",
        ),
        ("explain select 5/2", "explain SELECT pg_divide(5, 2) AS `?column?`"),
        ("insert into t select 5/2", "insert into t SELECT pg_divide(5, 2) AS `?column?`"),
        ('delete from "T" where "x y" = 1', "DELETE FROM `T` WHERE `x y` = 1"),
        ("show tables", "show tables"),
        ("create temp view v as select 5/2 as a", "create temp view v as SELECT pg_divide(5, 2) AS `a`"),
        ('create temporary view "V" as select 1 as a', "create temporary view `V` as SELECT 1 AS `a`"),
        ("create table t as select a / b as c from u", "create table t as SELECT pg_divide(`a`, `b`) AS `c` FROM `u`"),
    ],
)
def test_statement_that_is_no_query_has_names_and_constants_of_spark(text: str, expected: str) -> None:
    assert translate(text) == expected


def test_changes_of_rows_have_the_meaning_of_postgresql(session: LakeSession) -> None:
    _run(session, "create table changed (id int, a int)")
    _run(session, "insert into changed values (1, 7), (2, 5/2), (3, null)")
    _run(session, "update changed set a = a / 2 where id = 1")
    _run(session, "delete from changed where a is not distinct from null")
    assert _run(session, "select id, a from changed order by id")[1] == [(1, 3), (2, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{bad}",
        '{"a": 1,}',
        '{"a" 1}',
        "[1 2]",
        "[1,]",
        "01",
        "1.",
        "+1",
        "nulls",
        "NaN",
        "'a'",
        '"a',
        '"\\x"',
        '"\\u12"',
        '"a\nb"',
        "1 2",
        "[" * 2000 + "]" * 2000,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_text_that_is_no_json_gets_22018(session: LakeSession, text: str) -> None:
    for query in ("select $1::json", "select $1::jsonb", "select $1 ->> 'a'", "select $1 #> '{}'"):
        with pytest.raises(SqlError) as raised:
            _rows(session, query, Parameter(value=text, name="p1"))
        assert raised.value.sqlstate == "22018"


@pytest.mark.parametrize(
    "text", ["", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a-0" * 16, "g" * 32]
)
def test_text_that_is_no_uuid_gets_22018(session: LakeSession, text: str) -> None:
    with pytest.raises(SqlError) as raised:
        _rows(session, "select $1::uuid", Parameter(value=text, name="p1"))
    assert raised.value.sqlstate == "22018"


@pytest.mark.parametrize("text", ['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"'])
def test_escape_that_is_no_character_is_rejected_where_it_is_read(session: LakeSession, text: str) -> None:
    assert _rows(session, "select $1::json as v", Parameter(value=text, name="p1")) == [{"v": text}]
    for query in ("select $1::jsonb", "select $1 #>> '{}'"):
        with pytest.raises(SqlError) as raised:
            _rows(session, query, Parameter(value=text, name="p1"))
        assert raised.value.sqlstate == "22018"


def test_key_of_json_has_the_type_of_its_parameter(session: LakeSession) -> None:
    keys = (
        Parameter(value="1", name="p1"),
        Parameter(value="1", sql_type="smallint", name="p2"),
        Parameter(value=None, sql_type="int", name="p3"),
        Parameter(value="{b,1}", name="p4"),
        Parameter(value=None, sql_type="array", name="p5", members=(Parameter(value="b"), Parameter(value="1"))),
    )
    text = """select '["x", "y"]'::json ->> $1 as a, '{"1": "z"}'::json ->> $1 as b, '["x", "y"]'::json ->> $2 as c,
        '["x", "y"]'::json ->> $1::int as d, '{"1": "z"}'::json ->> $2 as e, '["x"]'::json ->> $3 as f,
        '{"b": ["x", "y"]}'::json #>> $4 as g, '{"b": ["x", "y"]}'::json #> $5 as h"""
    expected = {"a": None, "b": "z", "c": "y", "d": "y", "e": None, "f": None, "g": "y", "h": '"y"'}
    assert _rows(session, text, *keys) == [expected]


@pytest.mark.parametrize("key", ["1.5", "true", "date '2024-01-01'"])
def test_key_of_json_that_is_neither_text_nor_integer_is_rejected(session: LakeSession, key: str) -> None:
    with pytest.raises(SqlError) as raised:
        _run(session, f"select j -> {key} from docs")
    assert "pg_json_get with a key of the type" in raised.value.message


@pytest.mark.parametrize("path", ["a", "{a", "{a}}", "{a,}", '{"a}'])
def test_text_that_is_no_path_gets_22018(session: LakeSession, path: str) -> None:
    with pytest.raises(SqlError) as raised:
        _rows(session, "select j #> $1 from docs", Parameter(value=path, name="p1"))
    assert raised.value.sqlstate == "22018"


def test_nested_value_is_json(session: LakeSession) -> None:
    _run(session, "create table nested as select array(1, 2) as xs, map('k', struct(1 as a)) as m")
    text = "select xs::json as a, m->'k' as b, m->'k'->>'a' as c, xs->>-1 as d, m #>> '{k,a}' as e from nested"
    assert _run(session, text)[1] == [("[1,2]", '{"a":1}', "1", "2", "1")]


def test_other_dialect_does_not_change_sparks(session: LakeSession) -> None:
    stream = session.execute("select 5/2", StatementRequest(identity=ANN))
    assert [row for batch in stream.batches() for row in batch.to_pylist()] == [{"(5 / 2)": 2.5}]


def test_function_of_an_operator_with_other_arguments_is_rejected(session: LakeSession) -> None:
    with pytest.raises(SqlError) as raised:
        list(session.execute("select pg_divide(1)", StatementRequest(identity=ANN)).batches())
    assert "pg_divide" in raised.value.message
