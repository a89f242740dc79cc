"""Iceberg tables by hand: metadata as JSON, manifests by fastavro, files by pyarrow; any version, any deletes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from engine.storage.deletion_vectors import format_rows

LONG_COLUMNS = [{"id": 1, "name": "id", "required": False, "type": "long"}]
_COUNT_MAPS = {108: "column_sizes", 109: "value_counts", 110: "null_value_counts", 137: "nan_value_counts"}
_BOUND_MAPS = {125: "lower_bounds", 128: "upper_bounds"}
_KEYS = {108: (117, 118), 109: (119, 120), 110: (121, 122), 137: (138, 139), 125: (126, 127), 128: (129, 130)}


def optional(id: int, name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "field-id": id, "type": ["null", kind], "default": None}


def required(id: int, name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "field-id": id, "type": kind}


def _map(id: int, name: str, kind: str) -> dict[str, Any]:
    key, value = _KEYS[id]
    record = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [required(key, "key", "int"), required(value, "value", kind)],
    }
    return optional(id, name, {"type": "array", "items": record, "logicalType": "map"})


def manifest_schema(partition: Sequence[tuple[int, str, Any]]) -> dict[str, Any]:
    """`partition` has pairs with field id, name and Avro type."""
    fields = [
        required(134, "content", "int"),
        required(100, "file_path", "string"),
        required(101, "file_format", "string"),
        required(
            102, "partition", {"type": "record", "name": "r102", "fields": [optional(*each) for each in partition]}
        ),
        required(103, "record_count", "long"),
        required(104, "file_size_in_bytes", "long"),
        *(_map(id, name, "long") for id, name in _COUNT_MAPS.items()),
        *(_map(id, name, "bytes") for id, name in _BOUND_MAPS.items()),
        optional(131, "key_metadata", "bytes"),
        optional(132, "split_offsets", {"type": "array", "items": "long", "element-id": 133}),
        optional(135, "equality_ids", {"type": "array", "items": "int", "element-id": 136}),
        optional(140, "sort_order_id", "int"),
        optional(142, "first_row_id", "long"),
        optional(143, "referenced_data_file", "string"),
        optional(144, "content_offset", "long"),
        optional(145, "content_size_in_bytes", "long"),
    ]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            required(0, "status", "int"),
            optional(1, "snapshot_id", "long"),
            optional(3, "sequence_number", "long"),
            optional(4, "file_sequence_number", "long"),
            required(2, "data_file", {"type": "record", "name": "r2", "fields": fields}),
        ],
    }


_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        required(509, "contains_null", "boolean"),
        optional(518, "contains_nan", "boolean"),
        optional(510, "lower_bound", "bytes"),
        optional(511, "upper_bound", "bytes"),
    ],
}
MANIFEST_LIST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        required(500, "manifest_path", "string"),
        required(501, "manifest_length", "long"),
        required(502, "partition_spec_id", "int"),
        required(517, "content", "int"),
        required(515, "sequence_number", "long"),
        required(516, "min_sequence_number", "long"),
        required(503, "added_snapshot_id", "long"),
        required(504, "added_files_count", "int"),
        required(505, "existing_files_count", "int"),
        required(506, "deleted_files_count", "int"),
        required(512, "added_rows_count", "long"),
        required(513, "existing_rows_count", "long"),
        required(514, "deleted_rows_count", "long"),
        optional(507, "partitions", {"type": "array", "items": _SUMMARY, "element-id": 508}),
        optional(520, "first_row_id", "long"),
    ],
}


def write_avro(
    path: Path, schema: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], codec: str = "deflate"
) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows, codec=codec, metadata={"partition-spec-id": "0"})


def pairs(values: Mapping[int, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in values.items()]


@dataclass
class HandmadeTable:
    """A table where each `commit` is a snapshot with its own manifests in addition to earlier ones."""

    folder: Path
    columns: list[dict[str, Any]] = field(default_factory=lambda: list(LONG_COLUMNS))
    version: int = 2
    specs: list[dict[str, Any]] = field(default_factory=lambda: [{"spec-id": 0, "fields": []}])
    # For all specs: field id, name, Avro type.
    partition: Sequence[tuple[int, str, Any]] = ()
    properties: dict[str, str] = field(default_factory=dict)
    old_schemas: list[dict[str, Any]] = field(default_factory=list)
    refs: dict[str, Any] = field(default_factory=dict)
    # Additional metadata keys.
    extra: dict[str, Any] = field(default_factory=dict)
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    listed: list[dict[str, Any]] = field(default_factory=list)
    schema_id: int = 0
    metadata_version: int = 0
    files: int = 0

    def __post_init__(self) -> None:
        (self.folder / "metadata").mkdir(parents=True, exist_ok=True)
        (self.folder / "data").mkdir(exist_ok=True)

    # --- Files ---

    def data(
        self, rows: Mapping[str, Any] | pa.Table, ids: Mapping[str, int] | None = None, **entry: Any
    ) -> dict[str, Any]:
        """Returns a data file with these rows; its columns have the table's field ids, those in `ids`, or none ({})."""
        return self._file(0, rows, self.ids() if ids is None else ids, entry)

    def positions(self, paths: Sequence[str], rows: Sequence[int], **entry: Any) -> dict[str, Any]:
        columns = {"file_path": list(paths), "pos": pa.array(rows, pa.int64())}
        return self._file(1, columns, {"file_path": 2147483546, "pos": 2147483545}, entry)

    def equality(
        self, rows: Mapping[str, Any], by: Sequence[int], ids: Mapping[str, int] | None = None, **entry: Any
    ) -> dict[str, Any]:
        return self._file(2, rows, self.ids() if ids is None else ids, {"equality_ids": list(by), **entry})

    def vectors(self, deleted: Mapping[str, Sequence[int]], **entry: Any) -> list[dict[str, Any]]:
        """Returns deletion vectors for data files in one Puffin file, whose footer no reader uses."""
        path, blob, entries = self._new_path("puffin"), b"PFA1", []
        for referenced, rows in deleted.items():
            body = format_rows(pa.array(rows, pa.int64()).to_numpy())
            frame = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
            place = {"content_offset": len(blob), "content_size_in_bytes": len(frame)}
            blob += frame
            entries.append(
                {
                    "content": 1,
                    "file_path": path,
                    "file_format": "puffin",
                    "record_count": len(rows),
                    "referenced_data_file": referenced,
                    **place,
                    **entry,
                }
            )
        (self.folder / path.removeprefix(f"{self.location}/")).write_bytes(blob)
        return [{"file_size_in_bytes": len(blob), **each} for each in entries]

    def ids(self) -> dict[str, int]:
        return {column["name"]: column["id"] for column in self.columns}

    @property
    def location(self) -> str:
        return f"file://{self.folder}"

    def _new_path(self, ending: str) -> str:
        self.files += 1
        return f"{self.location}/data/{self.files:05}.{ending}"

    def _file(self, content: int, rows: Any, ids: Mapping[str, int], entry: Mapping[str, Any]) -> dict[str, Any]:
        table = rows if isinstance(rows, pa.Table) else pa.table(dict(rows))
        fields = [
            each.with_metadata({"PARQUET:field_id": str(ids[each.name])}) if each.name in ids else each
            for each in table.schema
        ]
        table = table.cast(pa.schema(fields))
        path = self._new_path("parquet")
        local = self.folder / path.removeprefix(f"{self.location}/")
        pq.write_table(table, local)
        return {
            "content": content,
            "file_path": path,
            "file_format": "PARQUET",
            "record_count": table.num_rows,
            "file_size_in_bytes": local.stat().st_size,
            **entry,
        }

    # --- Commits ---

    def commit(self, *files: Mapping[str, Any], spec: int = 0, operation: str = "append", **info: Any) -> int:
        """Commits these files in addition to earlier ones; returns the snapshot id. Keys that begin with `_` belong to
        the entry.
        """
        number = len(self.snapshots) + 1
        snapshot_id = 1000 + number
        for content, group in ((0, [f for f in files if f["content"] == 0]), (1, [f for f in files if f["content"]])):
            if group:
                self.listed.append(self.manifest(group, content, number, snapshot_id, spec))
        name = f"snap-{snapshot_id}.avro"
        write_avro(self.folder / "metadata" / name, MANIFEST_LIST, self.listed)
        self.snapshots.append(
            {
                "snapshot-id": snapshot_id,
                "sequence-number": number,
                "timestamp-ms": 1_700_000_000_000 + number * 60_000,
                "manifest-list": f"{self.location}/metadata/{name}",
                "summary": {"operation": operation},
                "schema-id": self.schema_id,
                **({"parent-snapshot-id": snapshot_id - 1} if number > 1 else {}),
                **info,
            }
        )
        self.write()
        return snapshot_id

    def manifest(
        self, files: Sequence[Mapping[str, Any]], content: int, number: int, snapshot_id: int, spec: int
    ) -> dict[str, Any]:
        name = f"m{number}-{content}-{spec}-{len(self.listed)}.avro"
        rows = []
        for file in files:
            own = {key.removeprefix("_"): value for key, value in file.items() if key.startswith("_")}
            inner = {key: value for key, value in file.items() if not key.startswith("_")}
            for key in (*_COUNT_MAPS.values(), *_BOUND_MAPS.values()):
                if isinstance(inner.get(key), dict):
                    inner[key] = pairs(inner[key])
            rows.append({"status": 1, **own, "data_file": {"partition": {}, **inner}})
        path = self.folder / "metadata" / name
        write_avro(path, manifest_schema(self.partition), rows)
        return {
            "manifest_path": f"{self.location}/metadata/{name}",
            "manifest_length": path.stat().st_size,
            "partition_spec_id": spec,
            "content": content,
            "sequence_number": number if self.version > 1 else 0,
            "min_sequence_number": number,
            "added_snapshot_id": snapshot_id,
            "added_files_count": len(files),
            "existing_files_count": 0,
            "deleted_files_count": 0,
            "added_rows_count": sum(file["record_count"] for file in files),
            "existing_rows_count": 0,
            "deleted_rows_count": 0,
        }

    def metadata(self) -> dict[str, Any]:
        current = self.snapshots[-1]["snapshot-id"] if self.snapshots else None
        return {
            "format-version": self.version,
            "table-uuid": "0b7a8a2e-0000-4000-8000-000000000001",
            "location": self.location,
            "last-sequence-number": len(self.snapshots),
            "last-updated-ms": 1_700_000_000_000,
            "last-column-id": 100,
            "current-schema-id": self.schema_id,
            "schemas": [*self.old_schemas, {"type": "struct", "schema-id": self.schema_id, "fields": self.columns}],
            "default-spec-id": self.specs[-1]["spec-id"],
            "last-partition-id": 1010,
            "partition-specs": self.specs,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": self.properties,
            "current-snapshot-id": current,
            "snapshots": self.snapshots,
            "snapshot-log": [
                {"timestamp-ms": s["timestamp-ms"], "snapshot-id": s["snapshot-id"]} for s in self.snapshots
            ],
            "metadata-log": [],
            "refs": self.refs,
            **({"next-row-id": 0} if self.version > 2 else {}),
            **self.extra,
        }

    def write(self) -> None:
        """Writes the next metadata version, and the hint to it."""
        self.metadata_version += 1
        path = self.folder / "metadata" / f"v{self.metadata_version}.metadata.json"
        path.write_text(json.dumps(self.metadata()))
        (self.folder / "metadata/version-hint.text").write_text(str(self.metadata_version))

    def evolve(self, columns: list[dict[str, Any]]) -> None:
        """Adds a schema without a snapshot."""
        self.old_schemas.append({"type": "struct", "schema-id": self.schema_id, "fields": self.columns})
        self.schema_id, self.columns = self.schema_id + 1, columns
        self.write()
