"""Text → write statement: each clause in INSERT and DDL, and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import StatementSyntaxError, UnsupportedClause, UnsupportedFunction, UnsupportedStatement
from catalog.entries import SchemaMode
from catalog.errors import SqlError
from engine.runtime.statement import Statement
from engine.sql.query.splice import splice
from engine.sql.query.values import Query
from engine.statements.alter_table.statement import RenameTable, SetProperties, UnsetProperties
from engine.statements.comments.spec import Commentable, CommentOn
from engine.statements.containers.statement import CreateCatalog, CreateSchema, DropCatalog, DropSchema
from engine.statements.create_table.statement import (
    Check,
    ColumnDef,
    CreateMode,
    CreateTable,
    CreateTableLike,
    DropTable,
    Identity,
)
from engine.statements.insert.statement import Insert, PartitionItem, ReplaceOn, ReplaceUsing, ReplaceWhere
from engine.statements.parse import parse
from engine.statements.row_changes.statement import TruncateTable
from engine.statements.views.statement import AlterView, CreateView, DropView, ViewColumn
from tests.examples import examples

ONE = Query(text="select 1")


def _column(name: str, sql_type: str, **clauses: object) -> ColumnDef:
    return ColumnDef(parts=tuple(name.split(".")), sql_type=sql_type, **clauses)  # type: ignore[arg-type]


INSERTS: list[tuple[str, Statement]] = [
    ("insert into t select 1", Insert(table_parts=("t",), source=ONE)),
    ("INSERT INTO TABLE c.s.t select 1", Insert(table_parts=("c", "s", "t"), source=ONE)),
    ("insert into delta.`/p` select 1", Insert(table_parts=("delta", "/p"), source=ONE)),
    ("insert overwrite t select 1", Insert(table_parts=("t",), source=ONE, overwrite=True)),
    ("insert overwrite table t select 1", Insert(table_parts=("t",), source=ONE, overwrite=True)),
    ("insert into t (a, `b c`) select 1", Insert(table_parts=("t",), source=ONE, columns=("a", "b c"))),
    ("insert into t by name select 1", Insert(table_parts=("t",), source=ONE, by_name=True)),
    ("insert into t (select 1)", Insert(table_parts=("t",), source=Query(text="(select 1)"))),
    (
        "insert into t values (1, 'a'), (2, 'b')",
        Insert(table_parts=("t",), source=Query(text="values (1, 'a'), (2, 'b')")),
    ),
    (
        "insert into t partition (a, b = 1 + 1, c = DEFAULT) select 1",
        Insert(
            table_parts=("t",),
            source=ONE,
            partition=(
                PartitionItem(column="a"),
                PartitionItem(column="b", value="1 + 1"),
                PartitionItem(column="c", value="DEFAULT"),
            ),
        ),
    ),
    (
        "insert overwrite t partition (a = 'x') if not exists select 1",
        Insert(
            table_parts=("t",),
            source=ONE,
            overwrite=True,
            partition=(PartitionItem(column="a", value="'x'"),),
            if_not_exists=True,
        ),
    ),
    (
        "insert with schema evolution into t by name select 1",
        Insert(table_parts=("t",), source=ONE, schema_evolution=True, by_name=True),
    ),
    (
        "insert into t replace where day = date '2024-01-01' and x in (select y from u) select 1",
        Insert(
            table_parts=("t",),
            source=ONE,
            replace=ReplaceWhere(condition="day = date '2024-01-01' and x in (select y from u)"),
        ),
    ),
    (
        "insert into t as a (x) replace on a.x = s.x and f(a.y, 2) select 1",
        Insert(
            table_parts=("t",),
            source=ONE,
            alias="a",
            columns=("x",),
            replace=ReplaceOn(condition="a.x = s.x and f(a.y, 2)"),
        ),
    ),
    *(
        (
            f"insert into t {alias} by name replace on {condition} (select 1){source_alias}",
            Insert(
                table_parts=("t",),
                source=Query(text="(select 1)"),
                alias="a",
                by_name=True,
                replace=ReplaceOn(condition=condition, source_alias="q" if source_alias else None),
            ),
        )
        for alias in ("a", "as a", "as `a`")
        for source_alias in ("", " q", " as q", " as `q`")
        for condition in (
            "a.x = q.x",
            "a.x = 'x'",
            "(a.x = (select 2) or q.x in (select 3))",
            "exists (select 4) and a.`x y` = q.x[1]",
            "f((select 5), trim(both from a.x)) is not null",
            "case when a.x then (select 6) end",
        )
    ),
    (
        "insert into t replace where x = 1 (select 1) union (select 1)",
        Insert(
            table_parts=("t",),
            source=Query(text="(select 1) union (select 1)"),
            replace=ReplaceWhere(condition="x = 1"),
        ),
    ),
    (
        "insert into t by name replace using (a, b) select 1",
        Insert(table_parts=("t",), source=ONE, by_name=True, replace=ReplaceUsing(columns=("a", "b"))),
    ),
]

DDL: list[tuple[str, Statement]] = [
    ("create table t", CreateTable(mode=CreateMode.CREATE, table_parts=("t",))),
    (
        "create table if not exists c.s.t (a int) using delta",
        CreateTable(
            mode=CreateMode.CREATE_IF_NOT_EXISTS,
            table_parts=("c", "s", "t"),
            columns=(_column("a", "int"),),
            provider="delta",
        ),
    ),
    (
        "create or replace table delta.`/p` (a int)",
        CreateTable(mode=CreateMode.CREATE_OR_REPLACE, table_parts=("delta", "/p"), columns=(_column("a", "int"),)),
    ),
    ("replace table t as select 1", CreateTable(mode=CreateMode.REPLACE, table_parts=("t",), query=ONE)),
    ("create table t as select 1", CreateTable(mode=CreateMode.CREATE, table_parts=("t",), query=ONE)),
    ("create table t select 1", CreateTable(mode=CreateMode.CREATE, table_parts=("t",), query=ONE)),
    (
        "create table t (select 1)",
        CreateTable(mode=CreateMode.CREATE, table_parts=("t",), query=Query(text="(select 1)")),
    ),
    (
        """create table t (
             id bigint generated always as identity,
             n int generated by default as identity (start with 10 increment by -2),
             day date generated always as (cast(ts as date)) comment 'from ts, mostly',
             ts timestamp not null default current_timestamp(),
             `x y` decimal(10, 2) comment 'it''s' not null check (`x y` > 0),
             s struct<a: int, b: array<map<string, struct<c: int not null comment 'c'>>>>,
             text string collate utf8_lcase default 'a,b)',
             check int,
             constraint positive check (n > 0 and f('(', n)),
             check (day is not null)
           )""",
        CreateTable(
            mode=CreateMode.CREATE,
            table_parts=("t",),
            columns=(
                _column("id", "bigint", identity=Identity(always=True)),
                _column("n", "int", identity=Identity(always=False, start=10, step=-2)),
                _column("day", "date", generated="cast(ts as date)", comment="from ts, mostly"),
                _column("ts", "timestamp", nullable=False, default="current_timestamp()"),
                _column(
                    "x y",
                    "decimal(10, 2)",
                    comment="it's",
                    nullable=False,
                    checks=(Check(name=None, expression="`x y` > 0"),),
                ),
                _column("s", "struct<a: int, b: array<map<string, struct<c: int not null comment 'c'>>>>"),
                _column("text", "string collate utf8_lcase", default="'a,b)'"),
                _column("check", "int"),
            ),
            checks=(
                Check(name="positive", expression="n > 0 and f('(', n)"),
                Check(name=None, expression="day is not null"),
            ),
        ),
    ),
    (
        """create table t (a int, b int) tblproperties ('delta.x' = 'true', y.z = 5, w = false, v 'q', u = -1.5)
           comment 'c' location '/p' partitioned by (a, `b`) options (k = 'v') using delta as select 1""",
        CreateTable(
            mode=CreateMode.CREATE,
            table_parts=("t",),
            columns=(_column("a", "int"), _column("b", "int")),
            properties=(("delta.x", "true"), ("y.z", "5"), ("w", "false"), ("v", "q"), ("u", "-1.5")),
            comment="c",
            location="/p",
            partitioned_by=("a", "b"),
            options=(("k", "v"),),
            provider="delta",
            query=ONE,
        ),
    ),
    (
        "create table t (a int) partitioned by (b date comment 'p', c string)",
        CreateTable(
            mode=CreateMode.CREATE,
            table_parts=("t",),
            columns=(_column("a", "int"), _column("b", "date", comment="p"), _column("c", "string")),
            partitioned_by=("b", "c"),
        ),
    ),
    (
        "create table t (a int) cluster by (a, s.b)",
        CreateTable(
            mode=CreateMode.CREATE,
            table_parts=("t",),
            columns=(_column("a", "int"),),
            cluster_by=(("a",), ("s", "b")),
        ),
    ),
    (
        "create table t cluster by auto",
        CreateTable(mode=CreateMode.CREATE, table_parts=("t",), cluster_by=(), clusters_automatically=True),
    ),
    ("create table t cluster by none", CreateTable(mode=CreateMode.CREATE, table_parts=("t",), cluster_by=())),
    (
        "create table if not exists t like s.u location '/p' using delta tblproperties (a = 'b')",
        CreateTableLike(
            table_parts=("t",),
            source_parts=("s", "u"),
            if_not_exists=True,
            location="/p",
            provider="delta",
            properties=(("a", "b"),),
        ),
    ),
    ("drop table t", DropTable(table_parts=("t",))),
    ("drop table if exists c.s.t purge", DropTable(table_parts=("c", "s", "t"), if_exists=True, purge=True)),
    ("truncate table s.t", TruncateTable(table_parts=("s", "t"))),
    ("create schema s", CreateSchema(schema_parts=("s",))),
    (
        "create database if not exists c.s comment 'x' location '/p' with dbproperties (a = 'b')",
        CreateSchema(schema_parts=("c", "s"), if_not_exists=True, comment="x", location="/p", properties=(("a", "b"),)),
    ),
    ("drop schema s", DropSchema(schema_parts=("s",))),
    ("drop database if exists c.s cascade", DropSchema(schema_parts=("c", "s"), if_exists=True, cascade=True)),
    ("drop namespace s restrict", DropSchema(schema_parts=("s",))),
    ("create catalog if not exists c comment 'x'", CreateCatalog(catalog="c", if_not_exists=True, comment="x")),
    ("drop catalog if exists c cascade", DropCatalog(catalog="c", if_exists=True, cascade=True)),
    ("create view v as select 1", CreateView(view_parts=("v",), query=ONE)),
    (
        "create or replace view s.v (a comment 'x', `b c`) comment 'y' tblproperties (k = 'v') as select 1",
        CreateView(
            view_parts=("s", "v"),
            query=ONE,
            or_replace=True,
            columns=(ViewColumn(name="a", comment="x"), ViewColumn(name="b c")),
            comment="y",
            properties=(("k", "v"),),
        ),
    ),
    ("create view if not exists v as select 1", CreateView(view_parts=("v",), query=ONE, if_not_exists=True)),
    (
        "create or replace temporary view v as select 1",
        CreateView(view_parts=("v",), query=ONE, or_replace=True, temporary=True),
    ),
    ("create temp view v as select 1", CreateView(view_parts=("v",), query=ONE, temporary=True)),
    ("alter view v as select 1", CreateView(view_parts=("v",), query=ONE, or_replace=True, alters=True)),
    (
        "ALTER VIEW s.v RENAME TO t.w",
        AlterView(view_parts=("s", "v"), change=RenameTable(table_parts=("t", "w"))),
    ),
    (
        "ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')",
        AlterView(view_parts=("v",), change=SetProperties(properties=(("a", "b"),))),
    ),
    (
        "ALTER VIEW v UNSET TBLPROPERTIES IF EXISTS ('a', 'b')",
        AlterView(view_parts=("v",), change=UnsetProperties(keys=("a", "b"), if_exists=True)),
    ),
    ("ALTER VIEW v WITH SCHEMA TYPE EVOLUTION", AlterView(view_parts=("v",), change=SchemaMode.TYPE_EVOLUTION)),
    ("drop view if exists s.v", DropView(view_parts=("s", "v"), if_exists=True)),
    ("comment on table s.t is 'x'", CommentOn(kind=Commentable.TABLE, parts=("s", "t"), comment="x")),
    ("comment on schema s is null", CommentOn(kind=Commentable.SCHEMA, parts=("s",), comment=None)),
    ("comment on database s is ''", CommentOn(kind=Commentable.SCHEMA, parts=("s",), comment="")),
    ("comment on catalog c is 'x'", CommentOn(kind=Commentable.CATALOG, parts=("c",), comment="x")),
    ("comment on column s.t.a is 'x'", CommentOn(kind=Commentable.COLUMN, parts=("s", "t", "a"), comment="x")),
]


@pytest.mark.parametrize(("text", "statement"), INSERTS + DDL, ids=[text[:60] for text, _ in INSERTS + DDL])
def test_each_clause_is_read(text: str, statement: Statement) -> None:
    assert parse(text) == statement
    assert parse(f"/* c */ {text} -- d") == statement
    assert parse(f"{text} ;") == statement


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("insert into s.t select s.t.a from s.t", "select `t`.a from `r0` AS `t`"),
        ("insert into t with c as (select 1) select * from c, d", "with c as (select 1) select * from c, `r0` AS `d`"),
        ("insert into t table u", "table `r0`"),
        ("insert into t from u select a", "from `r0` AS `u` select a"),
        ("insert into t from u |> select a", "from `r0` AS `u` |> select a"),
        (
            "with c as (select 1 from d)\ninsert into t (a)\n  select * from c",
            "with c as (select 1 from `r0` AS `d`)\n" + " " * 17 + "\n  select * from c",
        ),
        ("create table t as select * from t", "select * from `r0` AS `t`"),
        ("create view v as select s.t.a from s.t", "select `t`.a from `r0` AS `t`"),
    ],
)
def test_the_query_inside_has_its_own_offsets(text: str, source: str) -> None:
    statement = parse(text)
    query = statement.source if isinstance(statement, Insert) else statement.query  # type: ignore[union-attr]
    assert query is not None
    assert splice(query, ["r0"]) == source


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("values (1, default)", 1),
        ("values (default, f(1, 2)), ((2), array(3, 4)[0]), (default, 3)", 3),
        ("values default, 1, default", 3),
        ("select 1, (default), f(2, 3), default from u, v", 1),
        ("select default from u union all select 1", 2),
        ("values (default) intersect values (1)", 2),
    ],
)
def test_the_places_for_default_are_counted(source: str, rows: int) -> None:
    statement = parse(f"insert into t {source}")
    assert isinstance(statement, Insert) and statement.defaults.rows == rows


ROW_ENDS = [
    ("values (1, default)", "values (1, default|)", [0]),
    (
        "values (f(1), 2), ((2), default) , (default, ')')",
        "values (f(1), 2|), ((2), default|) , (default, ')'|)",
        [1, 2],
    ),
    ("values (default), (default) -- )", "values (default|), (default|)", [0, 1]),
    ("values default, (1)", None, [0]),
    ("values (default) as t (a)", None, [0]),
    ("values (default) limit 1", None, [0]),
    ("values (default) union all values (1)", None, [0]),
    ("select default", None, [0]),
]


@pytest.mark.parametrize(("source", "ends", "of_rows"), ROW_ENDS)
def test_rows_may_have_one_more_value_where_values_are_all(source: str, ends: str | None, of_rows: list[int]) -> None:
    statement = parse(f"insert into t {source}")
    assert isinstance(statement, Insert)
    assert [marker.row for marker in statement.defaults.markers] == of_rows
    text = statement.source.text
    for end in reversed(statement.defaults.row_ends):
        text = text[:end] + "|" + text[end:]
    assert statement.defaults.row_ends == () if ends is None else text.startswith(ends)


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("values (1, default)", [1]),
        ("values (default, 1), (2, DEFAULT)", [0, 1]),
        ("values default, 1, default", [0, 0]),
        ("values (f(1, 2), array(3, 4)[0], default)", [2]),
        ("select 1, default, f(2, 3), default from u", [1, 3]),
        ("select default", [0]),
        ("values (1, 'default', \"default\", `default`)", []),
        ("values (f(default))", []),
        ("select a as default from u", []),
        ("select a from (select default from u)", []),
    ],
)
def test_default_in_the_place_of_a_value_is_found(source: str, columns: list[int]) -> None:
    statement = parse(f"insert into t {source}")
    assert isinstance(statement, Insert)
    assert [marker.column for marker in statement.defaults.markers] == columns
    for marker in statement.defaults.markers:
        assert statement.source.text[marker.span.start : marker.span.end].upper() == "DEFAULT"


REFUSED = [
    ("insert overwrite directory '/tmp/x' select 1", UnsupportedStatement),
    ("insert overwrite local directory '/tmp/x' select 1", UnsupportedStatement),
    ("insert into t with ('a' = 'b') select 1", UnsupportedClause),
    ("insert into parquet.`/x` select 1", SqlError),
    ("insert into t select reflect('a', 'b')", UnsupportedFunction),
    ("insert into t replace where reflect('a', 'b') = 'c' select 1", UnsupportedFunction),
    ("insert into t partition (a = reflect('a', 'b')) select 1", UnsupportedFunction),
    ("insert into identifier(identifier('t')) select 1", UnsupportedClause),
    ("delete t where a = 1", StatementSyntaxError),
    ("delete from t where", StatementSyntaxError),
    ("delete from t where a = 1, b", StatementSyntaxError),
    ("delete from t where a = 1)", StatementSyntaxError),
    ("delete from t as a (x) where x = 1", StatementSyntaxError),
    ("delete from t using s where t.a = s.a", StatementSyntaxError),
    ("delete from t with ('a' = 'b') where a = 1", UnsupportedClause),
    ("delete from identifier(identifier('t'))", UnsupportedClause),
    ("delete from t where java_method('a', 'b') = 1", UnsupportedFunction),
    ("create table t (a int default reflect('a', 'b'))", UnsupportedFunction),
    ("create table t (a int generated always as (java_method('a', 'b')))", UnsupportedFunction),
    ("create table t (a int, check (`reflect`('a', 'b') = 'c'))", UnsupportedFunction),
    ("create table t (a int default identifier(identifier('b')))", UnsupportedClause),
    ("create table t (a int primary key enforced)", UnsupportedClause),
    ("create table t (a int, primary key (a timeseries))", UnsupportedClause),
    ("create table t (a int references u (a) on delete cascade)", UnsupportedClause),
    ("create table t (a int, unique (a))", UnsupportedClause),
    ("create table t (a int) clustered by (a) into 4 buckets", UnsupportedClause),
    ("create table t (a int) stored as orc", UnsupportedClause),
    ("create table t (a int) row format delimited", UnsupportedClause),
    ("create table t (a int) default collation utf8_lcase", UnsupportedClause),
    ("create external table t (a int)", UnsupportedClause),
    ("create table t (a int) options (path '/p') location '/q'", UnsupportedClause),
    ("create temporary table t (a int)", UnsupportedStatement),
    ("create or replace table t like u", UnsupportedStatement),
    ("create table t like u comment 'x'", UnsupportedClause),
    ("create temporary view v using avro options (path '/x')", UnsupportedClause),
    ("create temporary view v (a) using csv options (path '/x')", StatementSyntaxError),
    ("create temporary view v using csv", StatementSyntaxError),
    ("create temporary view if not exists v using csv options (path '/x')", StatementSyntaxError),
    ("create view v using csv options (path '/x')", StatementSyntaxError),
    ("create materialized view v as select 1", UnsupportedStatement),
    ("create function f as 'x'", UnsupportedStatement),
    ("alter table t add partition (a = 1)", UnsupportedStatement),
    ("alter table t recover partitions", UnsupportedStatement),
    ("alter table t set serde 'x'", UnsupportedStatement),
    ("alter table t add constraint k primary key (a) enforced", UnsupportedClause),
    ("truncate table t partition (a = 1)", UnsupportedClause),
    ("comment on function f is 'x'", UnsupportedStatement),
    ("insert into t", StatementSyntaxError),
    ("insert t select 1", StatementSyntaxError),
    ("insert into t (a, b)", StatementSyntaxError),
    ("insert into t replace where select 1", StatementSyntaxError),
    ("insert into t (a) partition (b) select 1", StatementSyntaxError),
    ("create table t (a)", StatementSyntaxError),
    ("create table t (a int", StatementSyntaxError),
    ("create table t (a.b int)", StatementSyntaxError),
    ("create table t (a int first)", StatementSyntaxError),
    ("create table t (a int) using delta using delta", StatementSyntaxError),
    ("create table t tblproperties (a = 'b', a = 'c')", StatementSyntaxError),
    ("create table t tblproperties (a)", StatementSyntaxError),
    ("create table t (a int generated by default as (1))", StatementSyntaxError),
    ("create view v", StatementSyntaxError),
    ("alter table t", StatementSyntaxError),
    ("alter table t add column a", StatementSyntaxError),
    ("alter table t alter column a", StatementSyntaxError),
    ("drop table t cascade", StatementSyntaxError),
    ("comment on column a is 'x'", StatementSyntaxError),
    ("drop table t; drop table u", SqlError),
]


@pytest.mark.parametrize(("text", "error"), REFUSED, ids=[text[:70] for text, _ in REFUSED])
def test_unsupported_clause_is_rejected(text: str, error: type[SqlError]) -> None:
    with pytest.raises(error):
        parse(text)


_WORDS = st.sampled_from(
    "insert into overwrite t s.t ( ) , ; = select 1 values default partition by name replace where using on as with "
    "create table if not exists or replace view a int not null default generated always as identity comment 'x' check "
    "constraint alter column columns add drop rename to set tblproperties type first after location `a b`".split()
)


@given(st.lists(_WORDS, max_size=20).map(" ".join))
@examples(1000)
def test_any_words_are_a_statement_or_a_sql_error(text: str) -> None:
    try:
        parse(text)
    except SqlError as error:
        assert str(error)


@given(st.data())
@examples(500)
def test_a_broken_statement_is_a_statement_or_a_sql_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text, _ in INSERTS + DDL]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    try:
        parse(text[:start] + data.draw(_WORDS) + text[end:])
    except SqlError as error:
        assert str(error)
