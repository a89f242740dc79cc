"""A write between its execution and its commit: files that no version has yet, and the transaction that names them."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.entries import TableEntry
from engine.bind.bound import Outcome
from engine.table.transaction import TableTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedWrite:
    """`transaction` makes the version; None: there is no log to write. `outcome` is the answer once it is committed.

    `label` is what errors call the table. `creates` is the table that gets its first version, and its name unless
    `is_path`: a log comes before its name, so that a crash in between leaves no name that leads nowhere.
    """

    outcome: Outcome
    transaction: TableTransaction | None = None
    label: str = ""
    creates: TableEntry | None = None
    is_path: bool = False
