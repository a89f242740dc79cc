"""Read overhead compared with plain Parquet: deletion vectors, planning over many files, counts from the log.

Run `python -m tests.bench.bench_reads [--rows 5000000] [--files 100000] [--repeat 7]`. Deletion vectors are compared
with Spark's own reader over the same files (which returns all rows), planning with delta-spark in a separate process
(if `make oracle` has set up its environment), both after the table's log is loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.main import LakeSession
from engine.spark.session import SparkDriver
from engine.storage.deletion_vectors import format_file, format_rows
from tests.bench.bench_log import write_checkpointed
from tests.bench.sides import alternate, collect, median, open_lake, own_spark, run, two_core_spark
from tests.paths import ROOT

SHARES = (0.0, 0.01, 0.1)
DELETED = {share: f"deleted_{int(share * 100)}" for share in SHARES}
QUERIES = {
    "one column": "SELECT sum(k) FROM {}",
    "aggregate": "SELECT k, count(*), sum(d) FROM {} GROUP BY k ORDER BY k LIMIT 1",
    "all columns": "SELECT max(id), max(k), max(s), max(d) FROM {}",
}
ORACLE = ROOT / ".oracle" / "bin" / "python"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=7)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_checkpointed(folder / "many", arguments.files)
        write_checkpointed(folder / "million", 1_000_000)
        with two_core_spark() as driver:
            session = open_lake(driver, folder)
            deletion_vectors(driver, session, folder, arguments.rows, arguments.repeat)
            planning(session, folder / "many", arguments.files, arguments.repeat)
            counts(session, arguments.repeat)


def deletion_vectors(driver: SparkDriver, session: LakeSession, folder: Path, rows: int, repeat: int) -> None:
    """Prints a line for each share of deleted rows and each query."""
    spark = own_spark(driver)
    for share, table in DELETED.items():
        run(
            session,
            f"CREATE TABLE {table} TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS SELECT id, id % 1000 AS k,"
            f" cast(id AS string) AS s, id * 0.5D AS d FROM range(0, {rows}, 1, 8)",
        )
        _delete(folder / "default" / table, share)
        spark.read().parquet(str(folder / "default" / table)).createOrReplaceTempView(table)
        for name, text in QUERIES.items():
            query = text.format(table)
            ours, theirs = alternate(partial(run, session, query), partial(collect, spark, query), repeat)
            times = f"{ours:6.0f} ms  read.parquet {theirs:6.0f} ms  ratio {ours / theirs:.2f}"
            print(f"{share:4.0%} deleted, {name:11} {times}", flush=True)


def _delete(table: Path, share: float) -> None:
    """Adds a deletion vector, in a separate file, to every file in the newest commit."""
    if not share:
        return
    random = np.random.default_rng(0)
    log = max((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for number, add in enumerate(action["add"] for action in actions if "add" in action):
        stats = json.loads(add["stats"])
        deleted = np.flatnonzero(random.random(stats["numRecords"]) < share).astype(np.int64)
        content, (offset,) = format_file([format_rows(deleted)])
        path = table / f"_vector_{number}.bin"
        path.write_bytes(content)
        descriptor = DeletionVectorDescriptor(
            storage_type="p",
            path_or_inline_dv=path.as_uri(),
            offset=offset,
            size_in_bytes=len(format_rows(deleted)),
            cardinality=len(deleted),
        )
        add["deletionVector"], add["stats"] = descriptor.to_json(), json.dumps({**stats, "tightBounds": False})
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def planning(session: LakeSession, table: Path, files: int, repeat: int) -> None:
    """A query that one file of many can answer: ours with EXPLAIN, delta-spark's by its executed plan."""
    conditions = [f"long0 = {(files // 3 + 7 * round_number) * 1000}" for round_number in range(repeat + 3)]
    ours = [
        median(partial(run, session, f"EXPLAIN SELECT sum(long0) FROM many WHERE {condition}"), 1)
        for condition in conditions
    ]
    print(f"planning over {files} files: {statistics.median(ours[3:]):.0f} ms", end="", flush=True)
    if ORACLE.exists():
        theirs = _delta_spark([f"SELECT sum(long0) FROM delta.`{table}` WHERE {each}" for each in conditions])
        ratio = statistics.median(ours[3:]) / statistics.median(theirs[3:])
        print(f"  delta-spark {statistics.median(theirs[3:]):.0f} ms  ratio {ratio:.2f}", end="")
    print()


def _delta_spark(texts: list[str]) -> list[float]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    with tempfile.TemporaryDirectory() as scratch:
        answered = subprocess.run(
            [ORACLE, "-m", "tests.bench.delta_spark_timing"],
            input=json.dumps(texts),
            cwd=scratch,
            env={**environment, "PYTHONPATH": str(ROOT)},
            text=True,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    spent: list[float] = json.loads(answered.stdout.splitlines()[-1])
    return spent


def counts(session: LakeSession, repeat: int) -> None:
    """Measures metadata-only queries on a loaded log."""
    first = median(lambda: run(session, "SELECT count(*) FROM million"), 1)
    print(
        f"count(*) over 1,000,000 files: {median(lambda: run(session, 'SELECT count(*) FROM million'), repeat):.0f} ms",
        end="",
    )
    print(f", the first one with its log {first:.0f} ms")


if __name__ == "__main__":
    main()
