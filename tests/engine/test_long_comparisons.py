"""Conditions on decimal columns leave the rows that Spark leaves, though they are evaluated in longs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.bench.sides import own_spark
from tests.engine.beside_spark import BesideSpark

pytestmark = pytest.mark.spark

MOST = 10**18 - 1
VALUES = {
    "a": ((15, 2), ["0", "-0.01", "0.01", "5.00", "5.01", "-9999999999999.99", "9999999999999.99", None]),
    "b": ((18, 18), ["0", "0.1", "-0.1", f"0.{MOST}", f"-0.{MOST}", None, None, "0.000000000000000001"]),
    "c": ((18, 0), ["0", "1", "-1", str(MOST), str(-MOST), "7", "5", None]),
    "w": ((19, 2), ["0", "-0.01", "0.01", "5.00", "5.01", None, "7", "8"]),
    "e": ((15, 2), ["0", "0", "0", "5.00", "5.00", None, "1", None]),
}


@pytest.fixture(scope="module")
def beside(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BesideSpark]:
    folder: Path = tmp_path_factory.mktemp("long_comparisons")
    columns = {
        name: pa.array([None if each is None else Decimal(each) for each in values], pa.decimal128(*of))
        for name, (of, values) in VALUES.items()
    }
    write_deltalake(folder / "default" / "t", pa.table({"id": list(range(8)), **columns}))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    own = BesideSpark(session, own_spark(spark_driver).newSession(), folder)
    own.copy("t")
    yield own
    session.close()


CASES = (
    # a condition, the planned filter's text, and the pushed filter
    ("a > 5", "UnscaledValue(a", "GreaterThan(a,5.00)"),
    ("a BETWEEN -0.01 AND 5", "UnscaledValue(a", "LessThanOrEqual(a,5.00)"),
    ("a IN (0, 5.01, NULL)", "UnscaledValue(a", "In(a, [0.00,5.01,null])"),
    ("a NOT IN (0, 5.01)", "UnscaledValue(a", "Not(In(a, [0.00,5.01]))"),
    ("a <=> 5 OR a <=> NULL", "UnscaledValue(a", "EqualNullSafe(a,5.00)"),
    ("NOT (a = 0.01) AND c <> 1", "UnscaledValue(c", "Not(EqualTo(a,0.01))"),
    (f"b >= 0.{MOST} OR b < -0.1", "UnscaledValue(b", ""),
    (f"c = {MOST} OR c = -{MOST}", "UnscaledValue(c", f"EqualTo(c,{MOST})"),
    ("a = e OR a < e", "UnscaledValue(e", ""),
    ("w > 0.005 OR w = 0", "w#", ""),
    ("a > c", "a#", ""),
    ("a > 0.005", "a#", ""),
    ("a IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5.01)", "a#", ""),
)


@pytest.mark.parametrize(("condition", "planned", "pushed"), CASES, ids=[row[0] for row in CASES])
def test_conditions_leave_what_they_leave_in_spark(
    beside: BesideSpark, condition: str, planned: str, pushed: str
) -> None:
    text = f"SELECT id, a, b, c, w FROM t WHERE {condition}"
    beside.ensure_same(text)
    physical = beside.plan(text).split("== Physical Plan ==")[1]
    assert planned in physical.split("FileScan")[0] and pushed in physical.split("PushedFilters")[1]
    assert "Unscaled" not in physical.split("FileScan")[1]
