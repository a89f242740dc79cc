"""The rows that a range of a table's versions inserted, updated and deleted, as files to read."""

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

CHANGE_TYPE = "_change_type"
"""The column of a feed that says what became of a row."""

COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"
FEED_COLUMNS = (
    StructField(CHANGE_TYPE, PrimitiveType.STRING),
    StructField(COMMIT_VERSION, PrimitiveType.LONG),
    StructField(COMMIT_TIMESTAMP, PrimitiveType.TIMESTAMP),
)
"""Those that a feed has beside the table's."""

INSERTED, DELETED = "insert", "delete"
"""Values of `CHANGE_TYPE`."""

CHANGE_FOLDER = "_change_data/"
"""Below a table's root: files that hold nothing but changes."""
"""Where writers put change files, below the table's folder; the log says where they are."""


@dataclass(frozen=True, slots=True)
class AtVersion:
    version: int


@dataclass(frozen=True, slots=True)
class AtTime:
    timestamp_ms: int
    """Milliseconds since the epoch."""


Bound: TypeAlias = AtVersion | AtTime
"""An end of a range of versions."""


@dataclass(frozen=True, slots=True)
class ChangeFiles:
    """Files of a change data feed with the columns of `Scan.files`, and which columns are constants of each."""

    files: pa.Table
    partition_columns: tuple[str, ...]
    layout: FileLayout
    read_as: Mapping[str, ReadColumn] = field(default_factory=lambda: MappingProxyType({}))


class TableChanges(Protocol):
    """A change data feed; its schema is the table's and the feed's own columns."""

    @property
    def versions(self) -> Sequence[int]:
        """In their order, and hashable; empty where the range has none."""
        ...

    @property
    def schema(self) -> StructType: ...

    @property
    def table_columns(self) -> StructType:
        """Those of the schema that are the table's, as they were where the range ends, or are now."""
        ...

    @property
    def file_places(self) -> FilePlaces:
        """As in a `Scan`."""
        ...

    @property
    def kinds(self) -> tuple[ChangeFiles, ...]:
        """The files whose rows together are the feed, by what is constant in them; at least one kind."""
        ...

    def pruning(self, kind: ChangeFiles, time_zone: tzinfo | None) -> FilePruning:
        """The files of one kind, in their order, ready to be asked about."""
        ...
