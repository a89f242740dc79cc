"""Hidden columns that every table has and `*` does not include: a row's position and its lineage.

They are read if a statement names them, and a table column with the same name takes precedence. `_file`, `_spec_id` and
`_partition` are file constants, so conditions on them prune files. Only version 3 tables have row ids. `_deleted` is
not supported: deleted rows are not read.

Source: Iceberg table specification, "Reserved Field IDs", "Row Lineage".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from engine.iceberg.manifests.manifest import SPEC_ID
from engine.iceberg.partitions.partition_struct import PartitionStruct
from engine.iceberg.snapshot.column_names import OwnNames
from engine.iceberg.snapshot.live_files import PARTITION
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.types import IcebergSchema
from engine.tables.scan import FILE_METADATA, RowTracking
from engine.types.schema import PrimitiveType, StructType
from engine.types.sql_types import ddl_type


class HiddenColumn(StrEnum):
    FILE = "_file"
    POSITION = "_pos"
    SPEC = "_spec_id"
    PARTITION = "_partition"
    ROW_ID = "_row_id"
    SEQUENCE_NUMBER = "_last_updated_sequence_number"
    # Spark's hidden column, which a file scan provides and a query over scans does not.
    METADATA = FILE_METADATA


_OF_FILES = frozenset([HiddenColumn.FILE, HiddenColumn.SPEC, HiddenColumn.PARTITION])
_LINEAGE = frozenset([HiddenColumn.ROW_ID, HiddenColumn.SEQUENCE_NUMBER])
_LINEAGE_VERSION = 3
_TIMES = frozenset([PrimitiveType.DATE, PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ])


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenColumns:
    """The requested hidden columns in `names`. `row_tracking` None: rows have no ids."""

    names: tuple[HiddenColumn, ...] = ()
    partitions: PartitionStruct | None = None
    row_tracking: RowTracking | None = None

    @property
    def are_of_scans(self) -> bool:
        """Returns True if a file scan provides all columns itself."""
        return not set(self.names) - {HiddenColumn.METADATA}

    def constants(self, data: pa.Table, names: OwnNames) -> dict[str, Any]:
        """Returns texts for each file, by scan column."""
        found: dict[str, Any] = {}
        for column in self.names:
            own = names.hidden_name(column)
            if column is HiddenColumn.FILE:
                found[own] = data["file_path"]
            if column is HiddenColumn.SPEC:
                found[own] = data[SPEC_ID].cast(pa.string())
            if column is HiddenColumn.PARTITION and self.partitions is not None and self.partitions.schema is not None:
                found[own] = _partition_texts(data, self.partitions)
        return found

    def path_constants(self, names: OwnNames) -> tuple[str, ...]:
        """Returns the constants that contain file paths."""
        return (names.hidden_name(HiddenColumn.FILE),) if HiddenColumn.FILE in self.names else ()

    def select_items(self, names: OwnNames) -> list[str]:
        """Returns SQL for each column, over a scan whose own hidden column is `names.place`."""
        return [f"{self._sql(column, names)} AS {column}" for column in self.names]

    def _sql(self, column: HiddenColumn, names: OwnNames) -> str:
        constant = names.hidden_name(column)
        match column:
            case HiddenColumn.FILE:
                return constant
            case HiddenColumn.SPEC:
                return f"CAST({constant} AS INT)"
            case HiddenColumn.PARTITION:
                schema = None if self.partitions is None else self.partitions.schema
                return "CAST(NULL AS STRUCT<>)" if schema is None else _partition_sql(constant, schema)
            case HiddenColumn.POSITION:
                return f"{names.place}.row_index"
            case HiddenColumn.METADATA:
                return names.place
            case HiddenColumn.ROW_ID | HiddenColumn.SEQUENCE_NUMBER if self.row_tracking is None:
                return "CAST(NULL AS BIGINT)"
            case HiddenColumn.ROW_ID:
                return f"{names.place}.row_id"
            case HiddenColumn.SEQUENCE_NUMBER:
                return f"{names.place}.row_commit_version"
            case _:
                assert_never(column)


def _partition_sql(text: str, schema: StructType) -> str:
    """Returns SQL that casts texts: JSON time parsing depends on session settings, casts do not."""
    stored = (
        replace(each, data_type=PrimitiveType.STRING) if each.data_type in _TIMES else each for each in schema.fields
    )
    kind = ddl_type(StructType(tuple(stored))).replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST(from_json({text}, '{kind}') AS {ddl_type(schema)})"


NO_HIDDEN_COLUMNS = HiddenColumns()


def requested_columns(
    metadata: TableMetadata, schema: IcebergSchema, row_tracking: RowTracking | None, asks: Callable[[str], bool]
) -> HiddenColumns:
    """Returns the hidden columns that a statement may reference; `asks` returns True if its text contains a name. The
    table must be in Parquet.
    """
    own = {column.name.casefold() for column in schema.fields}
    partitions = PartitionStruct(metadata)
    absent = set() if metadata.format_version >= _LINEAGE_VERSION else set(_LINEAGE)
    names = tuple(each for each in HiddenColumn if each not in absent and each not in own and asks(each))
    return HiddenColumns(names=names, partitions=partitions, row_tracking=row_tracking)


def of_files_alone(columns: HiddenColumns) -> HiddenColumns:
    """Removes row positions, for a table with files whose rows have none."""
    return replace(columns, names=tuple(each for each in columns.names if each in _OF_FILES))


def _partition_texts(data: pa.Table, partitions: PartitionStruct) -> pa.Array:
    """Returns each file's partition as JSON; computed once per partition."""
    codes, firsts, places = np.unique(data[PARTITION].to_numpy(), return_index=True, return_inverse=True)
    rows = data.select([name for name in data.column_names if partitions.has(name)]).take(pa.array(firsts))
    texts = [json.dumps(partitions.of(row)) for row in rows.to_pylist()] if rows.num_columns else ["{}"] * len(codes)
    return pa.array(texts, pa.string()).take(pa.array(places))
