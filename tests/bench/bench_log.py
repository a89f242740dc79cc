"""Loading a table's log, compared with delta-rs: time and peak memory, each run in a separate process.

Run `python -m tests.bench.bench_log [--files 1000000] [--commits 10000] [--repeat 5]`. Measures, until the files are
available with parsed statistics:

- cold: a checkpoint with `--files` adds with statistics, and 100 commits after it;
- count: that table's row count, until the answer;
- commits: `--commits` commits without a checkpoint;
- refresh: one new commit on the table from `cold`, already loaded;
- condition: file pruning by a condition on one column, from a cold start;

and how the first two grow with files, commits and statistics columns. delta-rs parses only the columns in
`delta.dataSkippingNumIndexedCols`, 32 by default, regardless of the log; so one line has a table whose property
includes all. Systems alternate; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from engine.delta import load_snapshot
from engine.delta.log.file_table import use_compact_memory
from engine.delta.spec.paths import LOG_DIR, checkpoint_name, commit_name
from engine.pruning.predicates import compare as predicate
from tests.engine.delta.log_builder import CHECKPOINT_SCHEMA

TAIL_COMMITS = 100
GROUP_ROWS = 100_000
SYSTEMS = ("ours", "delta-rs")
_WANTED = 5_000_001


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=1_000_000)
    options.add_argument("--commits", type=int, default=10_000)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--run", nargs=3, metavar=("SYSTEM", "MEASURE", "TABLE"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.run:
        system, measure, table = arguments.run
        use_compact_memory()  # as the server does
        print(json.dumps(RUNS[system, measure](table) | {"peak_mb": peak_mb()}))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare_all(Path(folder), arguments.files, arguments.commits, arguments.repeat)


def compare_all(folder: Path, files: int, commits: int, repeat: int) -> None:
    """Prints one line a measure."""
    big = write_checkpointed(folder / "big", files)
    compare(f"cold, {files} files", "cold", big, repeat)
    compare(f"count, {files} files", "count", big, repeat)
    compare(f"refresh, {files} files", "refresh", big, repeat)
    many = write_commits(folder / "many", commits)
    compare(f"cold, {commits} commits", "cold", many, repeat)
    for share in (10, 3):
        table = write_checkpointed(folder / f"files{share}", files // share)
        compare(f"cold, {files // share} files", "cold", table, repeat)
    for share in (10, 3):
        table = write_commits(folder / f"commits{share}", commits // share)
        compare(f"cold, {commits // share} commits", "cold", table, repeat)
    for columns in (1, 20, 60):
        table = write_checkpointed(folder / f"columns{columns}", files // 10, columns)
        compare(f"cold, {files // 10} files, statistics of {columns} columns", "cold", table, repeat)
        compare(f"condition, {files // 10} files, statistics of {columns} columns", "condition", table, repeat)
    table = write_checkpointed(folder / "indexed", files // 10, 60, {"delta.dataSkippingNumIndexedCols": "-1"})
    compare(f"cold, {files // 10} files, all of 60 columns in both", "cold", table, repeat)


def compare(title: str, measure: str, table: Path, repeat: int) -> None:
    results: dict[str, list[dict[str, float]]] = {system: [] for system in SYSTEMS}
    for _ in range(repeat):
        for system in SYSTEMS:
            command = [sys.executable, "-m", "tests.bench.bench_log", "--run", system, measure, str(table)]
            results[system].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    ours, theirs = (
        {name: statistics.median(run[name] for run in results[system]) for name in ("seconds", "peak_mb")}
        for system in SYSTEMS
    )
    print(
        f"{title:55} ours {ours['seconds']:7.3f} s {ours['peak_mb']:5.0f} MB   "
        f"delta-rs {theirs['seconds']:7.3f} s {theirs['peak_mb']:5.0f} MB   "
        f"ratio {ours['seconds'] / theirs['seconds']:5.2f} {ours['peak_mb'] / theirs['peak_mb']:5.2f}",
        flush=True,
    )


# --- Measurements ---------------------------------------------------------------------------------------------------


def _cold_ours(table: str) -> dict[str, float]:
    started = time.perf_counter()
    snapshot = load_snapshot(table)
    files, stats = snapshot.files, snapshot.stats()
    seconds = time.perf_counter() - started
    assert len(files) == len(stats)
    return {"seconds": seconds, "files": len(files)}


def _cold_theirs(table: str) -> dict[str, float]:
    started = time.perf_counter()
    files = pa.table(DeltaTable(table).get_add_actions(flatten=True))
    return {"seconds": time.perf_counter() - started, "files": len(files)}


def _count_ours(table: str) -> dict[str, float]:
    started = time.perf_counter()
    rows = int(load_snapshot(table).counted_files().live_rows().sum())
    return {"seconds": time.perf_counter() - started, "rows": rows}


def _count_theirs(table: str) -> dict[str, float]:
    started = time.perf_counter()
    rows = DeltaTable(table).count()
    return {"seconds": time.perf_counter() - started, "rows": rows}


def _refresh_ours(table: str) -> dict[str, float]:
    snapshot = load_snapshot(table)
    before = len(snapshot.stats())
    with _one_more_commit(table, snapshot.version + 1):
        started = time.perf_counter()
        snapshot = snapshot.advance()
        files, stats = snapshot.files, snapshot.stats()
        seconds = time.perf_counter() - started
    assert len(files) == len(stats) == before + 1
    return {"seconds": seconds}


def _refresh_theirs(table: str) -> dict[str, float]:
    loaded = DeltaTable(table)
    before = len(pa.table(loaded.get_add_actions(flatten=True)))
    with _one_more_commit(table, loaded.version() + 1):
        started = time.perf_counter()
        loaded.update_incremental()
        files = pa.table(loaded.get_add_actions(flatten=True))
        seconds = time.perf_counter() - started
    assert len(files) == before + 1
    return {"seconds": seconds}


def _condition_ours(table: str) -> dict[str, float]:
    started = time.perf_counter()
    remaining = int(load_snapshot(table).pruning().prune(predicate("long0", "=", _WANTED)).sum())
    seconds = time.perf_counter() - started
    assert remaining <= 2
    return {"seconds": seconds}


def _condition_theirs(table: str) -> dict[str, float]:
    started = time.perf_counter()
    files = pa.table(DeltaTable(table).get_add_actions(flatten=True))
    low, high = pc.less_equal(files["min.long0"], _WANTED), pc.greater_equal(files["max.long0"], _WANTED)
    remaining = files.filter(pc.and_(low, high)).num_rows
    seconds = time.perf_counter() - started
    assert remaining <= 2
    return {"seconds": seconds}


RUNS: dict[tuple[str, str], Callable[[str], dict[str, float]]] = {
    ("ours", "cold"): _cold_ours,
    ("delta-rs", "cold"): _cold_theirs,
    ("ours", "count"): _count_ours,
    ("delta-rs", "count"): _count_theirs,
    ("ours", "condition"): _condition_ours,
    ("delta-rs", "condition"): _condition_theirs,
    ("ours", "refresh"): _refresh_ours,
    ("delta-rs", "refresh"): _refresh_theirs,
}


class _one_more_commit:
    """A commit that exists only inside the block, so that every run finds the same table."""

    def __init__(self, table: str, version: int) -> None:
        self._path = Path(table, LOG_DIR, commit_name(version))

    def __enter__(self) -> None:
        self._path.write_text("\n".join([_add_line(10**9 + i, 5) for i in range(2)] + [_remove_line(0)]))

    def __exit__(self, *_: object) -> None:
        self._path.unlink()


def peak_mb() -> float:
    """Returns this program's peak only; `ru_maxrss` would include the parent's before exec."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


# --- The tables -----------------------------------------------------------------------------------------------------


def write_checkpointed(
    root: Path, files: int, columns: int = 5, properties: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Writes a checkpoint at version 0 with `files` adds, then commits with three adds and two removes each."""
    log = root / LOG_DIR
    log.mkdir(parents=True)
    head = [{"protocol": _PROTOCOL}, {"metaData": _checkpoint_metadata(columns, properties)}]
    with pq.ParquetWriter(log / checkpoint_name(0), CHECKPOINT_SCHEMA) as writer:
        writer.write_table(pa.Table.from_pylist(head, CHECKPOINT_SCHEMA))
        for first in range(0, files, GROUP_ROWS):
            writer.write_table(_add_rows(range(first, min(files, first + GROUP_ROWS)), columns))
    (log / commit_name(0)).write_text(json.dumps({"commitInfo": {"operation": "WRITE"}}))
    for version in range(1, TAIL_COMMITS + 1):
        lines = [_add_line(files + 3 * version + i, columns) for i in range(3)]
        lines += [_remove_line((version * 7919 + i * 104_729) % files) for i in (1, 2)]
        (log / commit_name(version)).write_text("\n".join(lines))
    return root


def write_commits(root: Path, commits: int, columns: int = 5) -> Path:
    """Writes commits with one add each; every fifth also removes a file."""
    log = root / LOG_DIR
    log.mkdir(parents=True)
    for version in range(commits):
        lines = [json.dumps({"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE"}})]
        if version == 0:
            lines += [json.dumps({"protocol": _PROTOCOL}), json.dumps({"metaData": _metadata(columns)})]
        lines.append(_add_line(version, columns))
        if version % 5 == 4:
            lines.append(_remove_line(version - 3))
        (log / commit_name(version)).write_text("\n".join(lines))
    return root


_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_KINDS = ("long", "string", "double", "timestamp", "integer")


def _columns(count: int) -> Iterator[tuple[str, str]]:
    return ((f"{_KINDS[i % 5]}{i}", _KINDS[i % 5]) for i in range(count))


def _metadata(columns: int) -> dict[str, Any]:
    kinds = [("day", "date"), *_columns(columns)]
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds]
    return {
        "id": "bench",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["day"],
        "configuration": {},
        "createdTime": 0,
    }


def _checkpoint_metadata(columns: int, properties: Mapping[str, str]) -> dict[str, Any]:
    form = {"provider": "parquet", "options": []}
    return _metadata(columns) | {"format": form, "configuration": list(properties.items())}


def _bound(kind: str, i: int, high: int) -> str:
    match kind:
        case "string":
            return f'"name-{i + high:012d}"'
        case "timestamp":
            return f'"2024-01-{i % 27 + 1 + high:02d}T00:00:00.000Z"'
        case "double":
            return f"{i + high}.25"
        case "integer":
            return str(i % 1000 + high)
        case _:
            return str(i * 1000 + high)


def _stats(i: int, columns: int) -> str:
    low, high = (",".join(f'"{name}":{_bound(kind, i, end)}' for name, kind in _columns(columns)) for end in (0, 1))
    nulls = ",".join(f'"{name}":{i % 3}' for name, _ in _columns(columns))
    return f'{{"numRecords":1000,"minValues":{{{low}}},"maxValues":{{{high}}},"nullCount":{{{nulls}}}}}'


def _day(i: int) -> str:
    return f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}"


def _path(i: int) -> str:
    return f"day={_day(i)}/part-{i % 100_000:05d}-{i:08x}-7a8b-4c1d-9e2f-{i:012x}.c000.snappy.parquet"


def add_of(i: int, columns: int) -> dict[str, Any]:
    return {
        "path": _path(i),
        "partitionValues": {"day": _day(i)},
        "size": 12_345_678 + i,
        "modificationTime": 1_700_000_000_000 + i,
        "dataChange": True,
        "stats": _stats(i, columns),
    }


def _add_rows(ids: range, columns: int) -> pa.Table:
    rows = [add_of(i, columns) | {"partitionValues": [("day", _day(i))]} for i in ids]
    adds = pa.array(rows, CHECKPOINT_SCHEMA.field("add").type)
    arrays = [adds if field.name == "add" else pa.nulls(len(ids), field.type) for field in CHECKPOINT_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=CHECKPOINT_SCHEMA)


def _add_line(i: int, columns: int) -> str:
    return json.dumps({"add": add_of(i, columns)}, separators=(",", ":"))


def _remove_line(i: int) -> str:
    body = {"path": _path(i), "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
    return json.dumps({"remove": body}, separators=(",", ":"))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
