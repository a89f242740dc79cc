"""Writes a snapshot's manifest list: the only file that each commit attempt rewrites.

The list assigns new manifests their sequence number, and in v3 assigns first row ids to data manifests without one:
each receives as many ids as it has added or existing rows, an upper bound for the rows without an id.

Source: Iceberg table specification, "Manifest Lists", "First Row ID Assignment".
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from engine.iceberg.manifests.manifest_list import FieldSummary, Manifest
from engine.iceberg.writing.avro_file import encode_blocks, file_bytes
from engine.iceberg.writing.manifest_schemas import list_schema
from engine.iceberg.writing.manifest_writer import UNASSIGNED
from engine.iceberg.writing.written_table import WrittenTable
from engine.storage.storage import METADATA_FOLDER, Storage

_LINEAGE_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSnapshot:
    """A snapshot to write. `next_row_id` is the table's previous one, in v3; `attempt` counts the commit attempts."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    next_row_id: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenList:
    """A written list: `path` as in the metadata, `name` relative to the table's folder.

    In v3 `first_row_id` and `added_rows` are the snapshot's; their sum is the table's next row id.
    """

    path: str
    name: str
    manifests: tuple[Manifest, ...]
    data: bytes = field(repr=False)
    first_row_id: int | None = None
    added_rows: int | None = None


def write_manifest_list(
    storage: Storage, table: WrittenTable, manifests: Sequence[Manifest], new: NewSnapshot
) -> WrittenList:
    """Writes `metadata/snap-<id>-<attempt>-<uuid>.avro`."""
    version = table.format_version
    with_sequence_numbers = [
        _with_sequence_number(each, new.sequence_number if version > 1 else 0) for each in manifests
    ]
    next_id = new.next_row_id
    if version >= _LINEAGE_VERSION:
        with_sequence_numbers, next_id = _with_row_ids(with_sequence_numbers, next_id)
    header = {
        "snapshot-id": str(new.snapshot_id),
        "parent-snapshot-id": "null" if new.parent_id is None else str(new.parent_id),
        "sequence-number": str(new.sequence_number),
        "format-version": str(version),
        **({"first-row-id": str(new.next_row_id)} if version >= _LINEAGE_VERSION else {}),
    }
    schema = list_schema(version)
    data = file_bytes(
        schema, encode_blocks(schema, _records(with_sequence_numbers, schema), table.codec), table.codec, header
    )
    name = f"{METADATA_FOLDER}/snap-{new.snapshot_id}-{new.attempt}-{uuid.uuid4()}.avro"
    storage.write(name, data)
    has_ids = version >= _LINEAGE_VERSION
    return WrittenList(
        path=f"{table.location}/{name}",
        name=name,
        manifests=tuple(with_sequence_numbers),
        data=data,
        first_row_id=new.next_row_id if has_ids else None,
        added_rows=next_id - new.next_row_id if has_ids else None,
    )


def _with_sequence_number(manifest: Manifest, number: int) -> Manifest:
    return replace(
        manifest,
        sequence_number=number if manifest.sequence_number == UNASSIGNED else manifest.sequence_number,
        min_sequence_number=number if manifest.min_sequence_number == UNASSIGNED else manifest.min_sequence_number,
    )


def _with_row_ids(manifests: Sequence[Manifest], next_id: int) -> tuple[list[Manifest], int]:
    found = []
    for each in manifests:
        if not each.has_deletes and each.first_row_id is None:
            each = replace(each, first_row_id=next_id)
            next_id += (each.added[1] or 0) + (each.existing[1] or 0)
        found.append(each)
    return found, next_id


_SUMMARY = pa.list_(
    pa.struct(
        [
            ("contains_null", pa.bool_()),
            ("contains_nan", pa.bool_()),
            ("lower_bound", pa.binary()),
            ("upper_bound", pa.binary()),
        ]
    )
)


def _records(manifests: Sequence[Manifest], schema: dict[str, list[dict[str, str]]]) -> pa.StructArray:
    columns = {
        "manifest_path": pa.array([each.path for each in manifests], pa.string()),
        "manifest_length": _longs([each.length for each in manifests]),
        "partition_spec_id": _longs([each.spec_id for each in manifests]),
        "content": _longs([int(each.has_deletes) for each in manifests]),
        "sequence_number": _longs([each.sequence_number for each in manifests]),
        "min_sequence_number": _longs([each.min_sequence_number for each in manifests]),
        "added_snapshot_id": _longs([each.added_snapshot_id for each in manifests]),
        "added_files_count": _longs([each.added[0] for each in manifests]),
        "existing_files_count": _longs([each.existing[0] for each in manifests]),
        "deleted_files_count": _longs([each.deleted[0] for each in manifests]),
        "added_rows_count": _longs([each.added[1] for each in manifests]),
        "existing_rows_count": _longs([each.existing[1] for each in manifests]),
        "deleted_rows_count": _longs([each.deleted[1] for each in manifests]),
        "partitions": pa.array([[_summary(part) for part in each.partitions] for each in manifests], _SUMMARY),
        "key_metadata": pa.nulls(len(manifests), pa.binary()),
        "first_row_id": _longs([each.first_row_id for each in manifests]),
    }
    names = [each["name"] for each in schema["fields"]]
    return pa.StructArray.from_arrays([columns[name] for name in names], names)


def _longs(values: Sequence[int | None]) -> pa.Array:
    return pa.array(values, pa.int64())


def _summary(part: FieldSummary) -> dict[str, object]:
    return {
        "contains_null": part.contains_null is not False,  # required in a list; unknown counts as true
        "contains_nan": part.contains_nan,
        "lower_bound": part.lower,
        "upper_bound": part.upper,
    }
