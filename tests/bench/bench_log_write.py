"""Writing a table's log, compared with delta-rs: time and peak memory, each run in a separate process.

Run `python -m tests.bench.bench_log_write [--files 1000000] [--repeat 3]`. Measures:

- commit: 20 commits with 100 files with statistics each, on a loaded table with `--files` files; the median of one,
  without post-commit work;
- checkpoint: a table with `--files` files and 100 commits, from opening it to its new checkpoint;
- bulk: a commit that adds a tenth as many files.

Systems alternate; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deltalake import DeltaTable
from deltalake.transaction import AddAction, PostCommitHookProperties, RemoveAction

from engine.delta import load_snapshot
from engine.delta.commit.staged_commit import adds_of
from engine.delta.commit.transaction import Transaction, clock_ms
from engine.delta.log.file_table import use_compact_memory
from engine.delta.maintenance.checkpoint_writer import write_checkpoint
from engine.delta.spec.actions import Add
from engine.tables.operations import CommitDescription, TableOperation
from tests.bench.bench_log import add_of, peak_mb, write_checkpointed

COMMITS = 20
FILES_PER_COMMIT = 100
COLUMNS = 5
SYSTEMS = ("ours", "delta-rs")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--run", nargs=4, metavar=("SYSTEM", "MEASURE", "TABLE", "FILES"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.run:
        system, measure, table, files = arguments.run
        use_compact_memory()  # as the server does
        print(json.dumps({"seconds": RUNS[system, measure](table, int(files)), "peak_mb": peak_mb()}))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = write_checkpointed(Path(folder, "table"), arguments.files, COLUMNS)
        for measure in ("commit", "checkpoint", "bulk"):
            compare(f"{measure}, {arguments.files} files", measure, table, arguments.files, arguments.repeat)


def compare(title: str, measure: str, table: Path, files: int, repeat: int) -> None:
    results: dict[str, list[dict[str, float]]] = {system: [] for system in SYSTEMS}
    for _ in range(repeat):
        for system in SYSTEMS:
            copy = table.with_name("copy")
            shutil.copytree(table, copy)
            command = [sys.executable, "-m", "tests.bench.bench_log_write", "--run", system, measure]
            run = subprocess.run([*command, str(copy), str(files)], check=True, capture_output=True)
            results[system].append(json.loads(run.stdout))
            shutil.rmtree(copy)
    ours, theirs = (
        {name: statistics.median(run[name] for run in results[system]) for name in ("seconds", "peak_mb")}
        for system in SYSTEMS
    )
    print(
        f"{title:35} ours {ours['seconds'] * 1000:9.1f} ms {ours['peak_mb']:5.0f} MB   "
        f"delta-rs {theirs['seconds'] * 1000:9.1f} ms {theirs['peak_mb']:5.0f} MB   "
        f"ratio {ours['seconds'] / theirs['seconds']:5.2f} {ours['peak_mb'] / theirs['peak_mb']:5.2f}",
        flush=True,
    )


# --- Measurements ---------------------------------------------------------------------------------------------------

APPEND = CommitDescription(name="WRITE", operation=TableOperation.APPEND, parameters={"mode": "Append"})


def _our_adds(first: int, count: int) -> list[Add]:
    return [Add.from_json(add_of(i, COLUMNS)) for i in range(first, first + count)]


def _their_adds(first: int, count: int) -> list[AddAction]:
    rows = (add_of(i, COLUMNS) for i in range(first, first + count))
    return [
        AddAction(row["path"], row["size"], row["partitionValues"], row["modificationTime"], True, row["stats"])
        for row in rows
    ]


def _commit_ours(table: str, files: int) -> float:
    snapshot = load_snapshot(table)
    assert snapshot.num_files
    took = []
    for number in range(COMMITS):
        adds = _our_adds(10**9 + number * FILES_PER_COMMIT, FILES_PER_COMMIT)
        started = time.perf_counter()
        transaction = Transaction.on(snapshot, APPEND)
        transaction.stage(*adds)
        transaction.commit()
        took.append(time.perf_counter() - started)
        snapshot = snapshot.advance()
    return statistics.median(took)


def _commit_theirs(table: str, files: int) -> float:
    loaded = DeltaTable(table)
    took = []
    for number in range(COMMITS):
        adds = _their_adds(10**9 + number * FILES_PER_COMMIT, FILES_PER_COMMIT)
        started = time.perf_counter()
        _append(loaded, adds)
        took.append(time.perf_counter() - started)
        loaded.update_incremental()
    return statistics.median(took)


def _bulk_ours(table: str, files: int) -> float:
    snapshot = load_snapshot(table)
    adds = adds_of(_our_adds(10**9, files // 10))  # as they come from a write: in columns
    started = time.perf_counter()
    transaction = Transaction.on(snapshot, APPEND)
    transaction.stage_adds(adds)
    transaction.commit()
    return time.perf_counter() - started


def _bulk_theirs(table: str, files: int) -> float:
    loaded = DeltaTable(table)
    adds = _their_adds(10**9, files // 10)
    started = time.perf_counter()
    _append(loaded, adds)
    return time.perf_counter() - started


def _append(table: DeltaTable, adds: Sequence[AddAction]) -> None:
    actions: list[AddAction | RemoveAction] = [*adds]
    table.create_write_transaction(
        actions,
        mode="append",
        schema=table.schema(),
        partition_by=["day"],
        post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
    )


def _checkpoint_ours(table: str, files: int) -> float:
    started = time.perf_counter()
    write_checkpoint(load_snapshot(table), clock_ms())
    return time.perf_counter() - started


def _checkpoint_theirs(table: str, files: int) -> float:
    started = time.perf_counter()
    DeltaTable(table).create_checkpoint()
    return time.perf_counter() - started


RUNS: dict[tuple[str, str], Callable[[str, int], float]] = {
    ("ours", "commit"): _commit_ours,
    ("delta-rs", "commit"): _commit_theirs,
    ("ours", "checkpoint"): _checkpoint_ours,
    ("delta-rs", "checkpoint"): _checkpoint_theirs,
    ("ours", "bulk"): _bulk_ours,
    ("delta-rs", "bulk"): _bulk_theirs,
}

if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
