"""File pruning in a large table by partition values and statistics, compared with delta-rs.

Run `python -m tests.bench.bench_pruning [--files 1000000] [--repeat 7]`. The table is `bench_log`'s: partitioned by day
(84 days), statistics for five columns. Both systems have loaded it; ours has parsed its statistics, except if a
measurement is marked otherwise. Prints medians in milliseconds, the number of remaining files, and each system's peak
memory.

delta-rs answers partition filters by `file_uris`. For statistics it offers a `pyarrow.dataset`, whose fragments are
filtered here; creating that dataset is not counted, and since it takes minutes for a million files, it has a tenth.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from deltalake import DeltaTable

from engine.delta import load_snapshot
from engine.pruning.predicates import (
    And,
    Cast,
    Column,
    Compare,
    In,
    Literal,
    Operator,
    Or,
    Predicate,
    StartsWith,
    compare,
)
from engine.pruning.pruning import FilePruning
from engine.types.schema import PrimitiveType
from tests.bench.bench_log import write_checkpointed

DAY = datetime.date(2024, 3, 3)
NOON = datetime.datetime(2024, 1, 7, 12, tzinfo=datetime.UTC)


def predicates(files: int) -> Mapping[str, Predicate]:
    key = files // 2 * 1000
    name = f"name-{files // 2:012d}"
    long, text = Column(("long0",)), Column(("string1",))
    return {
        "a day": compare("day", "=", DAY),
        "a quarter": And(
            (compare("day", ">=", datetime.date(2024, 4, 1)), compare("day", "<", datetime.date(2024, 7, 1)))
        ),
        "a key": compare("long0", "=", key),
        "a key of a day": And((compare("day", "=", DAY), compare("long0", "=", key))),
        "100 keys": In(long, tuple(Literal.of(key + 1000 * i) for i in range(100))),
        "a range of keys": And((compare("long0", ">=", key), compare("long0", "<", key + 10_000))),
        "a text": compare("string1", "=", name),
        "a prefix": StartsWith(text, name[:-3]),
        "100 texts": In(text, tuple(Literal.of(f"name-{i * 7:012d}") for i in range(100))),
        "a double": And((compare("double2", ">", key / 1000), compare("double2", "<", key / 1000 + 10))),
        "an hour": And(
            (compare("timestamp3", ">=", NOON), compare("timestamp3", "<", NOON + datetime.timedelta(hours=1)))
        ),
        "a date of a timestamp": Compare(
            Operator.EQUAL, Cast(Column(("timestamp3",)), PrimitiveType.DATE), Literal.of(NOON.date())
        ),
        "a quarter, a key or a text": And(
            (
                compare("day", "<", datetime.date(2024, 4, 1)),
                Or((compare("long0", "<", key), compare("string1", "=", name))),
            )
        ),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=7)
    options.add_argument("--run", nargs=2, metavar=("MEASURE", "TABLE"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.run:
        measure, table = arguments.run
        print(json.dumps(RUNS[measure](table, arguments.files, arguments.repeat) | {"peak MB": _peak_mb()}))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare_all(Path(folder), arguments.files, arguments.repeat)


def compare_all(folder: Path, files: int, repeat: int) -> None:
    """Prints a line for each measure."""
    big = write_checkpointed(folder / "big", files)
    small = write_checkpointed(folder / "small", files // 10)
    ours, theirs = _run("ours", big, files, repeat), _run("delta-rs partitions", big, files, repeat)
    _print(f"{files} files", ours, theirs)
    ours, theirs = _run("ours", small, files // 10, repeat), _run("delta-rs dataset", small, files // 10, repeat)
    _print(f"{files // 10} files", ours, theirs)


def _run(measure: str, table: Path, files: int, repeat: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.bench_pruning", "--run", measure, str(table)]
    options = ["--files", str(files), "--repeat", str(repeat)]
    result: dict[str, Any] = json.loads(subprocess.run([*command, *options], check=True, capture_output=True).stdout)
    return result


def _print(title: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    print(title, f"(peak: ours {ours.pop('peak MB'):.0f} MB, delta-rs {theirs.pop('peak MB'):.0f} MB)")
    for name, (milliseconds, remaining) in ours.items():
        line = f"  {name:36} {milliseconds:9.2f} ms   {remaining:8} kept"
        if name in theirs:
            line += f"   delta-rs {theirs[name][0]:9.1f} ms {theirs[name][1]:8}"
            line += f"   ratio {milliseconds / theirs[name][0]:.4f}"
        print(line, flush=True)


# --- Measurements ---------------------------------------------------------------------------------------------------


def _ours(table: str, files: int, repeat: int) -> dict[str, Any]:
    snapshot = load_snapshot(table)
    assert snapshot.num_files > 0
    cases = predicates(files)
    results = {
        "a day, first": _time(lambda: _num_remaining(snapshot.pruning(), cases["a day"]), 1),
        "a key of a day, statistics unparsed": _time(
            lambda: _num_remaining(snapshot.pruning(), cases["a key of a day"]), 1
        ),
    }
    snapshot.stats()
    pruning = snapshot.pruning()
    for name, predicate in cases.items():
        results[name] = _time(partial(_num_remaining, pruning, predicate), repeat)
    results["a day, as a statement asks"] = _time(lambda: _num_remaining(snapshot.pruning(), cases["a day"]), repeat)
    return results


def _partitions(table: str, files: int, repeat: int) -> dict[str, Any]:
    loaded = DeltaTable(table)
    filters: dict[str, list[tuple[str, str, Any]]] = {
        "a day": [("day", "=", str(DAY))],
        "a quarter": [("day", ">=", "2024-04-01"), ("day", "<", "2024-07-01")],
    }
    return {name: _time(partial(_num_uris, loaded, filter_), repeat) for name, filter_ in filters.items()}


def _num_uris(loaded: DeltaTable, filters: list[tuple[str, str, Any]]) -> int:
    return len(loaded.file_uris(partition_filters=filters))


def _num_fragments(dataset: ds.Dataset, selected: ds.Expression) -> int:
    return sum(1 for _ in dataset.get_fragments(filter=selected))


def _dataset(table: str, files: int, repeat: int) -> dict[str, Any]:
    dataset = DeltaTable(table).to_pyarrow_dataset()
    key = files // 2 * 1000
    filters = {
        "a day": ds.field("day") == DAY,
        "a key": ds.field("long0") == key,
        "a key of a day": (ds.field("day") == DAY) & (ds.field("long0") == key),
        "a range of keys": (ds.field("long0") >= key) & (ds.field("long0") < key + 10_000),
        "a text": ds.field("string1") == f"name-{files // 2:012d}",
    }
    repeat = min(repeat, 3)
    return {name: _time(partial(_num_fragments, dataset, filter_), repeat) for name, filter_ in filters.items()}


RUNS: Mapping[str, Callable[[str, int, int], dict[str, Any]]] = {
    "ours": _ours,
    "delta-rs partitions": _partitions,
    "delta-rs dataset": _dataset,
}


def _num_remaining(pruning: FilePruning, predicate: Predicate) -> int:
    return int(np.count_nonzero(pruning.prune(predicate)))


def _time(run: Callable[[], int], repeat: int) -> tuple[float, int]:
    """Returns the median in milliseconds, and the number of remaining files."""
    seconds, remaining = [], 0
    for _ in range(repeat):
        started = time.perf_counter()
        remaining = run()
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds), remaining


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


if __name__ == "__main__":
    main()
