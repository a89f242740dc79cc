"""The scan of a query's rows that are kept in files for the time of a statement (`engine.write.kept_rows`).

The files have columns of our names, which the scan maps to those of the query, whatever these are.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from engine.delta.log.file_table import FILES_SCHEMA
from engine.delta.schema.column_mapping import PHYSICAL_NAME
from engine.plan.rules.query_columns import table_fields
from engine.plans.reads import FILE_METADATA, QueryColumn, Scan
from engine.sql.query.composed import Names
from engine.types.schema import PrimitiveType, StructField, StructType

_BY_NAME = "name"
KEPT_FILES = pa.schema([FILES_SCHEMA.field(name) for name in ("path", "size", "modification_time", "partition_values")])


def kept_scan(relation: str, columns: Sequence[QueryColumn], folder: str, metadata: str = FILE_METADATA) -> Scan:
    """A scan without files yet, below `folder`. Raises for columns that no file can have.

    Of columns of one name all but the first have another: a text that names them is refused before.
    """
    names = Names(column.name for column in columns)
    seen: set[str] = set()
    fields = []
    for at, field in enumerate(table_fields(columns)):
        name = names.new("column") if field.name.casefold() in seen else field.name
        seen.add(name.casefold())
        fields.append(StructField(name, field.data_type, True, {PHYSICAL_NAME: f"c{at}"}))
    return Scan(
        relation=relation,
        label="the source",
        table_root=folder,
        schema=StructType(tuple(fields)),
        mapping_mode=_BY_NAME,
        partition_columns=(),
        files=KEPT_FILES.empty_table(),
        metadata=metadata,
    )


def kept_columns(scan: Scan) -> StructType:
    """The columns of the files, by position; Parquet has no type for what is nothing but NULL."""
    stored = [field for field in scan.schema.fields if field.data_type is not PrimitiveType.VOID]
    return StructType(tuple(StructField(field.metadata[PHYSICAL_NAME], field.data_type) for field in stored))
