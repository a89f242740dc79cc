"""Plans that write rows into a table that exists."""

from __future__ import annotations

from dataclasses import dataclass

from engine.bind.bound import BoundTable
from engine.delta.definition.table_draft import Definition
from engine.delta.spec.actions import SetTransaction
from engine.plans.expression_checks import ExpressionCheckPlan
from engine.plans.reads import QueryColumn, ReadPlan
from engine.plans.write_plan import WritePlan
from engine.sql.expressions import Expression
from engine.table.operations import CommitDescription


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
class ReplaceTouched:
    """Remove the files of the partitions that get new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRows:
    """Delete the rows for which `condition` (SQL over any columns, in parentheses) is true."""

    condition: str
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
class InsertPlan:
    """Write the rows of `source` into `table`, as `rows` says when the rules have been over it.

    `columns` are those of `source` where they are known, `definition` is the table's, with columns that are new.

    `reads_table`: the query reads the table, so that others' commits to it matter. `only_if_absent`: nothing happens
    where the partition that `replacement` means has rows (IF NOT EXISTS).
    """

    table: BoundTable
    source: ReadPlan
    columns: tuple[QueryColumn, ...]
    rows: WritePlan
    definition: Definition
    replacement: Replacement
    reads_table: bool
    description: CommitDescription
    only_if_absent: bool = False
    expression_checks: ExpressionCheckPlan | None = None
    numbered: SetTransaction | None = None
    """Nothing happens where the table has this write of the application, or a later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePlan:
    """Take rows out of `table`: all, or those that the condition of `going` chooses."""

    table: BoundTable
    going: ReplaceAll | ReplaceMatching | ReplaceRows
    description: CommitDescription
    expression_checks: ExpressionCheckPlan | None = None
    numbered: SetTransaction | None = None
    """As in an `InsertPlan`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatePlan:
    """Remove every file of `table`."""

    table: BoundTable
    description: CommitDescription
