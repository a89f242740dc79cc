"""Tables that this layer writes, read by deltalake and by DuckDB's delta extension."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from engine.delta.commit.transaction import Transaction, clock_ms
from engine.delta.maintenance.after_commit import PostCommit, run_hooks
from engine.delta.maintenance.checkpoint_writer import CheckpointForm, write_checkpoint
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Add, DomainMetadata, SetTransaction
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.storage.paths import encode_path
from engine.storage.storage import Storage, open_storage
from engine.tables.operations import TableOperation
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.duck import open_duckdb
from tests.engine.delta.committing import create, describe, metadata

PLAIN = StructType((StructField("id", PrimitiveType.LONG, False), StructField("name", PrimitiveType.STRING)))
DAYS = (None, "a b", "x/y", "100%", "ü=é")
PARTITIONED = StructType((*PLAIN.fields, StructField("day", PrimitiveType.STRING)))


def _mapped(name: str, number: int, kind: PrimitiveType) -> StructField:
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return StructField(name, kind, True, keys)


MAPPED = StructType((_mapped("the id", 1, PrimitiveType.LONG), _mapped("name, please", 2, PrimitiveType.STRING)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    schema: StructType = PLAIN
    # Values in the partition column, if it exists.
    days: tuple[str | None, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()
    features: frozenset[str] = frozenset()
    checkpoint: CheckpointForm | None = None


# Removes whole files, which the log allows even if the product cannot change the table's rows.
LOG_ONLY = describe(TableOperation.METADATA, "DELETE")

CASES = {
    "plain": Case(),
    "with properties": Case(configuration=(("owner", "me"), ("delta.appendOnly", "true"))),
    "partitioned": Case(schema=PARTITIONED, days=DAYS),
    "classic checkpoint": Case(schema=PARTITIONED, days=DAYS, checkpoint=CheckpointForm.CLASSIC),
    "checkpoint in parts": Case(schema=PARTITIONED, days=DAYS, checkpoint=CheckpointForm.PARTS),
    "v2 checkpoint": Case(
        schema=PARTITIONED,
        days=DAYS,
        configuration=(("delta.checkpointPolicy", "v2"),),
        checkpoint=CheckpointForm.V2_PARQUET,
    ),
    "v2 checkpoint in JSON": Case(configuration=(("delta.checkpointPolicy", "v2"),), checkpoint=CheckpointForm.V2_JSON),
    "typed statistics only": Case(
        configuration=(("delta.checkpoint.writeStatsAsJson", "false"),), checkpoint=CheckpointForm.CLASSIC
    ),
    "no typed statistics": Case(
        configuration=(("delta.checkpoint.writeStatsAsStruct", "false"),), checkpoint=CheckpointForm.CLASSIC
    ),
    "in-commit timestamps": Case(configuration=(("delta.enableInCommitTimestamps", "true"),)),
    "row tracking": Case(configuration=(("delta.enableRowTracking", "true"),), checkpoint=CheckpointForm.CLASSIC),
    "domains": Case(features=frozenset({"domainMetadata"}), checkpoint=CheckpointForm.CLASSIC),
    "deletion vectors allowed": Case(
        configuration=(("delta.enableDeletionVectors", "true"),), checkpoint=CheckpointForm.CLASSIC
    ),
}


def write_file(storage: Storage, name: str, first: int, day: str | None, partition_columns: tuple[str, ...]) -> Add:
    """Three rows as a Parquet file, and its add."""
    folder = f"day={day}/" if partition_columns else ""
    rows = pa.table({"id": pa.array(range(first, first + 3)), "name": [f"n{first}", None, "z"]})
    path = f"{folder}{name}.parquet"
    with storage.open_output(path) as file:
        pq.write_table(rows, file)
    stats = {
        "numRecords": 3,
        "minValues": {"id": first, "name": f"n{first}"},
        "maxValues": {"id": first + 2, "name": "z"},
        "nullCount": {"id": 0, "name": 1},
    }
    return Add(
        path=encode_path(path),
        partition_values=dict.fromkeys(partition_columns, day),
        size=storage.stat(path).size,
        modification_time=clock_ms(),
        stats=json.dumps(stats),
    )


def build(root: Path, case: Case) -> Storage:
    """Writes some commits, a removal, and a checkpoint if the case requires it."""
    storage = open_storage(str(root))
    partitions = ("day",) if case.days else ()
    table = metadata(case.schema, partitions, dict(case.configuration))
    run_hooks(PostCommit(create(storage, table, case.features)))
    for number, day in enumerate(case.days or (None, None, None)):
        transaction = Transaction.on(Snapshot.load(storage), describe())
        transaction.stage(write_file(storage, f"f{number}", number * 10, day, partitions))
        transaction.stage(SetTransaction(app_id="loader", version=number))
        if "domainMetadata" in case.features:
            transaction.stage(DomainMetadata(domain="mine", configuration=str(number)))
        run_hooks(PostCommit(transaction.commit()))
    if dict(case.configuration).get("delta.appendOnly") != "true":
        transaction = Transaction.on(Snapshot.load(storage), LOG_ONLY)
        transaction.stage_removes(transaction.read(lambda batch: pc.match_substring(batch.column("path"), "f1")))
        run_hooks(PostCommit(transaction.commit()))
    if case.checkpoint is not None:
        snapshot = Snapshot.load(storage)
        write_checkpoint(snapshot, clock_ms(), form=case.checkpoint, actions_per_file=2)
        for version in range(snapshot.version):
            storage.delete(f"_delta_log/{version:020}.json")
            storage.delete(f"_delta_log/{version:020}.crc")
    return storage


def expected_rows(snapshot: Snapshot, root: Path) -> list[tuple[Any, ...]]:
    """Returns the rows in our own snapshot's files, read by plain means."""
    rows = []
    for file in snapshot.files.to_pylist():
        data = pq.read_table(root / file["path"], partitioning=None).to_pylist()
        values = [day for _, day in file["partition_values"]]
        rows += [(row["id"], row["name"], *values) for row in data]
    return sorted(rows, key=str)


@pytest.fixture(params=CASES, ids=str)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Case, Snapshot]:
    case = CASES[request.param]
    return tmp_path, case, Snapshot.load(build(tmp_path, case))


def test_deltalake_sees_the_same_table(table: tuple[Path, Case, Snapshot]) -> None:
    root, case, ours = table
    theirs = deltalake.DeltaTable(str(root))
    protocol = theirs.protocol()
    assert theirs.version() == ours.version
    assert json.loads(theirs.schema().to_json()) == json.loads(ours.metadata.schema_string)
    assert theirs.metadata().configuration == dict(case.configuration) == dict(ours.metadata.configuration)
    assert tuple(theirs.metadata().partition_columns) == ours.partition_columns
    assert (protocol.min_reader_version, protocol.min_writer_version) == (
        ours.protocol.min_reader_version,
        ours.protocol.min_writer_version,
    )
    assert set(protocol.writer_features or ()) == set(ours.protocol.writer_features or ())
    files = {unquote(uri).removeprefix(f"{root}/") for uri in theirs.file_uris()}
    assert files == set(ours.files.column("path").to_pylist())
    assert theirs.transaction_version("loader") == ours.set_transactions["loader"].version
    query = deltalake.QueryBuilder().register("t", theirs)
    names = ", ".join(f'"{field.name}"' for field in case.schema.fields)
    rows = pa.table(query.execute(f"SELECT {names} FROM t").read_all()).to_pylist()
    assert sorted((tuple(row.values()) for row in rows), key=str) == expected_rows(ours, root)


def test_duckdb_sees_the_same_table(table: tuple[Path, Case, Snapshot], duck: Callable[[str], list[Any]]) -> None:
    root, case, ours = table
    names = [field.name for field in case.schema.fields]
    columns = ", ".join(f'"{name}"' for name in names)
    rows = duck(f"SELECT {columns} FROM delta_scan('{root}')")
    assert sorted(rows, key=str) == expected_rows(ours, root)
    files = {row[0].removeprefix(f"{root}/") for row in duck(f"SELECT DISTINCT filename FROM delta_scan('{root}')")}
    assert {unquote(file) for file in files} == set(ours.files.column("path").to_pylist())
    selective = duck(f"SELECT id FROM delta_scan('{root}') WHERE id >= 20 AND id < 22")
    assert sorted(selective) == [(20,), (21,)]
    kinds = {row[0]: row[1] for row in duck(f"DESCRIBE SELECT * FROM delta_scan('{root}')")}
    assert kinds == {"id": "BIGINT", "name": "VARCHAR", **({"day": "VARCHAR"} if case.days else {})}


def test_duckdb_reads_mapped_columns(tmp_path: Path, duck: Callable[[str], list[Any]]) -> None:
    storage = open_storage(str(tmp_path))
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    create(storage, metadata(MAPPED, (), configuration))
    fields = [
        pa.field(f"col-{number}", kind, metadata={"PARQUET:field_id": str(number)})
        for number, kind in ((1, pa.int64()), (2, pa.string()))
    ]
    with storage.open_output("f.parquet") as file:
        pq.write_table(pa.table([[1, 2], ["x", "y"]], schema=pa.schema(fields)), file)
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.METADATA))
    stats = '{"numRecords":2,"minValues":{"col-1":1},"maxValues":{"col-1":2},"nullCount":{"col-1":0}}'
    transaction.stage(Add(path="f.parquet", size=storage.stat("f.parquet").size, stats=stats))
    transaction.commit()
    write_checkpoint(Snapshot.load(storage), clock_ms())
    assert duck(f'SELECT "the id", "name, please" FROM delta_scan(\'{tmp_path}\') WHERE "the id" = 2') == [(2, "y")]


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_deletion_vector_that_we_commit_hides_rows(
    tmp_path: Path, duck: Callable[[str], list[Any]], checkpointed: bool
) -> None:
    storage = open_storage(str(tmp_path))
    create(storage, metadata(PLAIN, (), {"delta.enableDeletionVectors": "true"}))
    before = write_file(storage, "f", 0, None, ())
    transaction = Transaction.on(Snapshot.load(storage), describe())
    transaction.stage(before)
    transaction.commit()
    transaction = Transaction.on(Snapshot.load(storage), LOG_ONLY)
    transaction.stage_removes(transaction.read_whole_table())
    transaction.stage(replace(before, deletion_vector=inline_deletion_vector(np.array([1], np.uint64))))
    transaction.commit()
    if checkpointed:
        write_checkpoint(Snapshot.load(storage), clock_ms())
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(tmp_path)))
    theirs = pa.table(query.execute("SELECT id FROM t").read_all()).column("id").to_pylist()
    assert sorted(theirs) == sorted(row[0] for row in duck(f"SELECT id FROM delta_scan('{tmp_path}')")) == [0, 2]


@pytest.fixture(scope="module")
def duck() -> Callable[[str], list[Any]]:
    """Runs a query in DuckDB with its packaged delta extension."""
    connection = open_duckdb()
    return lambda query: connection.execute(query).fetchall()


def test_deltalake_goes_on_where_we_stopped(tmp_path: Path) -> None:
    """It appends and writes a checkpoint on top of our log, and we on top of its log."""
    storage = build(tmp_path, CASES["classic checkpoint"])
    deltalake.write_deltalake(
        str(tmp_path),
        pa.table({"id": pa.array([99], pa.int64()), "name": ["by deltalake"], "day": ["a b"]}),
        mode="append",
    )
    deltalake.DeltaTable(str(tmp_path)).create_checkpoint()
    theirs = Snapshot.load(storage)
    transaction = Transaction.on(theirs, describe())
    transaction.stage(write_file(storage, "after", 500, "a b", ("day",)))
    committed = transaction.commit()
    assert committed.version == theirs.version + 1
    rows = deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table().column("id").to_pylist()
    assert {99, 500, 501, 502} <= set(rows)
