"""Position deletes: reads deleted rows from deletion vectors and position delete files.

A deletion vector belongs to one data file, and supersedes all position delete files for it. It has the same bytes as
Delta's, so its descriptor is passed on. A position delete file applies to the data files that it names and that are in
its partition and not newer; its positions are converted into vectors here. Data files are matched by the exact path
text in their manifest.

Source: Iceberg table specification, "Scan Planning", "Position Delete Files", "Deletion Vectors"; Puffin
`deletion-vector-v1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po
import pyarrow.parquet as pq

from catalog.conditions import IcebergFeatureNotSupported, IcebergFileNotFound, MalformedIcebergFile
from engine.iceberg.manifests.avro import no_avro, read_rows
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.manifests.manifest import EQUALITY_DELETES, POSITION_DELETES
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.snapshot.live_files import PARTITION
from engine.iceberg.snapshot.places import Places
from engine.iceberg.writing.position_deletes import FILE_PATH_ID, POSITION_ID
from engine.storage.deletion_vectors import (
    ABSOLUTE,
    DELETION_VECTOR,
    FRAME_BYTES,
    INLINE,
    VECTOR_BYTES_MAX,
    Rows,
    parse_rows,
    unframe,
    z85_decode,
)
from engine.storage.storage import Storage
from engine.storage.vector_files import VectorRow, inline_vector

_FIELD_ID, _ORC_ID = b"PARQUET:field_id", b"iceberg.id"
_PUFFIN = "puffin"
_PARQUET = "parquet"
_OFFSET_MAX = 2**31 - 1

# Deleted rows by data file path as in manifests; ascending, without duplicates.
Positions = Mapping[str, Rows]


@dataclass(frozen=True, slots=True)
class DeleteReader:
    """Reads one table's position delete files, each once, in any data file format."""

    storage: Storage
    places: Places
    decoded: Decoded

    def positions(self, path: str, size: int, kind: str) -> Positions:
        """Returns a file's positions. `kind` is in `_KINDS`. Raises `MalformedIcebergFile`."""
        key = ("positions", self.storage.root, path, size)
        return self.decoded.get(
            key, lambda: self._read(path, kind), lambda found: sum(map(_bytes, found.values())) + 200
        )

    def _read(self, path: str, kind: str) -> Positions:
        try:
            with self.storage.open_input(self.places.path(path)) as file:
                paths, positions = _KINDS[kind](file, path)
            paths = paths.cast(pa.binary()).cast(pa.string())  # the cast validates UTF-8, even if it is text already
            positions = positions.cast(pa.int64())
        except (pa.ArrowException, OSError) as error:
            raise MalformedIcebergFile(path, str(error)[:100]) from error
        if paths.null_count or positions.null_count or (len(positions) and pc.min(positions).as_py() < 0):
            raise MalformedIcebergFile(path, "a deleted position is null or negative")
        return _by_path(paths, positions)


_COLUMNS = ((FILE_PATH_ID, "file_path"), (POSITION_ID, "pos"))
_Read = tuple[pa.ChunkedArray, pa.ChunkedArray]


def _read_parquet(file: BinaryIO, path: str) -> _Read:
    parquet = pq.ParquetFile(file)
    names = [_column(parquet.schema_arrow, _FIELD_ID, *each) for each in _COLUMNS]
    rows = parquet.read(columns=names)
    return rows[names[0]], rows[names[1]]


def _read_orc(file: BinaryIO, path: str) -> _Read:
    orc = po.ORCFile(file)
    names = [_column(orc.schema, _ORC_ID, *each) for each in _COLUMNS]
    rows = orc.read(columns=names)
    return rows[names[0]], rows[names[1]]


def _read_avro(file: BinaryIO, path: str) -> _Read:
    rows = read_rows(file.read(), path)
    with no_avro(path):
        columns = [[_of(row, *each) for row in rows] for each in _COLUMNS]
        return pa.chunked_array([pa.array(columns[0], pa.binary())]), pa.chunked_array(
            [pa.array(columns[1], pa.int64())]
        )


def _of(row: Mapping[str, Any], number: int, name: str) -> Any:
    """Looks up a value like `_column`, by the names that `engine.iceberg.manifests.avro` gives fields with and without
    an id.
    """
    known = f"x{number}"
    return row[known] if known in row else row[f"x_{name}"]


_KINDS: Mapping[str, Callable[[BinaryIO, str], _Read]] = {
    "parquet": _read_parquet,
    "orc": _read_orc,
    "avro": _read_avro,
}


def _column(schema: pa.Schema, key: bytes, number: int, name: str) -> str:
    """Finds a column by id; some writers omit ids, then by the specification's name."""
    ids = [each.name for each in schema if (each.metadata or {}).get(key) == str(number).encode()]
    if ids:
        return str(ids[0])
    if name not in schema.names:
        raise pa.ArrowInvalid(f"there is no column {name}")
    return name


def _by_path(paths: pa.ChunkedArray, positions: pa.ChunkedArray) -> Positions:
    if not len(paths):
        return {}
    encoded = paths.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes, rows = encoded.indices.to_numpy(), positions.to_numpy()
    order = np.lexsort((rows, codes))
    # "Position Delete Files" must be sorted by path and position, but not all writers do
    # it.
    codes, rows = codes[order], rows[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    names = encoded.dictionary.to_pylist()
    return {
        names[codes[start]]: np.unique(part) for start, part in zip(starts, np.split(rows, starts)[1:], strict=True)
    }


def _bytes(rows: Rows) -> int:
    return rows.size * rows.itemsize + 100


def vectors(data: pa.Table, deletes: pa.Table, reader: DeleteReader, table: str) -> pa.Array:
    """Returns each data file's deletion vector, as `DELETION_VECTOR`; null if it has no position deletes.

    Raises `MalformedIcebergFile`, `IcebergFeatureNotSupported`.
    """
    found = deletes.filter(pc.equal(deletes["content"], POSITION_DELETES))
    if not found.num_rows:
        return pa.nulls(data.num_rows, DELETION_VECTOR)
    kinds = pc.utf8_lower(found["file_format"])
    odd = pc.invert(pc.is_in(kinds, value_set=pa.array([_PUFFIN, *_KINDS])))
    if pc.any(odd).as_py():
        raise IcebergFeatureNotSupported(
            table, f"position deletes in {found['file_format'].filter(odd)[0].as_py()} files"
        )
    # A deletion vector in v3 supersedes position delete files for its data file, which may
    # remain in the snapshot after an upgrade.
    is_vector = pc.equal(kinds, _PUFFIN)
    described = _describe_vectors(data, found.filter(is_vector), reader.places)
    positions = _positions(data, found.filter(pc.invert(is_vector)), reader, described)
    rows: list[VectorRow | None] = [None] * data.num_rows
    for place, deleted in positions.items():
        rows[place] = inline_vector(deleted)
    for place, vector in described.items():
        rows[place] = vector
    return pa.array(rows, DELETION_VECTOR)


def _rows_of(data: pa.Table) -> Mapping[str, int]:
    return {path: row for row, path in enumerate(data["file_path"].to_pylist())}


def _describe_vectors(data: pa.Table, entries: pa.Table, places: Places) -> dict[int, VectorRow]:
    """Returns deletion vector descriptors, by their data file's row."""
    if not entries.num_rows:
        return {}
    rows = _rows_of(data)
    sequences, partitions = data["sequence_number"].to_numpy(), data[PARTITION].to_numpy()
    found: dict[int, VectorRow] = {}
    for entry in entries.select(_VECTOR_COLUMNS).to_pylist():
        place = rows.get(entry["referenced_data_file"])
        if entry["referenced_data_file"] is None or None in (entry["content_offset"], entry["content_size_in_bytes"]):
            raise MalformedIcebergFile(entry["file_path"], "a deletion vector in it has no place or no data file")
        # The data file was removed, or is in a manifest that was pruned.
        if place is None:
            continue
        # "Deletion Vectors": at most one per data file in a snapshot. With two it is
        # unclear which rows are deleted, so the table is rejected.
        if place in found:
            raise MalformedIcebergFile(entry["file_path"], f"{entry['referenced_data_file']} has two deletion vectors")
        # "Scan Planning": a delete applies only to data files that are not newer and in the
        # same partition.
        if entry["sequence_number"] < sequences[place] or entry[PARTITION] != partitions[place]:
            raise MalformedIcebergFile(
                entry["file_path"], "a deletion vector is older than its data file, or elsewhere"
            )
        if not 0 <= entry["content_offset"] <= _OFFSET_MAX or entry["content_size_in_bytes"] < FRAME_BYTES:
            raise MalformedIcebergFile(entry["file_path"], "a deletion vector lies where none can")
        found[place] = {
            "storage_type": ABSOLUTE,
            "path_or_inline_dv": reader_path(places, entry["file_path"]),
            "offset": entry["content_offset"],
            "size_in_bytes": entry["content_size_in_bytes"] - FRAME_BYTES,
            "cardinality": entry["record_count"],
        }
    return found


_VECTOR_COLUMNS = [
    "file_path",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
    "record_count",
    "sequence_number",
    PARTITION,
]


def reader_path(places: Places, text: str) -> str:
    """Returns the absolute path for a path in the metadata."""
    path = places.path(text)
    return path if path.startswith("/") or "://" in path else f"{places.root}/{path}"


def _positions(
    data: pa.Table, entries: pa.Table, reader: DeleteReader, described: Mapping[int, Any]
) -> dict[int, Rows]:
    """Returns deleted rows from position delete files, by the data file's row; files with a vector are excluded."""
    if not entries.num_rows:
        return {}
    rows = _rows_of(data)
    sequences, partitions = data["sequence_number"].to_numpy(), data[PARTITION].to_numpy()
    counts = data["record_count"].to_numpy()
    found: dict[int, list[Rows]] = {}
    for entry in (
        entries.select(["file_path", "file_format", "file_size_in_bytes", "sequence_number", PARTITION])
        .append_column("only", _only_paths(entries))
        .to_pylist()
    ):
        if entry["only"] is not None and not _applies(rows.get(entry["only"]), entry, sequences, partitions, described):
            continue
        deleted = reader.positions(entry["file_path"], entry["file_size_in_bytes"], entry["file_format"].lower())
        for path, part in deleted.items():
            place = rows.get(path)
            if place is not None and _applies(place, entry, sequences, partitions, described):
                # Positions beyond the file's rows delete nothing. They would make the
                # cardinality wrong, by which Spark verifies a vector.
                found.setdefault(place, []).append(part[part < counts[place]])
    unions = {place: _union(parts) for place, parts in found.items()}
    return {place: deleted for place, deleted in unions.items() if len(deleted)}


def _applies(place: int | None, entry: Any, sequences: Any, partitions: Any, described: Mapping[int, Any]) -> bool:
    if place is None or place in described:
        return False
    # Equal numbers apply too: a MERGE adds data files and position deletes in one snapshot.
    # For equality deletes the data file must be strictly older.
    return bool(entry["sequence_number"] >= sequences[place] and entry[PARTITION] == partitions[place])


def _only_paths(entries: pa.Table) -> pa.Array:
    """Returns the data file that a position delete file applies to, if it is a single one."""
    # Before `referenced_data_file` existed, writers expressed it by equal bounds of the
    # path column, whose metrics are never truncated in delete files.
    low, high = metric(entries, "lower_bounds", FILE_PATH_ID), metric(entries, "upper_bounds", FILE_PATH_ID)
    same = pc.if_else(pc.fill_null(pc.equal(low, high), False), low, pa.scalar(None, pa.binary()))
    named = entries["referenced_data_file"].combine_chunks()
    named = named if isinstance(named, pa.Array) else pa.concat_arrays(named.chunks)
    return pc.coalesce(named.cast(pa.binary()), same).cast(pa.string())


def rows_of(storage: Storage, vector: VectorRow | None) -> Rows:
    """Returns the rows in a vector from `vectors`. Raises like `unframe` and `parse_rows`."""
    if vector is None:
        return np.empty(0, np.int64)
    text, size = vector["path_or_inline_dv"], vector["size_in_bytes"]
    if vector["storage_type"] == INLINE:
        return parse_rows(z85_decode(text)[:size], "a file of positions", vector["cardinality"])
    if not 0 <= size <= VECTOR_BYTES_MAX:
        raise MalformedIcebergFile(text, "a deletion vector in it is larger than one can be")
    try:
        frame = storage.read_range(text, vector["offset"], size + FRAME_BYTES)
    except FileNotFoundError as error:
        raise IcebergFileNotFound(storage.root, text) from error
    return parse_rows(unframe(frame, size, text), text, vector["cardinality"])


def deleted_positions(entry: Mapping[str, Any], reader: DeleteReader) -> Positions:
    """Returns the positions in a live delete file (a `POSITION_DELETES` entry), by data file path.

    Raises like `vectors` and `rows_of`.
    """
    kind = entry["file_format"].lower()
    if kind != _PUFFIN:
        return reader.positions(entry["file_path"], entry["file_size_in_bytes"], kind)
    if None in (entry["referenced_data_file"], entry["content_offset"], entry["content_size_in_bytes"]):
        raise MalformedIcebergFile(entry["file_path"], "a deletion vector in it has no place or no data file")
    vector: VectorRow = {
        "storage_type": ABSOLUTE,
        "path_or_inline_dv": reader_path(reader.places, entry["file_path"]),
        "offset": entry["content_offset"],
        "size_in_bytes": entry["content_size_in_bytes"] - FRAME_BYTES,
        "cardinality": entry["record_count"],
    }
    return {entry["referenced_data_file"]: rows_of(reader.storage, vector)}


def with_rows(storage: Storage, deleted: pa.Array, more: Mapping[int, Rows]) -> pa.Array:
    """Adds rows to the vectors from `vectors`, by data file position. Raises like `rows_of`."""
    found = deleted.to_pylist()
    for place, rows in more.items():
        found[place] = inline_vector(np.union1d(rows_of(storage, found[place]), rows))
    return pa.array(found, DELETION_VECTOR)


def single_file_deletes(data: pa.Table, deletes: pa.Table) -> pa.Table:
    """Returns the entries for deletion vectors and position delete files that apply to one of these data files only."""
    found = deletes.filter(pc.equal(deletes["content"], POSITION_DELETES))
    if not found.num_rows:
        return found
    only = _only_paths(found)
    return found.filter(pc.is_in(only, value_set=data["file_path"].combine_chunks()))


def _union(parts: Sequence[Rows]) -> Rows:
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def equality_deletes(deletes: pa.Table, table: str) -> pa.Table:
    """Returns the equality delete entries. Raises `MalformedIcebergFile`, `IcebergFeatureNotSupported`."""
    found = deletes.filter(pc.equal(deletes["content"], EQUALITY_DELETES))
    if not found.num_rows:
        return found
    odd = pc.not_equal(pc.utf8_lower(found["file_format"]), _PARQUET)
    if pc.any(odd).as_py():
        raise IcebergFeatureNotSupported(
            table, f"equality deletes in {found['file_format'].filter(odd)[0].as_py()} files"
        )
    lengths = pc.fill_null(pc.list_value_length(found["equality_ids"]), 0)
    if pc.any(pc.equal(lengths, 0)).as_py():
        raise MalformedIcebergFile(found["file_path"].filter(pc.equal(lengths, 0))[0].as_py(), "it names no columns")
    return found
