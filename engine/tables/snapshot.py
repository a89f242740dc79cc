"""The table snapshot interface: the format-neutral view of one table version for binding, planning and reading.

A format (`engine.tables.formats`) loads snapshots; its format-specific statements use its own classes. Snapshots are
immutable and safe to share between threads. Anything that requires storage access is loaded on first use, and belongs
to the pinned version whatever is committed since.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol

import pyarrow as pa

from engine.pruning.estimates import DistinctCounts
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.deletion_vectors import Rows
from engine.storage.storage import Storage
from engine.tables.config import Constraint, TableConfig
from engine.tables.definition import TableDefinition, TableDetails
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitSearch, TableOperation
from engine.tables.row_files import RowFiles
from engine.tables.scan import ComposedScan, Scan
from engine.tables.shared_files import SharedFiles
from engine.types.schema import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTable:
    """A metadata table, such as a table's snapshots or files.

    `rows` have JSON values by column: dates and timestamps as ISO 8601 texts, binary as base64, maps as lists with
    `key` and `value`.
    """

    schema: StructType
    rows: tuple[Mapping[str, Any], ...]
    # Columns, and fields of struct columns, that contain paths of files; rows contain these structs.
    paths: tuple[tuple[str, ...], ...] = ()


class UnresolvedDeletes(Protocol):
    """Deleted rows in a snapshot that are not in any `deletion_vector`: rows deleted by equality deletes.

    Row-level changes need row positions, so these rows are found first.
    """

    @property
    def places(self) -> ComposedScan:
        """Returns a query with the columns `PLACE_FILE` and `PLACE_ROW`; it may return a position twice."""
        ...

    def with_deletes(self, rows: Mapping[int, Rows]) -> TableSnapshot:
        """Returns the snapshot whose `files` include these deleted rows, by file position, and no other deletes. A
        commit on top does not depend on how rows were deleted.
        """
        ...


class TableSnapshot(Protocol):
    """One table version."""

    @property
    def format(self) -> str:
        """Returns the format's name, as in the catalog."""
        ...

    @property
    def version(self) -> int:
        """Returns the version's number, as DESCRIBE HISTORY and time travel have it."""
        ...

    @property
    def stamp(self) -> str:
        """Identifies this version among all versions that any table at its root ever has: snapshots with equal root and
        stamp have equal rows. Its first word identifies the table.
        """
        ...

    @property
    def table_root(self) -> str:
        """Returns an absolute local path, or a URL; relative file paths are resolved against it."""
        ...

    @property
    def schema(self) -> StructType:
        """Returns the columns by logical name, partition columns included."""
        ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Returns the logical names, as spelled in the schema."""
        ...

    @property
    def table_config(self) -> TableConfig:
        """Returns the rules for new rows."""
        ...

    @property
    def details(self) -> TableDetails:
        """Returns the details for DESCRIBE DETAIL."""
        ...

    def creating_properties(self, label: str) -> list[tuple[str, str]]:
        """Returns the properties that a statement needs to create an equal table, named `label` in messages."""
        ...

    @property
    def definition(self) -> TableDefinition:
        """Returns the definition without files, from which CREATE TABLE LIKE and clones start."""
        ...

    def change_definition(self, label: str, changes: Iterable[DefinitionChange]) -> TableDefinition:
        """Returns the definition after `changes`, for a table named `label` in messages.

        Raises `ColumnChangeRefused` for invalid column changes, and errors for features that the format lacks.
        """
        ...

    def replace_definition(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> TableDefinition:
        """Returns the definition for REPLACE TABLE: the table keeps its identity and history.

        `settings` as for `TableFormat.define`.
        """
        ...

    @property
    def checks(self) -> tuple[Constraint, ...]:
        """Returns the CHECK constraints, by name."""
        ...

    @property
    def partition_generations(self) -> Mapping[str, str]:
        """Returns the generation expressions of partition columns, if every writer has maintained them."""
        ...

    @property
    def files(self) -> pa.Table:
        """Returns the live files, one row each, with the columns of `Scan.files` and format-specific ones.

        `deletion_vector` is null if no row in the file is deleted.
        """
        ...

    @property
    def num_files(self) -> int:
        """Returns the number of live data files."""
        ...

    @property
    def size_bytes(self) -> int:
        """Returns the live files' total size."""
        ...

    @property
    def storage(self) -> Storage:
        """Returns the storage for its files."""
        ...

    @property
    def row_files(self) -> RowFiles:
        """Returns the files, for row-level changes."""
        ...

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises an error that names the unsupported feature if the format or table does not allow the operation."""
        ...

    def scan(self, relation: str, label: str) -> Scan | ComposedScan:
        """Returns a scan over all live files, without pruning. Part scans have names that begin with `relation`."""
        ...

    def scan_for_query(self, relation: str, label: str, asks: Callable[[str], bool]) -> Scan | ComposedScan:
        """Returns a scan with hidden columns besides :data:`FILE_METADATA` that the format has, if the statement's text
        contains their names: `asks` returns True for them.
        """
        ...

    def narrow(self, condition: Predicate) -> TableSnapshot:
        """Prunes `files` for a query that needs only rows for which `condition` may be true, if that is cheaper than
        loading the complete file list.
        """
        ...

    @property
    def left_out(self) -> tuple[int, int]:
        """Returns the number and approximate bytes of live files that `narrow` has pruned."""
        ...

    def unresolved_deletes(self, relation: str, label: str) -> UnresolvedDeletes | None:
        """Returns rows with equality deletes; None if there are none. Relations in the query have names that begin with
        `relation`.
        """
        ...

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        """Returns the columns for conditions; `time_zone` applies to partition timestamps without an offset."""
        ...

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        """Returns file pruning over the live files, in the order of `files`."""
        ...

    def partition_texts(self) -> pa.Table:
        """Returns partition values as text, aligned with `files`: a column each, by physical name."""
        ...

    def shown_partitions(self) -> pa.Table:
        """Returns the live files' partitions: a text column each, by name; duplicates are possible."""
        ...

    def counted_files(self, columns: Collection[str]) -> CountedFiles:
        """Returns the live files with statistics for at least these top-level columns, to answer counts, minimums and
        maximums.
        """
        ...

    @property
    def distinct_counts(self) -> DistinctCounts:
        """Returns the distinct counts for columns, if they were computed."""
        ...

    def shared_files(self, label: str, wanted: str) -> SharedFiles:
        """Returns the live files for a table in the format `wanted`; `label` is the table's name in messages.

        Raises `FilesNotShareable` if only this format can represent the rows.
        """
        ...

    def history(self, limit: int | None = None) -> pa.Table:
        """Returns the newest `limit` commits (None: all) up to this version, newest first, in
        :data:`HISTORY_SCHEMA`.
        """
        ...

    def metadata_table(self, name: str) -> MetadataTable | None:
        """Returns the metadata table read as `<table>.<name>`; None if the format has no such table."""
        ...

    def last_write_of(self, app_id: str) -> int | None:
        """Returns the version of an application's last idempotent write (`IdempotentWrite`); None without one."""
        ...

    def find_commit(self, transaction_id: str, since_ms: int, *, changes_rows: bool) -> CommitSearch:
        """Looks for the commit with an id among the versions up to this one, and not before `since_ms`.

        `changes_rows`: the commit would add or remove rows, and not only change the definition.
        """
        ...

    def is_gone(self) -> bool:
        """Returns True if the table was certainly dropped or replaced by another since the snapshot was loaded."""
        ...
