"""Change data feeds: the rows that a range of a table's versions inserted, updated and deleted, as files to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from types import MappingProxyType
from typing import Protocol, TypeAlias

import pyarrow as pa

from engine.pruning.pruning import FilePruning
from engine.storage.confinement import FilePlaces
from engine.tables.scan import FileLayout, ReadColumn
from engine.types.schema import PrimitiveType, StructField, StructType

# The feed column with the row's change type.
CHANGE_TYPE = "_change_type"

COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"
# The feed's columns in addition to the table's.
FEED_COLUMNS = (
    StructField(CHANGE_TYPE, PrimitiveType.STRING),
    StructField(COMMIT_VERSION, PrimitiveType.LONG),
    StructField(COMMIT_TIMESTAMP, PrimitiveType.TIMESTAMP),
)

# Change types, the values of `CHANGE_TYPE`.
INSERTED, DELETED = "insert", "delete"

# The folder for change files, below the table's folder; the log has the actual paths.
CHANGE_FOLDER = "_change_data/"


@dataclass(frozen=True, slots=True)
class AtVersion:
    version: int


@dataclass(frozen=True, slots=True)
class AtTime:
    # Milliseconds since the epoch.
    timestamp_ms: int


# The start or end of a version range.
Bound: TypeAlias = AtVersion | AtTime


@dataclass(frozen=True, slots=True)
class ChangeFiles:
    """Files in a change data feed with the columns of `Scan.files`, and the columns that are constant in each file."""

    files: pa.Table
    partition_columns: tuple[str, ...]
    layout: FileLayout
    read_as: Mapping[str, ReadColumn] = field(default_factory=lambda: MappingProxyType({}))


class TableChanges(Protocol):
    """A change data feed; its schema has the table's and the feed's own columns."""

    @property
    def versions(self) -> Sequence[int]:
        """Returns the versions in order, hashable; empty for an empty range."""
        ...

    @property
    def schema(self) -> StructType:
        """Returns the table's columns, then the feed's: change type, version and timestamp."""
        ...

    @property
    def table_columns(self) -> StructType:
        """Returns the schema's table columns, as of the range's end or as of now."""
        ...

    @property
    def file_places(self) -> FilePlaces:
        """Returns the files' folders, as in `Scan`."""
        ...

    @property
    def kinds(self) -> tuple[ChangeFiles, ...]:
        """Returns the feed's files, grouped by constant columns; at least one group."""
        ...

    def pruning(self, kind: ChangeFiles, time_zone: tzinfo | None) -> FilePruning:
        """Returns the pruning for one kind's files, in their order."""
        ...
