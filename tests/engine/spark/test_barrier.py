"""A view that is a barrier: Spark evaluates nothing that is above it on rows that it does not answer."""

from __future__ import annotations

import re

import pytest

from engine.planning.plans.reads import ReadPlan, ViewScan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.sql.query.values import ExplainMode

pytestmark = pytest.mark.spark

ABOVE = (
    "SELECT n FROM hidden WHERE 1 / (n - 42) < 5",
    "SELECT n FROM hidden WHERE n = m AND 1 / (m - 42) < 5",
    "SELECT n FROM hidden JOIN (VALUES (1)) AS v(x) ON 1 / (n - 42) < 5",
    "SELECT count(*) FROM hidden GROUP BY n HAVING 1 / (n - 42) < 5",
    "SELECT n FROM hidden LATERAL VIEW explode(array(1 / (n - 42))) AS x",
)


@pytest.mark.parametrize("text", ABOVE)
@pytest.mark.parametrize("is_barrier", [True, False])
def test_conditions_stay_above_it_in_the_optimized_plan(spark: ExecSession, text: str, is_barrier: bool) -> None:
    """If no barrier exists, the first two are pushed below, which proves that the check reads the right plan
    position.
    """
    rows = "SELECT id AS n, id AS m FROM range(100) WHERE id IN (SELECT explode(sequence(1, 10)))"
    view = ViewScan(relation="hidden", label="t", text=rows, columns=(), is_barrier=is_barrier)
    plan = ReadPlan(text=text, scans=(), views=(view,))
    result = spark.explain(plan, ExplainMode.EXTENDED, "", StatementRequest(identity=Identity("ann")))
    (shown,) = next(iter(result.batches())).column(0).to_pylist()
    optimized, physical = shown.split("== Optimized Logical Plan ==")[1].split("== Physical Plan ==")
    physical = physical.partition("== Gateway Rules ==")[0]
    assert "Sample" not in physical, "it costs nothing when rows are read"
    samples = [match.start() for match in re.finditer("Sample", optimized)]
    assert len(samples) == is_barrier
    if is_barrier:
        below = optimized[samples[0] :]
        assert "- 42" not in below and "-42" not in below
    elif text in ABOVE[:2]:
        assert "42" in optimized[optimized.index("Join") :]


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("SELECT n FROM hidden WHERE n = 42", 0),
        ("SELECT n FROM hidden WHERE n < 6 * 7 AND CASE WHEN n = 4 THEN 1 ELSE 0 END = 0", 0),
        ("SELECT 1 / (n - 42) FROM hidden", 0),
        ("SELECT n FROM hidden WHERE 1 / (n - 42) < 5", 1),
        ("SELECT n FROM hidden WHERE CASE WHEN n = 42 THEN CAST('x' AS INT) ELSE 0 END = 0", 1),
        ("SELECT n FROM hidden WHERE (SELECT a FROM VALUES (42, 1), (42, 2) AS t(k, a) WHERE k = n) = 1", 1),
        ("SELECT * FROM (SELECT n FROM hidden WHERE 1 / n < 5) TABLESAMPLE (99 PERCENT) REPEATABLE (7)", 2),
    ],
)
def test_barrier_is_removed_if_no_expression_above_the_view_can_fail(
    spark: ExecSession, text: str, samples: int
) -> None:
    rows = "SELECT id AS n FROM range(100) WHERE id IN (SELECT explode(sequence(1, 10)))"
    view = ViewScan(relation="hidden", label="t", text=rows, columns=(), is_hidden=True)
    result = spark.explain(
        ReadPlan(text=text, scans=(), views=(view,)),
        ExplainMode.EXTENDED,
        "",
        StatementRequest(identity=Identity("ann")),
    )
    (shown,) = next(iter(result.batches())).column(0).to_pylist()
    optimized = shown.split("== Optimized Logical Plan ==")[1].split("== Physical Plan ==")[0]
    assert optimized.count("Sample") == samples
