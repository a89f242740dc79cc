"""A scan: an exact list of data files, what is constant in each of them, and how they hold the columns of a table.

Every format gives its tables to the planner in this form, and the executor reads nothing else. What is constant in a
file (partition values, a deletion vector, row-id bases) travels beside its path.
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

FILE_METADATA = "_metadata"
"""The hidden column of every table, with fields for the file that a row is in and, if the table tracks rows, its id."""

NO_FILES = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("partition_values", pa.map_(pa.string(), pa.string())),
    ]
).empty_table()
"""What `Scan.files` has at least."""

FIELD_ID = "parquet.field.id"
"""Spark's key in the metadata of a column for its id in Parquet files."""

PUSHED_NAME = "gateway.pushed.name"
"""The key in the metadata of a column that is found by its id, for a name by which conditions on it may be pushed into
the files: no file has another column of that name.
"""

UNREAD = "gateway.unread"
"""The key in the metadata of a column that these files do not let read, for what it is that is not supported. Queries
that do not need the column are answered.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """One version of a table, or the changes of the versions since one, and how many of its data files are read.

    `files_partition` are left by conditions on partition columns, `files` by these and the statistics, `bytes` is the
    size of the latter.
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
class ChosenFiles:
    """`rows` are positions in a scan's files, ascending; None for all of them."""

    rows: pa.Array | None
    read: TableRead
    is_part: bool = False
    """Files that may hold matching rows are left out, since these have as many as were asked for."""


class Choice(Protocol):
    """Chooses the files of a scan that a condition leaves."""

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        """The files that may hold rows that satisfy `predicate`; `zone` is the session's, None if it is unknown."""
        ...

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """What is in the files that :meth:`choose` would answer, and in these top-level columns of them."""
        ...


@runtime_checkable
class CountedChoice(Choice, Protocol):
    """One that may know how many rows a file has."""

    def choose_rows(self, predicate: Predicate, zone: tzinfo | None, rows: int) -> ChosenFiles:
        """Files with `rows` rows that satisfy `predicate`, by what the log says of them, which other writers may have
        got wrong; as :meth:`choose` where no files are known to have so many.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTracking:
    """Physical names of the columns in which files may keep ids and commit versions of the rows that they took over,
    and the ids of these columns in Parquet files where they have some.
    """

    row_id_column: str | None
    row_commit_version_column: str | None
    field_ids: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """How data files hold the columns of a table.

    `schema` has the table's fields in the same order at every level, by the names that they have in the files. With
    `by_id` files are asked by the ids in the metadata of the fields (:data:`FIELD_ID`), whatever the names are; a field
    without one is found by its name. `partition_keys` are the keys of the partition columns in `partition_values`.
    """

    schema: StructType
    partition_keys: tuple[str, ...]
    by_id: bool = False


class FileKind(StrEnum):
    """How files are encoded."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    ORC = "orc"
    AVRO = "avro"
    """These two are of tables alone: columns are found by the names of `FileLayout.schema`, and no row of theirs by its
    index.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """`options` are those of Spark's reader."""

    kind: FileKind
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn:
    """A column that is read as another type than the table shows: `text` is SQL over the column as it is read, and
    means the same whatever the settings of a session are.
    """

    data_type: DataType
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One table of a statement, pinned at one version.

    `relation` is the name under which the rewritten text refers to it; it is unique within the statement. `label` is
    how messages call the table.
    `schema` is the table's logical schema; `layout` says how its files hold it (None: by the same names).
    `files` has one row a data file: `path` string (decoded; relative to `table_root` or absolute, a path or a URI),
    `size` int64 (bytes), `modification_time` int64 (ms), `partition_values` map<string, string> (texts as in
    `engine.types.partition_values`; a timestamp without an offset is read in the session's zone) and, with the fields
    of Delta's descriptor, `deletion_vector` if some of their rows are deleted, `selected_rows` if no others than these
    are read, and `told_rows` if all others have a negative row index; absolute paths in descriptors are decoded too.
    `file_places` are the folders where files may be located. `lease` is that of credentials for them alone; None: the
    server's are used.
    `choice` answers which of `files` a condition leaves; None: all.
    `metadata` is what the text calls the hidden column that tells the place of a row.
    `row_tracking` is given where rows have ids and the statement may ask for them: `files` has then, without nulls,
    `base_row_id` int64 and `default_row_commit_version` int64.
    """

    relation: str
    label: str
    table_root: str
    schema: StructType
    partition_columns: tuple[str, ...]
    files: pa.Table
    layout: FileLayout | None = None
    read_as: Mapping[str, ReadColumn] = field(default_factory=lambda: MappingProxyType({}))
    """Of columns of `schema` that `layout` has as what is read; no constants."""
    file_places: FilePlaces = FilePlaces()
    lease: str | None = None
    row_tracking: RowTracking | None = None
    metadata: str = FILE_METADATA
    format: FileFormat | None = None
    """Of files that are no table's; None: of a table's."""
    infers: bool = False
    """The columns are those that Spark finds in such files, and `schema` says nothing."""
    choice: Choice | None = field(default=None, compare=False, repr=False)
    pin: str | None = None
    """Of a table's version, or of changes of one: with `table_root` it tells which rows the scan has, now and always.
    None: nothing does.
    """
    name: str = ""
    """What the record of what was read calls the table, who may not be named to the reader."""
    is_hidden: bool = False
    """Nothing is told of what is read of it."""
    shown_root: str = ""
    """The path in a volume that `input_file_name()` and `_metadata.file_path` show in place of `table_root`."""
    empty_is_null: bool = True
    """Whether an empty partition value is null, as in Delta's log, or an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPart:
    """`rows` are the positions of the scan's files in `TableSnapshot.files`, ascending; None for files of another kind,
    all of which are read whatever is asked of the table.
    """

    scan: Scan
    rows: pa.Array | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedScan:
    """One table whose files do not hold its rows as they are: `text` is the query over the scans of `parts` that does.

    It is known as `relation`, and its columns are those of the table, and `hidden_columns`, which `*` does not show.
    """

    relation: str
    label: str
    parts: tuple[ScanPart, ...]
    text: str
    hidden_columns: tuple[str, ...] = ()


PLACE_FILE, PLACE_ROW = "place_file", "place_row"
"""Columns of a query for places of rows: the position of the file in `TableSnapshot.files`, the row's index in it."""


def with_constant(scan: Scan, column: StructField, files: pa.Table) -> Scan:
    """The scan of `files` with one more column, whose value is constant in each: the entry of its name in
    `partition_values`. No column of the table has that name.
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
