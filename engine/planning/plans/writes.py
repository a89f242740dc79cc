"""Plans that write rows to an existing table."""

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
from engine.tables.operations import CommitDescription, IdempotentWrite
from engine.tables.scan import Scan
from engine.types.schema import DataType, StructField


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAll:
    """Nothing is removed: an append."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceAll:
    """All files are removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMatching:
    """Removes the files in partitions for which `condition` (SQL over the partition columns) is true."""

    condition: str
    # On one line, for lists.
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWholeFiles:
    """Removes the files whose rows all satisfy `condition`, if no other file may have a matching row."""

    condition: Predicate
    # On one line, for lists.
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTouched:
    """Removes the files in partitions that receive new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRows:
    """Deletes the rows at `places`."""

    places: TargetRead
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceEqual:
    """Deletes the rows that equal a new one in `columns`; NULL equals nothing."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRelated:
    """Deletes the rows for which `condition` is true with a query row: SQL over the table, with the alias `alias`, and
    the query, with the alias `source_alias`, if it has a name.
    """

    condition: Expression
    alias: str
    source_alias: str | None
    shown: str


Replacement = KeepAll | ReplaceAll | ReplaceMatching | ReplaceTouched | ReplaceRows | ReplaceEqual | ReplaceRelated


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPart:
    """Additional INSERT rows with values for other columns."""

    source: ReadPlan
    rows: WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPlan:
    """Writes the rows of `source` to `table`, according to `rows` after the rules have been applied, and the rows of
    `more`.

    `columns` are the columns of `source` if they are resolved, `definition` is the table's if it has new columns.

    `reads_table`: the query reads the table, so that concurrent commits to it may conflict. `only_if_absent`: nothing
    happens if the partition in `replacement` has rows (IF NOT EXISTS).
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
    # Nothing happens if the table has this application's write, or a later one.
    idempotent_write: IdempotentWrite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """Loads the rows of files that `table` has not loaded yet, and records the files; `insert` None: all files are
    loaded.

    `loaded` are these files. `validates`: nothing is written; as many rows as the plan reads are validated, and the
    first ones are shown.
    """

    table: BoundTable
    insert: InsertPlan | None
    loaded: pa.Table
    validates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriedKey:
    """A table column (`path`, names, and its `field`) that is among the values of `query` in all matching rows.
    `places` returns these values, like the statement's, from a scan with the name `relation` over the query's rows; it
    is not among the scans yet.
    """

    path: Path
    field: StructField
    query: ReadPlan
    relation: str
    places: TargetRead


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePlan:
    """Deletes the rows at `places` from `table`; `whole` are the files without other rows, if the log has this
    information.

    `reads_table` and `idempotent_write` are as in an `InsertPlan`.
    """

    table: BoundTable
    places: TargetRead
    shown: str
    whole: ReplaceAll | ReplaceMatching | ReplaceWholeFiles | None
    queried: QueriedKey | None
    reads_table: bool
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None
    idempotent_write: IdempotentWrite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenRows:
    """Copy-on-write: all rows of the touched files, changed rows with their new values: `values`, whose scan has to
    provide them, written according to `rows` after the rules have been applied.
    """

    values: TargetRead
    rows: WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan:
    """Gives the rows of `table` at `places` the new `values`, written according to `rows` after the rules have been
    applied.

    `rewritten` is the copy-on-write read for files that are rewritten in one job; None: updated rows are written to new
    files.
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
    idempotent_write: IdempotentWrite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedValues:
    """The new rows from one MERGE clause: `values`, written according to `rows` after the rules have been applied.
    `clause` is its number.
    """

    clause: int
    values: TargetRead
    rows: WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedKey:
    """A table column (a path of names) that equals a source column in all matches; `of_source` is SQL over the source's
    scan, whose values are comparable with the column's without a cast.
    """

    path: Path
    of_source: str
    # The type of the source's values.
    data_type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """Changes, deletes and inserts rows of `table` based on a source.

    `source` is the scan that all reads have for it: of `source_table`, or, with a `source_query`, of this query's rows,
    which have to be materialized first: the scan has no files yet.

    `places` returns rows from both sides, by the number of the clause that applies; source rows that match a table row
    have the kind `MATCHING_SOURCE`. `duplicates` returns the columns, as JSON, for a table row that several source rows
    would change; None if this is allowed.

    `updates` are for table rows, `deletes` the clauses that delete rows, `inserts` for source rows, whose scan is the
    target for their values. `by_source` are the clauses for rows that match no source row.

    `keys` are set if source rows without a matching table row have no effect. `changes_all_matches`: each row that
    matches a source row is changed or deleted.
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
    idempotent_write: IdempotentWrite | None = None


# The kind for MERGE source rows that match a table row.
MATCHING_SOURCE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatePlan:
    """Removes all files of `table`."""

    table: BoundTable
    description: CommitDescription
