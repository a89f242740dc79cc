"""Plan cache: reusable plans, and what a query's text shows about its answer before analysis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan, RowScan, ViewScan
from engine.pruning.estimates import Estimate
from engine.pruning.predicates import Predicate
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import Repeatable
from engine.spark.session import ExecSession
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.tables.given_rows import GivenRows
from engine.tables.scan import PrunedFiles, TableRead
from tests.engine.spark.scans import DataFile, write_scan

pytestmark = pytest.mark.spark

VALUES_OF_NOW = (
    "SELECT count(*) FROM range(unix_timestamp() % 10)",
    "SELECT max(id) FROM range(0, day(NOW()))",
    "SELECT * FROM (SELECT DATE '2026-01-01' AS d, 1 AS n) PIVOT (sum(n) FOR d IN (current_date AS x))",
)


def ran(spark: ExecSession, plan: ReadPlan) -> tuple[Repeatable, bool]:
    """Returns the answer's repeatability, and if a cached plan was used."""
    request = StatementRequest(identity=Identity("ann"))
    stream = spark.run_query(plan, request)
    stream.close()
    return stream.repeatable, "analysis" not in request.profile.steps


@pytest.mark.parametrize("text", VALUES_OF_NOW)
def test_time_that_the_analyzer_evaluates_is_seen(spark: ExecSession, text: str) -> None:
    for _ in range(2):
        assert ran(spark, ReadPlan(text=text, scans=())) == (Repeatable.NEVER, False)


def test_function_is_as_volatile_when_the_analyzer_evaluates_it(spark: ExecSession) -> None:
    """Covers all allowed functions that can be called without arguments."""
    found: dict[str, tuple[Repeatable, Repeatable]] = {}
    for name in sorted(filter(str.isidentifier, ALLOWED_FUNCTIONS)):
        try:
            plain = ran(spark, ReadPlan(text=f"SELECT {name}() AS x", scans=()))[0]
            evaluated = ran(spark, ReadPlan(text=f"SELECT * FROM range(if({name}() IS NULL, 1, 2))", scans=()))[0]
        except SqlError:  # it needs arguments, or is not foldable
            continue
        found[name] = plain, evaluated
    assert [name for name, (plain, evaluated) in found.items() if plain != evaluated] == []
    assert {"current_date", "current_timestamp", "now", "unix_timestamp", "localtime", "pi", "e"} <= found.keys()
    assert (found["now"][0], found["pi"][0]) == (Repeatable.NEVER, Repeatable.ALWAYS)


@pytest.mark.parametrize(
    ("name", "precisions"),
    [
        *((name, (6,)) for name in ("current_timestamp", "localtimestamp", "now")),
        *((name, (0, 3, 6, 7, 9)) for name in ("current_time", "localtime")),
    ],
)
def test_current_time_is_volatile_at_any_precision(spark: ExecSession, name: str, precisions: tuple[int, ...]) -> None:
    for precision in (0, 3, 6, 7, 9):
        plan = ReadPlan(text=f"SELECT {name}({precision}) IS NULL", scans=())
        if precision in precisions:
            assert ran(spark, plan)[0] is Repeatable.NEVER
        else:
            with pytest.raises(SqlError) as rejected:
                ran(spark, plan)
            expected = "INVALID_TIMESTAMP_PRECISION" if precision < 6 else "FEATURE_NOT_ENABLED"
            assert rejected.value.condition == expected, precision


def test_time_that_is_evaluated_in_a_view_is_seen(spark: ExecSession) -> None:
    view = ViewScan(relation="v", label="v", text=VALUES_OF_NOW[0], columns=())
    for _ in range(2):
        assert ran(spark, ReadPlan(text="SELECT * FROM v", scans=(), views=(view,))) == (Repeatable.NEVER, False)


def test_plan_over_given_rows_is_not_cached(spark: ExecSession) -> None:
    given = RowScan(relation="r", label="r", rows=GivenRows(columns=[("n", "int")], make=lambda _: [(1,)]))
    for _ in range(2):
        assert ran(spark, ReadPlan(text="SELECT * FROM r", scans=(), given=(given,))) == (Repeatable.NEVER, False)


def test_a_name_of_the_session_counts_wherever_it_is(spark: ExecSession) -> None:
    plan = ReadPlan(text="SELECT user FROM VALUES ('x') AS t(user)", scans=())
    assert [ran(spark, plan) for _ in range(2)] == [(Repeatable.SESSION, False), (Repeatable.SESSION, True)]


def test_conversions_of_given_times_are_preserved(spark: ExecSession) -> None:
    plan = ReadPlan(text="SELECT 'now', unix_timestamp('2026-01-01 00:00:00') FROM range(3)", scans=())
    assert [ran(spark, plan) for _ in range(2)] == [(Repeatable.ALWAYS, False), (Repeatable.ALWAYS, True)]


class Changing:
    """A choice with all files; an estimate call changes the session's settings and changes them back."""

    def __init__(self, spark: ExecSession) -> None:
        self.spark, self.estimate_count = spark, 0

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        read = TableRead(label="t", version=0, files_total=1, bytes_total=1, files_partition=1, files=1, bytes=1)
        return PrunedFiles(pa.array([0]), read)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        self.estimate_count += 1
        if self.estimate_count == 1:
            self.spark.set_setting("spark.sql.ansi.enabled", "false")
            self.spark.set_setting("spark.sql.ansi.enabled", "true")
        return Estimate(files=1, bytes=1000, rows=1)


def test_plan_made_during_session_change_is_not_cached(spark: ExecSession, tmp_path: Path) -> None:
    spark.set_setting("spark.sql.ansi.enabled", "true")
    scan = write_scan(tmp_path, {"n": "integer"}, [DataFile(path="a", columns={"n": pa.array([1], pa.int32())})])
    changing = Changing(spark)
    text = "SELECT a.n FROM __scan_0 AS a JOIN __scan_0 AS b ON a.n = b.n + 7919"
    plan = ReadPlan(text=text, scans=(replace(scan, pruning=changing),))
    assert [ran(spark, plan)[1] for _ in range(3)] == [False, False, True]
    assert changing.estimate_count
    spark.set_setting("spark.sql.ansi.enabled", None)
