"""A write to a table, whatever its format: new files, files that go, and one commit that makes it a version."""

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
from engine.tables.operations import NumberedWrite
from engine.tables.row_files import FilePredicate, MarkedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file in the table's folder: `path` decoded and relative, `size` in bytes, `modification_time` in ms.

    `partition_values` are by partition key, times as texts of UTC. `null_counts` are those of columns whose footers do
    not tell them (arrays and maps), by physical path.
    """

    path: str
    size: int
    modification_time: int
    partition_values: Mapping[str, str | None]
    null_counts: Mapping[tuple[str, ...], int] = field(default_factory=lambda: MappingProxyType({}))


class NewFiles(Protocol):
    """What a write adds to a table: its format's description of the data files that were written."""

    @property
    def num_files(self) -> int: ...

    @property
    def num_rows(self) -> int: ...

    @property
    def num_bytes(self) -> int: ...

    @property
    def extremes(self) -> Mapping[str, tuple[Any, Any]]:
        """Logical name of a measured column -> its least and greatest value; none where it has no values."""
        ...

    @property
    def empty(self) -> tuple[str, ...]:
        """Paths (decoded, relative) of files that were written without rows, and are not added."""
        ...

    @property
    def files(self) -> pa.Table:
        """As `TableSnapshot.files` will have them."""
        ...

    def with_others(self, others: Self) -> Self:
        """The files of two writes."""
        ...


class TableCommit(Protocol):
    """A version that is ours."""

    @property
    def version(self) -> int: ...

    def is_whole(self, *, with_files: bool) -> bool:
        """Whether the version is still there, and with `with_files` the files that it added."""
        ...

    def take_back(self) -> None:
        """Removes the first version of a table again, unless somebody has built upon it. Raises `OSError`."""
        ...


class TableTransaction(Protocol):
    """Mutable and for one thread; committed once."""

    def read_whole_table(self) -> pa.Table:
        """All live files; the commit depends on all of them."""
        ...

    def add_files(self, new: NewFiles) -> None:
        """Files that the format has described."""
        ...

    def stage_removes(self, files: pa.Table) -> None:
        """Live files, rows of `TableSnapshot.files`."""
        ...

    def remove_all_files(self) -> None:
        """All live files go, with the definition that they were made by; the commit depends on all of them."""
        ...

    def add_marked(self, marked: MarkedFiles) -> None:
        """Files that were staged as removes, and stay with other marks."""
        ...

    def add_change_files(self, new: NewFiles) -> None:
        """Files in `CHANGE_FOLDER` that tell what the version changes, in the place of the others."""
        ...

    def note_loads(self, files: pa.Table) -> tuple[str, ...]:
        """Files outside of the table (`path`, `size`, `modification_time`) whose rows the version has: they count as
        loaded from then on (`FileSource.is_fresh`). Answers what was written for that, which goes without a version.
        """
        ...

    def depend_on(self, predicate: FilePredicate, paths: Any) -> None:
        """The files at these paths were read, and all for which `predicate` is true or unknown: removing one of the
        former concurrently conflicts, as does adding one of the latter.
        """
        ...

    def depend_on_rows_alone(self, marked: Mapping[str, Rows]) -> None:
        """Of files that stay with other marks, the commit depends on these rows and no others, by path: those that it
        marks. Others may mark other rows of the files concurrently.
        """
        ...

    def note_write(self, numbered: NumberedWrite, now_ms: int) -> None:
        """The version is this write of an application. Two that note one of the same application at once conflict."""
        ...

    def define(self, definition: TableDefinition, changes: Iterable[DefinitionChange] = ()) -> None:
        """The table as `definition` says after `changes`, whatever of it is new."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether a commit would change nothing."""
        ...

    def commit(self, policy: RetryPolicy | None = None) -> TableCommit:
        """Makes the transaction a version. Where it raises anything but an unknown outcome, there is none."""
        ...
