"""Unscaled sums over random tables with decimals in all precisions, compared with stock Spark and DuckDB.

The tables have values at their types' limits, nulls and groups without rows; the logged statistics are true, missing,
or too narrow, including the number of rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from py4j.protocol import Py4JJavaError

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.bench.sides import own_spark
from tests.engine.beside_spark import BesideSpark
from tests.engine.lake_sessions import rows
from tests.fix_spark import INTERPRETED
from tests.samples import some

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
ROWS, FILES = 300, 3
# File padding: the optimizer does not read the log for small tables.
PAD_BYTES = 600_000
# Precision and scale for columns that may be multiplied twice without overflow.
NARROW = ((1, 0), (3, 3), (5, 2), (9, 9), (9, 0), (10, 4), (12, 2), (12, 12))
WIDE = ((15, 2), (17, 17), (18, 0), (18, 18), (18, 6), (19, 0), (20, 5), (28, 10), (38, 0), (38, 38), (38, 10))
COLUMNS = {f"d{precision}_{scale}": (precision, scale) for precision, scale in (*NARROW, *WIDE)}
FEW = [f"d{precision}_{scale}" for precision, scale in NARROW]
# Whose sums DuckDB has room for.
SUMMED = [name for name, (precision, _) in COLUMNS.items() if precision < 38]


def _values(random: Random, precision: int, scale: int) -> pa.Array:
    """Returns small values, or some up to the type's limits."""
    digits = random.choice((1, precision // 2 + 1, precision, precision))
    most, border = 10 ** min(digits, precision) - 1, 10**precision - 1
    low = random.choice((-most, -most, 0))
    found = [random.choice((None, border, -border)) if random.random() < 0.15 else random.randint(low, most)
             for _ in range(ROWS)]  # fmt: skip
    values = [None if value is None else Decimal(f"{value}e-{scale}") for value in found]
    return pa.array(values, pa.decimal128(precision, scale))


def _facts(random: Random, file: int) -> pa.Table:
    columns = {name: _values(random, *kind) for name, kind in COLUMNS.items()}
    return pa.table(
        {
            "r": pa.array(range(file * ROWS, (file + 1) * ROWS), pa.int64()),
            "g": pa.array([random.choice(["x", "y", "z", None]) for _ in range(ROWS)]),
            "k": pa.array([random.randrange(5) for _ in range(ROWS)], pa.int32()),
            "i": pa.array([random.choice([None, 2**31 - 1, -(2**31), 7]) for _ in range(ROWS)], pa.int32()),
            "l": pa.array([random.choice([None, 2**63 - 1, -(2**63), 5]) for _ in range(ROWS)], pa.int64()),
            **columns,
            "pad": pa.array([random.randbytes(PAD_BYTES // ROWS) for _ in range(ROWS)], pa.binary()),
        }
    )


def _true(stats: dict[str, Any], random: Random) -> dict[str, Any] | None:
    return stats


def _missing(stats: dict[str, Any], random: Random) -> dict[str, Any] | None:
    return None


def _partial(stats: dict[str, Any], random: Random) -> dict[str, Any] | None:
    """Some columns have bounds."""
    remaining = {name for name in stats["minValues"] if random.random() < 0.5}
    return stats | {
        key: {name: value for name, value in stats[key].items() if name in remaining}
        for key in ("minValues", "maxValues")
    }


def _narrow(stats: dict[str, Any], random: Random) -> dict[str, Any] | None:
    """One row, whose numbers are 0 or nearly so."""
    bounds = {name: 0 for name in stats["minValues"] if name.startswith("d")}
    return {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": dict.fromkeys(bounds, 0)}


LOGS: dict[str, Callable[[dict[str, Any], Random], dict[str, Any] | None]] = {
    "told": _true,
    "untold": _missing,
    "part": _partial,
    "lied": _narrow,
}


def _say(folder: Path, random: Random, change: Callable[[dict[str, Any], Random], dict[str, Any] | None]) -> None:
    """Changes each file's statistics in the log."""
    for commit in (folder / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            said = change(json.loads(add.pop("stats")), random)
            add |= {} if said is None else {"stats": json.dumps(said)}
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


class Peers:
    """One table with four logs, and copies in Spark and DuckDB."""

    def __init__(self, driver: SparkDriver, session: LakeSession, folder: Path) -> None:
        self.session = session
        self.spark = BesideSpark(session, own_spark(driver).newSession(), folder)
        self.duck = duckdb.connect()
        for name in LOGS:
            self.spark.copy(name)
            self.duck.execute(f"CREATE VIEW {name} AS FROM '{folder}/{name}.parquet'")

    def ensure_as_spark(self, text: str) -> None:
        try:
            ours, theirs = self.spark.answers(text)
        except (SqlError, Py4JJavaError):
            assert _fails(lambda: rows(self.session, text)), text
            assert self._spark_fails(text), text
        else:
            assert ours == theirs, text

    def _spark_fails(self, text: str) -> bool:
        """Compiled code also computes an aggregate's input for rows that its FILTER excludes."""
        conf = self.spark.spark.conf()
        try:
            for key in INTERPRETED:
                conf.unset(key)
            return _fails(lambda: self.spark.spark.sql(text).collectAsList())
        finally:
            for key, value in INTERPRETED.items():
                conf.set(key, value)

    def ensure_as_duckdb(self, text: str) -> bool:
        """Returns if both answer: some DuckDB types are narrower than Spark's, others wider."""
        try:
            theirs = self.duck.execute(text).fetchall()
        except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.BinderException) as error:
            assert "overflow" in str(error).lower() or "cast" in str(error).lower() or "DECIMAL" in str(error), error
            return False
        try:
            ours = rows(self.session, text)
        except SqlError as error:
            assert error.sqlstate == "22003", (text, error)
            assert self._spark_fails(text), text
            return False
        assert _plain(ours) == _plain(theirs), text
        return True


def _plain(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns sorted rows; decimals by value, since scales may differ."""
    spelled = ([str(v.normalize()) if isinstance(v, Decimal) and v else str(v and v) for v in row] for row in found)
    return sorted(tuple("0" if Decimal("0") == _number(v) else v for v in row) for row in spelled)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except ArithmeticError:
        return None


def _fails(work: Callable[[], object]) -> bool:
    try:
        work()
    except (SqlError, Py4JJavaError):
        return True
    return False


@pytest.fixture(scope="module")
def peers(spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:
    folder = tmp_path_factory.mktemp("sums by chance")
    for name, change in LOGS.items():
        random = Random(5)
        for file in range(FILES):
            write_deltalake(folder / "default" / name, _facts(random, file), mode="append")
        _say(folder / "default" / name, random, change)
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield Peers(spark_driver, session, folder)
    session.close()


def _expression(random: Random, depth: int, columns: list[str]) -> str:
    if depth == 0:
        return random.choice(columns)
    one, other = (_expression(random, random.randrange(depth), columns) for _ in range(2))
    return random.choice(
        (
            f"({one} * {other})",
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * {random.choice(('0', '1.5', '-3.25', '0.001'))})",
            f"(1 - {one})",
            f"-({one})",
            f"abs({one})",
            f"coalesce({one}, {other})",
            f"CASE WHEN k < {random.randrange(5)} THEN {one} ELSE {other} END",
            f"CASE g WHEN 'x' THEN {one} WHEN 'y' THEN {other} END",
        )
    )


def _aggregates(random: Random, columns: list[str], depth: int) -> list[str]:
    """Returns aggregates over a query's expressions for one kind of columns."""
    found = []
    for _ in range(5):
        name = random.choice(("sum", "sum", "sum", "avg", "max"))
        distinct = "DISTINCT " if random.random() < 0.15 else ""
        selected = random.choice(("", "", " FILTER (WHERE k > 2)", " FILTER (WHERE g = 'none')"))
        found.append(f"{name}({distinct}{_expression(random, random.randrange(depth + 1), columns)}){selected}")
    return found


GROUPS = (
    ("", ""),
    ("g", "GROUP BY g"),
    ("g, k", "GROUP BY g, k"),
    ("g, k", "GROUP BY ROLLUP (g, k)"),
    ("g, k", "GROUP BY CUBE (g, k)"),
    ("g, k", "GROUP BY GROUPING SETS ((g), (k), ())"),
    ("g", "GROUP BY g HAVING sum(d5_2) > 0"),
    ("g", "GROUP BY g HAVING count(d12_2) < 0"),
    ("k % 2", "GROUP BY k % 2"),
)
# Prunes files by their statistics.
PRUNING = "WHERE d5_2 > 0"
WHERES = ("", "WHERE k > 1", PRUNING, "WHERE r < 0", "WHERE g = 'x' AND d12_2 IS NOT NULL")


def _query(random: Random, table: str, columns: list[str], depth: int, extra: tuple[str, ...] = ()) -> str:
    shown, group = random.choice(GROUPS)
    wheres = [each for each in WHERES if table != "lied" or each != PRUNING]
    wanted = [*_aggregates(random, columns, depth), *extra]
    named = ", ".join(
        [*filter(None, [shown]), "count(*) AS c", *(f"{each} AS a{at}" for at, each in enumerate(wanted))]
    )
    return f"SELECT {named} FROM {table} {random.choice(wheres)} {group}"


NESTED = (
    "sum(d12_2) * 2 + count(*)",
    "coalesce(sum(d9_0), 0) - avg(d5_2)",
    "sum(d15_2) / count(d15_2)",
    "sum(sum(d12_2)) OVER ()",
    "sum(CAST(i AS DECIMAL(20,2)) * d5_2)",
    "avg(CAST(l AS DECIMAL(20,0)))",
    "sum(CAST(l AS DECIMAL(38,2)) + d5_2)",
)


def _ensure_same_as_spark(peers: Peers, seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        text = _query(random, random.choice(list(LOGS)), list(COLUMNS), 3, (random.choice(NESTED),))
        with peers.spark.setting(ANSI, random.choice(("true", "false"))):
            peers.ensure_as_spark(text)


def _ensure_same_as_duckdb(peers: Peers, seeds: range) -> None:
    """Omits known differences: DuckDB's averages are doubles, and its empty sums have a total."""
    answered = 0
    for seed in seeds:
        random = Random(seed)
        columns, depth = random.choice(((FEW, 2), (SUMMED, 0)))
        text = _query(random, random.choice(list(LOGS)), columns, depth)
        answered += peers.ensure_as_duckdb(text.replace("avg(", "sum(").replace("WHERE r < 0", "WHERE r < 9"))
    assert answered > len(seeds) // 3


def test_random_long_sums_equal_spark(peers: Peers) -> None:
    _ensure_same_as_spark(peers, range(4))


def test_random_long_sums_equal_duckdb(peers: Peers) -> None:
    _ensure_same_as_duckdb(peers, range(10))


WINDOWS = (
    "SELECT r, sum(d12_2) OVER (PARTITION BY g ORDER BY r) AS s, avg(d18_6) OVER (PARTITION BY k) AS a FROM {table}",
    "SELECT r, sum(d18_18) OVER (ORDER BY r ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM {table} WHERE k = 1",
    "SELECT g, k, sum(d12_2) AS s, sum(sum(d12_2)) OVER (PARTITION BY g ORDER BY k) AS t FROM {table} GROUP BY g, k",
)


@pytest.mark.parametrize("table", LOGS)
@pytest.mark.parametrize("text", WINDOWS)
def test_windows_are_those_of_spark(peers: Peers, text: str, table: str) -> None:
    peers.ensure_as_spark(text.format(table=table))


@pytest.mark.parametrize("ansi", some(("true", "false"), {"true"}))
@pytest.mark.parametrize("table", some(LOGS, {"lied"}))
def test_sum_of_one_column_equals_spark(peers: Peers, table: str, ansi: str) -> None:
    with peers.spark.setting(ANSI, ansi):
        for name in COLUMNS:
            peers.ensure_as_spark(f"SELECT g, sum({name}) AS s, avg({name}) AS a FROM {table} GROUP BY g")


@pytest.mark.slow
def test_many_are_those_of_spark(peers: Peers) -> None:
    _ensure_same_as_spark(peers, range(1000, 1060))


@pytest.mark.slow
def test_many_are_those_of_duckdb(peers: Peers) -> None:
    _ensure_same_as_duckdb(peers, range(1000, 1080))
