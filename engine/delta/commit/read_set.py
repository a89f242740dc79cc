"""A transaction's read set: the part of the table on which its result depends.

A commit is serializable if no concurrent commit changed anything that it read. The read set is stored as values and
evaluated only at commit time (`engine.delta.commit.conflicts`):

- `predicates`: the conditions for which files were read. A concurrently added file conflicts if a predicate may be true
  for one of its rows. A predicate is a function from a `FILES_SCHEMA` batch to a mask; null means maybe.
- `files`: the files that were read. Removing one of them concurrently conflicts.
- `whole_table`: the whole table was read; any added or removed file conflicts.
- `app_ids`: applications whose last transaction was read.

The metadata is always read, since every write needs the schema.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.tables.row_files import FilePredicate
from engine.types.arrow_types import Array, RecordBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    whole_table: bool = False
    predicates: tuple[FilePredicate, ...] = ()
    # Decoded paths, one array per read.
    files: tuple[Array, ...] = ()
    app_ids: frozenset[str] = frozenset()

    def with_predicate(self, predicate: FilePredicate, paths: Array) -> ReadSet:
        """Adds a predicate and the files that it selected."""
        return replace(self, predicates=(*self.predicates, predicate), files=(*self.files, _flat(paths)))

    def with_files(self, paths: Array) -> ReadSet:
        """Adds files that were read by name."""
        return replace(self, files=(*self.files, _flat(paths)))

    def with_whole_table(self) -> ReadSet:
        """Returns the read set with a dependence on every file of the table."""
        return replace(self, whole_table=True)

    def with_app_id(self, app_id: str) -> ReadSet:
        """Returns the read set with a dependence on the `txn` action of an application id."""
        return replace(self, app_ids=self.app_ids | {app_id})

    @property
    def depends_on_files(self) -> bool:
        """Returns False if added and removed files cannot conflict with the transaction."""
        return self.whole_table or bool(self.predicates) or bool(self.files)

    def first_match(self, batch: RecordBatch) -> int | None:
        """Returns the first row in a `FILES_SCHEMA` batch that a read would have seen."""
        if len(batch) == 0:
            return None
        if self.whole_table:
            return 0
        # Null means that the file's statistics do not decide. A file that may match
        # conflicts: a lost row is worse than a needless retry.
        for predicate in self.predicates:
            row = _first_true(pc.fill_null(predicate(batch), True))
            if row is not None:
                return row
        return None

    def first_read(self, batch: RecordBatch) -> int | None:
        """Returns the first row whose file was read. Deletion vectors are ignored: a file is read as a whole."""
        if len(batch) == 0:
            return None
        if self.whole_table:
            return 0
        for paths in self.files:
            row = _first_true(pc.is_in(batch.column("path"), value_set=paths))
            if row is not None:
                return row
        return None


def _flat(paths: Any) -> Array:
    return paths.combine_chunks() if isinstance(paths, pa.ChunkedArray) else paths


def _first_true(mask: Array) -> int | None:
    index = int(pc.index(mask, True).as_py())
    return None if index < 0 else index
