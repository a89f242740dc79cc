"""A write between its execution and its commit: files that no version has yet, and the transaction that names them."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.entries import CloneEntry, TableEntry
from engine.binding.bound import BoundTable, Outcome
from engine.tables.transaction import TableTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedWrite:
    """`transaction` makes the version; None: there is no log to write. `outcome` is the answer once it is committed.

    `clone` is recorded before the commit, so that at no time a table names files of another one and nobody knows.
    `label` is what errors call the table. `creates` is the table that gets its first version, and its name unless
    `is_path`: a log comes before its name, so that a crash in between leaves no name that leads nowhere. `converts` is
    the table of another format over whose files it is made: its name, if any, leads to the new table from then on.
    """

    outcome: Outcome
    transaction: TableTransaction | None = None
    label: str = ""
    creates: TableEntry | None = None
    has_files: bool = True
    """False: the first version of the table has none."""
    clone: CloneEntry | None = None
    is_path: bool = False
    converts: BoundTable | None = None
