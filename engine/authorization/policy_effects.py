"""Define what a statement may do to a table that has a row filter or column masks: a closed set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class PolicyEffect(Enum):
    """The relation of a statement, or of one change of it, to a table that has a row filter or column masks."""

    NONE = auto()
    """Neither reads nor reveals stored data, and changes no row."""
    READS_THROUGH_POLICIES = auto()
    """Reads rows by a query, which sees them filtered and masked."""
    ADDS_ROWS = auto()
    """Adds rows to its target and looks at no row that is there."""
    REMOVES_VISIBLE_ROWS = auto()
    """Removes rows of its target that its principal sees."""
    CHANGES_VISIBLE_ROWS = auto()
    """Changes rows of its target that its principal sees; constraints are checked on them."""
    REARRANGES_FILES = auto()
    """Rewrites or removes files of its target and keeps its rows; its answer about that work is hidden."""
    REMOVES_OR_REPLACES_ROWS = auto()
    """Removes or replaces rows of its target that its principal may not see."""
    REVEALS_STORED_STATE_OF_TARGET = auto()
    """Answers files, history or statistics of its target, or an answer that depends on hidden rows."""
    REVEALS_STORED_STATE_OF_SOURCES = auto()
    """The same of the relations that it reads."""
    REVEALS_PLAN = auto()
    """Shows how relations are read, including relations inside views."""
    CHECKS_STORED_ROWS = auto()
    """Succeeds or fails depending on all rows that are stored in its target."""
    CHANGES_COLUMNS = auto()
    """Changes or drops columns, which a policy may use."""
    ADMINISTERS = auto()
    """Drops, replaces or moves its target as a whole, or changes its policies, which takes MANAGE."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect on protected tables. `what` names the statement or clause in errors; `columns` belong to
    CHANGES_COLUMNS.
    """

    kind: PolicyEffect
    what: str
    columns: tuple[str, ...] = ()
