"""The scan of a query's rows that are kept in files for the time of a statement (`engine.execution.writes.kept_rows`).

The files have columns of our names, which the scan maps to those of the query, whatever these are.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.planning.plans.reads import QueryColumn
from engine.planning.rules.query_columns import table_fields
from engine.sql.query.composed import Names
from engine.tables.scan import FILE_METADATA, NO_FILES, FileLayout, Scan
from engine.types.schema import PrimitiveType, StructField, StructType


def kept_scan(relation: str, columns: Sequence[QueryColumn], folder: str, metadata: str = FILE_METADATA) -> Scan:
    """A scan without files yet, below `folder`. Raises for columns that no file can have.

    Of columns of one name all but the first have another: a text that names them is refused before.
    """
    names = Names(column.name for column in columns)
    seen: set[str] = set()
    fields = []
    for field in table_fields(columns):
        name = names.new("column") if field.name.casefold() in seen else field.name
        seen.add(name.casefold())
        fields.append(StructField(name, field.data_type))
    stored = [StructField(f"c{at}", field.data_type) for at, field in enumerate(fields)]
    return Scan(
        relation=relation,
        label="the source",
        table_root=folder,
        schema=StructType(tuple(fields)),
        layout=FileLayout(schema=StructType(tuple(stored)), partition_keys=()),
        partition_columns=(),
        files=NO_FILES,
        metadata=metadata,
    )


def kept_columns(scan: Scan) -> StructType:
    """The columns of the files, by position; Parquet has no type for what is nothing but NULL."""
    assert scan.layout is not None
    return StructType(tuple(field for field in scan.layout.schema.fields if field.data_type is not PrimitiveType.VOID))
