"""TPC-DS through the gateway's pipeline, with and without table statistics from the logs.

Run `python -m tests.bench.bench_tpcds [--scale 0.1] [--repeat 3] [--warm 2] [--queries 85 …] [--folder FOLDER]`. DuckDB
generates the data and answers each query, and the gateway's answer must be equal, cell by cell. Then the query is
measured with default settings, and in a session with `spark.sql.cbo.enabled = false`, alternating. The last lines list
queries that take more than 1.3 times as long as without, and more than a tenth of a second longer. With a folder the
tables are stored there for the next run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from engine.main import LakeSession
from tests.bench.sides import alternate, open_lake, run, two_core_spark
from tests.tpcds import Oracle, are_equal, spark_text

RATIO_MAX, LONGER_MS_MIN = 1.3, 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=float, default=0.1)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--warm", type=int, default=2, help="rounds before, while Java compiles what they run")
    options.add_argument("--queries", type=int, nargs="+", default=range(1, 100), help="their numbers")
    options.add_argument("--folder", type=Path, help="where the tables are, or will be")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = arguments.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        oracle = Oracle(arguments.scale, folder / "tpcds.duckdb")
        if not (folder / "lake").exists():
            oracle.write_tables(folder / "lake")
        with two_core_spark(memory="4g") as driver:
            reported, untold = open_lake(driver, folder / "lake"), open_lake(driver, folder / "lake")
            run(untold, "SET spark.sql.cbo.enabled = false")
            compare(oracle, reported, untold, arguments.queries, arguments.repeat, arguments.warm)
        oracle.close()


def compare(
    oracle: Oracle, reported: LakeSession, untold: LakeSession, numbers: Iterable[int], repeat: int, warm: int
) -> None:
    """Print one line a query, the sum, and which queries have other rows or take too long."""
    sums, wrong, slow = [0.0, 0.0], [], []
    for number in numbers:
        text = spark_text(oracle.queries[number])
        is_right = are_equal(run(reported, text)[0], oracle.answer(number))
        with_log, without = alternate(partial(run, reported, text), partial(run, untold, text), repeat, warm)
        ratio = with_log / without
        print(
            f"Q{number:<2} with the log {with_log:7.0f} ms  without {without:7.0f} ms  ratio {ratio:.2f}"
            f"{'' if is_right else '  OTHER ROWS THAN DUCKDB'}",
            flush=True,
        )
        sums[0], sums[1] = sums[0] + with_log, sums[1] + without
        wrong += [] if is_right else [number]
        slow += [number] if ratio > RATIO_MAX and with_log - without > LONGER_MS_MIN else []
    print(f"all with the log {sums[0]:7.0f} ms  without {sums[1]:7.0f} ms  ratio {sums[0] / sums[1]:.2f}")
    print(f"other rows than DuckDB: {wrong or 'none'}")
    print(f"more than {RATIO_MAX} times as long as without: {slow or 'none'}")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
