"""Table names replaced in the user's text: golden pairs, their meaning in Spark, and ambiguities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from catalog.conditions import AmbiguousReference
from engine.spark.session import SparkDriver
from engine.sql.query.splice import generated_aliases, splice
from engine.sql.query.values import Query
from engine.statements.explain.statement import Explain
from engine.statements.parse import parse
from tests.engine.sql.golden import SpliceCase, load_cases
from tests.fix_spark import INTERPRETED

CASES = load_cases()


def _names(query: Query) -> list[str]:
    return [f"r{index}" for index in range(len(query.relations))]


def _query(text: str) -> Query:
    statement = parse(text)
    assert isinstance(statement, Query)
    return statement


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_tables_and_qualifiers_are_replaced(case: SpliceCase) -> None:
    query = _query(case.query)
    assert splice(query, _names(query), case.full_names) == case.expected


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_spans_cover_what_they_say(case: SpliceCase) -> None:
    query = _query(case.query)
    for relation in query.relations:
        covered = query.text[relation.span.start : relation.span.end]
        assert covered.replace("``", "`").replace("`", "").startswith(relation.name_parts[0].replace("`", ""))
    for qualifier in query.qualifiers:
        covered = query.text[qualifier.span.start : qualifier.span.end]
        assert covered.replace("`", "").endswith(qualifier.parts[-1].replace("`", ""))


def test_longer_qualifier_requires_full_name() -> None:
    query = _query("select s.t.c from t")
    assert splice(query, ["r0"]) == "select s.t.c from `r0` AS `t`"
    assert splice(query, ["r0"], [("c", "other", "t")]) == "select s.t.c from `r0` AS `t`"
    assert splice(query, ["r0"], [("c", "s", "t")]) == "select `t`.c from `r0` AS `t`"


def test_the_full_name_decides_between_scopes() -> None:
    query = _query("select 1 from s.t where exists (select 1 from t where s.t.id = t.id)")
    inner_is_other = splice(query, ["r0", "r1"], [("c", "s", "t"), ("c", "o", "t")])
    assert inner_is_other == (
        "select 1 from `r0` AS `__relation_0` where exists (select 1 from `r1` AS `t` where `__relation_0`.id = t.id)"
    )
    inner_is_same = splice(query, ["r0", "r1"], [("c", "s", "t"), ("c", "s", "t")])
    assert inner_is_same == "select 1 from `r0` AS `t` where exists (select 1 from `r1` AS `t` where `t`.id = t.id)"


def test_names_are_quoted() -> None:
    assert splice(_query("select * from t x"), ["a`b"]) == "select * from `a``b` x"


def test_equal_table_names_of_two_schemas_get_separate_aliases() -> None:
    query = _query("select a.t.id, b.t.id from a.t, b.t")
    assert splice(query, ["r", "r"]) == (
        "select `__relation_0`.id, `__relation_1`.id from `r` AS `__relation_0`, `r` AS `__relation_1`"
    )


@pytest.mark.parametrize(
    ("text", "full_names"),
    [
        ("select s.t.id from s.t, s.t", ()),
        ("select s.t.* from s.t cross join S.T", ()),
        ("select s.t.id from x.s.t, y.s.t", ()),
        ("select a.t.id, t.z from a.t, b.t", ()),
        ("select s.t.id from t, s.t", (("c", "s", "t"), ("c", "s", "t"))),
        ("select /*+ BROADCAST(t) */ a.t.id from a.t, b.t", ()),
    ],
)
def test_a_name_that_means_two_relations_is_refused(text: str, full_names: tuple[tuple[str, ...], ...]) -> None:
    query = _query(text)
    with pytest.raises(AmbiguousReference):
        splice(query, _names(query), full_names)


def test_an_alias_wins_over_a_last_name() -> None:
    query = _query("select a.t.id, t.y from a.t join s.u as t on a.t.id = t.id")
    assert splice(query, ["r0", "r1"]) == (
        "select `__relation_0`.id, t.y from `r0` AS `__relation_0` join `r1` as t on `__relation_0`.id = t.id"
    )


def test_an_inner_query_has_its_own_offsets() -> None:
    statement = parse("/* c */ EXPLAIN\n  EXTENDED select s.t.id from s.t -- end")
    assert isinstance(statement, Explain)
    assert splice(statement.inner, ["r0"]) == "select `t`.id from `r0` AS `t`"


_TABLES = {
    "s.t": """
        select id, x, named_struct('f', id, 'g', named_struct('h', x)) as st, array(id, x) as arr,
               date_add(date '2024-01-01', id) as day, name
        from values (1, 10, 'ann'), (2, 20, 'bob'), (3, 20, 'abe') as v(id, x, name)""",
    "s.u": "select * from values (1, 1), (2, 5), (4, 7) as v(id, y)",
    "a.t": "select * from values (1, 'v1'), (2, 'v2') as v(id, v)",
    "b.t": "select * from values (2, 'z2'), (3, 'z3') as v(id, z)",
    "s.words": """
        select 1 as `select`, 2 as date, 3 as timestamp, 4 as user, 5 as first, 6 as last, 7 as value, 8 as comment,
               9 as type, 10 as row, 11 as rows, 12 as format, 13 as year, 14 as month, 15 as day, 16 as version""",
}


@pytest.fixture(scope="module")
def lake(spark_driver: SparkDriver) -> Iterator[Any]:
    """Yields a classic Spark session with the golden pairs' tables under their own names."""
    builder = spark_driver.process.gateway.jvm.org.apache.spark.sql.classic.SparkSession.builder()
    session = builder.getOrCreate().newSession()
    for key, value in INTERPRETED.items():
        session.conf().set(key, value)
    for schema in ("s", "a", "b"):
        session.sql(f"create schema {schema}")
    for name, query in _TABLES.items():
        session.sql(f"create view {name} as {query}")
    session.sql("use s")
    yield session
    session.sql("use default")
    for schema in ("s", "a", "b"):
        session.sql(f"drop schema {schema} cascade")


def _answer(session: Any, text: str) -> tuple[str, list[str]]:
    """Column names with types, and the rows as text, in no order."""
    frame = session.sql(text)
    rows = frame.collectAsList()
    return frame.schema().simpleString(), sorted(row.toString() for row in rows)


def test_aliases_of_ours_are_known_again() -> None:
    query = _query("SELECT s.t.x, 1 AS `__relation_7` FROM s.t JOIN a.t JOIN u ON s.t.x = a.t.y")
    assert generated_aliases(splice(query, ["__scan_0", "__scan_1", "__scan_2"])) == {
        "__relation_0": "__scan_0",
        "__relation_1": "__scan_1",
    }


_IN_SPARK = [case for case in CASES if case.runs_in_spark]


@pytest.mark.spark
@pytest.mark.parametrize("case", _IN_SPARK, ids=[case.title for case in _IN_SPARK])
def test_spark_answers_the_spliced_text_as_the_text(case: SpliceCase, lake: Any) -> None:
    query = _query(case.query)
    for name, relation in zip(_names(query), query.relations, strict=True):
        lake.table(".".join(relation.name_parts)).createOrReplaceTempView(name)
    assert _answer(lake, splice(query, _names(query), case.full_names)) == _answer(lake, query.text)
