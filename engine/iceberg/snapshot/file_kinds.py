"""Data file formats and their restrictions: where columns are described, and which cannot be read.

Spark's ORC reader finds columns by the file's names, and does not provide row indexes. So a row in an ORC file is
identified by its values alone: it cannot be deleted by position, has no id, and is not changed in place. Not readable
are defaults for columns that a file lacks, which Iceberg's own ORC reader does not support either, and types that Spark
might read differently. Queries on other columns work.

An ORC file may not record the calendar for its dates, and times before 1900 are shifted by a zone's local mean time. So
a column is readable only if bounds prove that its dates are not before 1582-10-15, or its times not before 1900. The
bounds are required even if a file records its calendar.

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
    """Returns the data files' formats, as `FileKind` texts. Raises `IcebergFeatureNotSupported` for others."""
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
    """Returns the columns in files with one format. Raises `MalformedIcebergFile`."""
    match kind:
        case FileKind.PARQUET:
            return read_footers(storage, paths, mapping, decoded)
        case FileKind.ORC:
            return read_orc_footers(storage, paths, mapping, decoded)
        case FileKind.AVRO:
            return read_avro_headers(storage, paths, mapping, decoded)
        case FileKind.CSV | FileKind.JSON | FileKind.TEXT:
            raise AssertionError("no table has such files")
        case _:
            assert_never(kind)


def ensure_without_deletes(kind: FileKind, files: pa.Table, label: str) -> None:
    """Raises `IcebergFeatureNotSupported` if a scan's `files` need row indexes that the format does not provide."""
    if kind is not FileKind.PARQUET and files["deletion_vector"].null_count < files.num_rows:
        name = {FileKind.AVRO: "Avro"}.get(kind, kind.name)
        raise IcebergFeatureNotSupported(label, f"position deletes of data files in {name}")


def unread_part(kind: FileKind, column: IcebergField, data: pa.Table, columns: Sequence[FileColumns]) -> str | None:
    """Returns the part in a table's column that cannot be read from these files, with the entries `data`; None if all
    can.
    """
    for field in (column, *(each for _, each in walk(column.type))):
        found = None
        if kind is FileKind.ORC:
            found = unread_in_orc(field, data, columns)
        elif kind is FileKind.AVRO:
            found = unread_in_avro(field, columns)
        if found is not None:
            return found
    return None


# The first value that is read exactly as written, in the bounds' units: days, microseconds.
_FIRST = {
    Kind.DATE: (date(1582, 10, 15) - date(1970, 1, 1)).days,
    Kind.TIMESTAMPTZ: (date(1900, 1, 1) - date(1970, 1, 1)).days * 86_400_000_000,
}
# ORC timestamps without a zone have no Spark equivalent.
_NOT_READ = frozenset([Kind.TIMESTAMP, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS, Kind.VARIANT])


def unread_in_orc(field: IcebergField, data: pa.Table, columns: Sequence[FileColumns]) -> str | None:
    """Returns the result for ORC like `engine.iceberg.snapshot.avro_files.unread_in_avro`; `data` are the files'
    entries.
    """
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
    """Returns True if a file with the column has values beyond NULL, and no bound or one below `first`."""
    bounds = metric(data, "lower_bounds", id).to_pylist()
    nulls, values = (metric(data, name, id).to_pylist() for name in ("null_value_counts", "value_counts"))
    for bound, num_nulls, num_values, each in zip(bounds, nulls, values, columns, strict=True):
        if id not in each.ids or (num_values is not None and num_nulls == num_values):
            continue
        if not bound or int.from_bytes(bound, "little", signed=True) < first:
            return True
    return False
