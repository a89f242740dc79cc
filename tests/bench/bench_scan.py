"""A listed scan compared with `spark.read.parquet` on the same files in the same Spark, and the pipeline's own cost.

Run `python -m tests.bench.bench_scan [--rows 20000000] [--repeat 9]`. Both sides alternate and the medians are
compared; ours includes the guard, the transfer to Python and Arrow, Spark's ends with rows in its own process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from engine.planning.plans.file_writes import WriteTarget
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession, SparkDriver
from engine.tables.scan import Scan
from engine.types.schema import parse_schema
from tests.bench.sides import alternate, median, own_spark, two_core_spark
from tests.engine.spark.scans import list_files, schema_json

COLUMNS = {"id": "long", "k": "long", "s": "string", "d": "double", "p": "integer"}
QUERIES = {
    "aggregate": "SELECT k, count(*) c, sum(d) s FROM {} WHERE p < 6 AND id > 100 GROUP BY k ORDER BY k DESC LIMIT 1",
    "one partition": "SELECT max(s), count(*) FROM {} WHERE p = 3",
    "few rows": "SELECT count(*), sum(k) FROM {} WHERE id BETWEEN 1000 AND 2000",
    "all columns": "SELECT max(id), max(k), max(s), max(d), max(p) FROM {}",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=2_000_000)
    options.add_argument("--repeat", type=int, default=7)
    arguments = options.parse_args()
    started = time.perf_counter()
    with two_core_spark() as driver, tempfile.TemporaryDirectory() as folder:
        print(f"start-up {time.perf_counter() - started:.1f} s")
        run(driver, Path(folder), arguments.rows, arguments.repeat)


def run(driver: SparkDriver, folder: Path, rows: int, repeat: int) -> None:
    """Print one line a measure."""
    session = driver.open_session()
    scan = _write_table(session, folder, rows)
    print(f"{rows} rows, {scan.files.num_rows} files, {sum(scan.files['size'].to_pylist()) / 1e6:.0f} MB")
    native = _native_reader(driver, folder)
    for name, text in QUERIES.items():
        ours, theirs = alternate(
            partial(_query, session, text.format(scan.relation), scan),
            partial(native, text),
            repeat,
        )
        print(f"{name:14} listed {ours:7.1f} ms  read.parquet {theirs:7.1f} ms  ratio {ours / theirs:.2f}")
    for _ in range(300):
        _query(session, "SELECT 1")
    print(f"SELECT 1 {median(lambda: _query(session, 'SELECT 1'), 100):.1f} ms")
    many = _many_files(100_000)
    none = "SELECT count(id) FROM __scan_0 WHERE day = DATE '2019-01-01'"
    print(f"100,000 files listed, all pruned: {median(lambda: _query(session, none, many), repeat):.0f} ms")
    wide = "SELECT id, cast(id AS string) AS s, id * 0.5D AS d FROM range(2000000)"
    print(f"2,000,000 rows of 3 columns to Python: {median(lambda: _query(session, wide), repeat):.0f} ms")


def _write_table(session: ExecSession, folder: Path, rows: int) -> Scan:
    text = (
        "SELECT id, id % 1000 AS k, cast(id AS string) AS s, id * 0.5D AS d, cast(id % 8 AS int) AS p "
        f"FROM range(0, {rows}, 1, 2)"
    )
    target = WriteTarget(folder=str(folder), partition_columns=("p",))
    written = session.write_files(ReadPlan(text=text, scans=()), target, StatementRequest(identity=Identity("bench")))
    files = [(file.path, file.size, file.modification_time, list(file.partition_values.items())) for file in written]
    return list_files(folder, COLUMNS, files, partition_columns=("p",))


def _many_files(count: int) -> Scan:
    days = (np.datetime64("2020-01-01") + np.arange(count) % 1000).astype(str)
    paths = [f"day={day}/part-{i:05d}-0b7c1d6e-3c1c-4e9e-9a0a.c000.snappy.parquet" for i, day in enumerate(days)]
    return Scan(
        relation="__scan_0",
        label="many",
        table_root="/nowhere",
        schema=parse_schema(schema_json({"id": "long", "day": "date"})),
        partition_columns=("day",),
        files=pa.table(
            {
                "path": pa.array(paths),
                "size": pa.array(np.full(count, 1000)),
                "modification_time": pa.array(np.zeros(count, np.int64)),
                "partition_values": pa.array([[("day", day)] for day in days], pa.map_(pa.string(), pa.string())),
            }
        ),
    )


def _native_reader(driver: SparkDriver, folder: Path) -> Callable[[str], Any]:
    """Runs a query over the same files through Spark's own reader, which the guard would not allow."""
    spark = own_spark(driver)
    spark.read().parquet(str(folder)).createOrReplaceTempView("native")
    return lambda text: spark.sql(text.format("native")).collectAsList().size()


def _query(session: ExecSession, text: str, *scans: Scan) -> int:
    result = session.run_query(ReadPlan(text=text, scans=scans), StatementRequest(identity=Identity("bench")))
    return sum(batch.num_rows for batch in result.batches())


if __name__ == "__main__":
    main()
