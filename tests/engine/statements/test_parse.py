"""Text → statement: each kind of statement, rejected ones with their conditions, and syntax error positions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import (
    EmptyStatement,
    InvalidSetSyntax,
    SeveralStatements,
    ShowColumnsConflict,
    StatementTooComplex,
    StatementTooLong,
    TooManyNameParts,
    UnsupportedClause,
    UnsupportedFunction,
    UnsupportedPathRelation,
    UnsupportedStatement,
)
from catalog.errors import SqlError
from catalog.grants.privileges import Kind, PrincipalKind
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.runtime.statement import Statement
from engine.sql.dialect.refusals import REFUSED_STATEMENTS
from engine.sql.query.values import ExplainMode, Query
from engine.statements.compatibility.spec import Absent, Refresh, ShowAbsent
from engine.statements.describe.statement import (
    DescribeDetail,
    DescribeHistory,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
)
from engine.statements.explain.statement import Explain
from engine.statements.grants.statement import PrincipalName, SecurableName, ShowGrants
from engine.statements.listings.statement import FindColumns, FindFunctions, FindSchemas, FindTables
from engine.statements.parse import parse
from engine.statements.registry import LEADING_WORDS
from engine.statements.session.statement import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
from engine.statements.show.statement import (
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)
from tests.engine.sql.golden import load_cases
from tests.engine.sql.places import place_of
from tests.examples import examples

ZONE = "spark.sql.session.timeZone"

STATEMENTS: list[tuple[str, Statement]] = [
    ("show catalogs", ShowCatalogs()),
    ("SHOW CATALOGS LIKE 's*'", ShowCatalogs(pattern="s*")),
    ("show schemas", ShowSchemas()),
    ("SHOW DATABASES", ShowSchemas()),
    ("show namespaces in c", ShowSchemas(catalog="c")),
    ("SHOW SCHEMAS FROM `my cat` LIKE 'a|b'", ShowSchemas(catalog="my cat", pattern="a|b")),
    ("SHOW SCHEMAS 'x*'", ShowSchemas(pattern="x*")),
    ("SHOW SCHEMAS IN ALL CATALOGS", FindSchemas()),
    ("SHOW SCHEMAS IN ALL CATALOGS LIKE 'a*'", FindSchemas(pattern="a*")),
    ("show tables", ShowTables()),
    ("show tables in s", ShowTables(schema_parts=("s",))),
    ("SHOW TABLES FROM `c`.`s`", ShowTables(schema_parts=("c", "s"))),
    ("show tables in s like '*'", ShowTables(schema_parts=("s",), pattern="*")),
    ("show tables in catalog", ShowTables(schema_parts=("catalog",))),
    ("show tables in catalog.s", ShowTables(schema_parts=("catalog", "s"))),
    ("SHOW TABLES IN ALL CATALOGS SCHEMA LIKE 'lab'", FindTables(schema_pattern="lab")),
    (
        "SHOW TABLES IN CATALOG c SCHEMA LIKE 's' TABLE LIKE 't*'",
        FindTables(catalog="c", schema_pattern="s", table_pattern="t*"),
    ),
    ("SHOW TABLES IN CATALOG `c` TABLE LIKE 't'", FindTables(catalog="c", table_pattern="t")),
    ("show table extended in s like '*'", ShowTableExtended(schema_parts=("s",), pattern="*")),
    ("SHOW TABLE EXTENDED LIKE 'a' 'b'", ShowTableExtended(pattern="ab")),
    ("show views in s", ShowViews(schema_parts=("s",))),
    ("show views from a.b like 'v'", ShowViews(schema_parts=("a", "b"), pattern="v")),
    (
        "SHOW TABLES FROM CATALOG `c` SCHEMA LIKE 's' LIKE 't%'",
        FindTables(catalog="c", schema_pattern="s", table_pattern="t%"),
    ),
    ("SHOW SCHEMAS IN CATALOG c LIKE 'a%'", FindSchemas(catalog="c", pattern="a%")),
    (
        "SHOW FUNCTIONS IN CATALOG c SCHEMA LIKE 's' LIKE 'f'",
        FindFunctions(catalog="c", schema_pattern="s", pattern="f"),
    ),
    ("describe extended t as json", DescribeTable(table_parts=("t",), extended=True, as_json=True)),
    ("refresh t", Refresh(table_parts=("t",))),
    ("REFRESH TABLE c.s.t", Refresh(table_parts=("c", "s", "t"))),
    ("refresh table", Refresh(table_parts=("table",))),
    ("refresh '/data/x'", Refresh()),
    ("refresh function f", Refresh()),
    ("INVALIDATE METADATA", Refresh()),
    ("invalidate metadata s.t", Refresh(table_parts=("s", "t"))),
    ("MSCK REPAIR TABLE t SYNC PARTITIONS", Refresh(table_parts=("t",))),
    ("msck table t sync metadata", Refresh(table_parts=("t",))),
    ("show locks", ShowAbsent(kind=Absent.LOCKS)),
    ("show locks s.t extended", ShowAbsent(kind=Absent.LOCKS, table_parts=("s", "t"))),
    ("show index on 't'", ShowAbsent(kind=Absent.INDEXES)),
    ("show formatted indexes on t in s", ShowAbsent(kind=Absent.INDEXES, table_parts=("s", "t"))),
    ("show current roles", ShowAbsent(kind=Absent.ROLES)),
    ("show transactions", ShowAbsent(kind=Absent.TRANSACTIONS)),
    ("show grants on table t", ShowGrants(securable=SecurableName(kind=Kind.TABLE, parts=("t",)))),
    ("show grants on s.t", ShowGrants(securable=SecurableName(kind=Kind.TABLE, parts=("s", "t")))),
    ("show grants on table", ShowGrants(securable=SecurableName(kind=Kind.TABLE, parts=("table",)))),
    (
        "show grant user `a@b` on schema s",
        ShowGrants(
            principal=PrincipalName(name="a@b", kind=PrincipalKind.USER),
            securable=SecurableName(kind=Kind.SCHEMA, parts=("s",)),
        ),
    ),
    ("show grants", ShowGrants()),
    ("show columns in s.t", ShowColumns(table_parts=("s", "t"))),
    ("show columns from t from s", ShowColumns(table_parts=("s", "t"))),
    ("show columns in S.t in s", ShowColumns(table_parts=("s", "t"))),
    ("show columns in delta.`/p`", ShowColumns(table_parts=("delta", "/p"))),
    (
        "SHOW COLUMNS IN CATALOG c SCHEMA LIKE 's' TABLE LIKE 't' LIKE 'x*'",
        FindColumns(catalog="c", schema_pattern="s", table_pattern="t", column_pattern="x*"),
    ),
    ("SHOW COLUMNS IN ALL CATALOGS", FindColumns()),
    ("show functions", ShowFunctions()),
    ("show functions like 'm*'", ShowFunctions(pattern="m*")),
    ("show functions max", ShowFunctions(pattern="max")),
    ("show functions in s like 'm*'", ShowFunctions(schema_parts=("s",), pattern="m*")),
    ("show user functions", ShowFunctions(builtin=False)),
    ("show system functions 'x'", ShowFunctions(user=False, pattern="x")),
    ("show all functions", ShowFunctions()),
    ("show current namespace", ShowCurrentNamespace()),
    ("show tblproperties s.t", ShowTblProperties(table_parts=("s", "t"))),
    ("show tblproperties t ('delta.x')", ShowTblProperties(table_parts=("t",), key="delta.x")),
    ("show tblproperties t (delta.x.y)", ShowTblProperties(table_parts=("t",), key="delta.x.y")),
    ("show partitions c.s.t", ShowPartitions(table_parts=("c", "s", "t"))),
    (
        "show partitions t partition (a = 1, b='x y', `c d`=NULL, e=-1.5, f=true)",
        ShowPartitions(
            table_parts=("t",), spec=(("a", "1"), ("b", "x y"), ("c d", None), ("e", "-1.5"), ("f", "TRUE"))
        ),
    ),
    ("show create table s.t", ShowCreateTable(table_parts=("s", "t"))),
    ("describe t", DescribeTable(table_parts=("t",))),
    ("DESC TABLE EXTENDED `c`.`s`.`t`", DescribeTable(table_parts=("c", "s", "t"), extended=True)),
    ("describe formatted s.t", DescribeTable(table_parts=("s", "t"), extended=True)),
    ("desc t x", DescribeTable(table_parts=("t",), column_parts=("x",))),
    (
        "desc extended s.t x.`y z`",
        DescribeTable(table_parts=("s", "t"), extended=True, column_parts=("x", "y z")),
    ),
    ("desc table", DescribeTable(table_parts=("table",))),
    ("desc extended", DescribeTable(table_parts=("extended",))),
    ("desc history", DescribeTable(table_parts=("history",))),
    ("desc detail.t", DescribeTable(table_parts=("detail", "t"))),
    ("desc schema.t", DescribeTable(table_parts=("schema", "t"))),
    ("desc query", DescribeTable(table_parts=("query",))),
    ("desc schema s", DescribeSchema(schema_parts=("s",))),
    ("describe database extended c.s", DescribeSchema(schema_parts=("c", "s"), extended=True)),
    ("desc namespace extended", DescribeSchema(schema_parts=("extended",))),
    ("describe history s.t", DescribeHistory(table_parts=("s", "t"))),
    ("DESC HISTORY t LIMIT 5", DescribeHistory(table_parts=("t",), limit=5)),
    ("describe history delta.`/a b`", DescribeHistory(table_parts=("delta", "/a b"))),
    ("describe history '/a b' limit 1", DescribeHistory(table_parts=("delta", "/a b"), limit=1)),
    ("describe detail t", DescribeDetail(table_parts=("t",))),
    ("describe detail '/p'", DescribeDetail(table_parts=("delta", "/p"))),
    ("describe query select 1", DescribeQuery(inner=Query(text="select 1"))),
    ("desc select 1", DescribeQuery(inner=Query(text="select 1"))),
    (
        "desc with a as (select 1) select * from a",
        DescribeQuery(inner=Query(text="with a as (select 1) select * from a")),
    ),
    ("desc values (1)", DescribeQuery(inner=Query(text="values (1)"))),
    ("use s", UseSchema(parts=("s",))),
    ("use `default`", UseSchema(parts=("default",))),
    ("use c.s", UseSchema(parts=("c", "s"))),
    ("use schema s", UseSchema(parts=("s",), schema_only=True)),
    ("use database `s`", UseSchema(parts=("s",), schema_only=True)),
    ("use namespace c.s", UseSchema(parts=("c", "s"), schema_only=True)),
    ("use schema", UseSchema(parts=("schema",))),
    ("USE CATALOG `c`", UseCatalog(catalog="c")),
    ("use catalog 'c'", UseCatalog(catalog="c")),
    ("set catalog c", UseCatalog(catalog="c")),
    ("SET CATALOG 'c'", UseCatalog(catalog="c")),
    ("set", ShowSettings()),
    ("set -v", ShowSettings(verbose=True)),
    ("set spark.sql.x", ShowSettings(key="spark.sql.x")),
    ("set `spark.sql.x`", ShowSettings(key="spark.sql.x")),
    ("set spark.sql.x=5", SetSetting(key="spark.sql.x", value="5")),
    ("SET spark.sql.x =  a b  ", SetSetting(key="spark.sql.x", value="a b")),
    ("set x = 'it''s'", SetSetting(key="x", value="'it''s'")),
    ("set x = it's", SetSetting(key="x", value="it's")),
    ("/* c */ -- d\n set x = it's;", SetSetting(key="x", value="it's")),
    ("set x = a = b", SetSetting(key="x", value="a = b")),
    ("set x =", SetSetting(key="x", value="")),
    ("set x = +02:00;", SetSetting(key="x", value="+02:00")),
    ("set `a b`=`c``d`", SetSetting(key="a b", value="c`d")),
    ("set hiveconf:x = y", SetSetting(key="hiveconf:x", value="y")),
    ("set variable = y", SetSetting(key="variable", value="y")),
    ("set catalog.x = y", SetSetting(key="catalog.x", value="y")),
    ("set time zone 'Europe/Berlin'", SetSetting(key=ZONE, value="Europe/Berlin")),
    ("SET timezone = LOCAL", ResetSetting(key=ZONE)),
    ("SET TIMEZONE = INTERVAL 5 HOURS", SetSetting(key=ZONE, value="+05:00")),
    ("SET TIMEZONE = Local/Nowhere", SetSetting(key="TIMEZONE", value="Local/Nowhere")),
    ('SET TIME  ZONE "+01:00"', SetSetting(key=ZONE, value="+01:00")),
    ("set time zone local", ResetSetting(key=ZONE)),
    ("set time zone interval 5 hours", SetSetting(key=ZONE, value="+05:00")),
    ("set time zone interval '-3:30' hour to minute", SetSetting(key=ZONE, value="-03:30")),
    ("set time zone interval -'8' hour", SetSetting(key=ZONE, value="-08:00")),
    ("set time zone interval 90 minutes", SetSetting(key=ZONE, value="+01:30")),
    ("reset", ResetSetting()),
    ("RESET spark.sql.x ;", ResetSetting(key="spark.sql.x")),
    ("reset `a b`", ResetSetting(key="a b")),
]


@pytest.mark.parametrize(("text", "statement"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
@pytest.mark.parametrize("form", ["{}", '/* {{"app": "dbt"}} */\n{}', "  {} ;  ", "{};;\n"])
def test_a_statement_means_the_same_with_comments_and_semicolons(text: str, statement: Statement, form: str) -> None:
    assert parse(form.format(text)) == statement


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS if "'" not in text and "=" not in text])
def test_a_comment_at_the_end_is_no_part_of_a_statement(text: str) -> None:
    if not text.lower().startswith(("set", "reset")):
        assert parse(f"{text} -- x") == parse(f"{text} /* y */;") == parse(text)


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("", ExplainMode.SIMPLE),
        ("extended", ExplainMode.EXTENDED),
        ("CODEGEN", ExplainMode.CODEGEN),
        ("cost", ExplainMode.COST),
        ("formatted", ExplainMode.FORMATTED),
    ],
)
def test_explain_has_the_query_inside(word: str, mode: ExplainMode) -> None:
    statement = parse(f"explain {word} select * from s.t;")
    assert isinstance(statement, Explain)
    assert statement.mode is mode
    assert statement.inner == parse("select * from s.t")


def test_the_text_of_a_query_keeps_its_lines() -> None:
    statement = parse("-- one\n  select 1 /* two */ ; -- three")
    assert isinstance(statement, Query)
    assert statement.text == "-- one\n  select 1"


@pytest.mark.parametrize(
    "text", ["", " \n\t", ";", " ; ;", "-- only a comment", "/* only */", "/* a /* nested */ b */ ;"]
)
def test_an_empty_text_is_named(text: str) -> None:
    with pytest.raises(EmptyStatement):
        parse(text)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("select 1; select 2", 1, 11),
        ("select 1;\n-- x\n drop table t", 2, 1),
        ("use a; use b;", 1, 8),
        ("set a=b; set c=d", 1, 10),
        ("\n\nselect 1;; select 2", 3, 10),
        ("select ';'; select 2", 1, 13),
    ],
)
def test_several_statements_are_refused(text: str, line: int, column: int) -> None:
    with pytest.raises(SeveralStatements) as caught:
        parse(text)
    assert place_of(caught.value) == (line, column)


@pytest.mark.parametrize("text", ["select ';' as a, `;` from t", "select 1 /* ; */", "select 1 -- ; select 2"])
def test_a_semicolon_in_quotes_or_comments_ends_nothing(text: str) -> None:
    assert isinstance(parse(text), Query)


def is_supported(words: tuple[str, ...]) -> bool:
    """Return whether a supported statement begins so; then EXPLAIN alone refuses it by this name."""
    others = (
        ("BEGIN",),
        ("DECLARE",),
        ("EXECUTE", "IMMEDIATE"),
        ("DROP", "TEMPORARY", "VARIABLE"),
        ("DROP", "TEMP", "VARIABLE"),
    )
    return any(words[: len(head)] == head for head in (*LEADING_WORDS, *others))


@pytest.mark.parametrize("words", [words for words in REFUSED_STATEMENTS if not is_supported(words)], ids=" ".join)
def test_each_refused_statement_is_named(words: tuple[str, ...]) -> None:
    for text in (" ".join(words) + " x", "/* c */ " + "\n".join(words).lower() + " x y z"):
        with pytest.raises(UnsupportedStatement) as caught:
            parse(text)
        assert caught.value.kind == REFUSED_STATEMENTS[words]
        assert caught.value.sqlstate == "0A000"


REFUSED = [
    ("ADD JAR /tmp/x.jar", UnsupportedStatement),
    ("add jars '/tmp/x.jar'", UnsupportedStatement),
    ("ADD\nFILE '/etc/passwd'", UnsupportedStatement),
    ("add /* x */ archive 'a.zip'", UnsupportedStatement),
    ("LIST JARS", UnsupportedStatement),
    ("CREATE FUNCTION f AS 'com.example.F' USING JAR '/tmp/x.jar'", UnsupportedStatement),
    ("create or replace temporary function f as 'x'", UnsupportedStatement),
    ("CACHE TABLE t AS SELECT 1", UnsupportedStatement),
    ("CACHE LAZY TABLE t", UnsupportedStatement),
    ("LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE t", UnsupportedStatement),
    ("INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1", UnsupportedStatement),
    ("insert overwrite local directory '/tmp/x' select 1", UnsupportedStatement),
    ("with c as (delete from t) select 1", UnsupportedStatement),
    ("explain drop table t", UnsupportedStatement),
    ("EXPLAIN EXTENDED ADD JAR 'x'", UnsupportedStatement),
    ("describe function max", UnsupportedStatement),
    ("describe t partition (a = 1)", UnsupportedStatement),
    ("describe t as json", UnsupportedClause),
    ("describe extended t x as json", UnsupportedClause),
    ("show table extended like 'x' partition (a = 1)", UnsupportedStatement),
    ("show create table t as serde", UnsupportedStatement),
    ("select reflect('java.lang.Runtime', 'getRuntime')", UnsupportedFunction),
    ("SELECT ReFlEcT ( 'a', 'b' )", UnsupportedFunction),
    ("select /* a */ reflect /* b */ (/* c */ 'a', 'b')", UnsupportedFunction),
    ("select `reflect`('a', 'b')", UnsupportedFunction),
    ("select identifier('reflect')('a', 'b')", UnsupportedFunction),
    ("select java_method('a', 'b')", UnsupportedFunction),
    ("select try_reflect('a', 'b')", UnsupportedFunction),
    ("select system.builtin.reflect('a', 'b')", UnsupportedFunction),
    ("select builtin.`java_method`('a', 'b')", UnsupportedFunction),
    ("select 1 + coalesce(upper(reflect('a', 'b')), 'x')", UnsupportedFunction),
    ("select 1 where exists (select 1 from t where reflect('a', 'b') = 'c')", UnsupportedFunction),
    ("with c as (select reflect('a', 'b') as x) select * from c", UnsupportedFunction),
    ("select * from (select * from (select reflect('a', 'b')))", UnsupportedFunction),
    ("select transform(array(1), x -> reflect('a', x))", UnsupportedFunction),
    ("select case when reflect('a', 'b') then 1 end", UnsupportedFunction),
    ("select cast(reflect('a', 'b') as int)", UnsupportedFunction),
    ("select substring(reflect('a', 'b') from 1 for 2)", UnsupportedFunction),
    ("select 1 in (reflect('a', 'b'))", UnsupportedFunction),
    ("select array(1)[reflect('a', 'b')]", UnsupportedFunction),
    ("select 1 order by reflect('a', 'b')", UnsupportedFunction),
    ("select 1 group by reflect('a', 'b') having reflect('c', 'd')", UnsupportedFunction),
    ("select sum(1) over (order by reflect('a', 'b'))", UnsupportedFunction),
    ("select sum(1) filter (where reflect('a', 'b'))", UnsupportedFunction),
    ("select * from t join u on reflect('a', 'b') = 'c'", UnsupportedFunction),
    ("select * from t lateral view explode(reflect('a', 'b')) x as y", UnsupportedFunction),
    ("select * from t, lateral (select reflect('a', 'b'))", UnsupportedFunction),
    ("select * from explode(array(reflect('a', 'b')))", UnsupportedFunction),
    ("select * from values (reflect('a', 'b')) as v(x)", UnsupportedFunction),
    ("values (reflect('a', 'b'))", UnsupportedFunction),
    ("select 1 union all select reflect('a', 'b')", UnsupportedFunction),
    ("select 1 limit reflect('a', 'b')", UnsupportedFunction),
    ("select * from t pivot (max(reflect('a', 'b')) for c in (1))", UnsupportedFunction),
    ("explain select reflect('a', 'b')", UnsupportedFunction),
    ("describe select reflect('a', 'b')", UnsupportedFunction),
    ("from t |> where reflect('a', 'b')", UnsupportedFunction),
    ("select * from read_files('/etc/passwd', format => 'avro')", UnsupportedClause),
    ("select * from READ_FILES ('/x')", UnsupportedClause),
    ("select read_files('/x.csv')", UnsupportedClause),
    ("select * from t join cloud_files('/x') c", UnsupportedFunction),
    ("select xpath_string('<a/>', 'a')", UnsupportedFunction),
    ("select from_avro(a, '\"int\"') from t", UnsupportedFunction),
    ("select from_xml(a, 'b int', map('rowValidationXSDPath', '/etc/passwd')) from t", UnsupportedFunction),
    ("select * from python_worker_logs()", UnsupportedFunction),
    ("select transform(a, b) using 'cat' as (c) from t", UnsupportedClause),
    ("SELECT TRANSFORM(a) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING '/bin/sh' FROM t", UnsupportedClause),
    ('from t map a using "cat" as b', UnsupportedClause),
    ("from (from t select a) x reduce x.a using 'cat' as b", UnsupportedClause),
    ("select * from (select transform(a) using 'cat' from t)", UnsupportedClause),
    ("with c as (select transform(a) using r'cat' from t) select * from c", UnsupportedClause),
    ("select transform(a) using /* x */ :cmd from t", UnsupportedClause),
    ("select transform(a) using ? from t", UnsupportedClause),
    ("MAP a USING 'cat' FROM t", UnsupportedStatement),
    ("reduce a using 'cat' from t", UnsupportedStatement),
    ("select * from stream t", UnsupportedClause),
    ("select * from t with ('path' = '/etc')", UnsupportedClause),
    ("select * from t changes from version 1", UnsupportedClause),
    ("select * from explode(table(t))", UnsupportedClause),
    ("select * from f(table(select * from t))", UnsupportedClause),
    ("select * from parquet.`/etc/x`", UnsupportedPathRelation),
    ("select * from `PARQUET`.`/etc/x`", UnsupportedPathRelation),
    ("select * from csv.`x.csv`", UnsupportedPathRelation),
    ("select * from Json.`s3://b/x`", UnsupportedPathRelation),
    ("select * from text.`/etc/passwd`", UnsupportedPathRelation),
    ("select * from binaryFile.`*`", UnsupportedPathRelation),
    ("select * from orc . /* x */ `/x`", UnsupportedPathRelation),
    ("select * from `org.apache.spark.sql.parquet`.`/x`", UnsupportedPathRelation),
    ("select * from t where a in (select b from avro.`/x`)", UnsupportedPathRelation),
    ("with parquet as (select 1) select * from parquet.`/x`", UnsupportedPathRelation),
    ("describe parquet.`/x`", UnsupportedPathRelation),
    ("show columns in csv.`/x`", UnsupportedPathRelation),
    ("table text.`/etc/passwd`", UnsupportedPathRelation),
    ("select * from a.b.c.d.e", TooManyNameParts),
    ("use a.b.c", TooManyNameParts),
    ("show schemas in a.b", TooManyNameParts),
    ("show columns in a.t in b", ShowColumnsConflict),
    ("set a b", InvalidSetSyntax),
    ("set 'a' = b", InvalidSetSyntax),
    ("reset a b", InvalidSetSyntax),
    ("set time zone europe", InvalidSetSyntax),
    ("set time zone interval 5 days", InvalidSetSyntax),
    ("select " + "(" * 3000 + "1" + ")" * 3000, StatementTooComplex),
]


@pytest.mark.parametrize(("text", "error"), REFUSED, ids=[text[:80] for text, _ in REFUSED])
def test_forbidden_statement_is_rejected_with_its_name(text: str, error: type[SqlError]) -> None:
    with pytest.raises(error):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "select reflect from t",
        "select t.reflect, java_method as reflect from t",
        "select 'reflect(1)', \"java_method(1)\" -- reflect(1)",
        "select * from csv.t",
        "select * from json.events_2024",
        "select * from reflect",
        "select transform(a, x -> x + 1) from t",
        "select identifier from t",
        "select * from stream",
        "select * from a join b using (id)",
        "select map(1, 2), reduce(a, 0, (x, y) -> x + y) from t",
        "select version, timestamp from t version",
        "select changes from t changes",
        "select * from t@v1",
    ],
)
def test_allowed_statement_that_resembles_a_forbidden_one(text: str) -> None:
    assert isinstance(parse(text), Query)


def test_the_length_is_limited() -> None:
    with pytest.raises(StatementTooLong):
        parse("select 1" + " " * TEXT_LENGTH_MAX)


@pytest.mark.parametrize(
    "text",
    [
        "select " + " + ".join(["1"] * 3000),
        "select 1 from t where " + " or ".join(f"t.a = {index}" for index in range(3000)),
        " union all ".join(["select a from t"] * 1000),
        "values " + ", ".join(f"({index})" for index in range(3000)),
        "select " + "(" * 200 + "1" + ")" * 200,
        "select " + "coalesce(" * 200 + "1" + ")" * 200,
        "select * from " + "(select * from " * 100 + "t" + ")" * 100,
        "select * from t" + " join t" * 100,
    ],
    ids=["sum", "or", "union", "values", "parentheses", "calls", "subqueries", "joins"],
)
def test_long_chains_and_nests_are_parsed(text: str) -> None:
    assert isinstance(parse(text), Query)


_WORDS = st.sampled_from(
    "select from where t s.t t.* `a``b` 'x' ( ) , ; . * = + - @v3 @ as of version timestamp join on using with values "
    "table lateral view explode pivot for in exists union all order by group /*+ */ /* -- \n : ? :a 1 1.5 e 'a\\ ` \" "
    "describe show tables use set = reset explain insert [ ] { } -> => |> :: end case when then".split(" ")
)


def _ensure_parses(text: str) -> None:
    try:
        parse(text)
    except SqlError as error:
        assert str(error)


@given(st.text(max_size=60))
@examples(300)
def test_any_text_is_a_statement_or_a_sql_error(text: str) -> None:
    _ensure_parses(text)


@given(st.lists(_WORDS, max_size=25).map(" ".join))
@examples(1000)
def test_any_words_are_a_statement_or_a_sql_error(text: str) -> None:
    _ensure_parses(text)


@given(st.data())
@examples(500)
def test_a_broken_query_is_a_statement_or_a_sql_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(load_cases())).query
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    _ensure_parses(text[:start] + data.draw(_WORDS) + text[end:])
