"""A snapshot's manifests: from its manifest list, or named in a v1 table's metadata.

Source: Iceberg table specification, "Manifest Lists", "Sequence Number Inheritance".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.manifests.avro import read_rows
from engine.iceberg.manifests.manifest import spec_id_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSummary:
    """A partition field's summary over a manifest's files: bounds are serialized values, None if unknown."""

    contains_null: bool | None
    contains_nan: bool | None
    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A manifest as its snapshot lists it, with the values that its entries inherit. `length` in bytes, None if
    unknown.

    Counts are pairs (files, rows), None if the list does not have them.
    """

    path: str
    length: int | None
    spec_id: int
    has_deletes: bool
    sequence_number: int
    added_snapshot_id: int | None
    first_row_id: int | None
    added: tuple[int | None, int | None] = (None, None)
    existing: tuple[int | None, int | None] = (None, None)
    deleted: tuple[int | None, int | None] = (None, None)
    partitions: tuple[FieldSummary, ...] = ()
    # The live files' minimum data sequence number.
    min_sequence_number: int = 0


def decode_manifest_list(data: bytes, source: str) -> tuple[Manifest, ...]:
    """Decodes a manifest list. Raises `MalformedIcebergFile`."""
    rows = read_rows(data, source)
    try:
        return tuple(_manifest(row, source) for row in rows)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedIcebergFile(source, f"no manifest list ({type(error).__name__}: {error})") from error


def named_manifest(path: str, snapshot_id: int, read: Callable[[str], bytes]) -> Manifest:
    """Returns a manifest that a v1 table names without a list."""
    return Manifest(
        path=path,
        length=None,
        spec_id=spec_id_of(read(path), path),
        has_deletes=False,
        sequence_number=0,
        added_snapshot_id=snapshot_id,
        first_row_id=None,
    )


def _manifest(row: dict[str, Any], source: str) -> Manifest:
    if row.get("key_metadata"):
        raise MalformedIcebergFile(source, "it names an encrypted manifest")
    content = row.get("content") or 0
    if content not in (0, 1):
        raise MalformedIcebergFile(source, f"a manifest has the content {content}")
    return Manifest(
        path=row["manifest_path"].decode(),
        length=_number(row, "manifest_length"),
        spec_id=_number(row, "partition_spec_id") or 0,
        has_deletes=content == 1,
        sequence_number=_number(row, "sequence_number") or 0,
        added_snapshot_id=_number(row, "added_snapshot_id"),
        first_row_id=_number(row, "first_row_id"),
        added=(_number(row, "added_files_count"), _number(row, "added_rows_count")),
        existing=(_number(row, "existing_files_count"), _number(row, "existing_rows_count")),
        deleted=(_number(row, "deleted_files_count"), _number(row, "deleted_rows_count")),
        partitions=tuple(
            FieldSummary(
                contains_null=each.get("contains_null"),
                contains_nan=each.get("contains_nan"),
                lower=each.get("lower_bound"),
                upper=each.get("upper_bound"),
            )
            for each in row.get("partitions") or ()
        ),
        min_sequence_number=_number(row, "min_sequence_number") or 0,
    )


def _number(row: dict[str, Any], name: str) -> int | None:
    found = row.get(name)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
        raise ValueError(f"{name} is {str(found)[:20]!r}")
    return found
