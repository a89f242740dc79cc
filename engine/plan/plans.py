"""What a statement will do, decided from pinned snapshots: values only, nothing is opened or run here.

A :class:`Scan` is the listed-file scan: an exact list of data files, each with constants from the log. It says *what*
to read; `engine/exec` says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import pyarrow as pa

from catalog.changes import Change
from catalog.entries import TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.names import SchemaName
from engine.alter_errors import NewRuleViolated
from engine.bound import BoundStatement, BoundTable
from engine.delta.column_mapping import NO_MAPPING
from engine.delta.identity import IdentityColumn
from engine.delta.snapshot import Snapshot
from engine.delta.spec.actions import SetTransaction
from engine.delta.spec.schema import StructType
from engine.delta.staged_commit import CommitDescription
from engine.delta.table_draft import Definition
from engine.enforce.write_plan import WritePlan
from engine.errors import SparkFailure
from engine.plan.file_choice import Choice
from engine.results import Column
from engine.sql.expressions import Expression
from engine.statements import ExplainMode
from engine.write_statements import ViewColumn as ViewColumnName


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTracking:
    """Physical names of the columns in which files may keep ids and commit versions of the rows that they took over."""

    row_id_column: str | None
    row_commit_version_column: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One table of a statement, pinned at one version.

    `relation` is the name under which the rewritten text refers to it; it is unique within the statement. `label` is
    how messages call the table.
    `schema` is the table's logical schema, `mapping_mode` how its files name the columns (`none`, `name` or `id`).
    `files` has one row a data file: `path` string (decoded; relative to `table_root` or absolute, a path or a URI),
    `size` int64 (bytes), `modification_time` int64 (ms), `partition_values` map<string, string> (keyed by physical
    column name, as the protocol serialises them; a timestamp without an offset is read in the session's zone) and, as
    in `engine.delta.file_table`, `deletion_vector` if some of their rows are deleted and `selected_rows` if no others
    than these are read.
    `choice` answers which of `files` a condition leaves; None: all.
    `row_tracking` is given where rows have ids and the statement may ask for them: `files` has then, without nulls,
    `base_row_id` int64 and `default_row_commit_version` int64.
    """

    relation: str
    label: str
    table_root: str
    schema: StructType
    partition_columns: tuple[str, ...]
    files: pa.Table
    mapping_mode: str = NO_MAPPING
    row_tracking: RowTracking | None = None
    choice: Choice | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewScan:
    """A view of a statement, known as `relation`: the query `text` over relations that stand before it.

    `columns` are pairs of a column of the query and the view's name for it; empty: the query's own.
    """

    relation: str
    label: str
    text: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """`text` is the user's text with every relation replaced by the name of one of `scans` or `views`.

    `views` are in such an order that each comes after those that it reads.
    """

    text: str
    scans: tuple[Scan, ...]
    views: tuple[ViewScan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """A query of `table` whose rows the log knows: names of the columns with their types, and the values."""

    table: BoundTable
    columns: tuple[tuple[str, Column], ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainPlan:
    """Show how Spark would run `read`, and what is to be said of it besides; nothing runs."""

    mode: ExplainMode
    read: ReadPlan
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlan:
    """Show the columns of `read`; nothing runs."""

    read: ReadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """A statement that Spark has no part in; everything it may look at is bound."""

    bound: BoundStatement


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


class Trait(StrEnum):
    """On what else than one row of its relations the value of an expression may depend."""

    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"
    NON_DETERMINISTIC = "non_deterministic"
    CLOCK = "clock"
    SESSION = "session"


Refusals = Mapping[Trait, Callable[[str], SqlError]]
"""Trait -> the error for an expression (SQL) that has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """An expression (SQL, in parentheses) that has none of the traits that are `refused`.

    `mistyped` may object to its type (SQL's spelling). `translated` may make another error of one that Spark raised.
    `value` is SQL without columns that must have a value, if it is given.
    """

    text: str
    mistyped: Callable[[str], SqlError | None]
    refused: Refusals = field(default_factory=lambda: MappingProxyType({}))
    translated: Callable[[SparkFailure], SqlError] = lambda failure: failure
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """`over` is what the expressions stand over; its text begins with FROM."""

    over: ReadPlan
    probes: tuple[Probe, ...]


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
class KeepAll:
    """Nothing goes: an append."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceAll:
    """Every file goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMatching:
    """The files of the partitions for which `condition` (SQL over the partition columns) is true go."""

    condition: str
    shown: str
    """On one line, for lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTouched:
    """The files of those partitions go that get new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRows:
    """The rows for which `condition` (SQL over any columns, in parentheses) is true go, out of whatever files."""

    condition: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceEqual:
    """The rows that equal a new one in `columns` go; NULL equals nothing."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRelated:
    """The rows go for which `condition` is true with a row of the query: SQL over the table, which it calls `alias`,
    and the query, which it calls `source_alias`, if anything.
    """

    condition: Expression
    alias: str
    source_alias: str | None
    shown: str


Replacement = KeepAll | ReplaceAll | ReplaceMatching | ReplaceTouched | ReplaceRows | ReplaceEqual | ReplaceRelated


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPlan:
    """Write the rows of `source` into `table`, as `rows` says when the rules have been over it.

    `reads_table`: the query reads the table, so that others' commits to it matter. `only_if_absent`: nothing happens
    where the partition that `replacement` means has rows (IF NOT EXISTS).
    """

    table: BoundTable
    source: ReadPlan
    rows: WritePlan
    by_name: bool
    replacement: Replacement
    reads_table: bool
    description: CommitDescription
    only_if_absent: bool = False
    evolves: bool = False
    """Columns of the query that the table lacks are added to it."""
    probes: ProbePlan | None = None
    numbered: SetTransaction | None = None
    """Nothing happens where the table has this write of the application, or a later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatePlan:
    """Remove every file of `table`."""

    table: BoundTable
    description: CommitDescription


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
class RowChecks:
    """`read` answers one row: for each of `refusals` how many rows it is raised for."""

    read: ReadPlan
    refusals: tuple[NewRuleViolated, ...]


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


Plan = (
    ReadPlan
    | AnswerPlan
    | ExplainPlan
    | SchemaPlan
    | CommandPlan
    | CatalogPlan
    | CreateViewPlan
    | DropTemporaryViewPlan
    | CreateTablePlan
    | DropSchemaPlan
    | DropTablePlan
    | InsertPlan
    | TruncatePlan
    | CreateTableAsPlan
    | ReplaceTablePlan
    | ReplaceTableAsPlan
    | AlterPlan
    | DropFeaturePlan
    | SyncIdentityPlan
)
