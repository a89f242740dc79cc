"""Point lookups compile no code for their values, and find the same rows as stock Spark.

Stock Spark's answers are over copies, in a session without our rules. With code generation it compiles a class for each
key, which proves that the class count is meaningful.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.bench.sides import own_spark
from tests.engine.beside_spark import BesideSpark
from tests.engine.lake_sessions import rows, run
from tests.fix_spark import INTERPRETED
from tests.samples import some

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
    # an expression over rows, the values compared with it
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
    "id + tiny": list(NUMBERS),
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
    """Returns conditions with each compared value."""
    values = PROBES[column]
    many = [*values, *(_more(column, number) for number in range(11))]
    return [
        form.format(
            c=column, v=value, w=values[(at + 2) % len(values)], many=", ".join(many[at:] + many[: max(0, at - 1)])
        )
        for at, value in enumerate(values)
    ]


def _more(column: str, number: int) -> str:
    """Returns a value with the column's type: a list with more than ten values is another Spark expression."""
    first = PROBES[column][0]
    if column in ("tiny", "small", "whole", "big", "single", "double"):
        return f"CAST({number + 40} AS {first.rpartition(' AS ')[2]}"
    if column in ("day", "stamp", "clock"):
        return first.replace("0001-01-01", f"2023-05-{number + 10}")
    if column.startswith("name"):
        return f"'more {number}'"
    if column == "raw":
        return f"X'{number + 40}'"
    return first if column == "flag" else str(number + 40)


SEVEN = "id IN (0, 1, 2, 3, 4, 5, 6)"
MANY, GROUP = 30_000, 12_000


@pytest.fixture(scope="module")
def beside(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BesideSpark]:
    """Yields `compared`, with all types, and `many`, with several row groups and batches, with and without dictionaries
    and nulls.
    """
    folder: Path = tmp_path_factory.mktemp("look_ups")
    columns = {name: pa.array(values, of) for name, (of, values) in COLUMNS.items()}
    ids = pa.array(range(7), pa.int32())
    write_deltalake(folder / "default" / "compared", pa.table({"id": ids, **columns}))
    many = {
        "id": pa.array(range(MANY), pa.int64()),
        "kind": pa.array([None if each % 11 == 0 else f"kind {each % 5}" for each in range(MANY)]),
        "name": pa.array([None if each % 7 == 0 else f"name {each * 7919 % MANY}" for each in range(MANY)]),
        "k": pa.array([None if each % 13 == 0 else each * 31 % 4000 for each in range(MANY)], pa.int32()),
    }
    groups = WriterProperties(max_row_group_size=GROUP)
    write_deltalake(folder / "default" / "many", pa.table(many), writer_properties=groups)
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(
        session,
        "CREATE TABLE parts (id BIGINT, s STRING, p INT) PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    )
    run(session, "INSERT INTO parts SELECT id, concat('s', id % 9), CAST(id % 3 AS INT) FROM range(0, 9000, 1, 1)")
    run(session, "DELETE FROM parts WHERE id % 10 = 3")
    own = BesideSpark(session, own_spark(spark_driver), folder)
    names = ("compared", "many", "parts")
    own.copy(*names)
    yield own
    for name in names:
        own.spark.catalog().dropTempView(name)
    session.close()


@pytest.fixture
def classes(spark_driver: SparkDriver) -> Callable[[Callable[[], object]], int]:
    """Returns the number of classes that Spark compiles during a call."""
    metric = spark_driver.process.gateway.jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()

    def counted(ask: Callable[[], object]) -> int:
        before: int = metric.getCount()
        ask()
        after: int = metric.getCount()
        return after - before

    return counted


# Other widths of types that are in the other cases.
WIDTHS = ("small", "whole", "big", "single", "wide")


@pytest.mark.parametrize("column", some(PROBES, set(PROBES).difference(WIDTHS)))
def test_filters_leave_the_rows_that_they_leave_in_spark(beside: BesideSpark, column: str) -> None:
    for at, form in enumerate(FORMS):
        conditions = _conditions(column, form)
        beside.ensure_same(f"SELECT id FROM compared WHERE {SEVEN} AND {conditions[at % len(conditions)]}")


@pytest.mark.parametrize("column", ["tiny", "double", "day", "clock", "name", "price"])
def test_stages_that_are_no_one_class_find_the_same(beside: BesideSpark, column: str) -> None:
    with beside.setting("spark.sql.codegen.wholeStage", "false"):
        for form in ("{c} IN ({many})", "{c} <= {v}", "{c} = {v}"):
            beside.ensure_same(f"SELECT id, name, big FROM compared WHERE {SEVEN} AND {_conditions(column, form)[1]}")


QUERIES = (
    "SELECT * FROM many WHERE id = {key}",
    "SELECT id FROM many WHERE id IN ({key}, 29999, 0, -1) AND kind IS NOT NULL",
    "SELECT name AS n, id + 1 AS next FROM many WHERE kind = 'kind {digit}' AND id < {key}",
    "SELECT k AS a, k AS b, id AS k FROM many WHERE k = {key} OR name = 'name {key}'",
    "SELECT id, name FROM many WHERE name = 'name {key}'",
    "SELECT id, k FROM many WHERE kind IN ('kind {digit}', 'kind 9') AND k BETWEEN {key} AND {key} + 50",
    "SELECT id, k FROM many WHERE k = {key} ORDER BY id DESC LIMIT 3",
    "SELECT id, name FROM many WHERE kind = 'kind {digit}' ORDER BY k, id LIMIT 20",
    "SELECT count(*) FROM (SELECT id FROM many WHERE kind = 'kind {digit}' LIMIT 1234)",
    "SELECT id, s, p FROM parts WHERE id = {key}",
    "SELECT p, id FROM parts WHERE s = 's{digit}' AND p <> {digit}",
    "SELECT id FROM parts WHERE p = {digit} AND s = 's1' ORDER BY id",
)


@pytest.mark.parametrize("query_text", QUERIES)
def test_rows_of_many_batches_are_those_of_spark(beside: BesideSpark, query_text: str) -> None:
    for key in (0, 3, 1203, 8193, 29999, 50000):
        beside.ensure_same(query_text.format(key=key, digit=key % 5))


@pytest.mark.parametrize("form", [*QUERIES[:2], *QUERIES[4:6], *QUERIES[9:11]])
def test_another_value_compiles_nothing(
    beside: BesideSpark, classes: Callable[[Callable[[], object]], int], form: str
) -> None:
    texts = [form.format(key=key, digit=key % 5) for key in (21, 43, 64)]
    rows(beside.session, texts[0])
    assert [classes(partial(rows, beside.session, text)) for text in texts[1:]] == [0, 0]
    if "= 'kind" not in form and "= 's" not in form and "= 'name" not in form and "('kind" not in form:
        with _generating_code(beside.spark):
            beside.spark.sql(texts[0]).collectAsList()
            assert classes(lambda: beside.spark.sql(texts[1]).collectAsList()) > 0


@contextmanager
def _generating_code(spark: Any) -> Iterator[None]:
    for key in INTERPRETED:
        spark.conf().unset(key)
    try:
        yield
    finally:
        for key, value in INTERPRETED.items():
            spark.conf().set(key, value)


def test_point_lookup_is_shown(beside: BesideSpark) -> None:
    assert "PointLookup" in beside.plan("SELECT name FROM many WHERE id = 3 ORDER BY k")
    for other in ("id > 3", "id = 3 AND rand() < 0.5", "id + 1 = 3", "id = (SELECT max(id) FROM many)"):
        assert "PointLookup" not in beside.plan(f"SELECT name FROM many WHERE {other}")
    for other in ("sum(k) FROM many WHERE kind = 'kind 1'", "id FROM many WHERE kind = 'kind 1' ORDER BY k LIMIT 3"):
        assert "PointLookup" not in beside.plan(f"SELECT {other}")
