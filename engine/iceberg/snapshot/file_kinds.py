"""Encodings of data files, and what follows from them: where columns are described, and which are not read.

Spark's reader of ORC finds columns by the names that a file gives them, and tells no row by its index. So a row of such
a file is known by its values alone: it cannot be deleted by position, has no id, and is not changed in place. Defaults
of columns that a file lacks, which Iceberg's own reader does not know for ORC either, and types that are not sure to be
read as it reads them are not read; queries of other columns are answered.

An ORC file may not say by which calendar its dates were written, and times before 1900 are moved by the local mean time
of a zone. So a column is not read where bounds do not show that its dates are not before 1582-10-15, and its times not
before 1900. The bounds are required also where a file says its calendar.

Source: Iceberg table specification, "Appendix A: ORC".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergFeatureNotSupported
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.snapshot.avro_files import read_avro_headers, unread_in_avro
from engine.iceberg.snapshot.footers import FileColumns, MappedName, read_footers, read_orc_footers
from engine.iceberg.spec.types import IcebergField, Kind, SimpleType, walk
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


_FIRST = {
    Kind.DATE: (date(1582, 10, 15) - date(1970, 1, 1)).days,
    Kind.TIMESTAMPTZ: (date(1900, 1, 1) - date(1970, 1, 1)).days * 86_400_000_000,
}
"""The first value of a type that is surely read as it was written, as bounds have it: days, microseconds."""
_NOT_READ = frozenset([Kind.TIMESTAMP, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS, Kind.VARIANT])
"""Spark has no timestamp without a zone for those of ORC."""


def unread_in_orc(field: IcebergField, data: pa.Table, columns: Sequence[FileColumns]) -> str | None:
    """As `engine.iceberg.snapshot.avro_files.unread_in_avro`; `data` are the entries of the files."""
    kind = field.type.kind if isinstance(field.type, SimpleType) else None
    if field.initial_default is not None and any(field.id not in each.ids for each in columns):
        return f"the default of {field.name} for data files in ORC"
    if kind in _NOT_READ and any(field.id in each.ids for each in columns):
        return f"the column {field.name} of data files in ORC"
    if kind in _FIRST and _may_be_before(_FIRST[kind], data, columns, field.id):
        day = "1582-10-15" if kind is Kind.DATE else "1900-01-01"
        return f"the column {field.name} of data files in ORC whose values may be before {day}"
    return None


def _may_be_before(first: int, data: pa.Table, columns: Sequence[FileColumns], id: int) -> bool:
    """Whether a file that has the column has no bound of its values, or one below `first`, and not NULL alone."""
    bounds = metric(data, "lower_bounds", id).to_pylist()
    nulls, values = (metric(data, name, id).to_pylist() for name in ("null_value_counts", "value_counts"))
    for bound, num_nulls, num_values, each in zip(bounds, nulls, values, columns, strict=True):
        if id not in each.ids or (num_values is not None and num_nulls == num_values):
            continue
        if not bound or int.from_bytes(bound, "little", signed=True) < first:
            return True
    return False
