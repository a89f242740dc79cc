"""CTAS and INSERT compared with `df.write.parquet` for the same rows in the same Spark, and with delta-spark's own.

Run `python -m tests.bench.bench_write [--rows 5000000] [--repeat 5] [--no-delta]`. The systems alternate, so that all
meet the same noise; prints medians and their ratios. Ours is the whole statement: parsing, checks, files, statistics,
commit. delta-spark runs in a separate process, on the Spark that it has a build for, if `make oracle` has set up its
environment. "all checks" is a table with NOT NULL, CHECK, a varchar, and, for us, a generated column and a default,
which delta-spark's SQL does not support (the frame has their values, so that the same rows are written); the hundred
partitions are compared with a frame that is rebalanced by them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver, SparkOptions
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS
from tests.paths import ROOT

MEMORY = "1g"
ORACLE = ROOT / ".oracle" / "bin" / "python"
ROWS = (
    "SELECT id, id % 1000 AS k, cast(id AS string) AS s, id * 0.5D AS d, "
    "date_add(DATE'2024-01-01', cast(id % 365 AS int)) AS day, cast(id % 100 AS int) AS p FROM range(0, {rows}, 1, 4)"
)
COLUMNS = "id BIGINT, k BIGINT, s STRING, d DOUBLE, day DATE, p INT"
CHECKED = COLUMNS.replace("id BIGINT", "id BIGINT NOT NULL").replace("STRING", "VARCHAR(20)")
CHECKS = {"positive": "id >= 0", "small": "k < 1000 AND d >= 0", "recent": "day >= DATE'2024-01-01'"}
NAMED_CHECKS = "".join(f", CONSTRAINT {name} CHECK ({text})" for name, text in CHECKS.items())
ONE_ROW = "INSERT INTO one VALUES (1, 2, 'three', 4, DATE'2024-01-05', 6)"


@dataclass(frozen=True)
class Case:
    """A measured write. Empty `columns`: CREATE TABLE AS. `added` are constraints that delta-spark only accepts
    afterwards, `filled` the frame's columns that our table computes.
    """

    name: str
    columns: str = ""
    delta_columns: str = ""
    added: tuple[str, ...] = ()
    filled: str = ""
    by: str | None = None


CASES = (
    Case("CREATE TABLE AS"),
    Case("INSERT", COLUMNS, COLUMNS),
    Case(
        "INSERT, all checks",
        f"{CHECKED}, g BIGINT GENERATED ALWAYS AS (k * 2), e STRING DEFAULT 'none'{NAMED_CHECKS}",
        CHECKED,
        tuple(f"ALTER TABLE t ADD CONSTRAINT {name} CHECK ({text})" for name, text in CHECKS.items()),
        ", k * 2 AS g, 'none' AS e",
    ),
    Case("INSERT, 100 partitions", COLUMNS, COLUMNS, by="p"),
)

# Runs a statement; the milliseconds that it took.
Statement = Callable[[str | list[Any]], float]
TextStatement = Callable[[str], float]


@dataclass(frozen=True)
class Systems:
    """The measured systems. `parquet` times a text's frame, which may be partitioned by a column."""

    ours: TextStatement
    parquet: Callable[[str, str | None], float]
    delta: Statement | None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--no-delta", action="store_true")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        driver = SparkDriver.start(
            SparkOptions(master="local[2]", driver_memory=MEMORY, conf={"spark.sql.shuffle.partitions": "4"}),
            allowed_functions=ALLOWED_FUNCTIONS,
            allowed_table_functions=ALLOWED_TABLE_FUNCTIONS,
        )
        gateway = driver.process.gateway
        engine = LakeEngine(open_sources(EngineOptions(lake_folder=folder)), driver)
        stack.callback(engine.close)
        session = engine.open_session(Identity("bench"), settings={}, catalog=None, schema=None)
        delta = stack.enter_context(delta_spark()) if ORACLE.exists() and not arguments.no_delta else None
        systems = Systems(
            ours=lambda text: timed(lambda: execute(session, text)),
            parquet=lambda text, by: timed(lambda: write_parquet(gateway, text, Path(folder) / "native", by)),
            delta=delta[0] if delta else None,
        )
        print(f"{arguments.rows} rows, load {os.getloadavg()[0]:.1f}", flush=True)
        measure(systems, ROWS.format(rows=arguments.rows), arguments.repeat)
        measure_at_once(engine, 8, 8 * arguments.repeat)
        peaks = [("ours (Python)", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)]
        peaks.append(("ours and parquet (Java)", peak_mb(java_below(os.getpid()))))
        if delta:
            peaks.append(("delta-spark (Java)", peak_mb(java_below(delta[1]))))
        print("peak memory: " + ", ".join(f"{name} {peak} MB" for name, peak in peaks))
        print(f"load {os.getloadavg()[0]:.1f}")


def measure(systems: Systems, rows: str, repeat: int) -> None:
    """Print one line a measure."""
    for case in CASES:
        by = f"PARTITIONED BY ({case.by})" if case.by else ""
        runs = {
            "ours": partial(write, systems.ours, rows, case.columns, by),
            "parquet": partial(systems.parquet, f"SELECT *{case.filled} FROM ({rows})", case.by),
        }
        if systems.delta:
            clause = f"USING delta {by}"
            runs["delta"] = partial(write, systems.delta, rows, case.delta_columns, clause, case.added)
        compare(case.name, repeat, runs)
    singles = {"ours": partial(systems.ours, ONE_ROW)}
    systems.ours(f"CREATE TABLE one ({COLUMNS})")
    if systems.delta:
        systems.delta(f"CREATE TABLE one ({COLUMNS}) USING delta")
        singles["delta"] = partial(systems.delta, ONE_ROW)
    compare("INSERT of one row", repeat * 8, singles)
    systems.ours(f"CREATE TABLE checked ({CASES[2].columns})")
    checked = ONE_ROW.replace("one", "checked (id, k, s, d, day, p)", 1)
    compare("INSERT of one row, all checks", repeat * 8, {"ours": partial(systems.ours, checked)})


def measure_at_once(engine: LakeEngine, count: int, repeat: int) -> None:
    """Measures one-row INSERTs over `count` connections, each into a separate table, and all into one."""
    for name, tables in (("own tables", [f"own{number}" for number in range(count)]), ("one table", ["one"] * count)):
        sessions = [engine.open_session(Identity("bench"), settings={}, catalog=None, schema=None) for _ in tables]
        for table in dict.fromkeys(tables) if name == "own tables" else ():
            execute(sessions[0], f"CREATE TABLE {table} ({COLUMNS})")

        def insert(session: LakeSession, table: str) -> list[float]:
            text = ONE_ROW.replace("one", table, 1)
            return [timed(partial(execute, session, text)) for _ in range(repeat)]

        started = time.perf_counter()
        with ThreadPoolExecutor(count) as threads:
            spent = [each for times in threads.map(insert, sessions, tables) for each in times]
        rate = len(spent) / (time.perf_counter() - started)
        p50, p95 = statistics.median(spent), statistics.quantiles(spent, n=20)[-1]
        print(f"one row, {count} connections, {name:11} p50 {p50:5.0f} ms  p95 {p95:5.0f} ms  {rate:5.0f} a second")


def write(system: TextStatement, rows: str, columns: str, clause: str, added: tuple[str, ...] = ()) -> float:
    """Returns the time of the statement that writes the rows; the table is dropped again."""
    if columns:
        for statement in (f"CREATE TABLE t ({columns}) {clause}", *added):
            system(statement)
        spent = system(f"INSERT INTO t (id, k, s, d, day, p) {rows}")
    else:
        spent = system(f"CREATE TABLE t {clause} AS {rows}")
    system("DROP TABLE t")
    return spent


def compare(name: str, repeat: int, systems: Mapping[str, Callable[[], float]], warm: int = 1) -> None:
    """Run all in turns, `warm` rounds that do not count first, and print the medians. The first one changes."""
    times: dict[str, list[float]] = {system: [] for system in systems}
    for number in range(repeat + warm):
        order = list(systems)
        for system in order[number % len(order) :] + order[: number % len(order)]:
            times[system].append(systems[system]())
    medians = {system: statistics.median(spent[warm:]) for system, spent in times.items()}
    shown = "  ".join(f"{system} {median:8.0f} ms" for system, median in medians.items())
    ratios = "  ".join(f"{medians['ours'] / median:.2f} x {s}" for s, median in medians.items() if s != "ours")
    print(f"{name:24} {shown}   {ratios}", flush=True)


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def execute(session: LakeSession, text: str) -> None:
    session.execute(text, StatementRequest(identity=Identity("bench"))).close()


def write_parquet(gateway: Any, text: str, folder: Path, by: str | None) -> None:
    """Spark's own writer, which the guard would not allow; the files go again."""
    spark = gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    if by is None:
        spark.sql(text).write().parquet(str(folder))
    else:
        columns = gateway.new_array(gateway.jvm.String, 1)
        columns[0] = by
        rows = spark.sql(f"SELECT /*+ REBALANCE({by}) */ * FROM ({text})")
        rows.write().partitionBy(columns).parquet(str(folder))
    shutil.rmtree(folder)


@contextmanager
def delta_spark() -> Iterator[tuple[Statement, int]]:
    """Yields delta-spark over a separate warehouse, and its process id."""
    timer = Path(__file__).with_name("delta_spark_timer.py")
    with tempfile.TemporaryDirectory() as folder, spark_timer(ORACLE, timer, Path(folder)) as made:
        yield made


@contextmanager
def spark_timer(python: Path, timer: Path, folder: Path) -> Iterator[tuple[Statement, int]]:
    """Yields another Spark that works in a folder and times statements, and its process id."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    errors = folder / "errors"
    process = subprocess.Popen(
        [python, timer, MEMORY],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors.open("w"),
    )
    assert process.stdin and process.stdout

    def run(requested: str | list[Any]) -> float:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(requested) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(errors.read_text()[-3000:])
        return float(answer)

    try:
        yield run, process.pid
    finally:
        process.stdin.close()
        process.wait(60)


def java_below(pid: int) -> int:
    """Returns the process id of a process's Java child."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        name, rest = path.read_text().split("(", 1)[1].rsplit(")", 1)
        if name == "java" and int(rest.split()[1]) == pid:
            return int(path.parent.name)
    raise LookupError(f"no Java below {pid}")


def peak_mb(pid: int) -> int:
    """Returns the most memory that a process ever had."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
