"""Define what a statement may do to a table that has a row filter or column masks: a closed set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class PolicyEffect(Enum):
    """How a statement, or one change of it, relates to a table that has a row filter or column masks."""

    NONE = auto()
    """It neither reads nor reveals what is stored, and changes no row."""
    READS_THROUGH_POLICIES = auto()
    """It reads rows by a query, which sees them filtered and masked."""
    ADDS_ROWS = auto()
    """It adds rows to its target and looks at none of those that are there."""
    REMOVES_VISIBLE_ROWS = auto()
    """It removes rows of its target that its principal sees."""
    CHANGES_VISIBLE_ROWS = auto()
    """It changes rows of its target that its principal sees; constraints are checked on them."""
    REARRANGES_FILES = auto()
    """It rewrites or removes files of its target and keeps its rows; what it answers about that work is hidden."""
    REMOVES_OR_REPLACES_ROWS = auto()
    """It removes or replaces rows of its target that its principal may not see."""
    REVEALS_STORED_STATE_OF_TARGET = auto()
    """It answers files, history or statistics of its target, or an answer that depends on hidden rows."""
    REVEALS_STORED_STATE_OF_SOURCES = auto()
    """The same of the relations that it reads."""
    REVEALS_PLAN = auto()
    """It shows how relations are read, those inside views included."""
    CHECKS_STORED_ROWS = auto()
    """Whether it succeeds depends on all rows that are stored in its target."""
    CHANGES_COLUMNS = auto()
    """It changes or drops columns, which a policy may use."""
    ADMINISTERS = auto()
    """It drops, replaces or moves its target as a whole, or changes its policies, which takes MANAGE."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect on protected tables. `what` names the statement or clause in errors; `columns` belong to
    CHANGES_COLUMNS.
    """

    kind: PolicyEffect
    what: str
    columns: tuple[str, ...] = ()
