"""Columns of a scan that its table does not have: what they are called, and their values, constants of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from engine.iceberg.spec.types import IcebergField, IcebergSchema
from engine.tables.scan import RowTracking

ROW_LINEAGE = RowTracking(
    row_id_column="_row_id",
    row_commit_version_column="_last_updated_sequence_number",
    field_ids=(2_147_483_540, 2_147_483_539),
)
"""What files have of rows that they took over, from v3 on."""


class OwnNames:
    """Names of columns that no column of the table has."""

    def __init__(self, schema: IcebergSchema) -> None:
        taken = "\n".join(column.name.casefold() for column in schema.fields)
        stem = "__own"
        while stem in taken:
            stem += "_"
        self._stem = stem
        self.sequence, self.partition = f"{stem}_sequence", f"{stem}_partition"
        self.place, self.file, self.row = f"{stem}_place", f"{stem}_file", f"{stem}_row"
        names = [column.name.casefold() for column in schema.fields]
        self._twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()

    def column(self, column: IcebergField) -> str:
        """What a column is called in a scan: its name, unless that of another differs from it in case alone."""
        return f"{self._stem}_column_{column.id}" if column.name.casefold() in self._twice else column.name

    def hidden(self, name: str) -> str:
        """Of the constant that a column of this name, which `*` does not show, is made of."""
        return f"{self._stem}{name}_hidden"

    def filled(self, id: int) -> str:
        return f"{self._stem}_{id}"

    def key(self, id: int) -> str:
        return f"{self._stem}_key_{id}"


def with_constants(files: pa.Table, constants: Mapping[str, Any]) -> pa.Table:
    """Files with these texts or numbers, by name, beside the partition values that they have."""
    if not constants:
        return files
    count, old = files.num_rows, _one(files["partition_values"])
    kept = len(old.keys) // count if count else 0
    keys = [*old.keys[:kept].to_pylist(), *constants]
    columns = [old.items.take(pa.array(np.arange(count) * kept + place)) for place in range(kept)]
    columns += [_one(values).cast(pa.string()) for values in constants.values()]
    order = pa.array(np.arange(count * len(keys)).reshape(len(keys), count).T.ravel())
    items = pa.concat_arrays(columns).take(order) if count else pa.array([], pa.string())
    offsets = pa.array(np.arange(count + 1) * len(keys), pa.int32())
    at = files.schema.get_field_index("partition_values")
    values = pa.MapArray.from_arrays(offsets, pa.array(keys * count, pa.string()), items)
    return files.set_column(at, files.schema.field(at), values)


def _one(values: Any) -> pa.Array:
    return pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
