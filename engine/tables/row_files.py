"""The file interface for row-level changes (DELETE, UPDATE, MERGE), implemented by each format.

Rows are identified by their file and row index. Copy-on-write rewrites a file without the deleted rows. Merge-on-read,
for tables with a capability such as `VECTORS_ON_DELETE`, keeps the file and records deleted rows next to it: in Delta's
deletion vectors, or another format's equivalent. `files` are rows of `TableSnapshot.files`, or files that a concurrent
commit added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from engine.pruning.predicates import Predicate
from engine.storage.deletion_vectors import Rows
from engine.tables.config import TableConfig
from engine.tables.scan import Scan
from engine.types.arrow_types import Array, RecordBatch

# Returns for each file whether it may contain a row that satisfies the predicate; null if unknown.
FilePredicate: TypeAlias = Callable[[RecordBatch], Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesWithDeletedRows:
    """Merge-on-read result: `files` are live files with new deletion vectors; `num_updated` of them had one before.

    `rows` are the additionally deleted rows, by path. `written` are the files that store the vectors.
    """

    files: pa.Table
    num_updated: int
    rows: Mapping[str, Rows]
    written: tuple[str, ...]


class RowFiles(Protocol):
    """One snapshot's files, for row-level changes."""

    def scan(self, table_config: TableConfig, files: pa.Table, relation: str, label: str) -> Scan:
        """Returns a scan over these files under these rules, without pruning."""
        ...

    def readable(self, files: pa.Table) -> pa.Table:
        """Returns a commit's files in a scan's form."""
        ...

    def predicate(self, predicate: Predicate, time_zone: tzinfo | None) -> FilePredicate:
        """Returns a row condition as a file condition. `time_zone` as for `TableSnapshot.columns`."""
        ...

    def partitions(self, files: Any) -> list[str] | None:
        """Returns for each file a text that identifies its partition; None in formats whose files have
        `partition_values`.
        """
        ...

    def keep_partitions(self, files: pa.Table) -> bool:
        """Returns True if all rows in each live file would be in a single partition after rewriting."""
        ...

    def live_rows(self, files: pa.Table) -> Array:
        """Returns each file's live row count; null if unknown."""
        ...

    def deleted_rows(self, files: pa.Table) -> list[Rows]:
        """Returns each file's deleted row indexes, ascending."""
        ...

    def mark(self, files: pa.Table, rows: Sequence[Rows]) -> FilesWithDeletedRows:
        """Writes deletion vectors for these rows, for a commit; the files' live row counts must be known."""
        ...
