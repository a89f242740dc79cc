"""Unscaled decimal arithmetic: sums and averages are computed in longs if they fit, with Spark's answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.spark.session import SparkDriver
from tests.bench.sides import own_spark
from tests.engine.beside_spark import BesideSpark
from tests.engine.lake_sessions import refuse, run, table

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
# Takes about a millisecond.
SLOW = "aggregate(sequence(1L, 20000L), id, (a, b) -> greatest(a, b))"
# Table padding: the optimizer does not read the log for smaller tables.
PAD_BYTES = 1_500_000


def _form(beside: BesideSpark, text: str) -> str:
    """Returns how sums are computed: one or two longs each, mixed, or none."""
    plan = beside.plan(text)
    one, split = "MakeDecimal(sum(" in plan, "SplitLongSum.total(" in plan
    return "both" if one and split else "one" if one else "split" if split else "none"


def _decimals(random: Random, count: int, digits: int, scale: int) -> pa.Array:
    """Returns decimals with up to `digits` digits, one in nine null."""
    most = 10**digits - 1
    values = [
        None if random.random() < 1 / 9 else Decimal(random.randint(-most, most)).scaleb(-scale) for _ in range(count)
    ]
    return pa.array(values, pa.decimal128(30, scale))


def _facts(random: Random, count: int) -> pa.Table:
    def of(digits: int, precision: int, scale: int) -> pa.Array:
        return _decimals(random, count, digits, scale).cast(pa.decimal128(precision, scale))

    return pa.table(
        {
            "g": pa.array([random.choice(["x", "y", "z", None]) for _ in range(count)]),
            "p": pa.array([Decimal(random.choice(["1.50", "20.25"])) for _ in range(count)], pa.decimal128(10, 2)),
            "a": of(8, 15, 2),
            "b": of(6, 12, 4),
            "c": of(9, 9, 0),
            "e": of(18, 18, 6),
            "w": of(7, 30, 2),
            "i": pa.array([random.choice([None, random.randrange(-1000, 1000)]) for _ in range(count)], pa.int32()),
            "l": pa.array([random.randrange(-(10**10), 10**10) for _ in range(count)], pa.int64()),
            "y": pa.array([random.randrange(-128, 128) for _ in range(count)], pa.int8()),
            "k": pa.array([random.randrange(6) for _ in range(count)], pa.int32()),
            "pad": pa.array([random.randbytes(PAD_BYTES // count) for _ in range(count)], pa.binary()),
        }
    )


def _edges(random: Random) -> pa.Table:
    most = 10**18 - 1
    return pa.table(
        {
            "n": pa.array([Decimal(most), Decimal(most), Decimal(-most), None, Decimal(0)], pa.decimal128(18, 0)),
            "f": pa.array([Decimal(most).scaleb(-18)] * 3 + [Decimal(-most).scaleb(-18), None], pa.decimal128(18, 18)),
            "up": pa.array([Decimal(most)] * 5, pa.decimal128(18, 0)),
            "h": pa.array([Decimal(2**30)] * 5, pa.decimal128(15, 0)),
            "l": pa.array([2**63 - 1, -(2**63), 2**63 - 1, 7, None], pa.int64()),
            "m": pa.array([2**60, 2**60 - 1, -(2**60), 7, None], pa.int64()),
            "pad": pa.array([random.randbytes(PAD_BYTES)] + [b""] * 4),
        }
    )


LOWS = {"n": 0, "m": -1, "h": 1, "up": 0}
HIGHS = {"n": 9, "m": 1, "h": 2, "up": 3}


def _spoil(folder: Path, statistics: Mapping[str, Any]) -> None:
    """Writes these statistics into the log for each file."""
    for commit in (folder / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            add["stats"] = json.dumps(statistics)
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("long_sums")


@pytest.fixture(scope="module")
def beside(spark_driver: SparkDriver, folder: Path) -> Iterator[BesideSpark]:
    random = Random(11)
    lake = folder / "default"
    for _ in range(2):
        write_deltalake(lake / "facts", _facts(random, 300), mode="append", partition_by=["p"])
    write_deltalake(lake / "edges", _edges(random))
    nulls = {"a": pa.nulls(4, pa.decimal128(15, 2)), "w": pa.nulls(4, pa.decimal128(30, 2))}
    write_deltalake(lake / "nulls", pa.table(nulls))
    write_deltalake(lake / "lies", _edges(random))
    for _ in range(2):
        write_deltalake(lake / "twice", _edges(random), mode="append")
    for name in ("lies", "twice"):
        _spoil(lake / name, {"numRecords": 1, "minValues": LOWS, "maxValues": HIGHS})
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "ALTER TABLE facts SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    run(session, "DELETE FROM facts WHERE k = 5 AND g = 'x'")
    run(session, "CREATE TABLE dim (k INT, r DECIMAL(5,3), v DECIMAL(11,2))")
    run(session, "INSERT INTO dim VALUES (0, 1.5, 10), (1, -2.125, NULL), (1, 0.001, 7.25), (9, 3, 3), (NULL, 4, 4)")
    run(session, "CREATE TABLE nothing (a DECIMAL(15,2), w DECIMAL(30,2), g STRING)")
    run(session, "CREATE TABLE ice USING iceberg PARTITIONED BY (k) AS SELECT g, k, a, b, c, w, i, l, pad FROM facts")
    own = BesideSpark(session, own_spark(spark_driver).newSession(), folder)
    own.copy("facts", "edges", "lies", "twice", "nulls", "dim", "nothing", "ice")
    yield own
    session.close()


CASES = (
    # a query, and how its sums are computed
    ("SELECT sum(a) FROM facts", "one"),
    ("SELECT g, sum(a), avg(a), count(a), count(*) FROM facts GROUP BY g", "one"),
    ("SELECT sum(a * b) s, avg(a * (1 - b)) m, sum(-a) n, sum(abs(b) * 2) d FROM facts", "one"),
    ("SELECT sum(a + b), sum(a - c), sum(a * 10 + 0.125), avg(b + i) FROM facts", "one"),
    ("SELECT sum(e), avg(e) FROM facts", "split"),
    ("SELECT sum(w), avg(w), sum(w * a) FROM facts", "one"),
    ("SELECT sum(CASE WHEN g = 'x' THEN a WHEN g = 'y' THEN b ELSE 0 END), sum(if(i > 0, a, -a)) FROM facts", "one"),
    ("SELECT sum(CASE WHEN i > 0 THEN a END), sum(coalesce(a, b, 1.25)), avg(nvl(b, 0)) FROM facts", "one"),
    ("SELECT sum(a) FILTER (WHERE i > 0), avg(b) FILTER (WHERE g = 'none') FROM facts", "one"),
    ("SELECT sum(CAST(l AS DECIMAL(20,0)) * 2), sum(CAST(y AS DECIMAL(9,4)) * a), sum(l * a) FROM facts", "both"),
    ("SELECT sum(CAST(a AS DECIMAL(20,6))), sum(CAST(b AS DECIMAL(20,2))) FROM facts WHERE c > 0", "one"),
    ("SELECT p, sum(p), sum(p * a) FROM facts WHERE p > 2 GROUP BY p", "one"),
    ("SELECT g, k, sum(a), avg(b) FROM facts GROUP BY ROLLUP (g, k)", "one"),
    ("SELECT g, k, sum(a), count(DISTINCT i) FROM facts GROUP BY CUBE (g, k)", "one"),
    ("SELECT sum(a), count(DISTINCT i), count(DISTINCT g) FROM facts", "one"),
    ("SELECT g, sum(a) AS total FROM facts GROUP BY g HAVING sum(a) > 0 AND avg(b) < 1000000 ORDER BY total", "one"),
    ("SELECT sum(a) FROM (SELECT a FROM facts UNION ALL SELECT a * 1.5 FROM facts UNION ALL SELECT w FROM ice)", "one"),
    ("SELECT sum(x), avg(x) FROM (SELECT a * b AS x, i FROM facts WHERE i > 0 ORDER BY i LIMIT 50)", "one"),
    ("SELECT g, sum(s) FROM (SELECT g, k, max(a) AS s FROM facts GROUP BY g, k) GROUP BY g", "one"),
    ("SELECT g, sum(a) + (SELECT sum(b) FROM facts) AS s FROM facts GROUP BY g", "one"),
    ("SELECT sum(a), sum(f.a * d.r), avg(d.v) FROM facts f JOIN dim d ON f.k = d.k", "split"),
    ("SELECT f.g, sum(d.r), sum(a * coalesce(d.r, 1)) FROM facts f LEFT JOIN dim d ON f.k = d.k GROUP BY f.g", "both"),
    ("SELECT d.k, sum(a), avg(a), sum(v) FROM facts f FULL JOIN dim d ON f.k = d.k GROUP BY d.k", "split"),
    ("SELECT sum(a) FROM facts WHERE k IN (SELECT k FROM dim)", "one"),
    ("SELECT sum(a), avg(b) FROM facts LATERAL VIEW explode(array(1, 2)) x AS y", "split"),
    ("SELECT i, a, sum(a) OVER (PARTITION BY g ORDER BY l) FROM facts", "none"),
    ("SELECT sum(DISTINCT a) FROM facts", "none"),
    ("SELECT sum(DISTINCT a), avg(DISTINCT b) FROM facts", "one"),  # distinct rows, as Spark rewrites it
    ("SELECT sum(a / 3), sum(round(e, 1) * e), sum(CAST(e AS DECIMAL(20,2))) FROM facts", "none"),
    ("SELECT sum(e * a) FROM facts", "none"),
    ("SELECT sum(n), avg(n), sum(f), avg(f) FROM edges", "split"),
    ("SELECT sum(up), avg(up) FROM edges", "split"),
    ("SELECT sum(n * n), sum(CAST(l AS DECIMAL(20,0))) FROM edges", "none"),
    ("SELECT sum(CAST(m AS DECIMAL(20,0))), avg(CAST(m AS DECIMAL(20,0))) FROM edges", "split"),
    ("SELECT sum(h * h), sum(h * (h - 1)) FROM edges", "split"),
    ("SELECT sum(h * h * 2), sum(h * h + h * h) FROM edges", "none"),
    ("SELECT sum(a), avg(a), sum(a * a) FROM nulls", "split"),
    ("SELECT sum(a), avg(a), count(*) FROM nothing", "split"),
    ("SELECT g, sum(a), avg(a) FROM nothing GROUP BY g", "split"),
    ("SELECT g, k, sum(a), avg(a), sum(a * b), sum(w) FROM ice GROUP BY g, k", "one"),
    ("SELECT sum(i.a * d.r) FROM ice i LEFT JOIN dim d USING (k)", "split"),
    ("SELECT sum(i), avg(i), sum(c / 2), avg(r) FROM facts LEFT JOIN dim USING (k)", "none"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "form"), CASES, ids=[text for text, _ in CASES])
def test_sums_are_those_of_spark(beside: BesideSpark, text: str, form: str) -> None:
    beside.ensure_same(text)
    beside.ensure_same(text)  # with the cached plan
    assert _form(beside, text) == form


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_long_sums_with_and_without_ansi(beside: BesideSpark, ansi: str) -> None:
    with beside.setting(ANSI, ansi):
        for text, _ in CASES[:6]:
            beside.ensure_same(text)


LIES = (
    "SELECT sum(m * CAST(8 AS DECIMAL(1,0))), avg(m * 64.5) FROM lies",  # a product is too large
    "SELECT sum(n), avg(n) FROM lies",  # larger than expected, and no more
    "SELECT sum(up * up), avg(up) FROM lies",
    "SELECT l, sum(n * n) FROM lies GROUP BY l ORDER BY l",
    "SELECT sum(h * h * 2), sum(h) FROM lies",  # the sum over all rows is too large
    "SELECT sum(n * n) FROM lies UNION ALL SELECT sum(a) FROM facts",
    "SELECT count(*) FROM facts WHERE a < (SELECT sum(n * n) FROM lies)",
)


@pytest.mark.parametrize("text", LIES)
def test_a_log_that_is_wrong_changes_no_answer(beside: BesideSpark, text: str) -> None:
    assert _form(beside, text) == "one"
    for _ in range(2):
        beside.ensure_same(text)


def test_an_overflow_of_the_query_is_its_own(beside: BesideSpark) -> None:
    error = refuse(beside.session, "SELECT sum(a), sum(9223372036854775807 + k) FROM facts")
    assert error.condition == "ARITHMETIC_OVERFLOW"


def _slow_rows(beside: BesideSpark) -> str:
    """Returns a source with many rows in as many tasks as run at the same time, the last rows in each slow."""
    tasks = beside.spark.sparkContext().defaultParallelism()
    return f"SELECT if(id % 51000 < 50000, id, {SLOW}) FROM range(0, 51000 * {tasks}, 1, {tasks})"


@pytest.mark.parametrize(
    ("last", "condition"),
    [
        ("SELECT sum(h * h) FROM twice", "STATISTICS_EXCEEDED"),
        ("SELECT bigint(sum(a) * 0) + 9223372036854775807 + count(*) FROM facts", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_rows_that_were_sent_are_not_taken_back(beside: BesideSpark, last: str, condition: str) -> None:
    """The total over two files is too large, which is found after tasks with other rows have ended. An expression that
    also fails without longs reports the same error.
    """
    reported: list[ResultStream] = []
    request = StatementRequest(identity=Identity("ann"), on_rows=reported.append)
    assert _form(beside, last) == "one"
    with pytest.raises(SqlError) as caught:
        beside.session.execute(f"{_slow_rows(beside)} UNION ALL {last}", request)
    assert reported and caught.value.condition == condition


def test_rows_that_were_not_sent_are_computed_again(beside: BesideSpark) -> None:
    """The first task has no rows, the second none so far, and the third has written its own."""
    beside.ensure_same("SELECT sum(h * h) FROM twice")
    rows = f"SELECT if(id < 54000, {SLOW}, id) AS id FROM range(0, 150000, 1, 3) WHERE id >= 50000"
    reported: list[ResultStream] = []
    request = StatementRequest(identity=Identity("ann"), on_rows=reported.append)
    result = beside.session.execute(f"{rows} UNION ALL SELECT sum(h * h) FROM twice", request)
    assert sum(batch.num_rows for batch in (reported[0] if reported else result).batches()) == 100_001


def test_a_column_of_many_levels_is_looked_up_once(beside: BesideSpark) -> None:
    """Each level has the one below twice."""
    rows = "SELECT a AS x, g FROM facts"
    for _ in range(24):
        rows = f"SELECT if(g = 'x', x, -x) AS x, g FROM ({rows})"
    began = time.monotonic()
    found = table(beside.session, f"SELECT sum(x) AS s FROM ({rows})")
    assert time.monotonic() - began < 60
    assert found == table(beside.session, "SELECT sum(if(g = 'x', a, a)) AS s FROM facts")


COLUMNS = ("a", "b", "c", "e", "w", "i", "l", "y", "p", "r", "v")


def _expression(random: Random, depth: int) -> str:
    """Returns an expression over decimals and integers in `facts` and `dim`, some with a long form."""
    if depth == 0 or random.random() < 0.2:
        literal = random.choice(["0", "1", "-3", "0.05", "12.5", "1000000", "CAST(NULL AS DECIMAL(5,2))"])
        return random.choice([*COLUMNS, *COLUMNS, literal])
    one, other = (_expression(random, depth - 1) for _ in range(2))
    return random.choice(
        (
            *[f"({one} {operator} {other})" for operator in "++-**"],
            *(f"-({one})", f"abs({one})", f"coalesce({one}, {other})"),
            f"CASE WHEN {random.choice(COLUMNS)} > {random.randrange(-99, 99)} THEN {one} ELSE {other} END",
            f"CAST({one} AS DECIMAL(38,{random.randrange(8)}))",
        )
    )


def _query(random: Random) -> str:
    """Averages are over decimals: over integers they are DOUBLE, whose last digits depend on row order."""
    aggregates = [
        f"{random.choice(('sum(', 'sum(', 'avg(0.0 + '))}{_expression(random, random.randrange(4))})"
        + random.choice((f" AS n{number}", f" FILTER (WHERE i > 0) AS n{number}"))
        for number in range(6)
    ]
    kind, group = random.choice(("JOIN", "LEFT JOIN")), random.choice(("g", "k", "g, p"))
    where = random.choice(("true", "a > 0", "b BETWEEN -10 AND 40", "y < 3 AND i IS NOT NULL"))
    return f"SELECT {group}, {', '.join(aggregates)} FROM facts {kind} dim USING (k) WHERE {where} GROUP BY {group}"


def _ensure_random_queries_are_same(beside: BesideSpark, seeds: range) -> None:
    """ANSI mode is off: overflow yields null; integers wrap in both."""
    with beside.setting(ANSI, "false"):
        for seed in seeds:
            beside.ensure_same(_query(Random(seed)))


def test_random_sums_are_those_of_spark(beside: BesideSpark) -> None:
    _ensure_random_queries_are_same(beside, range(6))


@pytest.mark.slow
def test_many_random_sums_are_those_of_spark(beside: BesideSpark) -> None:
    _ensure_random_queries_are_same(beside, range(6, 60))
