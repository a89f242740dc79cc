"""How data files are encoded, and what follows from it: where their columns are said, and what of them is not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.avro_files import ensure_avro_readable, read_avro_headers
from engine.iceberg.snapshot.footers import FileColumns, MappedName, read_footers, read_orc_footers
from engine.iceberg.snapshot.orc_files import ensure_orc_readable
from engine.iceberg.spec.errors import IcebergFeatureNotSupported
from engine.iceberg.spec.types import IcebergSchema
from engine.storage.storage import Storage
from engine.table.scan import FileKind

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


def ensure_readable(
    kind: FileKind,
    schema: IcebergSchema,
    files: pa.Table,
    data: pa.Table,
    columns: Sequence[FileColumns],
    label: str,
) -> None:
    """`files` are those of a scan, `data` their entries. Raises `IcebergFeatureNotSupported`."""
    if kind is FileKind.ORC:
        ensure_orc_readable(schema, files, data, columns, label)
    elif kind is FileKind.AVRO:
        ensure_avro_readable(schema, files, columns, label)
