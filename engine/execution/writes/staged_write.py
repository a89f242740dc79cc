"""A write between its execution and its commit: files that are in no version yet, and the transaction that names
them; and the interface for writes that are specific to a table format.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from catalog.entries import CloneEntry, TableEntry
from engine.binding.bound import BoundTable, Outcome
from engine.planning.plans.ddl import PolicyReplacement
from engine.planning.plans.format_plan import FormatPlan
from engine.runtime.transaction_block import AppendedFiles
from engine.spark.execution_context import ExecutionContext
from engine.tables.transaction import TableTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedWrite:
    """A staged write. `transaction` makes the version; None: there is no log to write. `outcome` is the result after
    the commit.

    `clone` is recorded before the commit, so that a table never refers to another table's files without a record.
    `label` is the table name in errors. `creates` is the table that gets its first version, and its name unless
    `is_path`: the log is written before the name, so that a crash in between leaves no name without a table. `converts`
    is the table in another format over whose files it is made: its name, if any, refers to the new table from then on.
    `policies` are those that a replaced table gets. `appended` are the files of an INSERT that does nothing else.
    """

    outcome: Outcome
    transaction: TableTransaction | None = None
    label: str = ""
    creates: TableEntry | None = None
    # False: the table's first version has no files.
    has_files: bool = True
    clone: CloneEntry | None = None
    is_path: bool = False
    converts: BoundTable | None = None
    policies: PolicyReplacement = PolicyReplacement()
    appended: AppendedFiles | None = None


class FormatWriter(Protocol):
    """Writes the plans of one format's planner (`engine.statements.format_planning`)."""

    def write(self, plan: FormatPlan, context: ExecutionContext) -> AbstractContextManager[StagedWrite]:
        """Stages the write for `plan` when the block is entered; it persists if the block commits it."""
        ...


# Writers by the format's catalog name.
FormatWriters: TypeAlias = Mapping[str, FormatWriter]
