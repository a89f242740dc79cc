"""A table's data files in the form that a table in another format can reference in place.

All file metadata that the other format needs is included here, or in the file's footer. Columns are found in files by
id, or by their names there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from engine.types.schema import StructType

# Metadata key for a column's list of names in files without ids.
STORED_NAMES = "gateway.stored.names"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFiles:
    """Shared data files and their columns.

    `schema` has the table's columns. Field metadata contains ids (`engine.tables.scan.FIELD_ID`) if they exist, nested
    struct fields' too, the names in files without ids (:data:`STORED_NAMES`) if these are to be read, and comments and
    defaults in Spark's form; `max_id` is the highest id that the table ever assigned.

    `files` are the live files with the columns of `Scan.files`: paths relative to the table's folder, or absolute.
    `partition_values` has the Delta protocol's texts for each file, by the names in `partition_columns`. Fields with an
    id in `filled` are not null in files that lack them. With `by_names` the table finds columns by name only, whatever
    ids files have.
    """

    schema: StructType
    partition_columns: tuple[str, ...]
    partition_values: Mapping[str, pa.Array]
    files: pa.Table
    max_id: int = 0
    filled: frozenset[int] = frozenset()
    by_names: bool = False
