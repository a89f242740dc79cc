"""Plans that write rows into a table that exists."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import ExpressionCheckPlan, QueryCheck
from engine.planning.plans.reads import QueryColumn, ReadPlan, TargetRead
from engine.planning.plans.write_plan import WritePlan
from engine.pruning.predicates import Path, Predicate
from engine.sql.expressions import Expression
from engine.tables.definition import TableDefinition
from engine.tables.operations import CommitDescription, NumberedWrite
from engine.tables.scan import Scan
from engine.types.schema import DataType, StructField


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAll:
    """Nothing is removed: an append."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceAll:
    """Every file is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMatching:
    """Remove the files of the partitions for which `condition` (SQL over the partition columns) is true."""

    condition: str
    shown: str
    """On one line, for lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWholeFiles:
    """Remove the files of which all rows satisfy `condition`, if no other file may have such a row."""

    condition: Predicate
    shown: str
    """On one line, for lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTouched:
    """Remove the files of the partitions that get new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRows:
    """Delete the rows at `places`."""

    places: TargetRead
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceEqual:
    """Delete the rows that equal a new one in `columns`; NULL equals nothing."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRelated:
    """Delete the rows for which `condition` is true with a row of the query: SQL over the table, called `alias`, and
    the query, called `source_alias`, if it has a name.
    """

    condition: Expression
    alias: str
    source_alias: str | None
    shown: str


Replacement = KeepAll | ReplaceAll | ReplaceMatching | ReplaceTouched | ReplaceRows | ReplaceEqual | ReplaceRelated


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPart:
    """More rows of an INSERT, that give values for other columns."""

    source: ReadPlan
    rows: WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPlan:
    """Write the rows of `source` into `table`, as `rows` says when the rules have been over it, and those of `more`.

    `columns` are those of `source` where they are known, `definition` is the table's where it has new
    columns.

    `reads_table`: the query reads the table, so that others' commits to it matter. `only_if_absent`: nothing happens
    where the partition that `replacement` means has rows (IF NOT EXISTS).
    """

    table: BoundTable
    source: ReadPlan
    columns: tuple[QueryColumn, ...]
    rows: WritePlan
    definition: TableDefinition | None
    replacement: Replacement
    reads_table: bool
    description: CommitDescription
    more: tuple[InsertPart, ...] = ()
    only_if_absent: bool = False
    expression_checks: ExpressionCheckPlan | None = None
    numbered: NumberedWrite | None = None
    """Nothing happens where the table has this write of the application, or a later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """Write the rows of files that `table` has not loaded yet, and record that it has; `insert` None: there are none.

    `loaded` are these files. `validates`: nothing is written, rows are looked at, so
    many of them as the plan reads, and the first are shown.
    """

    table: BoundTable
    insert: InsertPlan | None
    loaded: pa.Table
    validates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriedKey:
    """A column of the table (`path`, of names, and its `field`) that is among the values of `query` in all rows that
    are meant. `places` answers these, as those of the statement do, from a scan called `relation` that has the query's
    rows; it is not among the scans yet.
    """

    path: Path
    field: StructField
    query: ReadPlan
    relation: str
    places: TargetRead


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePlan:
    """Take the rows at `places` out of `table`; `whole` says which files have no others, where the log knows it.

    `reads_table` and `numbered` are as in an `InsertPlan`.
    """

    table: BoundTable
    places: TargetRead
    shown: str
    whole: ReplaceAll | ReplaceMatching | ReplaceWholeFiles | None
    queried: QueriedKey | None
    reads_table: bool
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None
    numbered: NumberedWrite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenRows:
    """All rows of files in which some change, these with their new values: `values`, whose scan has to tell them, as
    `rows` says when the rules have been over it.
    """

    values: TargetRead
    rows: WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan:
    """Give the rows of `table` at `places` the new `values`, as `rows` says when the rules have been over it.

    `rewritten` is the way for rows whose files are written again in one go; None: they go to files of their own.
    """

    table: BoundTable
    places: TargetRead
    values: TargetRead
    rows: WritePlan
    rewritten: RewrittenRows | None
    queried: QueriedKey | None
    reads_table: bool
    description: CommitDescription
    checks: QueryCheck
    expression_checks: ExpressionCheckPlan | None = None
    numbered: NumberedWrite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedValues:
    """What rows of one clause of a MERGE become: `values`, as `rows` says when the rules have been over it. `clause` is
    its number.
    """

    clause: int
    values: TargetRead
    rows: WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedKey:
    """A column of the table (a path of names) that equals one of the source wherever rows match; `of_source` is SQL
    over the source's scan, of values that compare with those of the column as they are.
    """

    path: Path
    of_source: str
    data_type: DataType
    """Of the source's values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """Change, remove and add rows of `table` by those of a source.

    `source` is the scan that all reads have of it: of `source_table`, or, where there is a `source_query`, of the rows
    of this, which have to be kept first: the scan has no files yet.

    `places` answers the rows of both sides, by the number of the clause that they are for; rows of the source that
    match some row of the table are of the kind `MATCHING_SOURCE`. `duplicates` answers the columns, as JSON, of a row
    of the table that several rows of the source would change; None where these may.

    `updates` are for rows of the table, `deletes` the clauses whose rows go, `inserts` for rows of the source, whose
    scan is the target of their values. `by_source` are the clauses for rows that match none of the source.

    `keys` are given where rows that match no row of the source do not matter.
    `changes_all_matches`: no row that matches one of the source stays as it is.
    """

    table: BoundTable
    source: Scan
    source_table: BoundTable | None
    source_query: ReadPlan | None
    places: TargetRead
    duplicates: TargetRead | None
    updates: tuple[ChangedValues, ...]
    inserts: tuple[ChangedValues, ...]
    deletes: frozenset[int]
    by_source: frozenset[int]
    keys: tuple[MatchedKey, ...]
    changes_all_matches: bool
    definition: TableDefinition
    reads_table: bool
    description: CommitDescription
    checks: tuple[QueryCheck, ...]
    numbered: NumberedWrite | None = None


MATCHING_SOURCE = -1
"""The kind of the rows of a MERGE's source that match a row of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatePlan:
    """Remove every file of `table`."""

    table: BoundTable
    description: CommitDescription
