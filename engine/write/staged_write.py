"""A write between its execution and its commit: files that no version has yet, and the transaction that names them."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.changes import Change
from engine.bind.bound import Outcome
from engine.delta.commit.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedWrite:
    """`transaction` makes the version; None: there is nothing to commit. `outcome` is the answer once it is committed.

    `label` is what errors call the table. `then` is the change of the catalog that follows: a log comes before its
    name, so that a crash in between leaves a folder and never a name that leads nowhere.
    """

    outcome: Outcome
    transaction: Transaction | None = None
    label: str = ""
    then: Change | None = None
