"""What a statement will do, decided from pinned snapshots: values only, nothing is opened or run here.

A :class:`Scan` is the listed-file scan: an exact list of data files, each with constants from the log. It says *what*
to read; `engine/exec` says how.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from catalog.changes import Change
from catalog.conditions import Condition
from catalog.entries import TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.names import SchemaName
from engine.bind.bound import BoundTable
from engine.delta.definition.metadata_changes import MetadataChange
from engine.delta.definition.table_draft import Definition
from engine.delta.spec.actions import SetTransaction
from engine.plans.expression_checks import ExpressionCheckPlan, RowChecks
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.table.identity import IdentityColumn
from engine.table.operations import CommitDescription
from engine.table.rules import PlainRules
from engine.types.schema import StructField


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """Change the catalog; an error among `tolerated` means that there was nothing to change (IF [NOT] EXISTS).

    `change` None: there is nothing to change. `condition` is what the principal has to be allowed when it is made.
    """

    change: Change | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTemporaryViewPlan:
    """Keep a view in this session. `tolerates`: one of that name may be there, and stays."""

    entry: ViewEntry
    replace: bool
    tolerates: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTemporaryViewPlan:
    """Forget a view of this session."""

    entry: ViewEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTablePlan:
    """Make the first version of a table, then its name. `definition` is for the format of `entry` (`PlainRules` unless
    it is Delta); None: the table is there, only the name is made.

    `entry` None: there was nothing to do (IF NOT EXISTS).
    """

    entry: TableEntry | None
    is_path: bool = False
    """Whether it is in no catalog: it was named by its path."""
    definition: Definition | PlainRules | None = None
    description: CommitDescription | None = None
    expression_checks: ExpressionCheckPlan | None = None
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchemaPlan:
    """The name, and with `cascade` all names in it and the files of managed tables; the rest as in `CatalogPlan`."""

    name: SchemaName
    cascade: bool
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTablePlan:
    """Take the name of `entry` away, then the files of a managed table; None: it is gone already (IF EXISTS).

    `tolerated` and `condition` as in `CatalogPlan`.
    """

    entry: TableEntry | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableAsPlan:
    """Make a table with the rows of `source`, as `rows` says when the rules have been over it."""

    entry: TableEntry
    is_path: bool
    """As in `CreateTablePlan`."""
    definition: Definition | PlainRules
    description: CommitDescription
    source: ReadPlan
    rows: WritePlan
    numbered: SetTransaction | None = None
    """Noted in the commit."""
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTablePlan:
    """Make `table` another one, without rows, in its next version."""

    table: BoundTable
    definition: Definition
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTableAsPlan:
    """Make `table` another one with the rows of `source`, as `rows` says when the rules have been over it."""

    table: BoundTable
    definition: Definition
    description: CommitDescription
    source: ReadPlan
    rows: WritePlan
    numbered: SetTransaction | None = None
    """As in `InsertPlan`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClonePlan:
    """Make a table with the files of `source`, or copies of them; `replaced` is the table whose place it takes.

    `is_past`: the files may be gone already. `sources` are the folders that a shallow clone names files of.
    """

    source: BoundTable
    shallow: bool
    is_past: bool
    sources: tuple[str, ...]
    entry: TableEntry
    replaced: BoundTable | None
    is_path: bool
    """As in `CreateTablePlan`."""
    definition: Definition
    description: CommitDescription
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertPlan:
    """Make a table of the Parquet files that lie at `entry.location`, whose folders tell `partition_columns`.

    Its other columns are those of the files; `changes` are applied to its definition.
    """

    entry: TableEntry
    partition_columns: tuple[StructField, ...]
    changes: tuple[MetadataChange, ...]
    has_statistics: bool
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPlan:
    """Give `table` another definition, if it passes `expression_checks` and its rows pass `checks`.

    `is_last` as in `RewritePlan`.
    """

    table: BoundTable
    definition: Definition
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None
    checks: RowChecks | None = None
    is_last: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateHistoryPlan:
    """Remove the versions of `table` that need `feature` (its final name), then give it a definition without it.

    Its newest version does not need the feature any more.
    """

    table: BoundTable
    feature: str
    definition: Definition
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """Give ids to the rows of `files`, live files of `table` without them; then the statement is planned again."""

    table: BoundTable
    files: pa.Table
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlan:
    """Write the rows of `files`, live files of `table`, into new files as `definition` has them; no row changes.

    `is_last` False: the statement is planned again on the version that this one makes.
    """

    table: BoundTable
    files: pa.Table
    definition: Definition
    description: CommitDescription
    is_last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncIdentityPlan:
    """Move the high-water mark of `column` to its furthest value; `read` has the least and the greatest, or nulls."""

    table: BoundTable
    column: IdentityColumn
    read: ReadPlan
    description: CommitDescription
