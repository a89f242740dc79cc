"""Checkpoints in every form: reading one yields the same state as the log without it."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import UnsupportedWriterFeatures
from engine.delta.commit.staged_commit import adds_of
from engine.delta.commit.transaction import Transaction, clock_ms
from engine.delta.conversion.parquet_types import schema_of_footer
from engine.delta.maintenance.checkpoint_writer import CheckpointForm, WrittenCheckpoint, write_checkpoint, write_hint
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Add, DeletionVectorDescriptor, DomainMetadata, Metadata, SetTransaction
from engine.delta.spec.last_checkpoint import LastCheckpoint, parse_last_checkpoint
from engine.delta.spec.paths import LogFileKind, parse_log_path
from engine.delta.spec.properties import DAY_MS
from engine.storage.paths import encode_path
from engine.tables.operations import TableOperation
from engine.types.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructField, StructType
from tests.engine.delta.committing import add, append, create, describe, metadata
from tests.examples import examples
from tests.interleave.storages import DictStorage

VECTOR = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="v", offset=1, size_in_bytes=2, cardinality=1)


def sample(
    configuration: dict[str, str] | None = None, features: str = "deletionVectors domainMetadata"
) -> DictStorage:
    """Returns a table with everything that a checkpoint can hold."""
    storage = DictStorage()
    create(storage, metadata(configuration=configuration), frozenset(features.split()))
    append(storage, *(f"f{number:02}" for number in range(10)))
    append(storage, "null", partition_values={"day": None}, stats=None, tags={"a": "b", "c": None})
    append(storage, "vector", deletion_vector=VECTOR, clustering_provider="liquid", base_row_id=3)
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.METADATA))
    transaction.stage(
        SetTransaction(app_id="app", version=3, last_updated=clock_ms()),
        DomainMetadata(domain="kept", configuration='{"a":1}'),
        DomainMetadata(domain="gone", configuration="{}"),
    )
    transaction.commit()
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.METADATA))
    transaction.stage_removes(Snapshot.load(storage).files.slice(0, 4))
    transaction.stage(DomainMetadata(domain="gone", configuration="{}", removed=True))
    transaction.commit()
    return storage


def rows(table: Any) -> list[Any]:
    names = [name for name in table.schema.names if name != "data_change"]
    found = table.select(names).to_pylist()
    return sorted(found, key=lambda row: (row["path"], str(row["deletion_vector"])))


def write(storage: DictStorage, form: CheckpointForm | None = None, actions: int | None = None) -> WrittenCheckpoint:
    snapshot = Snapshot.load(storage)
    return write_checkpoint(snapshot, clock_ms(), form=form, actions_per_file=actions)


def read(storage: DictStorage, name: str) -> Any:
    return pq.read_table(io.BytesIO(storage.read_bytes(name)))


def drop_commits(storage: DictStorage) -> None:
    """So that the checkpoint is all there is to read."""
    for name in list(storage.files):
        path = parse_log_path(name.rpartition("/")[2])
        if path is not None and path.kind is LogFileKind.COMMIT:
            storage.delete(name)


@pytest.mark.parametrize("actions", [None, 1, 3, 100])
@pytest.mark.parametrize("form", CheckpointForm)
def test_a_checkpoint_says_what_the_log_says(form: CheckpointForm, actions: int | None) -> None:
    storage = sample()
    before = Snapshot.load(storage)
    tombstones = rows(before.tombstones)
    written = write(storage, form, actions)
    drop_commits(storage)
    after = Snapshot.load(storage)
    assert after.log_segment.checkpoint is not None
    assert set(after.log_segment.checkpoint.names) == set(written.names)
    assert (after.protocol, after.metadata) == (before.protocol, before.metadata)
    assert after.set_transactions == before.set_transactions
    assert after.domain_metadata == before.domain_metadata == {"kept": after.domain_metadata["kept"]}
    assert rows(after.files) == rows(before.files)
    assert rows(after.tombstones) == tombstones
    assert len(tombstones) == 4


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
adds = st.builds(
    add,
    path=texts.map(encode_path),
    partition_values=st.fixed_dictionaries({"day": st.none() | st.just("2026-01-31")}),
    size=st.integers(0, 2**40),
    modification_time=st.integers(0, 2**41),
    stats=st.none() | st.integers(0, 9).map(lambda rows: f'{{"numRecords":{rows}}}'),
    tags=st.none() | st.dictionaries(texts, st.none() | texts, max_size=2),
    base_row_id=st.none() | st.integers(0, 99),
)


@examples(40)
@given(st.lists(adds, max_size=8, unique_by=lambda one: one.file_path), st.sampled_from(CheckpointForm))
def test_whatever_is_staged_survives_the_commit_and_the_checkpoint(staged: list[Add], form: CheckpointForm) -> None:
    storage = DictStorage()
    create(storage, metadata(), frozenset({"v2Checkpoint"}))
    transaction = Transaction.on(Snapshot.load(storage), describe())
    transaction.stage(*staged)
    transaction.commit()
    expected = rows(pa.Table.from_batches([adds_of(staged)]))
    assert rows(Snapshot.load(storage).files) == expected
    write(storage, form, 3)
    drop_commits(storage)
    assert rows(Snapshot.load(storage).files) == expected


@pytest.mark.parametrize("form", CheckpointForm)
def test_the_hint_points_to_what_was_written(form: CheckpointForm) -> None:
    storage = sample()
    written = write(storage, form, 5)
    data = storage.read_bytes("_delta_log/_last_checkpoint")
    hint = parse_last_checkpoint(data)
    assert hint == written.hint
    assert "checksum" in json.loads(data)
    assert (hint.version, hint.num_of_add_files) == (5, 8)
    files = 8 + 4
    small = 4  # protocol, metadata, txn, domain
    match form:
        case CheckpointForm.CLASSIC:
            assert (hint.size, hint.parts) == (files + small, None)
            assert hint.size_in_bytes == len(storage.read_bytes(written.names[0]))
        case CheckpointForm.PARTS:
            assert (hint.size, hint.parts) == (files + small, 3)
            assert hint.size_in_bytes == sum(len(storage.read_bytes(name)) for name in written.names)
        case CheckpointForm.V2_PARQUET | CheckpointForm.V2_JSON:
            details = hint.extra["v2Checkpoint"]
            sidecars = details["sidecarFiles"]
            assert hint.size == files + small + 1 + len(sidecars)
            assert details["path"] == written.names[0].rpartition("/")[2]
            assert all(storage.exists(f"_delta_log/_sidecars/{sidecar['path']}") for sidecar in sidecars)


def test_the_hint_never_goes_back() -> None:
    storage = DictStorage()
    assert write_hint(storage, LastCheckpoint(version=10, size=1))
    assert not write_hint(storage, LastCheckpoint(version=9, size=1))
    assert write_hint(storage, LastCheckpoint(version=10, size=2))
    hint = parse_last_checkpoint(storage.read_bytes("_delta_log/_last_checkpoint"))
    assert hint is not None and (hint.version, hint.size) == (10, 2)


def test_a_corrupt_hint_is_replaced() -> None:
    storage = DictStorage()
    storage.write("_delta_log/_last_checkpoint", b"{")
    assert write_hint(storage, LastCheckpoint(version=1, size=1))


def test_parts_have_disjoint_ranges_of_paths_and_are_the_same_for_everyone() -> None:
    storage = sample()
    names = write(storage, CheckpointForm.PARTS, 4).names
    ranges = []
    for name in names:
        table = read(storage, name)
        paths = [row["path"] for kind in ("add", "remove") for row in table.column(kind).to_pylist() if row]
        ranges.append((min(paths), max(paths)))
    assert all(low <= high for low, high in ranges)
    assert all(one[1] < next_one[0] for one, next_one in zip(ranges, ranges[1:], strict=False))
    again = sample()
    reordered = Snapshot.load(again)
    assert write_checkpoint(reordered, clock_ms(), form=CheckpointForm.PARTS, actions_per_file=4).names == names
    for name in names:
        one, other = (read(each, name).column("add").to_pylist() for each in (storage, again))
        assert sorted(row["path"] for row in one if row) == sorted(row["path"] for row in other if row)


def test_file_actions_in_a_checkpoint_change_no_data() -> None:
    storage = sample()
    table = read(storage, write(storage, CheckpointForm.CLASSIC).names[0])
    for kind in ("add", "remove"):
        assert {row["dataChange"] for row in table.column(kind).to_pylist() if row} == {False}


def test_small_actions_have_a_row_group_of_their_own() -> None:
    storage = sample()
    file = pq.ParquetFile(io.BytesIO(storage.read_bytes(write(storage, CheckpointForm.CLASSIC).names[0])))
    assert file.read_row_group(0).column("add").null_count == 4
    assert file.metadata.num_row_groups == 3


@pytest.mark.parametrize(
    ("as_json", "as_struct"), [("true", "true"), ("true", "false"), ("false", "true"), ("false", "false")]
)
def test_statistics_are_written_as_the_properties_say(as_json: str, as_struct: str) -> None:
    storage = sample({"delta.checkpoint.writeStatsAsJson": as_json, "delta.checkpoint.writeStatsAsStruct": as_struct})
    before = Snapshot.load(storage)
    adds = read(storage, write(storage, CheckpointForm.CLASSIC).names[0]).column("add").combine_chunks()
    names = {field.name for field in adds.type}
    assert ("stats" in names) == (as_json == "true")
    assert ("stats_parsed" in names) == ("partitionValues_parsed" in names) == (as_struct == "true")
    if as_struct == "true":
        by_path = {row["path"]: row for row in adds.to_pylist() if row}
        assert by_path["f05"]["stats_parsed"] == {
            "numRecords": 3,
            "minValues": {"id": 1, "name": "a"},
            "maxValues": {"id": 9, "name": "z"},
            "nullCount": {"id": 0, "name": 1},
            "tightBounds": None,
        }
        assert str(by_path["f05"]["partitionValues_parsed"]["day"]) == "2026-01-31"
        assert by_path["null"]["stats_parsed"] is None
        assert by_path["null"]["partitionValues_parsed"] == {"day": None}
    drop_commits(storage)
    after = Snapshot.load(storage)
    assert after.num_files == before.num_files
    if "true" in (as_json, as_struct):
        parsed = {row["path"]: json.loads(row["stats"]) for row in after.files.to_pylist() if row["stats"]}
        expected = {row["path"]: json.loads(row["stats"]) for row in before.files.to_pylist() if row["stats"]}
        assert parsed == expected


def test_partition_values_that_are_not_certain_have_no_typed_form() -> None:
    storage = DictStorage()
    schema = StructType((StructField("id", PrimitiveType.LONG), StructField("at", PrimitiveType.TIMESTAMP)))
    create(storage, metadata(schema, ("at",)))
    append(storage, "a", partition_values={"at": "2026-01-31T00:00:00.000000Z"})
    first = read(storage, write(storage).names[0]).column("add").combine_chunks()
    assert "partitionValues_parsed" in {field.name for field in first.type}
    append(storage, "b", partition_values={"at": "2026-01-31 00:00:00"})
    second = read(storage, write(storage).names[0]).column("add").combine_chunks()
    assert "partitionValues_parsed" not in {field.name for field in second.type}


def mapped_table() -> Metadata:
    def field(name: str, number: int, kind: Any = PrimitiveType.LONG) -> StructField:
        return StructField(
            name, kind, True, {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        )

    schema = StructType((field("id", 1), field("day", 2, PrimitiveType.DATE)))
    return metadata(schema, ("day",), {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"})


def test_typed_columns_go_by_physical_names() -> None:
    storage = DictStorage()
    create(storage, mapped_table())
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.METADATA))
    transaction.stage(
        add("a", partition_values={"col-2": "2026-01-31"}, stats='{"numRecords":1,"minValues":{"col-1":5}}')
    )
    transaction.commit()
    written = read(storage, write(storage).names[0]).column("add").combine_chunks()
    row = next(row for row in written.to_pylist() if row)
    assert list(row["partitionValues_parsed"]) == ["col-2"]
    assert row["stats_parsed"]["minValues"] == {"col-1": 5}


def test_columns_without_statistics_of_their_own() -> None:
    storage = DictStorage()
    create(storage, metadata(StructType((StructField("a", ArrayType(PrimitiveType.LONG)),)), ()))
    append(storage, "x", partition_values={}, stats='{"numRecords":1,"nullCount":{"a":0}}')
    written = read(storage, write(storage).names[0]).column("add").combine_chunks()
    stats = written.type.field("stats_parsed").type
    assert {field.name for field in stats} == {"numRecords", "nullCount"}


@pytest.mark.parametrize("form", CheckpointForm)
def test_a_table_without_files_has_a_checkpoint_too(form: CheckpointForm) -> None:
    storage = DictStorage()
    create(storage, metadata(), frozenset({"v2Checkpoint"}))
    write(storage, form)
    drop_commits(storage)
    assert Snapshot.load(storage).num_files == 0


def test_the_top_level_has_the_columns_of_files_though_sidecars_hold_them() -> None:
    """delta-spark cannot read a table whose checkpoint has no column `add`."""
    storage = DictStorage()
    create(storage, metadata(), frozenset({"v2Checkpoint"}))
    append(storage, "x", partition_values={"day": None}, stats='{"numRecords":1}')
    written = read(storage, write(storage, CheckpointForm.V2_PARQUET).names[0])
    assert {"add", "remove", "sidecar", "checkpointMetadata"} <= set(written.column_names)
    assert written.column("add").null_count == written.column("remove").null_count == written.num_rows


def hint_of(storage: DictStorage) -> dict[str, Any]:
    hint: dict[str, Any] = json.loads(storage.read_bytes("_delta_log/_last_checkpoint"))
    return hint


EVERY_TYPE = StructType(
    (
        StructField("day", PrimitiveType.DATE),
        *(StructField(kind.value, kind) for kind in PrimitiveType if kind is not PrimitiveType.VOID),
        StructField("money", DecimalType(20, 3)),
        StructField("struct", StructType((StructField("inner", PrimitiveType.TIMESTAMP),))),
        StructField("array", ArrayType(PrimitiveType.LONG)),
        StructField("map", MapType(PrimitiveType.STRING, PrimitiveType.LONG)),
    )
)


@pytest.mark.parametrize("form", [form for form in CheckpointForm if form is not CheckpointForm.V2_JSON])
@pytest.mark.parametrize("as_struct", ["true", "false"])
def test_hint_has_the_schema_of_the_file(form: CheckpointForm, as_struct: str) -> None:
    storage = DictStorage()
    settings = {"delta.checkpoint.writeStatsAsStruct": as_struct}
    create(storage, metadata(EVERY_TYPE, configuration=settings), frozenset({"v2Checkpoint"}))
    append(storage, "x", "y", stats='{"numRecords":1}')
    name = write(storage, form, 1).names[0]
    footer = pq.ParquetFile(io.BytesIO(storage.read_bytes(name))).metadata
    assert hint_of(storage)["checkpointSchema"] == json.loads(schema_of_footer(footer, name).to_json())


def test_hint_lacks_a_schema_that_no_file_has_or_that_is_long() -> None:
    storage = DictStorage()
    create(storage, metadata(), frozenset({"v2Checkpoint"}))
    write(storage, CheckpointForm.V2_JSON)
    assert "checkpointSchema" not in hint_of(storage)
    wide = StructType(tuple(StructField(f"column_{number}", PrimitiveType.LONG) for number in range(500)))
    storage = DictStorage()
    settings = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.dataSkippingNumIndexedCols": "-1"}
    create(storage, metadata(wide, (), settings))
    write(storage, CheckpointForm.CLASSIC)
    assert "checkpointSchema" not in hint_of(storage)


def test_expired_tombstones_and_transactions_are_left_out() -> None:
    storage = sample({"delta.setTransactionRetentionDuration": "interval 1 days"})
    snapshot = Snapshot.load(storage)
    write_checkpoint(snapshot, clock_ms() + 8 * DAY_MS)
    drop_commits(storage)
    after = Snapshot.load(storage)
    assert after.tombstones.num_rows == 0
    assert after.set_transactions == {}


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, LogFileKind.CHECKPOINT_CLASSIC),
        ({"delta.checkpointPolicy": "classic"}, LogFileKind.CHECKPOINT_CLASSIC),
        ({"delta.checkpointPolicy": "v2"}, LogFileKind.CHECKPOINT_V2),
    ],
)
def test_the_policy_of_the_table_chooses_the_form(configuration: dict[str, str], expected: LogFileKind) -> None:
    storage = sample(configuration)
    path = parse_log_path(write(storage).names[0].rpartition("/")[2])
    assert path is not None and path.kind is expected


def test_no_checkpoint_of_a_table_that_is_not_understood() -> None:
    storage = DictStorage()
    create(storage)
    storage.write(
        "_delta_log/00000000000000000001.json",
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["fromTheFuture"]}}\n',
    )
    with pytest.raises(UnsupportedWriterFeatures):
        write(storage)
    assert not any("checkpoint" in name for name in storage.files)


def test_parts_are_of_one_size() -> None:
    storage = DictStorage()
    create(storage)
    append(storage, *(f"part-{number:04}" for number in range(100)))
    names = write(storage, CheckpointForm.PARTS, 10).names
    assert [read(storage, name).column("add").drop_null().length() for name in names] == [10] * 10


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({"delta.checkpoint.partSize": "40"}, [34, 33, 33]),
        ({"delta.checkpoint.partSize": "100"}, [100]),
        ({"delta.checkpoint.partSize": "40", "delta.feature.v2Checkpoint": "supported"}, [100]),
    ],
)
def test_a_table_asks_for_parts(configuration: dict[str, str], expected: list[int]) -> None:
    storage = DictStorage()
    features = frozenset({"v2Checkpoint"} if len(configuration) > 1 else ())
    create(storage, metadata(configuration={"delta.checkpoint.partSize": "40"} | configuration), features)
    append(storage, *(f"part-{number:04}" for number in range(100)))
    names = write(storage).names
    assert sorted((len(read(storage, name).column("add").drop_null()) for name in names), reverse=True) == expected
    assert Snapshot.load(storage).num_files == 100
    storage.delete("_delta_log/00000000000000000000.json")
    assert Snapshot.load(storage).num_files == 100
