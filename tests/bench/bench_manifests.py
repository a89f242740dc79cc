"""Decoding an Iceberg table's manifests: this project's decoder compared with plain fastavro.

Run `python -m tests.bench.bench_manifests [--manifests 20000] [--entries 10] [--repeat 3]`. Each manifest has entries
with metrics for twelve columns, deflated; 200 different ones are repeated. `fastavro` builds the same tables from
fastavro's rows, `rows` only creates and drops the rows, a lower bound for any use of fastavro. Each read is a separate
process; prints medians for wall clock and processor time, and for peak memory above the process's baseline.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import fastavro
import pyarrow as pa

from engine.iceberg.manifests.avro import read_blocks, rows_of
from engine.iceberg.manifests.decoding import decode_all
from engine.iceberg.manifests.manifest import table_of_rows
from tests.bench.bench_iceberg import write_table

_DIFFERENT = 200


def _files(folder: Path, count: int) -> Iterator[tuple[str, bytes]]:
    names = sorted(folder.glob("metadata/m*.avro"))
    data = [name.read_bytes() for name in names]
    for at in range(count):
        yield str(names[at % len(names)]), data[at % len(names)]


def _ours(files: Iterable[tuple[str, bytes]]) -> list[pa.Table]:
    return list(decode_all(files))


def _fastavro(files: Iterable[tuple[str, bytes]]) -> list[pa.Table]:
    return [table_of_rows(rows_of(read_blocks(data, name), name)) for name, data in files]


def _rows(files: Iterable[tuple[str, bytes]]) -> list[pa.Table]:
    for _, data in files:
        for _ in fastavro.reader(io.BytesIO(data)):
            pass
    return []


SIDES: Mapping[str, Callable[[Iterable[tuple[str, bytes]]], list[pa.Table]]] = {
    "ours": _ours,
    "fastavro": _fastavro,
    "rows": _rows,
}


def _megabytes(field: str) -> float:
    return int(Path("/proc/self/status").read_text().partition(f"{field}:")[2].split()[0]) / 1024


def measure(side: str, folder: Path, count: int) -> None:
    """Measures in this process."""
    _ours(_files(folder, 4))
    before, wall, processor = _megabytes("VmRSS"), time.perf_counter(), time.process_time()
    remaining = SIDES[side](_files(folder, count))
    print(time.perf_counter() - wall, time.process_time() - processor, _megabytes("VmHWM") - before, len(remaining))


def compare_sides(folder: Path, count: int, repeat: int) -> None:
    figures: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for _ in range(repeat):
        for side, found in figures.items():
            command = [sys.executable, "-m", "tests.bench.bench_manifests"]
            command += ["--side", side, "--folder", str(folder), "--manifests", str(count)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append([float(text) for text in done.stdout.split()])
    base = statistics.median(wall for wall, *_ in figures["ours"])
    for side, found in figures.items():
        wall, processor, memory, _ = (statistics.median(column) for column in zip(*found, strict=True))
        print(
            f"{side:10} {wall:7.2f} s ({wall / base:5.1f} x)  {processor:7.2f} s of processors  {memory:7.0f} MB",
            flush=True,
        )


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--manifests", type=int, default=20_000)
    arguments.add_argument("--entries", type=int, default=10)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--side", choices=SIDES)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    if given.side:
        measure(given.side, given.folder, given.manifests)
        return
    with tempfile.TemporaryDirectory() as folder:
        different = min(_DIFFERENT, given.manifests)
        write_table(Path(folder), given.entries * different, entries=given.entries)
        print(f"{given.manifests} manifests of {given.entries} entries, load {os.getloadavg()[0]:.1f}", flush=True)
        compare_sides(Path(folder), given.manifests, given.repeat)


if __name__ == "__main__":
    main()
