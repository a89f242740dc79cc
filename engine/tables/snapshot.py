"""What every table format says of one version of a table: all that binding, planning and reading know of it.

A format (`engine.tables.formats`) loads snapshots; its own statements, which no other format has, look behind this
interface. Snapshots are immutable and safe to share between threads; what costs a look at storage is done when it is
first asked for, and belongs to the pinned version whatever is committed since.
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
from engine.tables.definition import TableDefinition, TableDetails
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import TableOperation
from engine.tables.row_files import RowFiles
from engine.tables.rules import Constraint, TableRules
from engine.tables.scan import ComposedScan, Scan
from engine.tables.shared_files import SharedFiles
from engine.types.schema import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTable:
    """Rows about a table that its format shows as a table of their own: its snapshots, its files.

    `rows` have values of JSON by column: dates and timestamps as texts of ISO 8601, binary as base64, maps as lists of
    `key` and `value`.
    """

    schema: StructType
    rows: tuple[Mapping[str, Any], ...]


class UnmarkedRows(Protocol):
    """Rows of one snapshot that are deleted, and that the `deletion_vector` of no file tells: deleted by their values.

    Statements that change rows know them by their places, so these are found first.
    """

    @property
    def places(self) -> ComposedScan:
        """Its columns are `PLACE_FILE` and `PLACE_ROW`; it may answer a place twice."""
        ...

    def marked(self, rows: Mapping[int, Rows]) -> TableSnapshot:
        """The snapshot whose `files` tell these rows too, by position of the file, and that takes no others for
        deleted. What is written of it does not depend on how rows were deleted.
        """
        ...


class TableSnapshot(Protocol):
    """One version of one table."""

    @property
    def format(self) -> str:
        """The name of its format, as in the catalog."""
        ...

    @property
    def version(self) -> int: ...

    @property
    def stamp(self) -> str:
        """Tells this version from all others that a table at its root, be it another table, ever had or will have: two
        snapshots with the same root and stamp have the same rows. Its first word is the same for versions of one table
        alone.
        """
        ...

    @property
    def table_root(self) -> str:
        """An absolute local path, or a URL; relative paths of files hang below it."""
        ...

    @property
    def schema(self) -> StructType:
        """Columns by logical name, partition columns included."""
        ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names, as the schema spells them."""
        ...

    @property
    def rules(self) -> TableRules:
        """What it demands of new rows."""
        ...

    @property
    def details(self) -> TableDetails: ...

    def creating_properties(self, label: str) -> list[tuple[str, str]]:
        """The properties that a statement has to say to make such a table, which messages call `label`."""
        ...

    @property
    def definition(self) -> TableDefinition: ...

    def redefined(self, label: str, changes: Iterable[DefinitionChange]) -> TableDefinition:
        """The definition after `changes`, for a table that messages call `label`.

        Raises `ColumnChangeRefused` for columns that cannot be changed so, and for what the format does not have.
        """
        ...

    def replaced(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> TableDefinition:
        """The definition of the table as if it were made now: it stays the same table, and its past readable.

        `settings` as for `TableFormat.define`.
        """
        ...

    @property
    def checks(self) -> tuple[Constraint, ...]:
        """CHECK constraints, by name."""
        ...

    @property
    def partition_generations(self) -> Mapping[str, str]:
        """SQL of generated partition columns, where every writer of the table has kept them in step."""
        ...

    @property
    def files(self) -> pa.Table:
        """The live files, one row each, with the columns of `Scan.files` and what else the format keeps of them;
        `deletion_vector` among them, null where no row of the file is deleted.
        """
        ...

    @property
    def num_files(self) -> int: ...

    @property
    def size_bytes(self) -> int:
        """The sizes of all live files together."""
        ...

    @property
    def storage(self) -> Storage:
        """Where its files are."""
        ...

    @property
    def row_files(self) -> RowFiles:
        """Its files, for statements that change rows."""
        ...

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises, by name, for what the format, or a feature of the table, does not allow us to do."""
        ...

    def scan(self, relation: str, label: str) -> Scan | ComposedScan:
        """All live files, as they are read; without a choice. Scans of parts have names that begin with `relation`."""
        ...

    def scan_for_query(self, relation: str, label: str, asks: Callable[[str], bool]) -> Scan | ComposedScan:
        """As `scan`, with hidden columns besides :data:`FILE_METADATA` that the format's tables have: those whose names
        `asks` is true of, which the statement's text has.
        """
        ...

    def narrowed(self, condition: Predicate) -> TableSnapshot:
        """For a query that needs no more rows than those for which `condition` may be true: the same version, maybe
        with fewer `files`, if that is less work than to know all of them.
        """
        ...

    @property
    def left_out(self) -> tuple[int, int]:
        """How many live files `narrowed` has left out, and about how many bytes they have together."""
        ...

    def unmarked_rows(self, relation: str, label: str) -> UnmarkedRows | None:
        """None where there are none. Relations of the query have names that begin with `relation`."""
        ...

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        """For conditions; `time_zone` is that of partition values that are timestamps without an offset."""
        ...

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        """The live files, in the order of `files`, ready to be asked about."""
        ...

    def partition_texts(self) -> pa.Table:
        """Partition values as texts, row for row beside `files`: a column each, by physical name."""
        ...

    def shown_partitions(self) -> pa.Table:
        """The partitions of the live files: texts of a column each, by name; some may occur more than once."""
        ...

    def counted_files(self, columns: Collection[str]) -> CountedFiles:
        """The live files with the statistics of some top-level columns (or of more), to answer counts and extremes."""
        ...

    @property
    def distinct_counts(self) -> DistinctCounts:
        """How many values of columns differ, as far as somebody has counted them."""
        ...

    def shared_files(self, label: str, wanted: str) -> SharedFiles:
        """The live files for a table of the format `wanted`. Raises `FilesNotShareable` where only this format can say
        what rows they have; `label` is the table's name for messages.
        """
        ...

    def history(self, limit: int | None = None) -> pa.Table:
        """The newest `limit` commits (None: all that are known) up to this version, newest first; of
        :data:`HISTORY_SCHEMA`.
        """
        ...

    def metadata_table(self, name: str) -> MetadataTable | None:
        """Rows about the table that are read as `<table>.<name>`; None where the format has none of this name."""
        ...

    def last_write_of(self, app_id: str) -> int | None:
        """The number of an application's last write (`NumberedWrite`); None where it has none."""
        ...

    def is_gone(self) -> bool:
        """Whether the table was surely dropped, or another one made in its place, since the snapshot was loaded."""
        ...
