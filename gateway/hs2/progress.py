"""How far a statement has come, as the table that beeline draws while it waits. Pure.

Hive fills the table with the vertices of a Tez job; here its rows are the tables that are read, with the data files of
each and those that are left after pruning, and the tasks of Spark. beeline prints nine columns, no more and no less.
"""

from __future__ import annotations

from typing import Any

from engine.runtime.profile import Profile
from gateway.hs2.gen import ttypes as t

_HEADERS = ["VERTICES", "MODE", "STATUS", "TOTAL", "COMPLETED", "RUNNING", "PENDING", "FAILED", "KILLED"]


def progress_update(profile: Profile, started_ms: int, *, has_ended: bool) -> Any:
    """A TProgressUpdateResp."""
    tasks = profile.now.tasks  # of a script: those of the statement in it that runs
    rows = [_row(read.label, "files", "PRUNED", read.files_total, read.files) for read in profile.reads]
    state = "ENDED" if has_ended else "RUNNING" if tasks.total else "PLANNING"
    pending = max(0, tasks.total - tasks.done - tasks.running)
    rows.append(_row("Spark", "tasks", state, tasks.total, tasks.done, tasks.running, pending, tasks.failed))
    return t.TProgressUpdateResp(
        headerNames=_HEADERS,
        rows=rows,
        progressedPercentage=1.0 if has_ended else min(0.99, tasks.done / tasks.total) if tasks.total else 0.0,
        status=t.TJobExecutionStatus.COMPLETE if has_ended else t.TJobExecutionStatus.IN_PROGRESS,
        footerSummary=f"TASKS: {tasks.done}/{tasks.total}",
        startTime=started_ms,
    )


def _row(name: str, mode: str, state: str, *numbers: int) -> list[str]:
    """A row with zeros for the numbers that are not given."""
    counted = [*map(str, numbers)]
    return [name, mode, state, *counted, *["0"] * (len(_HEADERS) - 3 - len(counted))]
