"""Settings that change a session's queries: Spark has and applies each."""

from __future__ import annotations

from typing import Any

import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.query_settings import CHOICES, FLAGS, LIMITS
from engine.spark.session import ExecSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

_WITHOUT_DEFAULT = {
    "spark.sql.binaryOutputStyle",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.legacy.nullInEmptyListBehavior",
}


def test_spark_has_every_one(spark: ExecSession) -> None:
    keys = {key for key, *_ in (*FLAGS, *LIMITS, *CHOICES)}
    assert {key for key in keys if spark.get_setting(key) is None} == _WITHOUT_DEFAULT


@pytest.mark.parametrize(
    ("setting", "text", "expected"),
    [
        ("spark.sql.groupByAliases = false", "SELECT id % 2 AS k FROM range(3) GROUP BY k", "UNRESOLVED_COLUMN"),
        ("spark.sql.groupByOrdinal = false", "SELECT 1 FROM range(3) GROUP BY 1", [(1,)]),
        ("spark.sql.orderByOrdinal = false", "SELECT id FROM range(2) ORDER BY -1 * id", [(1,), (0,)]),
        (
            "spark.sql.cteRecursionLevelLimit = 3",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT max(n) FROM r",
            "RECURSION_LEVEL_LIMIT_EXCEEDED",
        ),
        (
            "spark.sql.legacy.negativeIndexInArrayInsert = true",
            "SELECT array_insert(array(1, 3), -1, 2)",
            [([1, 2, 3],)],
        ),
        ("spark.sql.legacy.setopsPrecedence.enabled = true", "SELECT 1 UNION SELECT 2 INTERSECT SELECT 2", [(2,)]),
        ("spark.sql.binaryOutputStyle = HEX", "SELECT to_csv(named_struct('x', X'00FF'))", [("00FF",)]),
        ("spark.sql.pivotMaxValues = 1", "SELECT * FROM range(3) PIVOT (count(*) FOR id IN (0))", [(1,)]),
    ],
)
def test_a_setting_does_what_it_says(
    engine: LakeEngine, session: LakeSession, setting: str, text: str, expected: list[tuple[Any, ...]] | str
) -> None:
    run(session, f"SET {setting}")
    if isinstance(expected, str):
        assert refuse(session, text).condition.startswith(expected)
    else:
        assert rows(session, text) == expected
    other = engine.open_session(Identity("ben"), settings={}, catalog=None, schema=None)
    key = setting.partition(" = ")[0]
    assert rows(other, f"SET {key}") != rows(session, f"SET {key}")
    other.close()
