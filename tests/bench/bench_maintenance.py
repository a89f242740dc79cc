"""OPTIMIZE on many small files, and ZORDER, compared with delta-spark and deltalake on copies of one table.

Run `python -m tests.bench.bench_maintenance [--files 1000] [--rows 2000000] [--repeat 3]`. The systems alternate, each
on a fresh copy, after a warm-up round; prints medians and their ratios, and for ZORDER the share of files that a query
by each column reads afterwards. delta-spark takes part if `make oracle` has set up its environment.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from deltalake import DeltaTable

from tests.bench.bench_write import ORACLE, compare, delta_spark, timed
from tests.bench.sides import open_lake, run, two_core_spark

ROWS = (
    "SELECT /*+ REPARTITION({files}) */ id * 7919 % {rows} AS x, format_string('%09d', id * 104729 % {rows}) AS y, "
    "id * 0.5D AS d, uuid() AS u, date_add(DATE'2024-01-01', cast(id % 365 AS int)) AS day FROM range({rows})"
)
ZORDER_BYTES = 8 << 20


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=1000)
    options.add_argument("--rows", type=int, default=2_000_000)
    options.add_argument("--repeat", type=int, default=3)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as lake, ExitStack() as stack:
        session = open_lake(stack.enter_context(two_core_spark(memory="1g")), Path(lake))
        delta = stack.enter_context(delta_spark())[0] if ORACLE.exists() else None
        print(f"{arguments.rows} rows in {arguments.files} files, load {os.getloadavg()[0]:.1f}", flush=True)
        properties = f"TBLPROPERTIES ('delta.targetFileSize' = '{ZORDER_BYTES}')"
        rows = ROWS.format(files=arguments.files, rows=arguments.rows)
        for name, clause, statement in (("OPTIMIZE", "", "OPTIMIZE"), ("ZORDER", properties, "ZORDER BY (x, y)")):
            run(session, "DROP TABLE IF EXISTS source")
            run(session, f"CREATE TABLE source {clause} AS {rows}")
            source = Path(lake) / "default" / "source"
            order = "" if name == "OPTIMIZE" else f" {statement}"
            systems = {
                "ours": partial(on_copy, source, partial(optimize_by, partial(run, session), order)),
                "deltalake": partial(on_copy, source, by_deltalake if name == "OPTIMIZE" else zorder_by_deltalake),
            }
            if delta is not None:
                if name == "ZORDER":
                    delta(f"SET spark.databricks.delta.optimize.maxFileSize={ZORDER_BYTES}")
                systems["delta"] = partial(on_copy, source, partial(optimize_by, delta, order))
            compare(name, arguments.repeat, systems)
        print(f"load {os.getloadavg()[0]:.1f}")


def on_copy(source: Path, optimize: Callable[[Path], object]) -> float:
    """Returns the milliseconds on a copy of the table; it is below the lake, where paths are allowed."""
    copy = source.with_name("copy")
    shutil.copytree(source, copy)
    try:
        spent = timed(lambda: optimize(copy))
        print(f"  {DeltaTable(copy).metadata().name or copy.name}: {skipping(copy)}", flush=True)
        return spent
    finally:
        shutil.rmtree(copy)


def optimize_by(system: Callable[[str], object], order: str, folder: Path) -> None:
    system(f"OPTIMIZE delta.`{folder}`{order}")


def by_deltalake(folder: Path) -> None:
    DeltaTable(folder).optimize.compact()


def zorder_by_deltalake(folder: Path) -> None:
    DeltaTable(folder).optimize.z_order(["x", "y"], target_size=ZORDER_BYTES)


def skipping(folder: Path) -> str:
    """Returns the number of files, and how many may contain a middle value in x, or in y."""
    files = DeltaTable(folder).get_add_actions(flatten=True)
    found = {name: files.column(name).to_pylist() for name in ("min.x", "max.x", "min.y", "max.y")}
    x, y = max(found["max.x"]) // 2, f"{int(max(found['max.y'])) // 2:09d}"
    by_x = sum(low <= x <= high for low, high in zip(found["min.x"], found["max.x"], strict=True))
    by_y = sum(low <= y <= high for low, high in zip(found["min.y"], found["max.y"], strict=True))
    return f"{files.num_rows} files, {by_x} by x, {by_y} by y"


if __name__ == "__main__":
    main()
