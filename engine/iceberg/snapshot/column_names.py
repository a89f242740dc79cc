"""Column names in a scan: names that avoid the table's columns, and names that allow filter pushdown.

Additional columns are file constants. Spark pushes conditions by name, and a file may use the name for another column.
So a column is pushed only if, in every schema that the table ever had, its name denoted no other column and the column
had no other name; if one such schema is missing from the metadata, no column is pushed. Files that lack the name are
read without the condition.

Source: Iceberg table specification, "Schema Evolution", "Column Projection".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from engine.iceberg.spec.types import IcebergField, IcebergSchema
from engine.tables.scan import RowTracking

# Row lineage columns in files with copied rows, from v3 on.
ROW_LINEAGE = RowTracking(
    row_id_column="_row_id",
    row_commit_version_column="_last_updated_sequence_number",
    field_ids=(2_147_483_540, 2_147_483_539),
)


class OwnNames:
    """Column names that no table column has."""

    def __init__(self, schema: IcebergSchema) -> None:
        taken = "\n".join(column.name.casefold() for column in schema.fields)
        stem = "__own"
        while stem in taken:
            stem += "_"
        self._stem = stem
        self.sequence = f"{stem}_sequence"
        self.partition = f"{stem}_partition"
        self.place = f"{stem}_place"
        self.file = f"{stem}_file"
        self.row = f"{stem}_row"
        names = [column.name.casefold() for column in schema.fields]
        self._twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()

    def column(self, column: IcebergField) -> str:
        """Returns a column's name in a scan: its own, unless another column's differs only in case."""
        return f"{self._stem}_column_{column.id}" if column.name.casefold() in self._twice else column.name

    def hidden_name(self, name: str) -> str:
        """Returns the name for the constant that a hidden column, which `*` does not include, is computed from."""
        return f"{self._stem}{name}_hidden"

    def filled_name(self, id: int) -> str:
        """Returns the name for a partition value that fills the column with this field id in files without it."""
        return f"{self._stem}_{id}"

    def key(self, id: int) -> str:
        """Returns the name for a dropped column that equality deletes still compare, by its field id."""
        return f"{self._stem}_key_{id}"


def with_constants(files: pa.Table, constants: Mapping[str, Any]) -> pa.Table:
    """Adds constants (texts or numbers, by name) to the files' partition values."""
    if not constants:
        return files
    count, old = files.num_rows, _one(files["partition_values"])
    num_columns = len(old.keys) // count if count else 0
    keys = [*old.keys[:num_columns].to_pylist(), *constants]
    columns = [old.items.take(pa.array(np.arange(count) * num_columns + place)) for place in range(num_columns)]
    columns += [_one(values).cast(pa.string()) for values in constants.values()]
    order = pa.array(np.arange(count * len(keys)).reshape(len(keys), count).T.ravel())
    items = pa.concat_arrays(columns).take(order) if count else pa.array([], pa.string())
    offsets = pa.array(np.arange(count + 1) * len(keys), pa.int32())
    at = files.schema.get_field_index("partition_values")
    values = pa.MapArray.from_arrays(offsets, pa.array(keys * count, pa.string()), items)
    return files.set_column(at, files.schema.field(at), values)


def _one(values: Any) -> pa.Array:
    return pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values


# Other names are encoded differently by different writers.
_PLAIN = re.compile(r"\w+", re.ASCII)


def pushable_names(schemas: Mapping[int, IcebergSchema]) -> Mapping[int, str]:
    """Returns the top-level columns' names, by field id."""
    if set(schemas) != set(range(max(schemas, default=-1) + 1)):
        return {}
    ids: dict[str, set[int]] = {}
    names: dict[int, set[str]] = {}
    for schema in schemas.values():
        for column in schema.fields:
            # file columns are matched without regard to case
            ids.setdefault(column.name.casefold(), set()).add(column.id)
            names.setdefault(column.id, set()).add(column.name)
    found = {id: next(iter(called)) for id, called in names.items() if len(called) == 1}
    return {id: name for id, name in found.items() if len(ids[name.casefold()]) == 1 and _PLAIN.fullmatch(name)}
