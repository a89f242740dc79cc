"""Values that columns are compared with are no part of the code that Spark compiles, and what is found is Spark's.

Spark by itself, in a session that our rules are not in, answers over copies of the rows; it compiles a class for each
key, which shows that the count of classes means something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from tests.bench.sides import own_spark
from tests.engine.beside_spark import BesideSpark
from tests.engine.lake_sessions import rows

pytestmark = pytest.mark.spark

NAN, INFINITY = float("nan"), float("inf")
DAYS = [
    date(1, 1, 1),
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(2024, 2, 29),
    date(2024, 3, 1),
    None,
    date(9999, 12, 31),
]
TIMES = [None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, 999999) for day in DAYS]
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tiny": (pa.int8(), [-128, -1, 0, 1, 5, None, 127]),
    "small": (pa.int16(), [-32768, -1, 0, 1, 5, None, 32767]),
    "whole": (pa.int32(), [-(1 << 31), -1, 0, 1, 5, None, (1 << 31) - 1]),
    "big": (pa.int64(), [-(1 << 63), -1, 0, 1, 5, None, (1 << 63) - 1]),
    "single": (pa.float32(), [NAN, -0.0, 0.0, 1.5, -INFINITY, None, INFINITY]),
    "double": (pa.float64(), [NAN, -0.0, 0.0, 1.5, -INFINITY, None, INFINITY]),
    "price": (
        pa.decimal128(15, 2),
        [None if x is None else Decimal(x) for x in ("-5", "-0.01", "0", "1", "5", None, "7")],
    ),
    "wide": (
        pa.decimal128(30, 4),
        [None if x is None else Decimal(x) for x in ("-5", "-0.01", "0", "1", "5", None, "7")],
    ),
    "day": (pa.date32(), DAYS),
    "stamp": (pa.timestamp("us", "UTC"), [None if each is None else each.replace(tzinfo=UTC) for each in TIMES]),
    "clock": (pa.timestamp("us"), TIMES),
    "name": (pa.string(), ["", "a", "A", "ä", "b", None, "z"]),
    "flag": (pa.bool_(), [True, False, True, False, True, None, False]),
    "raw": (pa.binary(), [b"", b"a", b"\x00", b"\xff", b"b", None, b"z"]),
}
NUMBERS = ("-1", "0", "1", "5", "7")
REALS = ("'NaN'", "'-0.0'", "'0.0'", "'1.5'", "'Infinity'")
DATES = ("0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31")

PROBES = {
    # an expression of rows, the values that it is compared with
    "tiny": [f"CAST({each} AS TINYINT)" for each in (*NUMBERS, "-128", "127")],
    "small": [f"CAST({each} AS SMALLINT)" for each in (*NUMBERS, "-32768", "32767")],
    "whole": [f"CAST({each} AS INT)" for each in (*NUMBERS, "-2147483648", "2147483647")],
    "big": [f"CAST({each} AS BIGINT)" for each in (*NUMBERS, "'-9223372036854775808'", "'9223372036854775807'")],
    "single": [f"CAST({each} AS FLOAT)" for each in REALS],
    "double": [f"CAST({each} AS DOUBLE)" for each in REALS],
    "price": ["-0.01", "0", "1", "5.00", "5.001"],
    "wide": ["-0.01", "0", "1", "5.00", "5.0001"],
    "day": [f"DATE'{each}'" for each in DATES],
    "stamp": [f"TIMESTAMP'{each} 23:59:59.999999Z'" for each in DATES],
    "clock": [f"TIMESTAMP_NTZ'{each} 23:59:59.999999'" for each in DATES],
    "name": ["''", "'a'", "'A'", "'b'", "'zz'"],
    "name COLLATE UTF8_LCASE": ["''", "'a'", "'A'", "'b'", "'zz'"],
    "flag": ["true", "false"],
    "raw": ["X''", "X'61'", "X'00'", "X'FF'", "X'62'"],
    "(stamp - TIMESTAMP'2024-02-29 00:00:00Z')": [f"INTERVAL '{each}' DAY" for each in NUMBERS],
    "make_ym_interval(0, id)": [f"INTERVAL '{each}' MONTH" for each in NUMBERS],
    "id + tiny": NUMBERS,
    "CASE WHEN whole > 0 THEN big END": ["5", "9"],
}

FORMS = (
    "{c} = {v}",
    "{v} = {c}",
    "{c} <=> {v}",
    "NOT ({v} <=> {c})",
    "{c} <> {v}",
    "{c} < {v}",
    "{v} <= {c}",
    "{c} >= {v}",
    "{c} > {v}",
    "{c} BETWEEN {v} AND {w}",
    "{c} IN ({v}, {w})",
    "{c} IN ({v}, NULL)",
    "{c} NOT IN ({v}, {w})",
    "{c} IN ({many})",
    "{c} IN ({many}, NULL)",
    "{c} NOT IN ({many})",
    "{c} = {v} OR id = 3",
    "if({c} < {v}, NULL, id > 2)",
)


def _conditions(column: str, form: str) -> list[str]:
    """With each of the values that the column is compared with."""
    values = PROBES[column]
    many = [*values, *(_more(column, number) for number in range(11))]
    return [
        form.format(
            c=column, v=value, w=values[(at + 2) % len(values)], many=", ".join(many[at:] + many[: max(0, at - 1)])
        )
        for at, value in enumerate(values)
    ]


def _more(column: str, number: int) -> str:
    """A value of the type of the column's: a list of more than ten is another expression of Spark."""
    first = PROBES[column][0]
    if column in ("tiny", "small", "whole", "big", "single", "double"):
        return f"CAST({number + 40} AS {first.rpartition(' AS ')[2]}"
    if column in ("day", "stamp", "clock"):
        return first.replace("0001-01-01", f"2023-05-{number + 10}")
    if column.startswith("name"):
        return f"'more {number}'"
    if column == "raw":
        return f"X'{number + 40}'"
    if "INTERVAL" in first:
        return first.replace("-1", str(number + 40))
    return first if column == "flag" else str(number + 40)


@pytest.fixture(scope="module")
def beside(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BesideSpark]:
    folder: Path = tmp_path_factory.mktemp("shared_code")
    columns = {name: pa.array(values, of) for name, (of, values) in COLUMNS.items()}
    ids = pa.array(range(7), pa.int32())
    write_deltalake(folder / "default" / "compared", pa.table({"id": ids, **columns}))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    own = BesideSpark(session, own_spark(spark_driver), folder)
    own.copy("compared")
    yield own
    own.spark.catalog().dropTempView("compared")
    session.close()


@pytest.mark.parametrize("column", PROBES)
def test_comparisons_say_of_each_row_what_they_say_in_spark(beside: BesideSpark, column: str) -> None:
    said = [condition for form in FORMS for condition in _conditions(column, form)]
    columns = ", ".join(f"CAST({condition} AS STRING) AS c{at}" for at, condition in enumerate(said))
    beside.ensure_same(f"SELECT id, {columns} FROM compared")


@pytest.mark.parametrize("column", PROBES)
def test_filters_leave_the_rows_that_they_leave_in_spark(beside: BesideSpark, column: str) -> None:
    for at, form in enumerate(FORMS):
        conditions = _conditions(column, form)
        beside.ensure_same(f"SELECT id FROM compared WHERE {conditions[at % len(conditions)]}")


def test_stages_that_are_no_one_class_find_the_same(beside: BesideSpark) -> None:
    with beside.setting("spark.sql.codegen.wholeStage", "false"):
        for column in ("tiny", "day", "clock"):
            beside.ensure_same(f"SELECT id FROM compared WHERE {_conditions(column, '{c} IN ({many})')[1]}")
            beside.ensure_same(f"SELECT id FROM compared WHERE {_conditions(column, '{c} <= {v}')[3]}")


KEYS: dict[str, Callable[[int], str]] = {
    "tiny = {}": lambda key: f"CAST({key} AS TINYINT)",
    "small < {}": lambda key: f"CAST({key} AS SMALLINT)",
    "whole >= {}": str,
    "big = {}": str,
    "single > {}": lambda key: f"CAST({key} AS FLOAT)",
    "double <> {}": lambda key: f"CAST({key} AS DOUBLE)",
    "price = {}": lambda key: f"{key}.25",
    "wide = {}": lambda key: f"{key}.25",
    "day = {}": lambda key: f"DATE'{date(2020, 1, 1) + timedelta(key)}'",
    "stamp <= {}": lambda key: f"TIMESTAMP'{date(2020, 1, 1) + timedelta(key)} 01:02:03Z'",
    "clock <= {}": lambda key: f"TIMESTAMP_NTZ'{date(2020, 1, 1) + timedelta(key)} 01:02:03'",
    "name = {}": lambda key: f"'key {key}'",
    "raw = {}": lambda key: f"X'{key}'",
    "stamp - TIMESTAMP'2024-02-29 00:00:00Z' > {}": lambda key: f"INTERVAL '{key}' HOUR",
    "big BETWEEN {}": lambda key: f"{key} AND {key + 7}",
    "big IN ({})": lambda key: f"{key}, {key + 1}, {key + 3}",
    "whole IN ({})": lambda key: ", ".join(str(key + 3 * each) for each in range(20)),
    "day NOT IN ({})": lambda key: ", ".join(f"DATE'{date(2020, 1, 1) + timedelta(key + x)}'" for x in range(20)),
    "whole + id = {}": str,
}
SHARED_ALREADY = ("price", "wide", "name", "raw")
"""Columns whose values are references in Spark's own code too."""

QUESTIONS = (
    "SELECT * FROM compared WHERE {}",
    "SELECT id, {} AS said FROM compared",
    "SELECT name, count(*), sum(whole) FROM compared WHERE {} GROUP BY name",
    "SELECT name, count_if({0}), sum(if({0}, id, 0)), max(id) FILTER (WHERE {0}) FROM compared GROUP BY name",
    "SELECT {0} AS said, count(*) FROM compared GROUP BY {0}",
    "SELECT a.id, b.name FROM compared a JOIN (SELECT * FROM compared WHERE {}) b ON a.id = b.id ORDER BY a.id",
    "SELECT id FROM (SELECT id, count(*) AS n FROM compared GROUP BY id) JOIN compared USING (id) WHERE {} OR n > 1",
)


@pytest.fixture
def classes(spark_driver: SparkDriver) -> Callable[[Callable[[], object]], int]:
    """The number of classes that Spark compiles while something is asked."""
    metric = spark_driver.process.gateway.jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()

    def counted(ask: Callable[[], object]) -> int:
        before: int = metric.getCount()
        ask()
        after: int = metric.getCount()
        return after - before

    return counted


@pytest.mark.parametrize("condition", KEYS)
def test_another_value_compiles_nothing(
    beside: BesideSpark, classes: Callable[[Callable[[], object]], int], condition: str
) -> None:
    for question in QUESTIONS:
        texts = [question.format(condition.format(KEYS[condition](key))) for key in (21, 43, 65)]
        beside.ensure_same(texts[0])
        assert [classes(lambda text=text: rows(beside.session, text)) for text in texts] == [0, 0, 0], question
        if not condition.startswith(SHARED_ALREADY):
            assert classes(lambda text=texts[1]: beside.spark.sql(text).collectAsList()) > 0, question
        beside.ensure_same(texts[1])
