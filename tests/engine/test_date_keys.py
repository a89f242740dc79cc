"""Grouping by the month of a date, as a timestamp in the session's time zone, matches Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.bench.sides import own_spark
from tests.engine.beside_spark import BesideSpark
from tests.samples import some

pytestmark = pytest.mark.spark

# And whether all its days have a beginning.
ZONES = {
    "UTC": True,
    "+05:30": True,
    "America/Los_Angeles": True,
    "America/Sao_Paulo": True,  # in which days have begun at one o'clock
    "Pacific/Apia": False,  # without 2011-12-30
    "Asia/Manila": False,  # without 1844-12-31
}
DATES = ("0001-01-01", "1582-10-04", "1844-12-31", "1969-12-31", "2011-12-30", "2018-11-04", "2024-02-29", "9999-12-31")


@pytest.fixture(scope="module")
def beside(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BesideSpark]:
    folder: Path = tmp_path_factory.mktemp("date_keys")
    days = [*map(date.fromisoformat, DATES), None, *(date(2011, 11, 20) + timedelta(days=n) for n in range(80))]
    columns = {"d": pa.array(days, pa.date32()), "k": pa.array([n % 3 for n in range(len(days))], pa.int32())}
    write_deltalake(folder / "default" / "days", pa.table(columns))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    own = BesideSpark(session, own_spark(spark_driver).newSession(), folder)
    own.copy("days")
    yield own
    session.close()


CASES = (
    # columns, their query, and if its keys are dates although its rows are grouped
    ("string(m), n", "SELECT date_trunc('month', d) AS m, count(*) AS n FROM days GROUP BY m", True),
    ("string(w), k, s", "SELECT date_trunc('WEEK', d) w, k, sum(k) s FROM days GROUP BY ALL", True),
    (
        "string(q), string(n)",
        "SELECT date_trunc('quarter', d) AS q, max(d) n FROM days WHERE k < 2 GROUP BY q HAVING q > '1900-01-01'",
        True,
    ),
    ("y, n", "SELECT year(date_trunc('yy', d)) y, count(*) n FROM days GROUP BY date_trunc('yy', d)", True),
    ("n", "SELECT count(*) n FROM days GROUP BY date_trunc('mon', d)", True),
    (
        "string(m), k, n",
        "SELECT date_trunc('month', d) m, k, count(*) n FROM days GROUP BY m, k ORDER BY m LIMIT 999",
        True,
    ),
    (
        "string(m), s",
        "SELECT date_trunc('MM', d) m, sum(n) s FROM (SELECT d, count(*) n FROM days GROUP BY d) GROUP BY m",
        True,
    ),
    ("string(m)", "SELECT DISTINCT date_trunc('month', d) m FROM days", True),
    ("string(m), n", "SELECT date_trunc('day', d) m, count(*) n FROM days GROUP BY m", False),
    ("string(m), n", "SELECT date_trunc('nothing', d) m, count(*) n FROM days GROUP BY m", False),
    (
        "string(m), n",
        "SELECT date_trunc('month', timestamp(d) + INTERVAL 1 HOUR) m, count(*) n FROM days GROUP BY m",
        False,
    ),
    ("string(m), n", "SELECT trunc(d, 'month') m, count(*) n FROM days GROUP BY m", False),
    ("string(m), k", "SELECT date_trunc('month', d) m, k FROM days", False),
)


@pytest.mark.parametrize("zone", some(ZONES, ("America/Sao_Paulo", "Pacific/Apia")))
def test_months_are_those_of_spark(beside: BesideSpark, zone: str) -> None:
    with beside.setting("spark.sql.session.timeZone", zone):
        for columns, query, as_dates in CASES:
            text = f"SELECT {columns} FROM ({query})"
            beside.ensure_same(text)
            optimized = beside.plan(text).split("== Optimized")[1].split("== Physical")[0]
            made = re.search(r"[^_]trunc\(d#", optimized) is not None and "trunc(d, 'month')" not in query
            assert made == (as_dates and ZONES[zone]), text
