"""Planning a read on an Iceberg table with many files, compared with DuckDB and pyiceberg.

Run `python -m tests.bench.bench_iceberg [--files 100000] [--repeat 3] [--seconds 120] [--memory-mb 8192]`. The table
has twelve columns with all metrics, a truncate partition, and 5,000 entries per manifest. Prints wall clock and
processor seconds for a first read in a separate process, a second read in that process, and its peak memory. A system
that exceeds its time or memory is ended and reported, and not run again. Writing a table with `--files 1000000` takes
some minutes; with `--folder` it is stored for more runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pyiceberg.table import StaticTable

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.pruning.predicates import compare
from engine.storage.storage import open_storage
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable

COLUMNS = range(1, 13)
ENTRIES = 5000


def write_table(folder: Path, files: int, entries: int = ENTRIES) -> None:
    """Writes metadata only; the data files do not exist, and none is opened."""
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "truncate[100]"}]}
    columns = [{"id": id, "name": f"c{id}", "required": False, "type": "long"} for id in COLUMNS]
    table = HandmadeTable(folder, columns=columns, specs=[spec], partition=[(1000, "p", "long")])
    for first in range(0, files, entries):
        found = [_entry(table, at) for at in range(first, min(files, first + entries))]
        table.listed.append(table.manifest(found, 0, len(table.listed) + 1, 1001, 0))
    table.commit()


def _entry(table: HandmadeTable, at: int) -> Mapping[str, object]:
    return {
        "content": 0,
        "file_path": f"{table.location}/data/p={at // 100}/{at:08}-0c0ffee0-0000-4000-8000-000000000000.parquet",
        "file_format": "PARQUET",
        "record_count": 1000,
        "file_size_in_bytes": 100_000 + at,
        "partition": {"p": at * 10 // 100 * 100},
        "column_sizes": dict.fromkeys(COLUMNS, 8000),
        "value_counts": dict.fromkeys(COLUMNS, 1000),
        "null_value_counts": dict.fromkeys(COLUMNS, 0),
        "lower_bounds": {id: (at * 10 + id).to_bytes(8, "little", signed=True) for id in COLUMNS},
        "upper_bounds": {id: (at * 10 + id + 9).to_bytes(8, "little", signed=True) for id in COLUMNS},
        "split_offsets": [4],
    }


def ours(folder: Path) -> Callable[[], int]:
    found = IcebergFormat(open_storage, 1 << 31)

    def plan() -> int:
        snapshot = found.load(str(folder))
        snapshot.scan("t", "t")
        return int(snapshot.pruning().prune(compare("c3", "=", 555)).sum())

    return plan


def duckdb(folder: Path) -> Callable[[], int]:
    connection = open_duckdb()
    query = f"SELECT count(*) FROM iceberg_metadata('{folder}/metadata/v1.metadata.json')"
    return lambda: int(connection.execute(query).fetchall()[0][0])


def pyiceberg(folder: Path) -> Callable[[], int]:
    file = f"{folder}/metadata/v1.metadata.json"
    return lambda: len(list(StaticTable.from_metadata(file).scan().plan_files()))


def ended_in_bounds(command: Sequence[str], seconds: float, memory_mb: int) -> str | None:
    """Returns why the process was ended, or None if it completed."""
    began = time.monotonic()
    process = subprocess.Popen(command)
    while process.poll() is None:
        held = Path(f"/proc/{process.pid}/status").read_text().partition("VmRSS:")[2].split()
        spent, held_mb = time.monotonic() - began, int(held[0]) // 1024 if held else 0
        if spent > seconds or held_mb > memory_mb:
            process.kill()
            process.wait()
            return f"ended after {spent:.0f} s at {held_mb} MB"
        time.sleep(0.1)
    return None if process.returncode == 0 else f"failed after {time.monotonic() - began:.0f} s"


SIDES: Mapping[str, Callable[[Path], Callable[[], int]]] = {"ours": ours, "duckdb": duckdb, "pyiceberg": pyiceberg}


def measure(side: str, folder: Path) -> None:
    """In this process: the first time, and once more."""
    plan = SIDES[side](folder)
    times = []
    for _ in range(2):
        wall, processor = time.perf_counter(), time.process_time()
        plan()
        times.append(f"{time.perf_counter() - wall:8.3f} s ({time.process_time() - processor:.3f} processor)")
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
    print(f"{side:10} first {times[0]}   again {times[1]}   peak {peak} MB", flush=True)


def compare_sides(folder: Path, given: argparse.Namespace) -> None:
    print(f"{given.files} files, load {os.getloadavg()[0]:.1f}", flush=True)
    left = list(SIDES)
    for _ in range(given.repeat):
        for side in tuple(left):
            command = [sys.executable, "-m", "tests.bench.bench_iceberg", "--side", side, "--folder", str(folder)]
            reason = ended_in_bounds(command, given.seconds, given.memory_mb)
            if reason is not None:
                left.remove(side)
                print(f"{side:10} {reason}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--files", type=int, default=100_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--seconds", type=float, default=120)
    arguments.add_argument("--memory-mb", type=int, default=8192)
    arguments.add_argument("--side", choices=SIDES)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    if given.side:
        measure(given.side, given.folder)
        return
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "t"
        if not (folder / "metadata").exists():
            write_table(folder, given.files)
        compare_sides(folder, given)


if __name__ == "__main__":
    main()
