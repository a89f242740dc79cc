"""Pairs of whole statements without Spark, in every order of their storage steps: always equal to a serial run. An
append replaces an INSERT, and pyarrow makes OPTIMIZE's copies.
"""

from __future__ import annotations

import itertools
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.conditions import MetadataChanged
from engine.delta.commit.transaction import Transaction
from engine.delta.spec.actions import Add
from engine.tables.formats import watch_loads
from engine.tables.operations import TableOperation
from tests.engine.bare_aging import age
from tests.engine.delta.committing import describe
from tests.engine.test_optimize_steps import Copier
from tests.interleave.statements import Lane, Server, Statement, explored


def append(server: Server, lane: Lane) -> None:
    """Appends one row, as a blind append."""
    folder, name = server.lake / "default" / "t", f"p=0/{uuid.uuid4()}.parquet"
    with server.shared.pins.statement(lambda: time.time_ns() // 1_000_000) as uses:
        while True:
            snapshot = watch_loads(server.formats(lane), uses)["delta"].load(str(folder))
            (folder / name).parent.mkdir(exist_ok=True)
            pq.write_table(pa.table({"k": pa.array([100], pa.int64())}), folder / name)
            transaction = Transaction.on(snapshot, describe(TableOperation.APPEND))  # type: ignore[arg-type]
            add = Add(
                path=name,
                partition_values={"p": "0"} if snapshot.partition_columns else {},
                size=(folder / name).stat().st_size,
                modification_time=1,
                stats='{"numRecords":1}',
            )
            transaction.stage(add)
            try:
                transaction.commit()
                return
            except MetadataChanged:
                (folder / name).unlink()


STATEMENTS: dict[str, Statement] = {
    "INSERT": append,
    "OPTIMIZE": "OPTIMIZE t",
    "VACUUM": "VACUUM t RETAIN 0 HOURS",
    "RESTORE": "RESTORE TABLE t TO VERSION AS OF 1",
    "ALTER": "ALTER TABLE t SET TBLPROPERTIES ('owner' = 'x')",
    "TRUNCATE": "TRUNCATE TABLE t",
    "shallow CLONE": "CREATE OR REPLACE TABLE c SHALLOW CLONE t",
    "CLONE of old": "CREATE OR REPLACE TABLE o SHALLOW CLONE t VERSION AS OF 1",
    "deep CLONE": "CREATE OR REPLACE TABLE d DEEP CLONE t",
    "CLONE over": "CREATE OR REPLACE TABLE t SHALLOW CLONE other",
    "ANALYZE": "ANALYZE TABLE t COMPUTE DELTA STATISTICS",
}
PAIRS = list(itertools.combinations_with_replacement(STATEMENTS, 2))
QUICK = [
    ("INSERT", "RESTORE", 2),
    ("OPTIMIZE", "RESTORE", 2),
    ("VACUUM", "shallow CLONE", 1),
    ("shallow CLONE", "shallow CLONE", 1),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a day-old lake: `t` has two files in each of two partitions, and two removed ones."""
    lake = tmp_path_factory.mktemp("base")
    folder = lake / "default" / "t"
    for first in (0, 10, 20):
        keys = list(range(first, first + 10))
        table = pa.table({"k": pa.array(keys, pa.int64()), "p": [str(k % 2) for k in keys]})
        write_deltalake(folder, table, mode="append", partition_by=["p"])
    DeltaTable(folder).delete("k < 10")
    write_deltalake(lake / "default" / "other", pa.table({"k": pa.array([7], pa.int64()), "p": ["0"]}))
    for each in (folder, lake / "default" / "other"):
        age(each, 1)
    return lake


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" | ".join)
def test_every_interleaving_is_serializable(base: Path, tmp_path: Path, pair: tuple[str, str]) -> None:
    assert explored(base, tmp_path, [Copier(), Copier()], [STATEMENTS[name] for name in pair]).runs > 4


@pytest.mark.parametrize(("one", "other", "switches_max"), QUICK)
def test_a_statement_may_be_interrupted(base: Path, tmp_path: Path, one: str, other: str, switches_max: int) -> None:
    statements = [STATEMENTS[one], STATEMENTS[other]]
    assert explored(base, tmp_path, [Copier(), Copier()], statements, switches_max).runs > 4


BORROWED = (
    "CREATE TABLE c SHALLOW CLONE t VERSION AS OF 1 TBLPROPERTIES ('delta.deletedFileRetentionDuration' = '0 hours')",
    "TRUNCATE TABLE c",
)
BRINGING_BACK = {
    # statements that restore old files in `t` -> their error if these are missing
    STATEMENTS["RESTORE"]: ((), "RESTORE_FILES_MISSING"),
    STATEMENTS["CLONE of old"]: ((), "CLONE_FILE_NOT_FOUND"),
    "RESTORE TABLE c TO VERSION AS OF 0": (BORROWED, "RESTORE_FILES_MISSING"),
    "CREATE OR REPLACE TABLE o SHALLOW CLONE c VERSION AS OF 0": (BORROWED, "CLONE_FILE_NOT_FOUND"),
}


@pytest.mark.parametrize("text", BRINGING_BACK)
def test_a_vacuum_and_what_brings_files_back_wait_for_each_other(base: Path, tmp_path: Path, text: str) -> None:
    """VACUUM's removed files are not restored, and restored files are not removed."""
    before, missing = BRINGING_BACK[text]
    found = explored(base, tmp_path, [None, None], [STATEMENTS["VACUUM"], text], 1, before)
    assert {outcome.said for outcome in found.outcomes} == {("done", missing), ("done", "done")}
