"""Plans that read: an exact list of data files for each table, with constants from the log.

They say *what* to read; `engine/spark` says how. Queries whose rows become values of variables are among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine.binding.bound import BoundStatement, BoundTable
from engine.runtime.results import ResultColumn
from engine.runtime.statement import Statement
from engine.sql.query.values import ExplainMode
from engine.tables.given_rows import GivenRows
from engine.tables.scan import Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewScan:
    """A view of a statement, known as `relation`: the query `text` over relations that precede it.

    `columns` are pairs of a column of the query and the view's name for it; empty: the query's own.
    """

    relation: str
    label: str
    text: str
    columns: tuple[tuple[str, str], ...]
    temporary: bool = False
    """The session's own, whose text may name variables."""
    is_barrier: bool = False
    """Nothing above it is evaluated on rows, or values, that it does not answer."""
    is_hidden: bool = False
    """The reader may not read what is below: nothing above it that may fail is evaluated on rows that it leaves out."""
    hides_places: bool = False
    """Its columns that are made of names of files, or of places in them, are NULL."""
    settings: tuple[tuple[str, str], ...] | None = None
    """Spark's settings under which it is analyzed besides the server's: those that were captured when it was created.
    None: the session's own.
    """
    unlisted_columns: tuple[str, ...] = ()
    """Columns of its query that `*` does not show. It reads scans alone, and has no columns of its own then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScan:
    """Rows of a statement that are not in files, known as `relation`. No plan or answer over them is kept."""

    relation: str
    label: str
    rows: GivenRows


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """`text` is the user's text with every relation replaced by the name of one of `scans`, `views` or `given`.

    `views` are in such an order that each comes after those that it reads.
    """

    text: str
    scans: tuple[Scan, ...]
    views: tuple[ViewScan, ...] = ()
    given: tuple[RowScan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRead:
    """A read of the table that a statement changes.

    `target` is the relation whose rows change. It has a scan of its own: where the text names the table elsewhere too,
    that is another relation. `is_once`: the target is named once, and no subquery refers to it.
    """

    read: ReadPlan
    target: str
    is_once: bool
    source: str | None = None
    """The source of a MERGE, which has a scan of its own as well."""

    @property
    def scan(self) -> Scan:
        """That of the target."""
        return next(scan for scan in self.read.scans if scan.relation == self.target)

    def over(self, *scans: Scan) -> TargetRead:
        """With other scans of the same names."""
        others = {scan.relation: scan for scan in scans}
        changed = tuple(others.get(scan.relation, scan) for scan in self.read.scans)
        return replace(self, read=replace(self.read, scans=changed))


@dataclass(frozen=True, slots=True)
class EqualityDeletesPlan:
    """Finds the rows of `table` that are deleted by value; then the statement is planned again with their positions."""

    table: BoundTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """A query of `table` whose rows the log knows: names of the columns with their types, and the values."""

    table: BoundTable
    columns: tuple[tuple[str, ResultColumn], ...]
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

    statement: Statement
    bound: BoundStatement


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column of a query's answer; `sql_type` as DDL spells it, `json_type` as Spark's JSON does."""

    name: str
    sql_type: str
    comment: str | None
    json_type: str | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarePlan:
    """Declare the variables that the text of `read` (a DECLARE) names."""

    read: ReadPlan
    or_replace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignPlan:
    """Assign what the text of `read` (a SET VARIABLE) says."""

    read: ReadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVariablePlan:
    """Forget the session's variable `name`."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatePlan:
    """Take the rows of `read` as values."""

    read: ReadPlan
