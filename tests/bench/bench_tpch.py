"""TPC-H through the gateway's pipeline, compared with Spark's own Parquet reader on the same files in the same Spark.

Run `python -m tests.bench.bench_tpch [--scale 1] [--repeat 3] [--warm 3] [--queries 9 17 …] [--folder FOLDER]`. DuckDB
generates the data; delta-rs writes it, orders and line items by date, as they would arrive, in files with about a
million rows. With a folder it is stored there for the next run. Both sides return Arrow or rows to their own process;
results are compared cell by cell before any measurement.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_tpch
from deltalake import write_deltalake

from engine.main import LakeSession
from engine.spark.session import SparkDriver
from tests.bench.sides import alternate, collect, open_lake, own_spark, run, two_core_spark

TABLES = {
    "customer": None,
    "lineitem": "l_shipdate",
    "nation": None,
    "orders": "o_orderdate",
    "part": None,
    "partsupp": None,
    "region": None,
    "supplier": None,
}
ROWS_PER_FILE = 1_000_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--warm", type=int, default=3, help="rounds before, while Java compiles what they run")
    options.add_argument("--queries", type=int, nargs="+", default=range(1, 23), help="their numbers")
    options.add_argument("--folder", type=Path, help="where the tables are, or will be")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = arguments.folder or Path(own)
        texts = write_tables(folder, arguments.scale) if not (folder / "supplier").exists() else query_texts()
        queries = {number: texts[number - 1] for number in arguments.queries}
        with two_core_spark(memory="4g") as driver:
            compare(driver, folder, queries, arguments.repeat, arguments.warm)


def write_tables(folder: Path, scale: float) -> list[str]:
    """Writes the tables below `folder`; returns the queries' texts."""
    database = _duckdb()
    database.execute(f"CALL dbgen(sf={scale})")
    for table, order in TABLES.items():
        rows = database.execute(f"FROM {table} {f'ORDER BY {order}' if order else ''}").to_arrow_table()
        for start in range(0, len(rows), ROWS_PER_FILE):
            write_deltalake(folder / table, rows.slice(start, ROWS_PER_FILE), mode="append")
    return query_texts()


def query_texts() -> list[str]:
    """Returns the 22 in their order."""
    return [text for _, text in _duckdb().execute("FROM tpch_queries()").fetchall()]


def _duckdb() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    extension = next(Path(duckdb_extension_tpch.__file__).parent.rglob("tpch.duckdb_extension"))
    database.execute(f"LOAD '{extension}'")
    return database


def compare(driver: SparkDriver, folder: Path, queries: Mapping[int, str], repeat: int, warm: int) -> None:
    """Print one line a query, and the sum."""
    session, spark = open_lake(driver, folder), own_spark(driver)
    for table in TABLES:
        spark.read().parquet(str(folder / table)).createOrReplaceTempView(table)
    sums = [0.0, 0.0]
    for number, text in queries.items():
        text = text.strip().rstrip(";")
        _ensure_equal(number, session, spark, text)
        ours, theirs = alternate(partial(run, session, text), partial(collect, spark, text), repeat, warm)
        reads = run(session, text)[1]
        files = f"{sum(read.files for read in reads)} of {sum(read.files_total for read in reads)} files"
        print(
            f"Q{number:<2} gateway {ours:7.0f} ms  parquet {theirs:7.0f} ms  ratio {ours / theirs:.2f}  {files}",
            flush=True,
        )
        sums[0], sums[1] = sums[0] + ours, sums[1] + theirs
    print(f"all gateway {sums[0]:7.0f} ms  parquet {sums[1]:7.0f} ms  ratio {sums[0] / sums[1]:.2f}")


def _ensure_equal(number: int, session: LakeSession, spark: Any, text: str) -> None:
    ours = [tuple(row.values()) for row in run(session, text)[0].to_pylist()]
    theirs = [tuple(row.get(i) for i in range(row.size())) for row in spark.sql(text).collectAsList()]
    if sorted(map(_comparable, ours)) != sorted(map(_comparable, theirs)):
        raise AssertionError(f"the results of query {number} differ")


def _comparable(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(map(_cell, row))


def _cell(value: Any) -> str:
    """Rounds doubles, whose sums depend on the row order, and converts Java's own types."""
    if isinstance(value, float):
        return f"{value:.9g}" if math.isfinite(value) else str(value)
    text = str(value)
    try:
        return str(Decimal(text).normalize())
    except ArithmeticError:
        return text


if __name__ == "__main__":
    main()
