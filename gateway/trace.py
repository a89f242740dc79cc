"""What is known of a statement's run besides its result: what it touched, what its queries read, what it committed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from catalog.right_differences import RightDifference
from engine.concurrency.retry import Loss
from engine.runtime.accesses import Commit, Lineage, StatementAccess
from engine.runtime.context import StatementContext
from engine.runtime.profile import SparkJob


@dataclass(slots=True)
class Trace:
    """Added to on the statement's thread, and read when it has ended. A script has those of all its statements."""

    accesses: list[StatementAccess] = field(default_factory=list)
    lineage: list[Lineage] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    losses: list[tuple[int, Loss]] = field(default_factory=list)
    """With when, in nanoseconds since the epoch."""
    jobs: list[SparkJob] | None = None
    """None where nobody asks for them."""
    rights: list[RightDifference] = field(default_factory=list)

    def following(self, context: StatementContext) -> StatementContext:
        """The context of a run that this is told of."""
        on_jobs = None if self.jobs is None else self.jobs.extend
        return replace(context, on_lineage=self.lineage.append, on_rights=self.rights.extend, on_jobs=on_jobs)
