"""How data files are encoded, and what follows from it: where their columns are said, and what of them is not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergFeatureNotSupported
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.avro_files import read_avro_headers, unread_in_avro
from engine.iceberg.snapshot.footers import FileColumns, MappedName, read_footers, read_orc_footers
from engine.iceberg.snapshot.orc_files import unread_in_orc
from engine.iceberg.spec.types import IcebergField, walk
from engine.storage.storage import Storage
from engine.tables.scan import FileKind

_READ = (FileKind.PARQUET, FileKind.ORC, FileKind.AVRO)


def file_kinds(data: pa.Table, label: str) -> pa.ChunkedArray:
    """Of data files, as texts of `FileKind`. Raises `IcebergFeatureNotSupported` for others."""
    kinds = pc.utf8_lower(data["file_format"])
    other = pc.invert(pc.is_in(kinds, value_set=pa.array([kind.value for kind in _READ])))
    if pc.any(other).as_py():
        raise IcebergFeatureNotSupported(label, f"data files of the format {data['file_format'].filter(other)[0]}")
    return kinds


def file_columns(
    kind: FileKind,
    storage: Storage,
    paths: Sequence[str],
    mapping: tuple[MappedName, ...] | None,
    decoded: Decoded,
) -> list[FileColumns]:
    """What files of a kind say of their columns. Raises `MalformedIcebergFile`."""
    match kind:
        case FileKind.PARQUET:
            return read_footers(storage, paths, mapping, decoded)
        case FileKind.ORC:
            return read_orc_footers(storage, paths, mapping, decoded)
        case FileKind.AVRO:
            return read_avro_headers(storage, paths, mapping, decoded)
        case FileKind.CSV | FileKind.JSON:
            raise AssertionError("no table has such files")
        case _:
            assert_never(kind)


def ensure_unmarked(kind: FileKind, files: pa.Table, label: str) -> None:
    """`files` are those of a scan. Raises `IcebergFeatureNotSupported` where rows would have to be known by index."""
    if kind is not FileKind.PARQUET and files["deletion_vector"].null_count < files.num_rows:
        name = {FileKind.AVRO: "Avro"}.get(kind, kind.name)
        raise IcebergFeatureNotSupported(label, f"position deletes of data files in {name}")


def unread_part(kind: FileKind, column: IcebergField, data: pa.Table, columns: Sequence[FileColumns]) -> str | None:
    """What of a table's column is not read of these files, of which `data` are the entries; None: all is read."""
    for field in (column, *(each for _, each in walk(column.type))):
        found = None
        if kind is FileKind.ORC:
            found = unread_in_orc(field, data, columns)
        elif kind is FileKind.AVRO:
            found = unread_in_avro(field, columns)
        if found is not None:
            return found
    return None
