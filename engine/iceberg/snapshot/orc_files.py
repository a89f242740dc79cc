"""Data files in ORC: which of them are read, the others are refused by name.

Spark's reader of ORC finds columns by the names that a file gives them, and tells no row by its index. So a row of such
a file is known by its values alone: it cannot be deleted by position, has no id, and is not changed in place. Defaults
of columns that a file lacks, which Iceberg's own reader does not know for ORC either, and types that are not sure to be
read as it reads them are refused.

Source: Iceberg table specification, "Appendix A: ORC".
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.snapshot.footers import FileColumns
from engine.iceberg.spec.errors import IcebergFeatureNotSupported
from engine.iceberg.spec.types import IcebergSchema, Kind, SimpleType, walk

_PARQUET, _ORC = "parquet", "orc"
_NOT_READ = frozenset([Kind.TIMESTAMP, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS])
"""Spark has no timestamp without a zone for those of ORC."""


def are_orc(data: pa.Table, label: str) -> pa.ChunkedArray:
    """Of data files. Raises `IcebergFeatureNotSupported` for those that are neither ORC nor Parquet."""
    kinds = pc.utf8_lower(data["file_format"])
    other = pc.invert(pc.is_in(kinds, value_set=pa.array([_PARQUET, _ORC])))
    if pc.any(other).as_py():
        raise IcebergFeatureNotSupported(label, f"data files of the format {data['file_format'].filter(other)[0]}")
    return pc.equal(kinds, _ORC)


def ensure_readable(schema: IcebergSchema, files: pa.Table, columns: Sequence[FileColumns], label: str) -> None:
    """Of files in ORC. Raises `IcebergFeatureNotSupported`."""
    if files["deletion_vector"].null_count < files.num_rows:
        raise IcebergFeatureNotSupported(label, "position deletes of data files in ORC")
    for _, field in walk(schema.struct):
        kind = field.type.kind if isinstance(field.type, SimpleType) else None
        if field.initial_default is not None and any(field.id not in each.ids for each in columns):
            raise IcebergFeatureNotSupported(label, f"the default of {field.name} for data files in ORC")
        if kind in _NOT_READ:
            raise IcebergFeatureNotSupported(label, f"the column {field.name} of data files in ORC")
