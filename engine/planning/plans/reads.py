"""Read plans: an exact list of data files for each table, with constants from the log.

They define *which data* to read; `engine/spark` implements how. Queries whose rows become variable values are included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catalog.entries import SchemaMode, TableEntry
from engine.binding.bound import BoundStatement, BoundTable
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultColumn
from engine.runtime.statement import Statement
from engine.sql.query.values import ExplainMode
from engine.tables.given_rows import GivenRows
from engine.tables.operations import CommitRecord
from engine.tables.scan import Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameInput:
    """A named table in a DataFrame plan, the relation of the statement that it stands for, and its qualifier."""

    name: str
    relation: str
    alias: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameScan:
    """A DataFrame plan over relations of the statement; `plan` is a `spark.connect.Relation` in base64.

    `expressions` are the SQL texts in it, such as that of `df.filter("a > 1")`.
    """

    plan: str
    inputs: tuple[FrameInput, ...]
    expressions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewScan:
    """A view within a statement, with the name `relation`: the query `text`, or `frame`, over relations that precede
    it.

    `columns` has (query column, the view's name for it, its SQL type when the view was created) for each one; empty:
    the query's own.
    """

    relation: str
    label: str
    text: str
    columns: tuple[tuple[str, str, str], ...]
    # It belongs to the session, and its text may name variables.
    temporary: bool = False
    # Expressions above it are evaluated only on rows and values that it returns.
    is_barrier: bool = False
    # The reader must not see the data below: fallible expressions above it are never evaluated on filtered-out rows.
    is_hidden: bool = False
    # Its columns that derive from file names or from row positions are NULL.
    hides_places: bool = False
    # Spark settings under which it is analyzed, in addition to the server's: captured when it was created. None: the
    # session's own.
    settings: tuple[tuple[str, str], ...] | None = None
    # Columns of its query that `*` does not show. The view then reads only scans, and has no columns of its own.
    unlisted_columns: tuple[str, ...] = ()
    schema_mode: SchemaMode = SchemaMode.TYPE_EVOLUTION
    # Values for the markers in its text.
    parameters: tuple[Parameter, ...] = ()
    frame: FrameScan | None = None
    # The view that positions in its text name: empty for a text of the statement itself; None: the label.
    place: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScan:
    """A statement's rows that are not in files, with the name `relation`. No plan or result over them is cached."""

    relation: str
    label: str
    rows: GivenRows


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A query plan. `text` is the user's text with each relation replaced by a name from `scans`, `views` or `given`.

    `views` are ordered so that each one follows the views that it reads.
    """

    text: str
    scans: tuple[Scan, ...]
    views: tuple[ViewScan, ...] = ()
    given: tuple[RowScan, ...] = ()
    # Relations in function bodies whose sources the reader may not read directly.
    hidden_relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRead:
    """A read of a statement's target table.

    `target` is the relation whose rows change. It has its own scan: another occurrence of the table in the text is
    another relation. `is_once`: the target is named once, and no subquery refers to it.
    """

    read: ReadPlan
    target: str
    is_once: bool
    # The source of a MERGE, which also has its own scan.
    source: str | None = None

    @property
    def scan(self) -> Scan:
        """Returns the target's scan."""
        return next(scan for scan in self.read.scans if scan.relation == self.target)

    def over(self, *scans: Scan) -> TargetRead:
        """Returns the read with other scans that have the same names."""
        others = {scan.relation: scan for scan in scans}
        changed = tuple(others.get(scan.relation, scan) for scan in self.read.scans)
        return replace(self, read=replace(self.read, scans=changed))


@dataclass(frozen=True, slots=True)
class EqualityDeletesPlan:
    """Finds the rows of `table` that equality deletes remove; then the statement is planned again with their
    positions.
    """

    table: BoundTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """A metadata-only query over `table`: column names with their types, and the values from the log.

    The values follow from the `statistics` of so many `files`.
    """

    table: BoundTable
    files: int
    statistics: tuple[str, ...]
    columns: tuple[tuple[str, ResultColumn], ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainPlan:
    """Shows Spark's plan for `read`, with additional remarks; nothing runs."""

    mode: ExplainMode
    read: ReadPlan
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlan:
    """Shows the columns of `read`, or with `as_json` its schema as one text; nothing runs."""

    read: ReadPlan
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """A statement that runs without Spark; all objects that it may read are bound."""

    statement: Statement
    bound: BoundStatement


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column of a query's result; `sql_type` in DDL's spelling, `json_type` in Spark's JSON, `metadata` of users."""

    name: str
    sql_type: str
    comment: str | None
    json_type: str | dict[str, Any]
    is_nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarePlan:
    """Declares the variables that the text of `read` (a DECLARE) names."""

    read: ReadPlan
    or_replace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignPlan:
    """Executes the assignments in the text of `read` (a SET VARIABLE)."""

    read: ReadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedPlan:
    """Answers the outcome of a commit that another process made for the statement, on the table `label`.

    `names` is the entry of a new table whose name is not recorded yet.
    """

    label: str
    record: CommitRecord
    names: TableEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVariablePlan:
    """Drops the session's variable `name`."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatePlan:
    """Evaluates the rows of `read` as values."""

    read: ReadPlan
