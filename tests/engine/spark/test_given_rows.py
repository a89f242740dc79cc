"""Rows that are not in files: the objects for which they are computed, and answers equal to those over all rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import MalformedLogEntry, StatementCancelled
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.planning.plans.reads import ReadPlan, RowScan, ViewScan
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.tables.given_rows import GivenRows, Row

pytestmark = pytest.mark.spark

OBJECTS: list[tuple[str, ...]] = [("c", f"s{schema}", f"t{table}") for schema in range(3) for table in range(3)]
PER_OBJECT = 2
COLUMNS = [("table_catalog", "string"), ("table_schema", "string"), ("table_name", "string"), ("n", "int")]
KEYS = ("table_catalog", "table_schema", "table_name")
ALL = set(OBJECTS)


class Objects:
    """Notes which objects are opened."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, ...]] = []
        self.rows = GivenRows(columns=COLUMNS, make=self.make, keys=KEYS, objects=lambda: OBJECTS)

    def make(self, selected: Sequence[int] | None) -> Iterator[Row]:
        for each in OBJECTS if selected is None else [OBJECTS[at] for at in selected]:
            self.opened.append(each)
            yield from ((*each, n) for n in range(PER_OBJECT))

    def plan(self, text: str, views: Sequence[ViewScan] = ()) -> ReadPlan:
        given = RowScan(relation="r", label="r", rows=self.rows)
        return ReadPlan(text=text, scans=(), views=tuple(views), given=(given,))


def of_schema(*schemas: str) -> set[tuple[str, ...]]:
    return {each for each in OBJECTS if each[1] in schemas}


def run(session: ExecSession, plan: ReadPlan, parameters: Sequence[Parameter] = ()) -> pa.Table:
    result = session.run_query(plan, StatementRequest(identity=Identity("alice")), parameters)
    return pa.Table.from_batches(list(result.batches()), result.schema)


OPENED: list[tuple[str, set[tuple[str, ...]]]] = [
    ("SELECT * FROM r", ALL),
    ("SELECT * FROM r WHERE table_schema = 's1'", of_schema("s1")),
    ("SELECT n FROM r WHERE TABLE_SCHEMA = 's1' AND n = 1", of_schema("s1")),
    (
        "SELECT * FROM r WHERE table_schema IN ('s0', 's2') AND table_name = 't1'",
        {("c", "s0", "t1"), ("c", "s2", "t1")},
    ),
    (
        "SELECT * FROM r WHERE table_schema LIKE 's%' AND table_name LIKE '_2'",
        {each for each in ALL if each[2] == "t2"},
    ),
    ("SELECT * FROM r WHERE lower(table_schema) = 's1'", of_schema("s1")),
    ("SELECT * FROM r WHERE upper(table_schema) = 's1'", set()),
    ("SELECT * FROM r WHERE concat(table_schema, '.', table_name) = 's2.t0'", {("c", "s2", "t0")}),
    (
        "SELECT * FROM r WHERE table_schema = 's0' OR table_name = 't2'",
        of_schema("s0") | {x for x in ALL if x[2] == "t2"},
    ),
    ("SELECT * FROM r WHERE table_schema = 's0' OR n = 1", ALL),
    ("SELECT * FROM r WHERE NOT table_schema = 's0'", of_schema("s1", "s2")),
    ("SELECT * FROM r WHERE table_schema IS NULL", set()),
    ("SELECT * FROM r WHERE table_schema = 's' || '1'", of_schema("s1")),
    ("SELECT * FROM r WHERE table_schema RLIKE '[12]$'", of_schema("s1", "s2")),
    ("SELECT * FROM r WHERE false", set()),
    ("SELECT * FROM r LIMIT 0", set()),
    ("SELECT count(*) FROM r WHERE table_schema = 's1'", of_schema("s1")),
    ("SELECT table_schema, sum(n) FROM r GROUP BY table_schema HAVING table_schema = 's1'", of_schema("s1")),
    ("SELECT * FROM (SELECT *, n + 1 AS m FROM r) WHERE table_schema = 's1'", of_schema("s1")),
    ("WITH x AS (SELECT table_schema AS s, n FROM r) SELECT * FROM x WHERE s = 's1'", of_schema("s1")),
    (
        "WITH x AS (SELECT * FROM r) SELECT * FROM x WHERE table_schema = 's1' "
        "UNION ALL SELECT * FROM x WHERE table_schema = 's2'",
        of_schema("s1", "s2"),
    ),
    ("SELECT * FROM r a JOIN r b USING (table_schema) WHERE a.table_schema = 's1'", of_schema("s1")),
    (
        "SELECT * FROM VALUES ('s1') AS v(s) JOIN r ON r.table_schema = v.s WHERE v.s = 's1'",
        of_schema("s1"),
    ),
    (
        "SELECT * FROM r a LEFT JOIN r b ON a.table_schema = b.table_schema WHERE a.table_schema = 's1'",
        of_schema("s1"),
    ),
    ("SELECT (SELECT max(n) FROM r WHERE table_schema = 's1') AS m", of_schema("s1")),
    ("SELECT * FROM r WHERE table_schema = (SELECT max(table_schema) FROM r)", ALL),
    ("SELECT * FROM r WHERE rand() < 2 AND table_schema = 's1'", of_schema("s1")),
    ("SELECT * FROM r WHERE table_schema = 's1' OR n > rand()", ALL),
    ("SELECT row_number() OVER (ORDER BY n), * FROM r WHERE table_schema = 's1'", of_schema("s1")),
]


@pytest.mark.parametrize(("text", "opened"), OPENED, ids=[text for text, _ in OPENED])
def test_opened_row_sources(spark: ExecSession, text: str, opened: set[tuple[str, ...]]) -> None:
    objects, every = Objects(), Objects()
    found = run(spark, objects.plan(text))
    assert set(objects.opened) == opened and len(objects.opened) == len(opened)
    # The same over rows without prior knowledge.
    plan = every.plan(text)
    whole = RowScan(relation="r", label="r", rows=GivenRows(columns=COLUMNS, make=every.make))
    expected = run(spark, ReadPlan(text=text, scans=(), given=(whole,)))
    assert every.opened == OBJECTS and plan.scans == ()
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_conditions_with_parameters_and_through_views(spark: ExecSession) -> None:
    objects = Objects()
    view = ViewScan(relation="v", label="v", text="SELECT table_schema AS s, n FROM r", columns=())
    plan = objects.plan("SELECT * FROM v WHERE s = :schema", [view])
    found = run(spark, plan, [Parameter(value="s2", sql_type="string", name="schema")])
    assert set(objects.opened) == of_schema("s2") and found.num_rows == 3 * PER_OBJECT


def test_a_barrier_hides_conditions(spark: ExecSession) -> None:
    objects = Objects()
    view = ViewScan(relation="v", label="v", text="SELECT * FROM r", columns=(), is_barrier=True)
    assert run(spark, objects.plan("SELECT * FROM v WHERE table_schema = 's2'", [view])).num_rows == 3 * PER_OBJECT
    assert set(objects.opened) == ALL


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("CAST(table_schema AS INT) = 1", "CAST_INVALID_INPUT"),
        ("1 / length(substr(table_schema, 3)) = 1", "DIVIDE_BY_ZERO"),
    ],
)
def test_a_condition_that_fails_fails_the_query(spark: ExecSession, condition: str, error: str) -> None:
    with pytest.raises(SqlError) as raised:
        run(spark, Objects().plan(f"SELECT * FROM r WHERE {condition}"))
    assert raised.value.condition == error


def test_a_description_opens_nothing(spark: ExecSession) -> None:
    objects = Objects()
    request = StatementRequest(identity=Identity("alice"))
    assert [column.name for column in spark.columns_of(objects.plan("SELECT * FROM r"), request)] == [
        name for name, _ in COLUMNS
    ]
    assert objects.opened == []


VALUES: list[tuple[str, Any, Any]] = [
    ("string", "é", "é"),
    ("int", -1, -1),
    ("bigint", 2**40, 2**40),
    ("double", 1.5, 1.5),
    ("boolean", True, True),
    ("timestamp", 1_000, dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
    ("array<string>", ["a", None], ["a", None]),
    ("array<string>", [], []),
    ("map<string, string>", {"k": None}, [("k", None)]),
    ("map<string, double>", {"k": 0.5}, [("k", 0.5)]),
]


@pytest.mark.parametrize("count", [3, 30_000])
def test_every_type_in_few_and_in_many_rows(spark: ExecSession, count: int) -> None:
    row, nothing = [value for _, value, _ in VALUES], [None] * len(VALUES)
    columns = [(f"c{at}", kind) for at, (kind, _, _) in enumerate(VALUES)]
    rows = GivenRows(columns=columns, make=lambda _: (row if n % 2 else nothing for n in range(count)))
    given = RowScan(relation="r", label="r", rows=rows)
    found = run(spark, ReadPlan(text="SELECT * FROM r", scans=(), given=(given,)))
    assert found.num_rows == count
    assert list(found.slice(1, 1).to_pylist()[0].values()) == [shown for *_, shown in VALUES]
    assert set(found.slice(2, 1).to_pylist()[0].values()) == {None}
    text = "SELECT count(*) AS n FROM r JOIN (SELECT DISTINCT c0 FROM r) b ON r.c0 = b.c0 WHERE r.c4"
    assert run(spark, ReadPlan(text=text, scans=(), given=(given,))).to_pylist() == [{"n": count // 2}]


def test_failing_row_source_fails_the_query(spark: ExecSession) -> None:
    def make(_: Sequence[int] | None) -> Iterator[Row]:
        yield from ((n,) for n in range(10_000))
        raise MalformedLogEntry("t", "it ends")

    given = RowScan(relation="r", label="r", rows=GivenRows(columns=[("n", "int")], make=make))
    with pytest.raises(MalformedLogEntry):
        run(spark, ReadPlan(text="SELECT * FROM r", scans=(), given=(given,)))


def test_a_query_that_is_cancelled_makes_no_more_rows(spark: ExecSession) -> None:
    cancel = CancelToken()
    made: list[int] = []

    def make(_: Sequence[int] | None) -> Iterator[Row]:
        for n in range(1_000_000):
            made.append(n)
            if n == 5_000:
                cancel.cancel(StatementCancelled())
            yield (n,)

    given = RowScan(relation="r", label="r", rows=GivenRows(columns=[("n", "int")], make=make))
    plan = ReadPlan(text="SELECT * FROM r", scans=(), given=(given,))
    with pytest.raises(StatementCancelled):
        spark.run_query(plan, StatementRequest(identity=Identity("alice"), cancel=cancel))
    assert len(made) < 20_000
