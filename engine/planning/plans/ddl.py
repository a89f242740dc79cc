"""Plans of DDL, and of statements about volumes and tokens: values only, decided from pinned snapshots.

Nothing is opened or run here.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.changes import Change
from catalog.entries import FunctionEntry, TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.grants.conditions import Condition
from catalog.names import SchemaName, TableName
from catalog.volumes.paths import VolumePath
from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import ExpressionCheckPlan, RowChecks
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.runtime.identity import Identity
from engine.runtime.statement import Statement
from engine.tables.column_metadata import IdentityColumn
from engine.tables.definition import TableDefinition
from engine.tables.operations import CommitDescription, NumberedWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """Change the catalog; an error among `tolerated` means that there was nothing to change (IF [NOT] EXISTS).

    `change` None: there is nothing to change. `condition` is what the principal has to be allowed when it is made.
    `warning` goes to the statement's log.
    """

    change: Change | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None
    warning: str | None = None


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
class RenameTemporaryViewPlan:
    """Give a view of this session another name, which must be free in the session."""

    entry: ViewEntry
    new_name: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTemporaryFunctionPlan:
    """Keep a function in this session."""

    entry: FunctionEntry
    replace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTemporaryFunctionPlan:
    """Forget a function of this session."""

    name: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTablePlan:
    """Make the first version of a table, then its name. `definition` was made by the format of `entry`; None: the table
    is there, only the name is made.

    `entry` None: there was nothing to do (IF NOT EXISTS).
    """

    entry: TableEntry | None
    is_path: bool = False
    """Whether it is in no catalog: it was named by its path."""
    definition: TableDefinition | None = None
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

    `tolerated` and `condition` as in `CatalogPlan`, `purge` as in `catalog.changes.DropTable`.
    """

    entry: TableEntry | None
    purge: bool = False
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableAsPlan:
    """Make a table with the rows of `source`, as `rows` says when the rules have been over it."""

    entry: TableEntry
    is_path: bool
    """As in `CreateTablePlan`."""
    definition: TableDefinition
    description: CommitDescription
    source: ReadPlan
    rows: WritePlan
    numbered: NumberedWrite | None = None
    """Noted in the commit."""
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTablePlan:
    """Make `table` another one, without rows, in its next version."""

    table: BoundTable
    definition: TableDefinition
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTableAsPlan:
    """Make `table` another one with the rows of `source`, as `rows` says when the rules have been over it."""

    table: BoundTable
    definition: TableDefinition
    description: CommitDescription
    source: ReadPlan
    rows: WritePlan
    numbered: NumberedWrite | None = None
    """As in `InsertPlan`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPlan:
    """Give `table` another definition, if it passes `expression_checks` and its rows pass `checks`.

    `is_last` as in `RewritePlan`.
    """

    table: BoundTable
    definition: TableDefinition
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None
    checks: RowChecks | None = None
    is_last: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncIdentityPlan:
    """Move the high-water mark of `column` to its furthest value; `read` has the least and the greatest, or nulls."""

    table: BoundTable
    column: IdentityColumn
    read: ReadPlan
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """List, transfer or change what is at `path`; `location` is the folder of its volume, `managed` as its entry's."""

    statement: Statement
    path: VolumePath
    location: str
    managed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVolumePlan:
    """Take the name away, then the files of a managed volume; None: it is gone already. The rest as `CatalogPlan`."""

    name: TableName | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPlan:
    """Make, show or revoke tokens as `identity` may."""

    statement: Statement
    identity: Identity
