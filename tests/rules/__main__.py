"""Compares answers with the gateway's rules on, off, and with each rule alone off: `python -m tests.rules`.

Run `python -m tests.rules [--seed TEXT] [--queries N] [--first N] [--minutes M] [--parts random tpch tpcds]`. Query n
of a seed is always the same, so runs of limited time add up: the last line names the `--first` of the next one. TPC-H
and TPC-DS run at small scales, or over the tables in a folder.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.spark.session import SparkDriver
from tests.bench.bench_tpch import query_texts
from tests.bench.bench_tpch import write_tables as write_tpch
from tests.bench.sides import two_core_spark
from tests.rules.compare import Comparison
from tests.rules.queries import Query, generate
from tests.rules.tables import write_tables
from tests.tpcds import Oracle, spark_text

PARTS = ("random", "tpch", "tpcds")
TPCH_SCALE, TPCDS_SCALE = 0.05, 0.01
PROGRESS_EVERY = 50


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", default="")
    options.add_argument("--queries", type=int, default=500)
    options.add_argument("--first", type=int, default=0, help="number of the first random query")
    options.add_argument("--minutes", type=float, default=60.0)
    options.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options.add_argument("--tpch", type=Path, help="folder with tables of TPC-H")
    options.add_argument("--tpcds", type=Path, help="folder with tpcds.duckdb and lake, as bench_tpcds makes it")
    arguments = options.parse_args()
    seed, end = arguments.seed or secrets.token_hex(4), time.monotonic() + 60 * arguments.minutes
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as name, two_core_spark() as driver:
        folder, failed = Path(name), 0
        for part in arguments.parts:
            queries = _queries(part, folder / part, seed, arguments)
            failed += _compare(part, queries, _lake(part, folder / part, arguments), driver, end)
    return 1 if failed else 0


def _lake(part: str, folder: Path, arguments: argparse.Namespace) -> Path:
    if part == "tpcds":
        return (arguments.tpcds or folder) / "lake"
    return arguments.tpch or folder if part == "tpch" else folder


def _queries(part: str, folder: Path, seed: str, arguments: argparse.Namespace) -> Iterator[tuple[str, Query]]:
    """Writes the tables of a part if necessary, and yields its queries with their names."""
    folder.mkdir()
    if part == "random":
        write_tables(folder, seed)
        for number in range(arguments.first, arguments.first + arguments.queries):
            yield str(number), generate(seed, number)
    elif part == "tpch":
        texts = query_texts() if arguments.tpch else write_tpch(folder, TPCH_SCALE)
        for place, text in enumerate(texts):
            yield f"Q{place + 1}", Query(text.strip().rstrip(";"), is_inexact=True)
    else:
        source = arguments.tpcds or folder
        oracle = Oracle(TPCDS_SCALE, source / "tpcds.duckdb")
        if not (source / "lake").exists():
            oracle.write_tables(source / "lake")
        for number, text in oracle.queries.items():
            yield f"Q{number}", Query(spark_text(text), is_inexact=True)
        oracle.close()


def _compare(part: str, queries: Iterable[tuple[str, Query]], lake: Path, driver: SparkDriver, end: float) -> int:
    """Returns the number of queries with different answers."""
    comparison: Comparison | None = None
    failed = count = 0
    for name, query in queries:
        if time.monotonic() > end:
            print(f"{part}: out of time; continue with --first {name}", flush=True)
            break
        if comparison is None:  # the tables are there now
            comparison = Comparison(LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), driver))
        found = comparison.differences(query)
        count, failed = count + 1, failed + bool(found)
        if found:
            print(f"{part} {name} DIFFERS: {query.text}\n  " + "\n  ".join(found), flush=True)
        if count % PROGRESS_EVERY == 0:
            print(f"{part}: {count} queries, {failed} differ", flush=True)
    if comparison is not None:
        fired = ", ".join(f"{rule} {times}" for rule, times in comparison.fired.items())
        print(f"{part}: {count} queries, {failed} differ, {comparison.errors} are errors; rules in queries: {fired}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
