"""Two continuous writers on one table: the gateway's, and another in a separate process.

Run `python -m tests.bench.bench_writers [--seconds 60] [--other deltalake|delta-spark|none] [--select]`. Both append
one row at a time; the other writer starts again when it gives up after its lost attempts. Prints each one's commits in
the log, the other's share, how often it gave up, and if the table has the rows from all commits. `--other none`: for
the cost of the pauses. `--other delta-spark` uses the environment of `make oracle`. `--select`: ours are INSERT …
SELECT, which Spark executes, instead of INSERT VALUES.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deltalake import DeltaTable

from tests.bench.sides import open_lake, run, two_core_spark
from tests.paths import ROOT

_DELTALAKE = """
import sys
import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError as Lost
folder = sys.argv[1]
def append():
    write_deltalake(folder, pa.table({"id": pa.array([1], pa.int64())}), mode="append")
"""
_DELTA_SPARK = """
import sys
from tests.oracle.delta_spark import open_spark
spark, folder, Lost = open_spark(), sys.argv[1], Exception
spark.sparkContext.setLogLevel("OFF")
def append():
    spark.sql(f"INSERT INTO delta.`{folder}` VALUES (1)")
"""
# The other's first append is before both are measured.
_LOOP = """
import time
append()
print("ready", flush=True)
seconds = float(sys.stdin.readline())
until_s, lost = time.time() + seconds, 0
while time.time() < until_s:
    try:
        append()
    except Lost:
        lost += 1
print(lost)
"""
_OTHERS = {
    "deltalake": [sys.executable, "-c", _DELTALAKE + _LOOP],
    "delta-spark": [str(ROOT / ".oracle/bin/python"), "-c", _DELTA_SPARK + _LOOP],
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--other", choices=(*_OTHERS, "none"), default="deltalake")
    options.add_argument("--select", action="store_true")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, two_core_spark() as driver:
        session, table = open_lake(driver, Path(folder)), Path(folder, "default", "t")
        run(session, f"CREATE TABLE delta.`{table}` (id BIGINT) USING delta")
        rows = "SELECT id FROM range(1)" if arguments.select else "VALUES (0)"
        insert = f"INSERT INTO delta.`{table}` {rows}"
        run(session, insert)
        other = None if arguments.other == "none" else _started(arguments.other, table)
        if other is not None and other.stdin is not None:
            other.stdin.write(f"{arguments.seconds}\n")
            other.stdin.flush()
        ours, until_s = 1, time.time() + arguments.seconds
        while time.time() < until_s:
            run(session, insert)
            ours += 1
        lost = other.communicate()[0].strip() if other is not None else "0"
        found = DeltaTable(table)
        ids = found.to_pyarrow_table()["id"].to_pylist()
    theirs = sum(ids)
    share = theirs / max(1, ours + theirs)
    print(f"ours {ours} commits, the other {theirs} ({share:.1%}), gave up {lost} times, {found.version()} versions")
    if len(ids) - theirs != ours:
        raise SystemExit(f"{len(ids) - theirs} rows of ours in {ours} commits")


def _started(name: str, table: Path) -> subprocess.Popen[str]:
    """Starts the other writer, which has appended once and waits for the number of seconds."""
    other = subprocess.Popen(
        [*_OTHERS[name], str(table)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert other.stdout is not None
    while other.stdout.readline() not in ("ready\n", ""):
        pass  # the resolution of the jar is reported on the standard output
    return other


if __name__ == "__main__":
    main()
