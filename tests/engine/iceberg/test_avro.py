"""Column-wise manifest decoding equals fastavro's, for any schema and codec."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from catalog.conditions import MalformedIcebergFile
from catalog.errors import SqlError
from engine.iceberg.manifests import manifest
from engine.iceberg.manifests.avro import AvroBlocks, read_blocks, rows_of
from engine.iceberg.manifests.avro_walk import NotWalked, columns_of
from engine.iceberg.manifests.manifest import decode_manifest, decode_manifests
from engine.iceberg.manifests.metrics import METRICS, metric
from engine.iceberg.manifests.metrics import pairs as every_pair
from tests.engine.iceberg.handmade import manifest_schema, optional, pairs, required

FIXED = {"type": "fixed", "name": "four", "size": 4}
PARTITION = [
    (1000, "whole", "long"),
    (1001, "text", "string"),
    (1002, "flag", "boolean"),
    (1003, "real", "double"),
    (1004, "single", "float"),
    (1005, "four", FIXED),
    (1006, "again", "four"),
    (1007, "day", {"type": "int", "logicalType": "date"}),
]


def entries(chance: random.Random, count: int) -> list[dict[str, Any]]:
    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.7 else None

    def number() -> int:
        return chance.choice([0, -1, 63, -64, 64, 2**31, -(2**63), 2**63 - 1, chance.randrange(-(2**40), 2**40)])

    def some_bytes() -> bytes:
        return chance.randbytes(chance.choice([0, 1, 4, 8, 63, 64, 200]))

    def entry(at: int) -> dict[str, Any]:
        keys = chance.sample(range(1, 2000), chance.randrange(0, 6))
        return {
            "status": chance.randrange(3),
            "snapshot_id": maybe(number()),
            "sequence_number": maybe(number()),
            "file_sequence_number": maybe(number()),
            "data_file": {
                "content": 0,
                "file_path": f"file:/é/{at}" * chance.randrange(1, 40),
                "file_format": "PARQUET",
                "partition": {
                    "whole": maybe(number()),
                    "text": maybe("x" * chance.randrange(0, 100)),
                    "flag": maybe(chance.random() < 0.5),
                    "real": maybe(chance.random()),
                    "single": maybe(0.5),
                    "four": maybe(chance.randbytes(4)),
                    "again": maybe(chance.randbytes(4)),
                    "day": maybe(19000),
                },
                "record_count": abs(number() % 2**60),
                "file_size_in_bytes": at,
                "column_sizes": maybe(pairs({key: number() for key in keys})),
                "value_counts": maybe(pairs({key: number() for key in keys})),
                "lower_bounds": maybe(pairs({key: some_bytes() for key in keys})),
                "upper_bounds": maybe(pairs({key: some_bytes() for key in keys})),
                "key_metadata": maybe(some_bytes()),
                "split_offsets": maybe([number() for _ in range(chance.randrange(0, 4))]),
                "equality_ids": maybe([1, 2]),
                "referenced_data_file": maybe("x"),
            },
        }

    return [entry(at) for at in range(count)]


def shown(table: pa.Table) -> list[dict[str, Any]]:
    """Parses metrics, which files may encode differently."""
    for name in METRICS:
        table = table.set_column(table.schema.get_field_index(name), name, every_pair(table, name))
    rows: list[dict[str, Any]] = table.select(sorted(table.column_names)).to_pylist()
    return rows


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_columns_are_what_fastavro_decodes(tmp_path: Path, codec: str) -> None:
    rows = entries(random.Random(codec), 300)
    path = tmp_path / "m.avro"
    with path.open("wb") as file:
        fastavro.writer(file, manifest_schema(PARTITION), rows, codec=codec, sync_interval=3000)
    blocks = read_blocks(path.read_bytes(), "m")
    assert len(blocks.blocks) > 3
    columns = columns_of(blocks.schema)
    both = manifest._walk(columns, [blocks, blocks])
    assert both is not None
    walked, decoded = both[1], manifest.table_of_rows(rows_of(blocks, "m"))
    assert shown(walked) == shown(decoded) == shown(both[0])
    assert walked["file_path"].to_pylist() == [row["data_file"]["file_path"] for row in rows]
    for key in (1, 5, 1999):
        expected = [
            next((pair["value"] for pair in row["data_file"]["lower_bounds"] or () if pair["key"] == key), None)
            for row in rows
        ]
        assert metric(walked, "lower_bounds", key).to_pylist() == expected


def test_another_schema_is_decoded_by_fastavro(tmp_path: Path) -> None:
    """A union with three types, which no manifest needs."""
    schema = manifest_schema([])
    schema["fields"].append({"name": "odd", "type": ["null", "long", "string"], "default": None})
    path = tmp_path / "m.avro"
    file_ = {"content": 0, "file_path": "p", "file_format": "parquet", "partition": {}}
    row = {"status": 1, "data_file": {**file_, "record_count": 1, "file_size_in_bytes": 2}}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{**row, "odd": "x"}, row])
    with pytest.raises(NotWalked):
        columns_of(read_blocks(path.read_bytes(), "m").schema)
    assert decode_manifest(path.read_bytes(), "m")["file_path"].to_pylist() == ["p", "p"]


def test_fields_are_known_by_id_in_any_order_and_under_any_name(tmp_path: Path) -> None:
    inner = [
        required(104, "bytes", "long"),
        required(103, "rows", "long"),
        required(100, "where", "string"),
        optional(101, "kind", "string"),
        required(105, "block_size_in_bytes", "long"),
    ]
    schema = {
        "type": "record",
        "name": "e",
        "fields": [required(2, "f", {"type": "record", "name": "f", "fields": inner}), required(0, "s", "int")],
    }
    path = tmp_path / "m.avro"
    row = {"s": 1, "f": {"bytes": 3, "rows": 2, "where": "p", "kind": "avro", "block_size_in_bytes": 0}}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [row])
    (found,) = decode_manifest(path.read_bytes(), "m").to_pylist()
    assert {key: found[key] for key in ("status", "content", "file_path", "record_count", "file_size_in_bytes")} == {
        "status": 1,
        "content": 0,
        "file_path": "p",
        "record_count": 2,
        "file_size_in_bytes": 3,
    }


def test_every_cut_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.avro"
    with path.open("wb") as file:
        fastavro.writer(file, manifest_schema(PARTITION), entries(random.Random(1), 3), codec="null")
    data = path.read_bytes()
    header = data.index(b"avro.codec")
    for end in range(0, len(data), 97):
        if end in (0, len(data)) or end > header:
            continue
        with pytest.raises(SqlError, match="is not a valid part"):
            decode_manifest(data[:end], "m")


def decoded(blocks: AvroBlocks) -> list[dict[str, Any]] | None:
    """Returns the decoded manifest, or None if it is rejected."""
    try:
        return shown(decode_manifests([(blocks, "m")])[0])
    except MalformedIcebergFile:
        return None


@pytest.mark.parametrize("seed", range(2))
def test_decoders_agree_on_damaged_blocks(tmp_path: Path, seed: int, monkeypatch: Any) -> None:
    """Or both reject them: fastavro's result counts if our decoder falls back."""
    chance = random.Random(seed)
    path = tmp_path / "m.avro"
    with path.open("wb") as file:
        fastavro.writer(file, manifest_schema(PARTITION), entries(chance, 60), codec="null", sync_interval=1000)
    whole = read_blocks(path.read_bytes(), "m")
    refused = 0
    for _ in range(60):
        blocks = list(whole.blocks)
        at = chance.randrange(len(blocks))
        count, data = blocks[at]
        damaged = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.choice([0, 1, 2, 4, 127, 128, 255, chance.randrange(256)])
        blocks[at] = (count, bytes(damaged))
        changed = replace(whole, blocks=blocks)
        monkeypatch.setattr(manifest, "_BLOCKS_MIN", 1)
        walked = decoded(changed)
        monkeypatch.setattr(manifest, "_BLOCKS_MIN", 1 << 30)
        monkeypatch.setattr(manifest, "_ENTRIES_MIN", 1 << 30)
        assert repr(walked) == repr(decoded(changed))  # NaN is equal to itself
        monkeypatch.undo()
        refused += walked is None
    assert 5 < refused < 60


@pytest.mark.parametrize("count", [1, 300])
def test_decimals_are_as_short_as_they_can_be(tmp_path: Path, count: int) -> None:
    """For any type width: a promoted column has the same value in manifests with different widths."""
    decimal = {"type": "fixed", "name": "wide", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 2}
    path = tmp_path / "m.avro"
    file_ = {"content": 0, "file_path": "p", "file_format": "parquet", "record_count": 1, "file_size_in_bytes": 2}
    values = {"price": Decimal("-1.28"), "again": Decimal("1.28"), "plain": b"\0\0\0\1", "none": None}
    fields = [(1000, "price", decimal), (1001, "again", "wide"), (1002, "plain", FIXED), (1003, "none", "wide")]
    with path.open("wb") as file:
        row = {"status": 1, "data_file": {**file_, "partition": values}}
        fastavro.writer(file, manifest_schema(fields), [row] * count, sync_interval=3000)
    found = decode_manifest(path.read_bytes(), "m").select(["p1000", "p1001", "p1002", "p1003"]).to_pylist()
    assert found == [{"p1000": b"\x80", "p1001": b"\0\x80", "p1002": b"\0\0\0\1", "p1003": None}] * count
