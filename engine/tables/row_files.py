"""What statements that change rows ask of the files of a table, and of its format.

Rows are known by their file and their index in it. A file is written again without the rows that go, or, where the
table has a capability such as `DELETED_ROW_MARKS`, stays and gets marks of these rows beside it: Delta's deletion
vectors, or what another format has in their place. `files` are rows of `TableSnapshot.files`, or what a commit of
another writer added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from engine.pruning.predicates import Predicate
from engine.storage.deletion_vectors import Rows
from engine.tables.rules import TableRules
from engine.tables.scan import Scan
from engine.types.arrow_types import Array, RecordBatch

FilePredicate: TypeAlias = Callable[[RecordBatch], Array]
"""Files -> for each of them, may it hold a row for which the predicate is true? Null where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFiles:
    """`files` are live files that stay, with their new marks; `num_updated` of them had some before.

    `rows` are those that are marked in addition, by path. `written` are files beside the table's that hold the marks.
    """

    files: pa.Table
    num_updated: int
    rows: Mapping[str, Rows]
    written: tuple[str, ...]


class RowFiles(Protocol):
    """The files of one snapshot, for statements that change rows."""

    def scan(self, rules: TableRules, files: pa.Table, relation: str, label: str) -> Scan:
        """These files as a table with these rules has them, without a choice."""
        ...

    def readable(self, files: pa.Table) -> pa.Table:
        """Files as a commit has them, as those of a scan."""
        ...

    def predicate(self, predicate: Predicate, time_zone: tzinfo | None) -> FilePredicate:
        """A condition on rows as one on files. `time_zone` as for `TableSnapshot.columns`."""
        ...

    def partitions(self, files: Any) -> list[str] | None:
        """For each file a text that the files of its partition have in common; None in formats whose files tell their
        partitions by `partition_values`.
        """
        ...

    def keep_partitions(self, files: pa.Table) -> bool:
        """Whether all rows of each of these live files would go to one partition if they were written again."""
        ...

    def live_rows(self, files: pa.Table) -> Array:
        """How many rows each file has that are not deleted; null where the format does not know."""
        ...

    def deleted_rows(self, files: pa.Table) -> list[Rows]:
        """Of each file the indices of the rows that are deleted in it, ascending."""
        ...

    def mark(self, files: pa.Table, rows: Sequence[Rows]) -> MarkedFiles:
        """Marks these rows of files whose number of live rows is known, for a commit."""
        ...
