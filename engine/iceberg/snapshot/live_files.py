"""A snapshot's live files: its manifests' entries with inherited values.

One row per file, in manifest order. Missing sequence numbers and snapshot ids are inherited from the manifest. A null
first row id is derived from the manifest's and the preceding entries' row counts. The checks cover errors that would
cause wrong results: values that must not be inherited, a data file that is live twice, encrypted files, unknown
contents.

Source: Iceberg table specification, "Manifest Entry Fields", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.manifests.decoding import decode_all
from engine.iceberg.manifests.manifest import (
    ADDED,
    DATA,
    DELETED,
    ENTRIES,
    EQUALITY_DELETES,
    EXISTING,
    PARTITION_PREFIX,
    SPEC_ID,
)
from engine.iceberg.manifests.manifest_list import Manifest
from engine.iceberg.manifests.metrics import METRICS
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.types import IcebergSchema
from engine.types.value_bytes import value_bytes

# A number for each pair (spec, partition).
PARTITION = "partition"

LIVE = pa.schema([*ENTRIES, (SPEC_ID, pa.int32())])


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFiles:
    """`data` and `deletes` have the `LIVE` columns, `PARTITION` and the partition values (`p<field id>`)."""

    data: pa.Table
    deletes: pa.Table


class FilesOfTable(Protocol):
    """A table and its files. `files` and `live_files.data` are aligned row by row."""

    @property
    def metadata(self) -> TableMetadata:
        """Returns the metadata of the table version."""
        ...

    @property
    def iceberg_schema(self) -> IcebergSchema:
        """Returns the schema with field ids, in which the rows are read."""
        ...

    @property
    def files(self) -> pa.Table:
        """Returns the live data files in the form of `TableSnapshot.files`."""
        ...

    @property
    def live_files(self) -> LiveFiles:
        """Returns the manifest entries of data files and deletes."""
        ...

    @property
    def has_equality_deletes(self) -> bool:
        """Returns True if an equality delete may apply to a file; then rows cannot be located by position alone."""
        ...


def live_files(
    manifests: Iterable[Manifest],
    read_all: Callable[[list[str]], Iterator[bytes]],
    decoded: Decoded,
    root: str,
    format_version: int,
    *,
    is_whole: bool = True,
) -> LiveFiles:
    """Reads the manifests' live files. `root` is part of the keys in `decoded`; `is_whole`: a complete snapshot.

    Raises `MalformedIcebergFile`, and errors from `read_all`.
    """
    listed = list(manifests)
    found = live_entries(listed, read_all, decoded, root, format_version)
    data = _concat([table for table, each in zip(found, listed, strict=True) if not each.has_deletes])
    deletes = _concat([table for table, each in zip(found, listed, strict=True) if each.has_deletes])
    # A pruned set may lack the other entry of a duplicate, so that the check would prove
    # nothing.
    if is_whole:
        _ensure_contents(data, deletes)
    codes = partition_codes([data, deletes])
    data, deletes = (table.append_column(PARTITION, code) for table, code in zip((data, deletes), codes, strict=True))
    return LiveFiles(data=data, deletes=deletes)


def live_entries(
    manifests: list[Manifest],
    read_all: Callable[[list[str]], Iterator[bytes]],
    decoded: Decoded,
    root: str,
    format_version: int,
) -> list[pa.Table]:
    """Returns each manifest's live entries, with the `LIVE` columns and the partition values. Raises like
    `live_files`.
    """
    tables = _decode_all(manifests, read_all, decoded, root)
    return [_inherit_values(table, manifest, format_version) for table, manifest in zip(tables, manifests, strict=True)]


def removed_entries(
    manifests: list[Manifest], read_all: Callable[[list[str]], Iterator[bytes]], decoded: Decoded, root: str
) -> list[pa.Table]:
    """Returns each manifest's entries for removed files, unchanged. Raises like `live_files`."""
    return [
        table.filter(pc.equal(table["status"], DELETED)) for table in _decode_all(manifests, read_all, decoded, root)
    ]


def _decode_all(
    manifests: list[Manifest], read_all: Callable[[list[str]], Iterator[bytes]], decoded: Decoded, root: str
) -> list[pa.Table]:
    """Decodes each manifest once; uncached files are fetched together in advance."""
    tables: list[pa.Table | None] = []
    missing: list[int] = []
    for position, manifest in enumerate(manifests):
        try:
            tables.append(decoded.get(_key(root, manifest), _absent, value_bytes))
        except _Absent:
            tables.append(None)
            missing.append(position)
    paths = [manifests[each].path for each in missing]
    read = zip(paths, read_all(paths), strict=True)
    for position, table in zip(missing, decode_all(read), strict=True):
        # Path and length identify a manifest: it is never changed after it was written.
        tables[position] = decoded.get(_key(root, manifests[position]), partial(_same, table), value_bytes)
    return [table for table in tables if table is not None]


def _same(table: pa.Table) -> pa.Table:
    return table


class _Absent(Exception):
    """Marks a manifest that is not decoded yet."""


def _absent() -> pa.Table:
    raise _Absent()


def _key(root: str, manifest: Manifest) -> tuple[object, ...]:
    return ("manifest", root, manifest.path, manifest.length)


def _inherit_values(entries: pa.Table, manifest: Manifest, format_version: int) -> pa.Table:
    """Returns one manifest's live entries, with all inherited values."""
    status = entries["status"]
    wrong = pc.any(pc.invert(pc.is_in(status, value_set=pa.array([EXISTING, ADDED, DELETED], pa.int8())))).as_py()
    if wrong:
        raise MalformedIcebergFile(manifest.path, "an entry has a status that is not known")
    if entries["key_metadata"].null_count < entries.num_rows:
        # A reader without the key would return garbage rather than an error for some
        # formats.
        raise MalformedIcebergFile(manifest.path, "it names encrypted files")
    entries = _with(entries, "first_row_id", _row_ids(entries, manifest))
    # After assigning row ids, which count the rows in preceding entries.
    gone = pc.equal(status, DELETED)
    live = entries.filter(pc.invert(gone)) if pc.any(gone).as_py() else entries
    # Writers may leave the id null so that a manifest can be reused by a retry with the same
    # content.
    live = _with(
        live, "snapshot_id", pc.fill_null(live["snapshot_id"], pa.scalar(manifest.added_snapshot_id, pa.int64()))
    )
    for name in ("sequence_number", "file_sequence_number"):
        live = _with(live, name, _sequence_numbers(live, name, manifest, format_version))
    return live.append_column(SPEC_ID, pa.array(np.full(live.num_rows, manifest.spec_id, np.int32)))


def _sequence_numbers(live: pa.Table, name: str, manifest: Manifest, format_version: int) -> Any:
    numbers = live[name]
    if not numbers.null_count:
        return numbers
    # Entries in v1 manifests have no sequence numbers, even in an upgraded table; their manifest's number is 0.
    inherits = format_version == 1 or manifest.sequence_number == 0
    if not inherits and pc.any(pc.and_(numbers.is_null(), pc.equal(live["status"], EXISTING))).as_py():
        raise MalformedIcebergFile(manifest.path, f"an existing entry has no {name}, which only added ones inherit")
    return pc.fill_null(numbers, manifest.sequence_number)


def _row_ids(entries: pa.Table, manifest: Manifest) -> Any:
    """Fills null ids: starting at the manifest's id, counting the rows in preceding entries without own ids."""
    ids = entries["first_row_id"]
    # Only data files have row ids ("Row Lineage").
    if manifest.first_row_id is None or manifest.has_deletes or not ids.null_count:
        return ids
    unset = ids.is_null().to_numpy()
    counts = np.where(unset, entries["record_count"].to_numpy(), 0)
    first = manifest.first_row_id + np.cumsum(counts) - counts
    return pc.if_else(ids.is_null(), pa.array(first, pa.int64()), ids)


def _with(table: pa.Table, name: str, values: Any) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)


def _concat(tables: list[pa.Table]) -> pa.Table:
    """Concatenates tables; the partition columns differ by spec, and missing ones are null."""
    if not tables:
        return LIVE.empty_table()
    try:
        found = pa.concat_tables(tables, promote_options="default")
    except pa.ArrowException as error:
        raise MalformedIcebergFile("The manifests", f"their partition values do not fit ({str(error)[:80]})") from error
    whole = found.drop_columns(METRICS).combine_chunks()
    for name in METRICS:  # by far the most bytes, shared with cached manifests
        whole = whole.append_column(name, found[name])
    return whole


def _ensure_contents(data: pa.Table, deletes: pa.Table) -> None:
    paths = data["file_path"]
    if pc.count_distinct(paths).as_py() < len(paths):
        counts = pc.value_counts(paths)
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")[0].as_py()
        raise MalformedIcebergFile("The manifest list", f"{twice} is live twice, so its rows would be doubled")
    if pc.any(pc.not_equal(data["content"], DATA)).as_py():
        raise MalformedIcebergFile("A manifest of data files", "it names a file of deletes")
    contents = deletes["content"]
    if pc.any(pc.or_(pc.less_equal(contents, DATA), pc.greater(contents, EQUALITY_DELETES))).as_py():
        raise MalformedIcebergFile("A manifest of deletes", "it names a file of a content that is not known")
    for name in ("record_count", "file_size_in_bytes"):
        for table in (data, deletes):
            minimum = pc.min(table[name]).as_py()
            if minimum is not None and minimum < 0:
                raise MalformedIcebergFile("A manifest", f"a file has the {name} {minimum}")


def partition_codes(tables: list[pa.Table]) -> list[pa.Array]:
    """Returns a number per row, equal if and only if spec and partition values are equal; NaN equals NaN."""
    names = sorted({name for table in tables for name in table.column_names if _is_partition(name)})
    rows = sum(table.num_rows for table in tables)
    codes = np.concatenate([table[SPEC_ID].to_numpy() for table in tables]).astype(np.int64)
    for name in names:
        kinds = [table.schema.field(name).type for table in tables if name in table.column_names]
        kind = next((each for each in kinds if not pa.types.is_null(each)), pa.null())
        if pa.types.is_null(kind):
            continue
        pieces = [
            table[name].cast(kind) if name in table.column_names else pa.chunked_array([pa.nulls(table.num_rows, kind)])
            for table in tables
        ]
        column = pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], kind)
        if pa.types.is_floating(kind):  # by bits: -0.0 and 0.0 are two partitions
            filled = column.fill_null(0.0).to_numpy()
            bits = np.where(np.isnan(filled), np.float64("nan"), filled).view(np.int64)
            column = pa.chunked_array([pa.array(bits, mask=column.is_null().to_numpy())])
        found = column.combine_chunks().dictionary_encode() if len(column) else None
        if found is None:
            continue
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        # Null is a partition value of its own: two nulls are in one partition.
        index = found.indices.fill_null(len(found.dictionary)).to_numpy().astype(np.int64)
        pairs = codes * (len(found.dictionary) + 1) + index
        codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    assert len(codes) == rows
    result, first = [], 0
    for table in tables:
        result.append(pa.array(codes[first : first + table.num_rows], pa.int64()))
        first += table.num_rows
    return result


def _is_partition(name: str) -> bool:
    return name.startswith(PARTITION_PREFIX) and name[1:].isdecimal()
