"""Plans for DDL, and for statements about volumes and tokens: values only, decided from pinned snapshots.

Nothing is opened or run here.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.changes import Change
from catalog.entries import FunctionEntry, TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.grants.conditions import Condition
from catalog.names import SchemaName, TableName
from catalog.policies.policy_changes import PolicyChange
from catalog.volumes.paths import VolumePath
from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import ExpressionCheckPlan, RowChecks
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.runtime.identity import Identity
from engine.runtime.statement import Statement
from engine.tables.column_metadata import IdentityColumn
from engine.tables.definition import TableDefinition
from engine.tables.operations import CommitDescription, IdempotentWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """Changes the catalog; an error among `tolerated` means that nothing had to be changed (IF [NOT] EXISTS).

    `change` None: nothing has to be changed. `condition` is the privilege check at the time of the change. `warning` is
    written to the statement's log.
    """

    change: Change | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTemporaryViewPlan:
    """Creates a view in this session. `tolerates`: an existing view with the same name is kept."""

    entry: ViewEntry
    replace: bool
    tolerates: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTemporaryViewPlan:
    """Drops a view from this session."""

    entry: ViewEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTemporaryViewPlan:
    """Renames a view in this session; the new name must be free in the session."""

    entry: ViewEntry
    new_name: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTemporaryFunctionPlan:
    """Creates a function in this session."""

    entry: FunctionEntry
    replace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTemporaryFunctionPlan:
    """Drops a function from this session."""

    name: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTablePlan:
    """Creates a table's first version, then its name. `definition` was made by the format of `entry`; None: the table
    exists, only the name is created.

    `entry` None: nothing had to be done (IF NOT EXISTS).
    """

    entry: TableEntry | None
    # True if the table is in no catalog: it was named by its path.
    is_path: bool = False
    definition: TableDefinition | None = None
    description: CommitDescription | None = None
    expression_checks: ExpressionCheckPlan | None = None
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchemaPlan:
    """Drops the name, and with `cascade` all names in the schema and the files of managed tables; otherwise like
    `CatalogPlan`.
    """

    name: SchemaName
    cascade: bool
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTablePlan:
    """Drops the name of `entry`, then a managed table's files; None: it no longer exists (IF EXISTS).

    `tolerated` and `condition` as in `CatalogPlan`, `purge` as in `catalog.changes.DropTable`.
    """

    entry: TableEntry | None
    purge: bool = False
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableAsPlan:
    """Creates a table with the rows of `source`, written according to `rows` after the rules have been applied."""

    entry: TableEntry
    # As in `CreateTablePlan`.
    is_path: bool
    definition: TableDefinition
    description: CommitDescription
    source: ReadPlan
    rows: WritePlan
    # Recorded in the commit.
    idempotent_write: IdempotentWrite | None = None
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReplacement:
    """The policies that a table gets with its next version; it keeps its others.

    `additions` are set before the commit, so that no new row is ever readable without them. `replacements` are set
    after it: until then the old policies protect the old rows. If the commit fails, the additions stay.
    """

    additions: tuple[PolicyChange, ...] = ()
    replacements: tuple[PolicyChange, ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTablePlan:
    """Replaces the definition of `table`, without rows, in its next version."""

    table: BoundTable
    definition: TableDefinition
    description: CommitDescription
    policies: PolicyReplacement = PolicyReplacement()
    expression_checks: ExpressionCheckPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTableAsPlan:
    """Replaces `table` with the rows of `source`, written according to `rows` after the rules have been applied."""

    table: BoundTable
    definition: TableDefinition
    description: CommitDescription
    source: ReadPlan
    rows: WritePlan
    policies: PolicyReplacement = PolicyReplacement()
    # As in `InsertPlan`.
    idempotent_write: IdempotentWrite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPlan:
    """Changes the definition of `table`, if it passes `expression_checks` and its rows pass `checks`.

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
    """Moves the high-water mark of `column` to its extreme value; `read` returns its minimum and maximum, or nulls."""

    table: BoundTable
    column: IdentityColumn
    read: ReadPlan
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """Lists, transfers or changes files at `path`; `location` is the volume's directory, `managed` as in its entry."""

    statement: Statement
    path: VolumePath
    location: str
    managed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVolumePlan:
    """Drops the name, then a managed volume's files; None: it no longer exists. Otherwise like `CatalogPlan`."""

    name: TableName | None
    tolerated: tuple[type[SqlError], ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPlan:
    """Creates, shows or revokes tokens with the rights of `identity`."""

    statement: Statement
    identity: Identity
