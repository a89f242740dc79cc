"""UPDATE, DELETE and MERGE compared with delta-spark and deltalake, each on a fresh copy of one table.

Run `python -m tests.bench.bench_changes [--rows 10000000] [--changes 100000] [--files 100000] [--repeat 3]`. The
systems alternate after a warm-up round; medians and their ratios are printed. Copies share the data files, which no
system changes in place. Tables have deletion vectors or not; deltalake writes none, so it is compared on the table
without. "DELETE of one key" runs on a loaded table with many files, where only touched files exist. delta-spark takes
part if `make oracle` has set up its environment.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.bench.bench_write import ORACLE, Statement, compare, delta_spark, java_below, peak_mb, timed
from tests.bench.sides import open_lake, run, two_core_spark

TARGET = (
    "SELECT id, id % 1000 AS k, cast(id AS string) AS s, id * 0.5D AS d, "
    "date_add(DATE'2024-01-01', cast(id % 365 AS int)) AS day FROM range(0, {rows}, 1, 20)"
)
CLUSTERED = "SELECT id + {rows} - {changes} * 9 / 10 AS id FROM range({changes})"  # a tenth of the keys is new
SCATTERED = "SELECT id * ({rows} / {changes} * 10 / 9) AS id FROM range({changes})"
CHANGES = "SELECT cast(id AS bigint) AS id, -1L AS k, 'changed' AS s, 0.5D AS d, DATE'2025-01-01' AS day FROM ({keys})"
MERGE = (
    "MERGE INTO {{t}} AS t USING {source} AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
VECTORS = {"vectors": "true", "copies": "false"}
COPIES = count()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--changes", type=int, default=100_000)
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--merge", nargs=2, metavar=("TABLE", "SOURCE"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.merge:
        print(json.dumps(merge_by_deltalake(*arguments.merge)))
        return
    logging.getLogger("engine").setLevel(logging.CRITICAL)  # post-commit work on a deleted copy
    with tempfile.TemporaryDirectory() as lake, ExitStack() as stack:
        session = open_lake(stack.enter_context(two_core_spark(memory="1g")), Path(lake))
        delta = stack.enter_context(delta_spark()) if ORACLE.exists() else None
        print(f"{arguments.rows} rows, load {os.getloadavg()[0]:.1f}", flush=True)
        rows, changes = arguments.rows, arguments.changes
        for name, keys in (("clustered", CLUSTERED), ("scattered", SCATTERED)):
            source = CHANGES.format(keys=keys.format(rows=rows, changes=changes))
            run(session, f"CREATE TABLE {name} AS {source}")
        for layout, enabled in VECTORS.items():
            properties = f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{enabled}')"
            run(session, f"CREATE TABLE {layout} {properties} AS {TARGET.format(rows=rows)}")
            measure(session, delta and delta[0], Path(lake) / "default", layout, rows, arguments.repeat)
        one_row(session, delta and delta[0], Path(lake) / "default", arguments.repeat * 5)
        one_key(session, delta and delta[0], Path(lake) / "default", arguments.files, arguments.repeat * 3)
        peaks = [("ours (Python)", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)]
        peaks.append(("ours (Java)", peak_mb(java_below(os.getpid()))))
        if delta:
            peaks.append(("delta-spark (Java)", peak_mb(java_below(delta[1]))))
        print("peak memory: " + ", ".join(f"{name} {peak} MB" for name, peak in peaks))
        print(f"load {os.getloadavg()[0]:.1f}")


def measure(session: LakeSession, delta: Statement | None, lake: Path, layout: str, rows: int, repeat: int) -> None:
    """A line for each statement on the table named `layout`."""
    step, third = "id % 100 = 7", f"id >= {rows // 3} AND id < {rows // 3 + rows * 3 // 10}"
    texts = {
        "MERGE, clustered keys": MERGE.format(source=f"delta.`{lake / 'clustered'}`"),
        "MERGE, scattered keys": MERGE.format(source=f"delta.`{lake / 'scattered'}`"),
        "UPDATE 1 % by key": f"UPDATE {{t}} SET k = -1, s = 'changed' WHERE {step}",
        "DELETE 1 % by key": f"DELETE FROM {{t}} WHERE {step}",
        "UPDATE 30 % by range": f"UPDATE {{t}} SET k = -1 WHERE {third}",
        "DELETE 30 % by range": f"DELETE FROM {{t}} WHERE {third}",
    }
    for name, text in texts.items():
        changes: dict[str, Callable[[Path], float]] = {"ours": partial(by_us, session, text)}
        if delta is not None:
            changes["delta"] = partial(by_delta_spark, delta, text)
        if name.startswith("MERGE") and layout == "copies":
            changes["deltalake"] = partial(merge_in_process, lake / name.split()[1])
        seen: set[tuple[object, ...]] = set()
        systems = {
            system: partial(on_copy, lake / layout, change, partial(note_rows, session, seen))
            for system, change in changes.items()
        }
        compare(f"{name}, {layout}", repeat, systems)
        assert len(seen) == 1, f"the systems made different rows of {name}: {seen}"


def note_rows(session: LakeSession, seen: set[tuple[object, ...]], table: Path) -> None:
    """Records an order-independent digest of the table's rows."""
    text = f"SELECT count(*), sum(k), sum(CAST(xxhash64(id, k, s, d, day) AS DECIMAL(38, 0))) FROM delta.`{table}`"
    rows, _ = run(session, text)
    seen.add(tuple(column[0].as_py() for column in rows.columns))


def by_us(session: LakeSession, text: str, table: Path) -> float:
    return timed(lambda: run(session, text.format(t=f"delta.`{table}`")))


def by_delta_spark(delta: Statement, text: str, table: Path) -> float:
    return delta(text.format(t=f"delta.`{table}`"))


def merge_in_process(source: Path, table: Path) -> float:
    """Runs in a separate process to measure its peak memory; only the statement is timed."""
    command = [sys.executable, "-m", "tests.bench.bench_changes", "--merge", str(table), str(source)]
    done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"  deltalake: peak memory {done['peak_mb']} MB", flush=True)
    return float(done["ms"])


def merge_by_deltalake(table: str, source: str) -> dict[str, float]:
    changes = DeltaTable(source).to_pyarrow_table()
    target = DeltaTable(table)
    merger = target.merge(changes, "t.id = s.id", source_alias="s", target_alias="t")
    spent = timed(lambda: merger.when_matched_update_all().when_not_matched_insert_all().execute())
    return {"ms": spent, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def on_copy(source: Path, change: Callable[[Path], float], look: Callable[[Path], None]) -> float:
    """Returns the milliseconds for `change` on a copy of the table, which shares its data files; then checks the
    copy.
    """
    copy = source.with_name(f"copy_{next(COPIES)}")
    shutil.copytree(source, copy, copy_function=link_or_copy)
    try:
        spent = change(copy)
        look(copy)
        return spent
    finally:
        shutil.rmtree(copy, ignore_errors=True)  # files that follow a commit may still be written


def link_or_copy(source: str, target: str) -> None:
    if source.endswith(".parquet") and "_delta_log" not in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def one_row(session: LakeSession, delta: Statement | None, lake: Path, repeat: int) -> None:
    """Measures latency: statements in sequence on a table with 1,000 rows, one table per system."""
    for statement, text in (
        ("UPDATE", "UPDATE {t} SET k = k + 1 WHERE id = {n}"),
        ("DELETE", "DELETE FROM {t} WHERE id = {n}"),
    ):
        for layout, enabled in VECTORS.items():
            tables = {}
            for system in ("ours", "delta", "deltalake"):
                tables[system] = lake / f"few_{system}_{statement}_{layout}"
                properties = f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{enabled}')"
                run(session, f"CREATE TABLE delta.`{tables[system]}` {properties} AS {TARGET.format(rows=1000)}")
            systems = {"ours": one_by_one(text, tables["ours"], lambda sql: timed(lambda: run(session, sql)))}
            if delta is not None:
                systems["delta"] = one_by_one(text, tables["delta"], delta)
            if layout == "copies":
                systems["deltalake"] = deltalake_rows(tables["deltalake"], statement)
            compare(f"{statement} of one row, {layout}", repeat, systems)


def one_by_one(text: str, table: Path, statement: Callable[[str], float]) -> Callable[[], float]:
    """Each call is the statement on another row."""
    numbers = count(1)
    return lambda: statement(text.format(t=f"delta.`{table}`", n=next(numbers)))


def deltalake_rows(table: Path, statement: str) -> Callable[[], float]:
    loaded, numbers = DeltaTable(table), count(1)

    def once() -> float:
        condition = f"id = {next(numbers)}"
        if statement == "UPDATE":
            return timed(lambda: loaded.update(updates={"k": "k + 1"}, predicate=condition))
        return timed(lambda: loaded.delete(condition))

    return once


def one_key(session: LakeSession, delta: Statement | None, lake: Path, files: int, repeat: int) -> None:
    """Deletes keys ten files apart, one table per system."""
    keys = [files // 3 * 10 + 100 * round_number + 3 for round_number in range(repeat + 2)]
    systems = {}
    for system, statement in (("ours", lambda sql: timed(lambda: run(session, sql))), ("delta", delta)):
        if statement is None:
            continue
        table = many_files(lake / f"many_{system}", files, {key // 10 for key in keys})
        systems[system] = next_of(statement, table, iter(keys))
    compare(f"DELETE of one key, {files} files", repeat, systems)


def next_of(statement: Statement, table: Path, keys: Iterator[int]) -> Callable[[], float]:
    return lambda: statement(f"DELETE FROM delta.`{table}` WHERE id = {next(keys)}")


def many_files(table: Path, files: int, real: set[int]) -> Path:
    """Returns a table whose file i has the ids from 10 * i; only the `real` ones exist. It has a checkpoint."""
    schema = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
    table.joinpath("_delta_log").mkdir(parents=True)
    metadata = {
        "id": "bench",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {"delta.enableDeletionVectors": "true"},
        "createdTime": 0,
    }
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    actions = [
        {"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE"}},
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"metaData": metadata},
    ]
    for number in range(files):
        path, ids = table / f"part-{number:06d}.parquet", range(number * 10, number * 10 + 10)
        size = 600
        if number in real:
            pq.write_table(pa.table({"id": list(ids)}), path)
            size = path.stat().st_size
        stats = {"numRecords": 10, "minValues": {"id": ids[0]}, "maxValues": {"id": ids[-1]}, "nullCount": {"id": 0}}
        add = {"path": path.name, "partitionValues": {}, "size": size, "modificationTime": 1_700_000_000_000}
        actions.append({"add": {**add, "dataChange": True, "stats": json.dumps(stats)}})
    log = table / "_delta_log" / f"{0:020d}.json"
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    DeltaTable(table).create_checkpoint()
    return table


if __name__ == "__main__":
    main()
