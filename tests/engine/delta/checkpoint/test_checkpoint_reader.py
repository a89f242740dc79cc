"""Checkpoints: the columns that are read, unread columns, and damaged bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.conditions import DeltaError, LogFileNotFound, MalformedLogEntry
from engine.delta.checkpoint import checkpoint_reader
from engine.delta.checkpoint.checkpoint_reader import CheckpointReader
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.log.log_segment import Checkpoint
from engine.delta.spec.actions import Action, DeletionVectorDescriptor, Sidecar
from engine.delta.spec.paths import LOG_DIR, checkpoint_name, checkpoint_v2_name, parse_log_path
from tests.engine.delta.log_builder import (
    CHECKPOINT_SCHEMA,
    METADATA,
    PROTOCOL,
    STRING_MAP,
    LogBuilder,
    add,
    json_lines,
    parquet_bytes,
    remove,
)

UUID = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"
STATE: list[Action] = [PROTOCOL, METADATA, add("a"), add("b", stats='{"numRecords":3}'), remove("c"), add("no utf-8")]


def reader(log: LogBuilder, *names: str) -> CheckpointReader:
    paths = [path for path in map(parse_log_path, names) if path is not None]
    return CheckpointReader(log.storage, Checkpoint(paths[0].version, tuple(paths)))


def classic(data: bytes) -> CheckpointReader:
    log = LogBuilder()
    log.put(checkpoint_name(3), data)
    return reader(log, checkpoint_name(3))


def rows(batches: Any, schema: Any) -> list[dict[str, Any]]:
    table = pa.Table.from_batches(list(batches), schema)
    table.validate(full=True)
    result: list[dict[str, Any]] = table.to_pylist()
    return result


@pytest.mark.parametrize("row_group_size", [1, 2, 100])
def test_actions_are_found_in_whatever_row_group(row_group_size: int) -> None:
    checkpoint = classic(parquet_bytes(STATE, row_group_size=row_group_size))
    actions = checkpoint.read_small_actions()
    assert (actions.protocol, actions.metadata) == (PROTOCOL, METADATA)
    assert [row["path"] for row in rows(checkpoint.read_adds(), FILES_SCHEMA)] == ["a", "b", "no utf-8"]
    assert [row["path"] for row in rows(checkpoint.read_removes(), TOMBSTONES_SCHEMA)] == ["c"]


def test_checkpoint_add_has_all_fields() -> None:
    vector = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="x", offset=1, size_in_bytes=2, cardinality=3)
    action = add(
        "a%20b",
        stats="{}",
        tags={"t": "u"},
        deletion_vector=vector,
        base_row_id=5,
        default_row_commit_version=6,
        clustering_provider="liquid",
    )
    (row,) = rows(classic(parquet_bytes([action])).read_adds(), FILES_SCHEMA)
    assert row == {
        "path": "a b",
        "log_path": "a%20b",
        "size": 10,
        "modification_time": 1,
        "data_change": True,
        "partition_values": [("day", "1")],
        "stats": "{}",
        "deletion_vector": {
            "storage_type": "u",
            "path_or_inline_dv": "x",
            "offset": 1,
            "size_in_bytes": 2,
            "cardinality": 3,
        },
        "tags": [("t", "u")],
        "base_row_id": 5,
        "default_row_commit_version": 6,
        "clustering_provider": "liquid",
    }


def test_a_vector_may_be_a_struct_of_nulls() -> None:
    schema = pa.schema(
        [("add", pa.struct([("path", pa.string()), ("deletionVector", pa.struct([("storageType", pa.string())]))]))]
    )
    table = pa.Table.from_pylist(
        [
            {"add": {"path": "a", "deletionVector": {"storageType": None}}},
            {"add": {"path": "b", "deletionVector": None}},
        ],
        schema,
    )
    assert [row["deletion_vector"] for row in rows(classic(parquet(table)).read_adds(), FILES_SCHEMA)] == [None, None]


def test_columns_that_are_missing_or_unknown_do_no_harm() -> None:
    schema = pa.schema(
        [("add", pa.struct([("path", pa.string()), ("size", pa.int32()), ("news", pa.int64())])), ("more", pa.int64())]
    )
    checkpoint = classic(
        parquet(pa.Table.from_pylist([{"add": {"path": "a", "size": 3, "news": 1}, "more": 1}], schema))
    )
    (row,) = rows(checkpoint.read_adds(), FILES_SCHEMA)
    assert (row["path"], row["size"], row["partition_values"]) == ("a", 3, None)
    assert checkpoint.read_small_actions().protocol is None
    assert rows(checkpoint.read_removes(), TOMBSTONES_SCHEMA) == []


def test_strings_without_utf8_annotation() -> None:
    schema = pa.schema([("add", pa.struct([("path", pa.binary()), ("stats", pa.binary())]))])
    table = pa.Table.from_pylist([{"add": {"path": "caf\u00e9".encode(), "stats": b"{}"}}], schema)
    (row,) = rows(classic(parquet(table)).read_adds(), FILES_SCHEMA)
    assert (row["path"], row["stats"]) == ("caf\u00e9", "{}")


STATS_PARSED = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", pa.struct([("x", pa.float64()), ("b", pa.binary()), ("t", pa.timestamp("ns", tz="UTC"))])),
    ]
)


@pytest.mark.parametrize("with_json_column", [False, True])
def test_statistics_that_are_only_a_struct_become_json(with_json_column: bool) -> None:
    fields = [("path", pa.string()), ("stats_parsed", STATS_PARSED)]
    fields += [("stats", pa.string())] if with_json_column else []
    stats = {"numRecords": 3, "minValues": {"x": 1.5, "b": b"x", "t": 1_700_000_000_000_000_000}}
    table = pa.Table.from_pylist(
        [{"add": {"path": "a", "stats_parsed": stats}}, {"add": {"path": "b", "stats_parsed": None}}],
        pa.schema([("add", pa.struct(fields))]),
    )
    texts = [row["stats"] for row in rows(classic(parquet(table)).read_adds(), FILES_SCHEMA)]
    assert json.loads(texts[0]) == {"numRecords": 3, "minValues": {"x": 1.5, "t": "2023-11-14T22:13:20.000000Z"}}
    assert texts[1] is None


def test_json_statistics_come_before_a_struct() -> None:
    schema = pa.schema(
        [("add", pa.struct([("path", pa.string()), ("stats", pa.string()), ("stats_parsed", STATS_PARSED)]))]
    )
    table = pa.Table.from_pylist([{"add": {"path": "a", "stats": "{}", "stats_parsed": {"numRecords": 3}}}], schema)
    assert [row["stats"] for row in rows(classic(parquet(table)).read_adds(), FILES_SCHEMA)] == ["{}"]


def test_an_absolute_sidecar() -> None:
    log = LogBuilder()
    log.storage.write("dict://elsewhere/x.parquet", parquet_bytes([add("a")]))
    name = checkpoint_v2_name(3, UUID, "json")
    log.put(name, json_lines([PROTOCOL, Sidecar(path="dict://elsewhere/x.parquet", size_in_bytes=1)]))
    assert [row["path"] for row in rows(reader(log, name).read_adds(), FILES_SCHEMA)] == ["a"]


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def with_column(name: str, data_type: Any, *values: Any) -> bytes:
    return parquet(pa.table({name: pa.array(values, data_type)}))


GOOD = parquet_bytes(STATE, compression="none")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"no parquet at all",
        GOOD[:-1],
        GOOD[: len(GOOD) // 2],
        GOOD[:4] + b"\xff" * 400 + GOOD[404:],
        with_column("add", pa.int64(), 3),
        with_column("add", pa.struct([("size", pa.int64())]), {"size": 3}),
        with_column("add", pa.struct([("path", pa.int64())]), {"path": 3}),
        with_column("add", pa.struct([("path", pa.string()), ("size", pa.string())]), {"path": "a", "size": "x"}),
        with_column("add", pa.struct([("path", pa.string()), ("size", pa.int64())]), {"path": "a"}, {"size": 3}),
        with_column(
            "add",
            pa.struct([("path", pa.string()), ("partitionValues", pa.int64())]),
            {"path": "a", "partitionValues": 1},
        ),
        with_column(
            "add",
            pa.struct([("path", pa.string()), ("deletionVector", pa.int64())]),
            {"path": "a", "deletionVector": 1},
        ),
        with_column(
            "add",
            pa.struct([("path", pa.string()), ("deletionVector", pa.struct([("offset", pa.int64())]))]),
            {"path": "a", "deletionVector": {"offset": 1}},
        ),
        with_column("protocol", pa.struct([("minReaderVersion", pa.string())]), {"minReaderVersion": "x"}),
        GOOD.replace(b"no utf-8", b"no \xff\xff\xff-8"),
        with_column("metaData", STRING_MAP, [("a", "b")]),
    ],
)
def test_invalid_checkpoint_is_rejected_with_its_file(data: bytes) -> None:
    checkpoint = classic(data)
    with pytest.raises(MalformedLogEntry, match=checkpoint_name(3)):
        checkpoint.read_small_actions()
        list(checkpoint.read_adds())


@pytest.mark.parametrize("read", [CheckpointReader.read_small_actions, lambda reader: list(reader.read_adds())])
def test_a_part_that_has_gone_is_named(read: Callable[[CheckpointReader], Any]) -> None:
    log = LogBuilder()
    for name in (checkpoint_name(3), checkpoint_v2_name(3, UUID, "json")):
        with pytest.raises(LogFileNotFound, match=name):
            read(reader(log, name))


def test_a_sidecar_that_has_gone_is_named() -> None:
    log = LogBuilder()
    log.checkpoint(3, [PROTOCOL, METADATA, Sidecar(path="gone.parquet", size_in_bytes=1)])
    checkpoint = reader(log, checkpoint_name(3))
    assert checkpoint.read_small_actions().protocol == PROTOCOL
    with pytest.raises(DeltaError, match=f"{LOG_DIR}/_sidecars/gone.parquet"):
        list(checkpoint.read_adds())


def test_null_columns_are_not_decoded_for_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the row group with the metadata is read, however many files there are."""
    read: list[int] = []
    iter_batches = pq.ParquetFile.iter_batches

    def spy(self: Any, *arguments: Any, **options: Any) -> Any:
        read.extend(options["row_groups"])
        return iter_batches(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    data = parquet_bytes([PROTOCOL, METADATA, *(add(f"f{i}") for i in range(98))], CHECKPOINT_SCHEMA, row_group_size=10)
    assert classic(data).read_small_actions().metadata == METADATA
    assert set(read) == {0}


@pytest.mark.parametrize("row_group_size", [7, 100])
def test_statistics_read_by_a_thread_stay_with_their_files(
    monkeypatch: pytest.MonkeyPatch, row_group_size: int
) -> None:
    monkeypatch.setattr(checkpoint_reader, "_BATCH_ROWS", 5)
    adds = [add(f"f{i}", stats=f'{{"numRecords":{i}}}' if i % 3 else None) for i in range(40)]
    state = [action for i, one in enumerate(adds) for action in (one, remove(f"r{i}"))]
    found = rows(classic(parquet_bytes(state, row_group_size=row_group_size)).read_adds(), FILES_SCHEMA)
    assert [(row["path"], row["stats"]) for row in found] == [(one.path, one.stats) for one in adds]


@pytest.mark.parametrize(("length", "most"), [(10, 40), (200, 25), (5000, 4)])
def test_batches_of_long_statistics_are_shorter(monkeypatch: pytest.MonkeyPatch, length: int, most: int) -> None:
    monkeypatch.setattr(checkpoint_reader, "_BATCH_ROWS", 40)
    monkeypatch.setattr(checkpoint_reader, "_BATCH_ROWS_MIN", 4)
    monkeypatch.setattr(checkpoint_reader, "_BATCH_BYTES", 5000)
    adds = [add(f"f{i}", stats=f"{i:0{length}d}") for i in range(100)]
    batches = list(classic(parquet_bytes(adds)).read_adds())
    assert most // 2 <= max(len(batch) for batch in batches) <= most
    assert [row["stats"] for row in rows(batches, FILES_SCHEMA)] == [one.stats for one in adds]


def test_a_thread_that_reads_statistics_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_reader, "_BATCH_ROWS", 5)
    text = '{"numRecords":"find me"}'
    data = parquet_bytes([add(f"f{i}", stats=text) for i in range(40)], compression="none", use_dictionary=False)
    checkpoint = classic(data.replace(b"find me", b"\xff\xff\xff\xff me"))
    with pytest.raises(MalformedLogEntry, match=checkpoint_name(3)):
        list(checkpoint.read_adds())
