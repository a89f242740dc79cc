"""A statement's trace: accessed tables, reads and commits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from catalog.grants.right_differences import RightDifference
from engine.concurrency.retry import RetryReason
from engine.runtime.accesses import Commit, Lineage, StatementAccess
from engine.runtime.profile import SparkJob
from engine.runtime.request import StatementRequest, with_changes

MOMENTS_MAX = 200


@dataclass(slots=True)
class Trace:
    """A trace, filled on the statement's thread, and read after its end. A script's trace includes all its
    statements.
    """

    accesses: list[StatementAccess] = field(default_factory=list)
    lineage: list[Lineage] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    # Commits, and failed attempts, with their times in nanoseconds since the epoch. At most :data:`MOMENTS_MAX`.
    moments: list[tuple[int, Commit | RetryReason]] = field(default_factory=list)
    # Spark jobs; None if they are not collected.
    jobs: list[SparkJob] | None = None
    wants_lineage: bool = True

    def note(self, what: Commit | RetryReason) -> None:
        """Adds a commit or a failed attempt that has just happened."""
        if len(self.moments) < MOMENTS_MAX:
            self.moments.append((time.time_ns(), what))

    rights: list[RightDifference] = field(default_factory=list)

    def record_execution(self, request: StatementRequest) -> StatementRequest:
        """Returns a request whose execution is recorded in this trace."""
        on_jobs = None if self.jobs is None else self.jobs.extend
        on_lineage = self.lineage.append if self.wants_lineage else None
        return with_changes(request, on_lineage=on_lineage, on_rights=self.rights.extend, on_jobs=on_jobs)
