"""Plans that read: an exact list of data files for each table, with constants from the log.

They say *what* to read; `engine/exec` says how.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, Protocol

import pyarrow as pa

from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.pruning.predicates import Predicate
from engine.runtime.profile import TableRead
from engine.runtime.results import ResultColumn
from engine.statements.queries import ExplainMode
from engine.statements.statement import AnsweredStatement
from engine.types.schema import StructType


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """`rows` are positions in the snapshot's files, ascending; None for all of them."""

    rows: pa.Array | None
    read: TableRead


class Choice(Protocol):
    """Whoever knows which of a scan's files a condition leaves."""

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        """The files that may hold rows that satisfy `predicate`; `zone` is the session's, None if it is unknown."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTracking:
    """Physical names of the columns in which files may keep ids and commit versions of the rows that they took over."""

    row_id_column: str | None
    row_commit_version_column: str | None


FILE_METADATA = "_metadata"
"""The hidden column of every table, with fields for the file that a row is in and, if the table tracks rows, its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One table of a statement, pinned at one version.

    `relation` is the name under which the rewritten text refers to it; it is unique within the statement. `label` is
    how messages call the table.
    `schema` is the table's logical schema, `mapping_mode` how its files name the columns (`none`, `name` or `id`).
    `files` has one row a data file: `path` string (decoded; relative to `table_root` or absolute, a path or a URI),
    `size` int64 (bytes), `modification_time` int64 (ms), `partition_values` map<string, string> (keyed by physical
    column name, as the protocol serialises them; a timestamp without an offset is read in the session's zone) and, as
    in `engine.delta.log.file_table`, `deletion_vector` if some of their rows are deleted and `selected_rows` if no
    others than these are read.
    Beside the table's folder files may lie below `allowed_roots`, see `engine.delta.log.confinement`.
    `choice` answers which of `files` a condition leaves; None: all.
    `metadata` is what the text calls the hidden column with the place of a row.
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
    allowed_roots: tuple[str, ...] = ()
    row_tracking: RowTracking | None = None
    metadata: str = FILE_METADATA
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
    temporary: bool = False
    """The session's own, whose text may name variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """`text` is the user's text with every relation replaced by the name of one of `scans` or `views`.

    `views` are in such an order that each comes after those that it reads.
    """

    text: str
    scans: tuple[Scan, ...]
    views: tuple[ViewScan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRead:
    """A read of the table that a statement changes.

    `target` is the relation whose rows change. It has a scan of its own: where the text names the table elsewhere too,
    that is another relation. `is_once`: the target is named once, and no subquery refers to it.
    """

    read: ReadPlan
    target: str
    is_once: bool

    @property
    def scan(self) -> Scan:
        """That of the target."""
        return next(scan for scan in self.read.scans if scan.relation == self.target)

    def over(self, *scans: Scan) -> TargetRead:
        """With other scans of the same names."""
        others = {scan.relation: scan for scan in scans}
        changed = tuple(others.get(scan.relation, scan) for scan in self.read.scans)
        return replace(self, read=replace(self.read, scans=changed))


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

    statement: AnsweredStatement
    bound: BoundStatement


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column of a query's answer; `sql_type` as DDL spells it, `json_type` as Spark's JSON does."""

    name: str
    sql_type: str
    comment: str | None
    json_type: str | dict[str, Any]
