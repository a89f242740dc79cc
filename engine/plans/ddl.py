"""What a statement will do, decided from pinned snapshots: values only, nothing is opened or run here.

A :class:`Scan` is the listed-file scan: an exact list of data files, each with constants from the log. It says *what*
to read; `engine/exec` says how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from catalog.changes import Change
from catalog.entries import TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.names import SchemaName
from engine.bind.bound import BoundTable
from engine.delta.commit.staged_commit import CommitDescription
from engine.delta.definition.identity import IdentityColumn
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.plans.probes import ProbePlan, RowChecks
from engine.plans.reads import ReadPlan
from engine.statements.catalog import ViewColumn as ViewColumnName
from engine.types.schema import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """Change the catalog; an error among `tolerated` means that there was nothing to change (IF [NOT] EXISTS)."""

    change: Change
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateViewPlan:
    """Make `entry` of the columns that `read` has; `names` are the view's own, empty for the query's."""

    entry: ViewEntry
    read: ReadPlan
    names: tuple[ViewColumnName, ...]
    replace: bool
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTemporaryViewPlan:
    """Forget a view of this session."""

    entry: ViewEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTablePlan:
    """Make the log of a table, then its name. `definition` None: the log is there, only the name is made.

    `entry` None: there was nothing to do (IF NOT EXISTS).
    """

    entry: TableEntry | None
    definition: Definition | None = None
    description: CommitDescription | None = None
    probes: ProbePlan | None = None
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchemaPlan:
    """The name, and with `cascade` all names in it and the files of managed tables; `tolerated` as in `CatalogPlan`."""

    name: SchemaName
    cascade: bool
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTablePlan:
    """Take the name away, then the files of a managed table; `entry` None: it is gone already (IF EXISTS)."""

    entry: TableEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableAsPlan:
    """Make a table of the columns that `source` has, with its rows.

    The columns are known when Spark has analyzed `source`: `define` makes the plan of a table without rows of them.
    """

    source: ReadPlan
    define: Callable[[StructType], CreateTablePlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTablePlan:
    """Make `table` another one, without rows, in its next version."""

    table: BoundTable
    definition: Definition
    description: CommitDescription
    probes: ProbePlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTableAsPlan:
    """Make `table` one of the columns that `source` has, with its rows; `define` as for `CreateTableAsPlan`."""

    table: BoundTable
    source: ReadPlan
    define: Callable[[StructType], ReplaceTablePlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPlan:
    """Give `table` another definition, if `probes` say that it can have it and `checks` that its rows keep it."""

    table: BoundTable
    definition: Definition
    description: CommitDescription
    probes: ProbePlan | None = None
    checks: RowChecks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFeaturePlan:
    """Take a feature out of the protocol of `table` when no file needs it any more.

    `stale_files` finds those of a version that do, of `FILES_SCHEMA`; they are written anew in a version that
    `rewriting` describes. `drop` makes the plan for the table at a version without such files. `at_once`: both are one
    version, since nobody could read the new files before it, or the old ones after it.
    """

    table: BoundTable
    stale_files: Callable[[Snapshot], pa.Table]
    rewriting: CommitDescription
    drop: Callable[[BoundTable], AlterPlan]
    at_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncIdentityPlan:
    """Move the mark of `column` to where its values are; `read` answers the least and the greatest, or nulls."""

    table: BoundTable
    column: IdentityColumn
    read: ReadPlan
    description: CommitDescription
