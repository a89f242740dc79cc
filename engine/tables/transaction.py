"""A transaction on a table in any format: added files, removed files, and one commit that creates a version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, Self

import pyarrow as pa

from engine.concurrency.retry import RetryPolicy
from engine.storage.deletion_vectors import Rows
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription, CommitRecord, IdempotentWrite
from engine.tables.row_files import FilePredicate, FilesWithDeletedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file in the table's folder: `path` decoded and relative, `size` in bytes, `modification_time` in ms.

    `partition_values` are by partition key, times as UTC texts. `null_counts` belong to columns whose footers lack them
    (arrays and maps), by physical path.
    """

    path: str
    size: int
    modification_time: int
    partition_values: Mapping[str, str | None]
    null_counts: Mapping[tuple[str, ...], int] = field(default_factory=lambda: MappingProxyType({}))
    # PyArrow's `FileMetaData` if it is known; None if it must be read.
    footer: Any = None


class NewFiles(Protocol):
    """A write's added files, as described by the table's format."""

    @property
    def num_files(self) -> int:
        """Returns the number of added files; files without rows are not counted."""
        ...

    @property
    def num_rows(self) -> int:
        """Returns the number of rows in the added files."""
        ...

    @property
    def num_bytes(self) -> int:
        """Returns the total size of the added files."""
        ...

    @property
    def min_max_values(self) -> Mapping[str, tuple[Any, Any]]:
        """Returns the minimum and maximum value by measured column (logical name); absent without values."""
        ...

    @property
    def empty(self) -> tuple[str, ...]:
        """Returns the paths (decoded, relative) of written files without rows, which are not added."""
        ...

    @property
    def files(self) -> pa.Table:
        """Returns the files in the form of `TableSnapshot.files`."""
        ...

    def with_others(self, others: Self) -> Self:
        """Combines two writes' files."""
        ...


class TableCommit(Protocol):
    """A committed version."""

    @property
    def version(self) -> int:
        """Returns the version that the commit created."""
        ...

    def is_whole(self, *, with_files: bool) -> bool:
        """Returns True if the version still exists, and with `with_files` its added files too."""
        ...

    def take_back(self) -> None:
        """Removes a table's first version, unless another writer has committed on top. Raises `OSError`."""
        ...


class AlreadyCommitted(Exception):
    """Another process has committed the transaction under the same id; this one has no version."""

    def __init__(self, record: CommitRecord) -> None:
        super().__init__(record.version)
        self.record = record


class TableTransaction(Protocol):
    """A mutable transaction for one thread; committed once."""

    description: CommitDescription

    def read_whole_table(self) -> pa.Table:
        """Returns all live files; the commit depends on all of them."""
        ...

    def add_files(self, new: NewFiles) -> None:
        """Adds files that the format has described."""
        ...

    def stage_removes(self, files: pa.Table) -> None:
        """Removes live files, rows of `TableSnapshot.files`."""
        ...

    def remove_all_files(self) -> None:
        """Removes all files, written under the previous definition; the commit depends on all of them."""
        ...

    def add_deleted_rows(self, updated: FilesWithDeletedRows) -> None:
        """Keeps files that were staged as removes, with other deletion vectors."""
        ...

    def add_change_files(self, new: NewFiles) -> None:
        """Adds change files in `CHANGE_FOLDER`, which replace the other files in the version's change data feed."""
        ...

    def note_loads(self, files: pa.Table) -> tuple[str, ...]:
        """Records source files outside the table (`path`, `size`, `modification_time`) as loaded
        (`FileSource.is_fresh`).

        Returns the files written for that, to be deleted if the commit fails.
        """
        ...

    def depend_on(self, predicate: FilePredicate, paths: Any) -> None:
        """Adds files to the read set: the files at these paths, and all for which `predicate` is true or unknown.
        Concurrently removing one of the former, or adding one of the latter, is a conflict.
        """
        ...

    def depend_on_rows_alone(self, rows_by_path: Mapping[str, Rows]) -> None:
        """Limits the dependence on files with new deletion vectors to these deleted rows, by path. Concurrent commits
        may delete other rows in the files.
        """
        ...

    def note_write(self, write: IdempotentWrite, now_ms: int) -> None:
        """Records the version as this idempotent write. Concurrent commits with the same application id conflict."""
        ...

    def define(self, definition: TableDefinition, changes: Iterable[DefinitionChange] = ()) -> None:
        """Sets the definition, which results from `changes`."""
        ...

    def identify(self, transaction_id: str) -> None:
        """Sets the id that the version records; without a call it is random, or absent."""
        ...

    @property
    def is_empty(self) -> bool:
        """Returns True if a commit would change nothing."""
        ...

    def commit(self, policy: RetryPolicy | None = None) -> TableCommit:
        """Commits the transaction. Unless it raises an unknown outcome, an error means that no version was created.

        Raises `AlreadyCommitted` if a concurrent commit has its id.
        """
        ...
