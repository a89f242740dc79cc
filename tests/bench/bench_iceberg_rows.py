"""INSERT, DELETE, UPDATE and MERGE on Iceberg tables, and scans with equality deletes, compared with the Iceberg
runtime.

Run `python -m tests.bench.bench_iceberg_rows [--rows 5000000] [--changes 50000] [--deleted 100000] [--repeat 5] [--warm
4]`, after `make oracle` has created the runtime's environment. Each system has a Spark with two cores and separate
tables with the same rows, which stay the same: changes assign values that the rows had. The table with equality deletes
is the runtime's, and both read it. Prints medians in milliseconds in alternation, after warm-up rounds in which both
compile most code: the first MERGE takes four times as long as the fifth, in either system.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from engine.main import LakeSession
from tests.bench.bench_write import Statement, compare, spark_timer, timed
from tests.bench.sides import open_lake, run, two_core_spark
from tests.oracle.conftest import ICEBERG_PYTHON

ROWS = (
    "SELECT id, cast(id % 1000 AS int) AS k, cast(id AS string) AS s, id * 0.5D AS d, "
    "date_add(DATE'2024-01-01', cast(id % 20 AS int)) AS day FROM range(0, {rows}, 1, 8)"
)
SOURCE = (
    "SELECT id * {step} AS id, cast(-1 AS int) AS k, 'changed' AS s, 0.5D AS d, DATE'2024-01-05' AS day "
    "FROM range({changes})"
)
MODES = ("copy-on-write", "merge-on-read")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--changes", type=int, default=50_000)
    options.add_argument("--deleted", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--warm", type=int, default=4, help="rounds before, but for the tables that are made")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        session = open_lake(stack.enter_context(two_core_spark(memory="2g")), Path(folder))
        timer = Path(__file__).with_name("iceberg_spark_timer.py")
        theirs, _ = stack.enter_context(spark_timer(ICEBERG_PYTHON, timer, Path(folder)))
        print(f"{arguments.rows} rows, load {os.getloadavg()[0]:.1f}", flush=True)
        changes = SOURCE.format(step=arguments.rows // arguments.changes, changes=arguments.changes)
        for mode in MODES:
            measure_changes(
                session, theirs, mode, ROWS.format(rows=arguments.rows), changes, arguments.repeat, arguments.warm
            )
        measure_scan(session, theirs, Path(folder), arguments.rows, arguments.deleted, arguments.repeat)
        print(f"load {os.getloadavg()[0]:.1f}")


def measure_changes(
    session: LakeSession, theirs: Statement, mode: str, rows: str, changes: str, repeat: int, warm: int
) -> None:
    """A line for each statement on a table that changes its rows in this mode."""
    name = mode.replace("-", "_")
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    made = f"USING iceberg PARTITIONED BY (day) TBLPROPERTIES ('format-version' = '2', {modes}) AS {rows}"
    merge = (
        "MERGE INTO {t} AS t USING (" + changes + ") AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    texts = {
        "CREATE TABLE AS": None,
        "MERGE": merge,
        "UPDATE 1 % by key": "UPDATE {t} SET s = 'changed' WHERE k = 7",
        "DELETE one day": "DELETE FROM {t} WHERE day = DATE'2024-01-09'",
        "INSERT": f"INSERT INTO {{t}} {rows}",
    }
    for title, text in texts.items():
        if text is None:
            create = "CREATE OR REPLACE TABLE {t} " + made
            systems = {
                "ours": partial(by_us, session, create.format(t=name)),
                "iceberg": partial(theirs, create.format(t=f"c.d.{name}")),
            }
        else:
            systems = {
                "ours": partial(by_us, session, text.format(t=name)),
                "iceberg": partial(theirs, text.format(t=f"c.d.{name}")),
            }
        is_large = title in ("CREATE TABLE AS", "INSERT")
        compare(f"{title}, {mode}", min(repeat, 3) if is_large else repeat, systems, 1 if is_large else warm)


def measure_scan(session: LakeSession, theirs: Statement, folder: Path, rows: int, deleted: int, repeat: int) -> None:
    theirs(f"CREATE TABLE c.d.equal USING iceberg AS {ROWS.format(rows=rows)}")
    query = "SELECT sum(d), count(s), max(day) FROM {t}"
    path = f"iceberg.`{folder / 'lake/d/equal'}`"
    for title in ("scan", "scan with equality deletes"):
        systems = {
            "ours": partial(by_us, session, query.format(t=path)),
            "iceberg": partial(theirs, query.format(t="c.d.equal")),
        }
        compare(title, repeat * 3, systems)
        theirs(["delete_equal", "c.d.equal", f"SELECT id * {rows // deleted} AS id FROM range({deleted})", ["id"]])


def by_us(session: LakeSession, text: str) -> float:
    return timed(lambda: run(session, text))


if __name__ == "__main__":
    main()
