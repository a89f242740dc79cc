"""Tables whose metadata, manifests or delete files are broken or not supported: one named error on reading."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_snapshots import ID, load, long, metrics, scan


@pytest.fixture
def table(tmp_path: Path) -> HandmadeTable:
    return HandmadeTable(tmp_path / "t")


def first_file(table: HandmadeTable) -> dict[str, Any]:
    return table.data({"id": [1, 2]})


BROKEN: list[tuple[str, Any, str]] = [
    ("a file twice", lambda t, f: t.commit(f, f), "ICEBERG_METADATA_MALFORMED"),
    ("an encrypted file", lambda t, f: t.commit({**f, "key_metadata": b"k"}), "ICEBERG_METADATA_MALFORMED"),
    ("an encrypted snapshot", lambda t, f: t.commit(f, **{"key-id": "k"}), "ICEBERG_FEATURE_NOT_SUPPORTED"),
    ("a status of 7", lambda t, f: t.commit({**f, "_status": 7}), "ICEBERG_METADATA_MALFORMED"),
    ("an existing entry without a number", lambda t, f: t.commit({**f, "_status": 0}), "ICEBERG_METADATA_MALFORMED"),
    ("no Avro file", lambda t, f: t.commit({**f, "file_format": "AVRO"}), "ICEBERG_METADATA_MALFORMED"),
    ("a file of Lance", lambda t, f: t.commit({**f, "file_format": "LANCE"}), "ICEBERG_FEATURE_NOT_SUPPORTED"),
    ("no ORC file", lambda t, f: t.commit({**f, "file_format": "ORC"}), "ICEBERG_METADATA_MALFORMED"),
    ("a negative size", lambda t, f: t.commit({**f, "file_size_in_bytes": -1}), "ICEBERG_METADATA_MALFORMED"),
    ("a negative count", lambda t, f: t.commit({**f, "record_count": -1}), "ICEBERG_METADATA_MALFORMED"),
    ("a path that leads away", lambda t, f: t.commit({**f, "file_path": "/etc/passwd"}), "LOG_PATH_NOT_ALLOWED"),
    ("dots", lambda t, f: t.commit({**f, "file_path": f"{t.location}/../x"}), "LOG_PATH_NOT_ALLOWED"),
    ("an unknown spec", lambda t, f: t.commit(f, spec=5), "ICEBERG_METADATA_MALFORMED"),
    ("a type that is none", lambda t, f: typed(t, f, "number"), "ICEBERG_METADATA_MALFORMED"),
    ("a field id of a metadata column", lambda t, f: with_ids(t, f, 2_147_483_545), "ICEBERG_METADATA_MALFORMED"),
    ("a field id twice", lambda t, f: with_ids(t, f, 1), "ICEBERG_METADATA_MALFORMED"),
    (
        "equality deletes by no column",
        lambda t, f: t.commit(f, t.equality({"id": [1]}, [])),
        "ICEBERG_METADATA_MALFORMED",
    ),
    ("… by an unknown one", lambda t, f: t.commit(f, t.equality({"id": [1]}, [9])), "ICEBERG_METADATA_MALFORMED"),
    ("two vectors", lambda t, f: t.commit(f, *vectors_of(t, f), *vectors_of(t, f)), "ICEBERG_METADATA_MALFORMED"),
    ("an old vector", lambda t, f: old_vector(t, f), "ICEBERG_METADATA_MALFORMED"),
    (
        "a vector without a place",
        lambda t, f: t.commit(f, {**vectors_of(t, f)[0], "content_offset": None}),
        "ICEBERG_METADATA_MALFORMED",
    ),
    ("a missing manifest", lambda t, f: removed(t, f, "m1-"), "ICEBERG_FILE_NOT_FOUND"),
    ("a missing manifest list", lambda t, f: removed(t, f, "snap-"), "ICEBERG_FILE_NOT_FOUND"),
    ("position deletes that are no Parquet", lambda t, f: t.commit(f, no_parquet(t, f)), "ICEBERG_METADATA_MALFORMED"),
    ("equality deletes in Avro", lambda t, f: t.commit(f, deletes_in_avro(t)), "ICEBERG_FEATURE_NOT_SUPPORTED"),
]


def typed(table: HandmadeTable, file: Any, kind: str) -> None:
    table.columns = [ID, {"id": 2, "name": "x", "required": False, "type": kind}]
    table.commit(file)


def with_ids(table: HandmadeTable, file: Any, id: int) -> None:
    table.columns = [ID, {"id": id, "name": "x", "required": False, "type": "int"}]
    table.commit(file)


def vectors_of(table: HandmadeTable, file: Any) -> list[dict[str, Any]]:
    return table.vectors({file["file_path"]: [0]})


def old_vector(table: HandmadeTable, file: Any) -> None:
    table.commit({**file, "_sequence_number": 9})
    table.commit(*vectors_of(table, file))


def removed(table: HandmadeTable, file: Any, prefix: str) -> None:
    table.commit(file)
    for path in (table.folder / "metadata").glob(f"{prefix}*"):
        path.unlink()


def no_parquet(table: HandmadeTable, file: Any) -> dict[str, Any]:
    found = table.positions([file["file_path"]], [0])
    (table.folder / found["file_path"].removeprefix(f"{table.location}/")).write_bytes(b"PAR1 no")
    return found


def deletes_in_avro(table: HandmadeTable) -> dict[str, Any]:
    return table.equality({"id": [1]}, [1], file_format="avro")


@pytest.mark.parametrize(("name", "make", "condition"), BROKEN, ids=[each[0] for each in BROKEN])
def test_broken_or_unsupported_table_is_rejected_with_its_name(
    table: HandmadeTable, name: str, make: Any, condition: str
) -> None:
    make(table, first_file(table))
    with pytest.raises(SqlError) as caught:
        scan(table.folder)
        assert load(table.folder).schema
    assert caught.value.condition == condition


NAMED = {
    "ICEBERG_METADATA_MALFORMED",
    "ICEBERG_FILE_NOT_FOUND",
    "ICEBERG_FEATURE_NOT_SUPPORTED",
    "LOG_PATH_NOT_ALLOWED",
}


@pytest.mark.parametrize("kind", ["*.metadata.json", "snap-*.avro", "m*.avro"])
def test_bytes_that_were_changed_end_in_a_named_error_or_in_an_answer(table: HandmadeTable, kind: str) -> None:
    chance = random.Random(kind)
    first = table.data({"id": [1, 2]}, **metrics(long(1), long(2)))
    table.commit(first, table.positions([first["file_path"]], [0]), table.equality({"id": [2]}, [1]))
    paths = sorted((table.folder / "metadata").glob(kind))
    whole = {path: path.read_bytes() for path in paths}
    refused = 0
    for _ in range(100):
        path = chance.choice(paths)
        data = bytearray(whole[path])
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        path.write_bytes(bytes(data))
        try:
            scan(table.folder)
            load(table.folder).counted_files([column.name for column in load(table.folder).schema.fields])
        except SqlError as error:
            assert error.condition in NAMED | {"ICEBERG_TABLE_NOT_FOUND"}, error
            refused += 1
        path.write_bytes(whole[path])
    assert refused > 10


def test_json_that_is_no_metadata_is_refused_by_name(table: HandmadeTable) -> None:
    chance = random.Random(5)
    table.commit(first_file(table))
    path = table.folder / "metadata/v1.metadata.json"
    whole = json.loads(path.read_text())
    refused = 0
    for key in whole:
        values: tuple[Any, ...] = (None, [], {}, "x", -5, 2**70, [None], {"a": 1}, [[]], True)
        for value in values:
            path.write_text(json.dumps({**whole, key: value}))
            try:
                scan(table.folder)
            except SqlError as error:
                assert error.condition in NAMED | {"ICEBERG_TABLE_NOT_FOUND"}, (key, value, error)
                refused += 1
    snapshot = whole["snapshots"][0]
    for key in snapshot:
        values = (None, [], {}, "x", -5, 2**70, chance.random())
        for value in values:
            path.write_text(json.dumps({**whole, "snapshots": [{**snapshot, key: value}]}))
            try:
                scan(table.folder)
            except SqlError as error:
                assert error.condition in NAMED, (key, value, error)
                refused += 1
    assert refused > 50


def test_deep_types_are_refused(table: HandmadeTable) -> None:
    kind: Any = "int"
    for depth in range(300):
        kind = {"type": "list", "element-id": 1000 + depth, "element-required": False, "element": kind}
    table.columns = [ID, {"id": 2, "name": "x", "required": False, "type": kind}]
    table.commit(first_file(table))
    with pytest.raises(SqlError) as caught:
        load(table.folder)
    assert caught.value.condition == "ICEBERG_METADATA_MALFORMED"
