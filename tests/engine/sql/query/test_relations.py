"""Table names in a query as values: parts, aliases, time travel, paths."""

from __future__ import annotations

import pytest

from catalog.conditions import (
    InvalidTimeTravel,
    SeveralTimeTravels,
    StatementSyntaxError,
    TimeTravelNotPossible,
    UnsupportedClause,
    UnsupportedFunction,
    UnsupportedPathRelation,
)
from catalog.errors import SqlError
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.sql.query.values import AsOfReference, AsOfTimestamp, AsOfVersion, Query, Relation, TimeTravel
from engine.statements.parse import parse

# Functions with special grammar, which have cases below.
_GRAMMAR = {
    *("any", "between", "case", "cast", "exists", "extract", "in", "not", "overlay"),
    *("position", "some", "trim", "when"),
}


def _relation(source: str) -> tuple[Relation, str]:
    """Returns the relation in `SELECT * FROM source`, and its span's text."""
    query = parse(f"select * from {source}")
    assert isinstance(query, Query)
    (relation,) = query.relations
    return relation, query.text[relation.span.start : relation.span.end]


@pytest.mark.parametrize(
    ("source", "parts", "alias"),
    [
        ("t", ("t",), None),
        ("s.t", ("s", "t"), None),
        ("c.s.t", ("c", "s", "t"), None),
        ("`c d`.`s.s`.`t``t`", ("c d", "s.s", "t`t"), None),
        ("S.T x", ("S", "T"), "x"),
        ("t as `x y`", ("t",), "x y"),
        ("t x(a, b)", ("t",), "x"),
        ("`t@v3`", ("t@v3",), None),
        ("größe.`😀` ü", ("größe", "😀"), "ü"),
        ("delta.`/lake/t`", ("delta", "/lake/t"), None),
        ("DELTA.`s3://b/a b/t` x", ("DELTA", "s3://b/a b/t"), "x"),
        ("delta.t", ("delta", "t"), None),
        ("csv.t", ("csv", "t"), None),
        ("c.csv.`a/b`", ("c", "csv", "a/b"), None),
        ("`1abc`.t", ("1abc", "t"), None),
        ("date.timestamp", ("date", "timestamp"), None),
    ],
)
def test_a_name_is_read_without_its_quotes(source: str, parts: tuple[str, ...], alias: str | None) -> None:
    relation, _ = _relation(source)
    assert (relation.name_parts, relation.alias, relation.time_travel) == (parts, alias, None)


@pytest.mark.parametrize(
    ("source", "travel", "span"),
    [
        ("t version as of 3", AsOfVersion(3), "t version as of 3"),
        ("s.t VERSION AS OF 0 x", AsOfVersion(0), "s.t VERSION AS OF 0"),
        ("t version as of 'audit'", AsOfReference("audit"), "t version as of 'audit'"),
        ("t for version as of '12' as x", AsOfVersion(12), "t for version as of '12'"),
        ("t for system_version as of 3", AsOfVersion(3), "t for system_version as of 3"),
        ("t version as of 9223372036854775808", AsOfVersion(2**63), "t version as of 9223372036854775808"),
        ("t version as of 'a branch' x", AsOfReference("a branch"), "t version as of 'a branch'"),
        ("t system_version as of 3 where a", AsOfVersion(3), "t system_version as of 3"),
        ("t timestamp as of '2024-01-01' x", AsOfTimestamp("'2024-01-01'"), "t timestamp as of '2024-01-01'"),
        (
            "t for system_time as of date_sub(current_date(), 1)",
            AsOfTimestamp("date_sub(current_date(), 1)"),
            "t for system_time as of date_sub(current_date(), 1)",
        ),
        (
            "t timestamp as of current_timestamp() - interval 1 day where a",
            AsOfTimestamp("current_timestamp() - interval 1 day"),
            "t timestamp as of current_timestamp() - interval 1 day",
        ),
        (
            "t timestamp as of cast('2024-01-01' as timestamp) as x",
            AsOfTimestamp("cast('2024-01-01' as timestamp)"),
            "t timestamp as of cast('2024-01-01' as timestamp)",
        ),
        ("t@v3", AsOfVersion(3), "t@v3"),
        ("t@V0 x", AsOfVersion(0), "t@V0"),
        ("s.t @ v12 as x", AsOfVersion(12), "s.t @ v12"),
        ("t@v'3'", AsOfVersion(3), "t@v'3'"),
        ("t/* c */@v3", AsOfVersion(3), "t/* c */@v3"),
        ("t@20240131120000500", AsOfTimestamp("TIMESTAMP '2024-01-31 12:00:00.500'"), "t@20240131120000500"),
        ("delta.`/p`@v3 x", AsOfVersion(3), "delta.`/p`@v3"),
        ("delta.`/p` version as of 3", AsOfVersion(3), "delta.`/p` version as of 3"),
        ("delta.`/p@v3`", AsOfVersion(3), "delta.`/p@v3`"),
        ("delta.`/p@V3` x", AsOfVersion(3), "delta.`/p@V3`"),
        (
            "delta.`/p@20240131120000000`",
            AsOfTimestamp("TIMESTAMP '2024-01-31 12:00:00.000'"),
            "delta.`/p@20240131120000000`",
        ),
        ("t version as of 3 tablesample (5 rows) x", AsOfVersion(3), "t version as of 3"),
    ],
)
def test_time_travel_is_part_of_the_relation(source: str, travel: TimeTravel, span: str) -> None:
    relation, covered = _relation(source)
    assert (relation.time_travel, covered) == (travel, span)
    assert relation.alias == ("x" if source.endswith(" x") else None)


def test_the_version_in_a_path_is_no_part_of_it() -> None:
    relation, _ = _relation("delta.`/lake/t@v3`")
    assert relation.name_parts == ("delta", "/lake/t")


@pytest.mark.parametrize("source", ["delta.`/p@v`", "delta.`/p@3`", "delta.`/p@v3/x`", "delta.`/p@2024`"])
def test_an_at_sign_in_a_path_is_a_version_only_at_its_end(source: str) -> None:
    relation, _ = _relation(source)
    assert relation.time_travel is None
    assert relation.name_parts == ("delta", source[7:-1])


@pytest.mark.parametrize("source", ["t version", "t as version", "t timestamp", "t system_time", "t `version`"])
def test_a_lone_word_of_time_travel_is_an_alias(source: str) -> None:
    relation, covered = _relation(source)
    assert (relation.time_travel, covered) == (None, "t")
    assert relation.alias == source.split()[-1].strip("`")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("t@v3 version as of 4", SeveralTimeTravels),
        ("delta.`/p@v3` version as of 4", SeveralTimeTravels),
        ("delta.`/p@v3`@v4", SeveralTimeTravels),
        ("t@20241331120000000", InvalidTimeTravel),
        ("t@2024", InvalidTimeTravel),
        ("t@v1.5", StatementSyntaxError),
        ("t version as of ''", InvalidTimeTravel),
        ("t@v'x'", InvalidTimeTravel),
        ("t version as of x", StatementSyntaxError),
        ("t version as of 1.5", InvalidTimeTravel),
        ("t version as of 99999999999999999999", InvalidTimeTravel),
        ("delta.`/p@20241331120000000`", InvalidTimeTravel),
        ("t@x", StatementSyntaxError),
        ("t@vx", InvalidTimeTravel),
        ("t@`v3`", StatementSyntaxError),
        ("t$v3", StatementSyntaxError),
        ("t version as of -1", StatementSyntaxError),
        ("t version as of (select 1)", StatementSyntaxError),
        ("t tablesample (5 rows) version as of 3", UnsupportedClause),
        ("(select 1) version as of 3", StatementSyntaxError),
        ("parquet.`/p@v3`", UnsupportedPathRelation),
    ],
)
def test_invalid_time_travel_is_rejected(source: str, error: type[SqlError]) -> None:
    with pytest.raises(error):
        parse(f"select * from {source}")


@pytest.mark.parametrize(
    ("time", "error"),
    [
        ("(select max(x) from u)", UnsupportedClause),
        ("coalesce('2024-01-01', (select max(x) from u))", UnsupportedClause),
        ("reflect('a', 'b')", UnsupportedFunction),
        ("date_sub(java_method('a', 'b'), 1)", UnsupportedFunction),
    ],
)
def test_the_time_of_time_travel_is_a_plain_expression(time: str, error: type[SqlError]) -> None:
    with pytest.raises(error):
        parse(f"select * from t timestamp as of {time}")


@pytest.mark.parametrize("suffix", ["@v3", " version as of 3", " timestamp as of '2024'"])
def test_a_cte_has_no_versions(suffix: str) -> None:
    with pytest.raises(TimeTravelNotPossible):
        parse(f"with t as (select 1) select * from t{suffix}")


def test_a_table_beside_a_cte_of_its_name_has_versions() -> None:
    query = parse("with t as (select 1) select * from s.t@v3, t")
    assert isinstance(query, Query)
    assert [relation.time_travel for relation in query.relations] == [AsOfVersion(3)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select 1", []),
        ("select * from range(3), explode(array(1)), system.builtin.range(2)", []),
        ("select * from a, b.c join d using (x)", ["a", "b.c", "d"]),
        ("select (select max(x) from c) from a where exists (select 1 from b)", ["c", "a", "b"]),
        ("select * from a where x = any (select y from b) and x > all (select z from c)", ["a", "b", "c"]),
        ("select cast((select x from a) as int), extract(year from (select y from b))", ["a", "b"]),
        ("select trim(both (select x from a) from (select y from b)) from c", ["a", "b", "c"]),
        ("select year((select x from a), (select y from b)), date_add(1, (select z from c), 3)", ["a", "b", "c"]),
        (
            "select case when exists (select 1 from a) then (select 2 from b) else (select 3 from c) end",
            ["a", "b", "c"],
        ),
        ("select array((select 1 from a))[(select 0 from b)].x", ["a", "b"]),
        ("select sum(x) over (order by (select 1 from b)) from a", ["b", "a"]),
        ("select * from a order by (select 1 from b) limit (select 1 from c)", ["a", "b", "c"]),
        ("select * from a pivot (max(x) for y in (1)), b unpivot (v for n in (p, q))", ["a", "b"]),
        ("select * from a lateral view explode((select x from b)) e as y", ["a", "b"]),
        ("select * from a join lateral (select * from b) on (select true from c)", ["a", "b", "c"]),
        ("values ((select 1 from a))", ["a"]),
        ("select x in (select 1 from a), x in (1, (select 2 from b))", ["a", "b"]),
        ("select transform(x, e -> e + (select 1 from a)) from b", ["a", "b"]),
        ("table a union all table b", ["a", "b"]),
        ("(select * from a) intersect (select * from b) order by (select 1 from c)", ["a", "b", "c"]),
        ("with recursive c as (select 1 from a union all select 2 from c join b) select * from c, d", ["a", "b", "d"]),
        ("with c as (select * from c) select * from c", ["c"]),
        ("with c as (select 1), d as (select * from c, e) select * from d", ["e"]),
        ("with c as (with d as (select * from d) select * from d) select * from c, d", ["d", "d"]),
        ("select * from (with a as (select 1) select * from a), a", ["a"]),
        ("with a as (select 1) select * from (with b as (select * from a) select * from a, b), b", ["b"]),
        ("select * from a tablesample (1 rows), (b join c), ((d))", ["a", "b", "c", "d"]),
        (
            "select interval -1 day 2 hours -3 minutes, -interval 1 month -2 weeks '3' days + x from a, b",
            ["a", "b"],
        ),
        ("select interval 1 day - 2, interval 1 day - 1 `hour`, 3 - interval from a", ["a"]),
        (
            "select * from a |> join b |> union all (select * from c) |> where x in (select y from d)",
            ["a", "b", "c", "d"],
        ),
    ],
)
def test_every_table_is_found(text: str, names: list[str]) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    assert [".".join(relation.name_parts) for relation in query.relations] == names


@pytest.mark.parametrize("name", sorted(name for name in ALLOWED_FUNCTIONS if name.isidentifier()))
def test_no_function_loses_its_arguments(name: str) -> None:
    if name in _GRAMMAR:
        return
    query = parse(f"select 1 + {name}((select 1 from a), s.t.x, (select 2 from b))[(select 3 from c)].y from s.t")
    assert isinstance(query, Query)
    assert [".".join(relation.name_parts) for relation in query.relations] == ["a", "b", "c", "s.t"]
    assert [qualifier.parts for qualifier in query.qualifiers] == [("s", "t")]


@pytest.mark.parametrize(
    ("join", "alias"),
    [
        ("join b approx nearest 3 by distance a.x - b.x", None),
        ("left outer join b exact nearest by similarity -abs(a.x - b.x) where a.x > 1", None),
        ("join b as c approx nearest by distance a.x - c.x join d", "c"),
        ("join b approx", "approx"),
        ("join b exact on a.x = exact.x", "exact"),
    ],
)
def test_a_nearest_join_names_tables(join: str, alias: str | None) -> None:
    query = parse(f"select * from a {join}")
    assert isinstance(query, Query)
    assert [(each.name_parts, each.alias) for each in query.relations][:2] == [(("a",), None), (("b",), alias)]


@pytest.mark.parametrize(
    "join",
    ["approx nearest 3 distance a.x", "exact nearest by a.x", "exact nearest by distance", "nearest by distance 1"],
)
def test_a_broken_nearest_join_is_refused(join: str) -> None:
    with pytest.raises(StatementSyntaxError):
        parse(f"select * from a join b {join}")


@pytest.mark.parametrize(
    "text",
    [
        "table t | select a | where a > (select max(b) from u)",
        "table t |> select a, sum(b) over w window w as (order by (select max(b) from u)) |> select a",
        "table t |> select a, sum(b) as s group by a, (select max(b) from u) |> where s > 1",
        "from t | extend a + 1 as b | set a = 2 | drop c | aggregate sum(a) group by b | limit (select 1 from u)",
        "select * from t | join u using (a) | union all table t",
        "select a | b, a | `select`, (a | set) from t, u",
        "select * from t pivot (ceil(sum(a)) + 1, max(b) as m for c in ('x', (select 1 from u)))",
    ],
)
def test_pipes_of_one_character_and_pivots_of_expressions_are_read(text: str) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    assert {each.name_parts for each in query.relations} == {("t",), ("u",)}
