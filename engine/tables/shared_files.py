"""The data files of a table as a table of another format may name them, where they are.

Everything that the other format has to say of a file is in here, or in the file's footer. Columns are found in files by
their ids, or by names that they have there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from engine.types.schema import StructType

STORED_NAMES = "gateway.stored.names"
"""The key in the metadata of a column for a list of the names that it has in files without ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFiles:
    """`schema` are the columns of the table. The metadata of fields has their ids (`engine.tables.scan.FIELD_ID`) where
    they have ones, also those of fields of structs, the names in files without ids (:data:`STORED_NAMES`) where such
    files may be read, and comments and defaults as Spark has them; `max_id` is the highest id that the table ever gave
    out.

    `files` are the live files with the columns of `Scan.files`: paths relative to the table's folder, or absolute.
    `partition_values` has the texts of the Delta protocol, one for each file, by the names of `partition_columns`.
    Fields with an id of `filled` are not null in files that lack them. With `by_names` the table finds columns by their
    names alone, whatever ids files have.
    """

    schema: StructType
    partition_columns: tuple[str, ...]
    partition_values: Mapping[str, pa.Array]
    files: pa.Table
    max_id: int = 0
    filled: frozenset[int] = frozenset()
    by_names: bool = False
