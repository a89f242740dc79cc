"""Two continuous writers on one table: the gateway's, and deltalake's in a separate process.

Run `python -m tests.bench.bench_writers [--seconds 60] [--alone] [--select]`. Both append one row at a time; the other
writer starts again when it gives up after its lost attempts. Prints each one's commits in the log, the other's share,
how often it gave up, and if the table has the rows from all commits. `--alone`: without the other, for the cost of the
pauses. `--select`: ours are INSERT … SELECT, which Spark executes, instead of INSERT VALUES.
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

_OTHER = """
import sys, time
import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError
folder, until_s, lost = sys.argv[1], time.time() + float(sys.argv[2]), 0
while time.time() < until_s:
    try:
        write_deltalake(folder, pa.table({"id": pa.array([1], pa.int64())}), mode="append")
    except DeltaError:
        lost += 1
print(lost)
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--alone", action="store_true")
    options.add_argument("--select", action="store_true")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, two_core_spark() as driver:
        session, table = open_lake(driver, Path(folder)), Path(folder, "default", "t")
        run(session, f"CREATE TABLE delta.`{table}` (id BIGINT) USING delta")
        rows = "SELECT id FROM range(1)" if arguments.select else "VALUES (0)"
        insert = f"INSERT INTO delta.`{table}` {rows}"
        run(session, insert)
        command = [sys.executable, "-c", _OTHER, str(table), str(arguments.seconds)]
        other = None if arguments.alone else subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
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


if __name__ == "__main__":
    main()
