"""A scan: an exact list of data files, their constants, and the mapping from file columns to table columns.

Every format provides its tables to the planner in this form, and the executor reads nothing else. A file's constants
(partition values, a deletion vector, row-id bases) accompany its path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import pyarrow as pa

from engine.pruning.estimates import Estimate
from engine.pruning.predicates import Predicate
from engine.storage.confinement import FilePlaces
from engine.types.schema import DataType, StructField, StructType

# The hidden column in every table, with fields for the row's file and, with row tracking, its id.
FILE_METADATA = "_metadata"

# The minimum columns in `Scan.files`.
NO_FILES = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("partition_values", pa.map_(pa.string(), pa.string())),
    ]
).empty_table()

# Spark's metadata key for a column's id in Parquet files.
FIELD_ID = "parquet.field.id"

# Metadata key, on a column found by id, for a name that allows filter pushdown into the files: no file has another
# column with that name.
PUSHED_NAME = "gateway.pushed.name"

# Metadata key for a column that cannot be read from these files; the value is the unsupported feature. Queries that do
# not need the column work.
UNREAD = "gateway.unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """Read statistics for one table version, or for the changes since one.

    `files_partition` remain after pruning by partition columns, `files` after data skipping too; `bytes` is the
    latter's size.
    """

    label: str
    version: int
    files_total: int
    bytes_total: int
    files_partition: int
    files: int
    bytes: int
    since: int | None = None

    def __str__(self) -> str:
        versions = f"version {self.version}" if self.since is None else f"versions {self.since} to {self.version}"
        return (
            f"{self.label}: {versions}, {self.files_total} files, {self.files_partition} after partition"
            f" pruning, {self.files} after statistics; {self.bytes} of {self.bytes_total} bytes"
        )


@dataclass(frozen=True, slots=True)
class PrunedFiles:
    """Selected files. `rows` are positions in a scan's files, ascending; None for all."""

    rows: pa.Array | None
    read: TableRead
    # True if further files with matching rows were omitted, because these contain the requested number.
    is_part: bool = False


class Pruning(Protocol):
    """File pruning: selects a scan's files for a condition."""

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        """Returns the files that may contain rows that satisfy `predicate`; `zone` is the session's, None if
        unknown.
        """
        ...

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """Returns an estimate for the files that :meth:`choose` would return, and for these top-level columns."""
        ...


@runtime_checkable
class CountingPruning(Pruning, Protocol):
    """File pruning with row counts, for limit pushdown."""

    def choose_rows(self, predicate: Predicate, zone: tzinfo | None, rows: int) -> PrunedFiles:
        """Returns files with `rows` rows that satisfy `predicate`, by statistics in the log, which other writers may
        have wrong; like :meth:`choose` if too few rows are known.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTracking:
    """Physical names of the materialized row id and commit version columns, which files with copied rows may contain,
    and these columns' ids in Parquet files, if any.
    """

    row_id_column: str | None
    row_commit_version_column: str | None
    field_ids: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """The mapping between data files and table columns.

    `schema` has the table's fields in the same order at every level, under their physical names. With `by_id` files are
    read by the field ids in the metadata (:data:`FIELD_ID`), whatever the names; a field without id is found by name.
    `partition_keys` are the partition columns' keys in `partition_values`.
    """

    schema: StructType
    partition_keys: tuple[str, ...]
    by_id: bool = False


class FileKind(StrEnum):
    """Data file formats."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    ORC = "orc"
    # Lines, in the column `value`.
    TEXT = "text"
    # Only in tables: columns are found by the names in `FileLayout.schema`, and rows have no index.
    AVRO = "avro"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A file format; `options` are Spark reader options."""

    kind: FileKind
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn:
    """A column whose type in files differs from the exposed one: `text` is SQL over the stored column, independent from
    session settings.
    """

    data_type: DataType
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A table in a statement, pinned at one version.

    `relation` is the table's name in the rewritten text, unique within the statement. `label` is its name in messages.
    `schema` is the table's logical schema; `layout` maps it to files (None: same names). `files` has one row per data
    file: `path` string (decoded; relative to `table_root` or absolute, a path or a URI), `size` int64 (bytes),
    `modification_time` int64 (ms), `partition_values` map<string, string> (texts as in `engine.types.partition_values`;
    a timestamp without an offset is in the session's zone) and, with the fields of Delta's descriptor,
    `deletion_vector` if some rows are deleted, `selected_rows` if only these rows are read, and `told_rows` if all
    other rows have a negative row index; absolute paths in descriptors are decoded too. `file_places` are the folders
    that files may be located in. `credentials_id` identifies vended credentials for them; None: the server's are used.
    `pruning` prunes `files` by a condition; None: all are read. `metadata` is the text's name for the hidden column
    with a row's position. `row_tracking` is set if rows have ids and the statement may read them: `files` then has,
    without nulls, `base_row_id` int64 and `default_row_commit_version` int64.
    """

    relation: str
    label: str
    table_root: str
    schema: StructType
    partition_columns: tuple[str, ...]
    files: pa.Table
    layout: FileLayout | None = None
    # Columns in `schema` for which `layout` has another stored type; constants are excluded.
    read_as: Mapping[str, ReadColumn] = field(default_factory=lambda: MappingProxyType({}))
    file_places: FilePlaces = FilePlaces()
    credentials_id: str | None = None
    row_tracking: RowTracking | None = None
    metadata: str = FILE_METADATA
    # Set for files outside tables; None: a table's files.
    format: FileFormat | None = None
    # True if Spark infers the columns from the files, and `schema` is empty.
    infers: bool = False
    pruning: Pruning | None = field(default=None, compare=False, repr=False)
    # Identifies, with `table_root`, a table version or its changes, and thereby the rows permanently. None: the rows
    # are not identified.
    pin: str | None = None
    # The table's name in read records, if it may be revealed to the reader.
    name: str = ""
    # True to hide metrics about reading this table.
    is_hidden: bool = False
    # The volume path that `input_file_name()` and `_metadata.file_path` return instead of `table_root`.
    shown_root: str = ""
    # Constants that contain file paths.
    path_columns: tuple[str, ...] = ()
    # True if an empty partition value is null, as in Delta's log, and not an empty text.
    empty_is_null: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPart:
    """A part of a composed scan. `rows` are its files' positions in `TableSnapshot.files`, ascending; None for other
    files, which are always read completely.
    """

    scan: Scan
    rows: pa.Array | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedScan:
    """A table whose files do not contain its rows directly: `text` is the query over the scans in `parts` that returns
    them.

    Its name is `relation`; its columns are the table's, and `hidden_columns`, which `*` does not include.
    """

    relation: str
    label: str
    parts: tuple[ScanPart, ...]
    text: str
    hidden_columns: tuple[str, ...] = ()


# Columns with row positions: the file's position in `TableSnapshot.files`, and the row's index in the file.
PLACE_FILE, PLACE_ROW = "place_file", "place_row"


def with_constant(scan: Scan, column: StructField, files: pa.Table) -> Scan:
    """Returns a scan over `files` with an additional column that is constant in each file: its entry in
    `partition_values`. The table must not have a column with that name.
    """
    layout = scan.layout
    if layout is not None:
        fields = StructType((*layout.schema.fields, column))
        layout = replace(layout, schema=fields, partition_keys=(*layout.partition_keys, column.name))
    return replace(
        scan,
        schema=StructType((*scan.schema.fields, column)),
        layout=layout,
        partition_columns=(*scan.partition_columns, column.name),
        files=files,
    )
