"""Columns that every table has, and that `*` does not show: where a row lies, and its lineage.

They are read where a statement names them, and a column of the table takes the place of one of its name. `_file`,
`_spec_id` and `_partition` are constants of a file, so conditions on them choose files. Rows have ids in tables of
version 3 alone. `_deleted` is no column here: rows that are deleted are not read.

Source: Iceberg table specification, "Reserved Field IDs", "Row Lineage".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from engine.iceberg.manifests.manifest import SPEC_ID
from engine.iceberg.snapshot.live_files import PARTITION
from engine.iceberg.snapshot.own_columns import OwnNames
from engine.iceberg.snapshot.partition_struct import PartitionStruct
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.types import IcebergSchema
from engine.table.scan import FILE_METADATA, RowTracking
from engine.types.sql_types import format_sql_type

FILE, POSITION, SPEC, PARTITION_VALUES = "_file", "_pos", "_spec_id", "_partition"
ROW_ID, SEQUENCE_NUMBER = "_row_id", "_last_updated_sequence_number"
_LINEAGE = (ROW_ID, SEQUENCE_NUMBER)
_LINEAGE_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenColumns:
    """`names` are those that are asked for. `row_tracking` None: no row has an id."""

    names: tuple[str, ...] = ()
    partitions: PartitionStruct | None = None
    row_tracking: RowTracking | None = None

    @property
    def are_of_scans(self) -> bool:
        """Whether a scan of files has all of them by itself."""
        return not set(self.names) - {FILE_METADATA}

    def constants(self, data: pa.Table, names: OwnNames) -> dict[str, Any]:
        """Texts by column of the scan, for each of these files."""
        found: dict[str, Any] = {}
        if FILE in self.names:
            found[names.hidden(FILE)] = data["file_path"]
        if SPEC in self.names:
            found[names.hidden(SPEC)] = data[SPEC_ID].cast(pa.string())
        if PARTITION_VALUES in self.names and self.partitions is not None:
            found[names.hidden(PARTITION_VALUES)] = _partition_texts(data, self.partitions)
        return found

    def listed(self, names: OwnNames) -> list[str]:
        """SQL for each of them, over a scan whose own hidden column is `names.place`."""
        return [f"{self._sql(name, names)} AS {name}" for name in self.names]

    def _sql(self, name: str, names: OwnNames) -> str:
        constant = names.hidden(name)
        match name:
            case "_pos":
                return f"{names.place}.row_index"
            case "_spec_id":
                return f"CAST({constant} AS INT)"
            case "_partition":
                assert self.partitions is not None and self.partitions.schema is not None
                kind = format_sql_type(self.partitions.schema).replace("\\", "\\\\").replace("'", "\\'")
                return f"from_json({constant}, '{kind}')"
            case "_row_id" | "_last_updated_sequence_number":
                field = "row_id" if name == ROW_ID else "row_commit_version"
                return "CAST(NULL AS BIGINT)" if self.row_tracking is None else f"{names.place}.{field}"
            case "_metadata":
                return names.place
            case _:
                return constant


NO_HIDDEN_COLUMNS = HiddenColumns()
_OF_FILES = frozenset([FILE, SPEC, PARTITION_VALUES])


def may_have(name: str, has_orc: bool) -> bool:
    """Whether a table has the column: no reader tells the place of a row in an ORC file."""
    return name in _OF_FILES or not has_orc


def asked_columns(
    metadata: TableMetadata, schema: IcebergSchema, row_tracking: RowTracking | None, asks: Callable[[str], bool]
) -> HiddenColumns:
    """Those whose names a statement may mean: `asks` says of a name whether its text has it."""
    own = {column.name.casefold() for column in schema.fields}
    partitions = PartitionStruct(metadata)
    known = [FILE, POSITION, SPEC]
    known += [PARTITION_VALUES] if partitions.schema is not None else []
    known += _LINEAGE if metadata.format_version >= _LINEAGE_VERSION else []
    names = tuple(name for name in (*known, FILE_METADATA) if name not in own and asks(name))
    return HiddenColumns(names=names, partitions=partitions, row_tracking=row_tracking)


def _partition_texts(data: pa.Table, partitions: PartitionStruct) -> pa.Array:
    """JSON of the partition of each file; files of one partition share it."""
    codes, firsts, places = np.unique(data[PARTITION].to_numpy(), return_index=True, return_inverse=True)
    rows = data.select([name for name in data.column_names if partitions.has(name)]).take(pa.array(firsts))
    texts = [json.dumps(partitions.of(row)) for row in rows.to_pylist()] if rows.num_columns else ["{}"] * len(codes)
    return pa.array(texts, pa.string()).take(pa.array(places))
