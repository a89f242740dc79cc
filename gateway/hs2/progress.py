"""A statement's progress, as the table that beeline draws while it waits. Pure.

Hive fills the table with a Tez job's vertices; here its rows are the tables that are read, with the data files in each
and the files remaining after pruning, and Spark's tasks. beeline prints exactly nine columns.
"""

from __future__ import annotations

from typing import Any

from engine.runtime.profile import Profile
from gateway.hs2.gen import ttypes as t

_HEADERS = ["VERTICES", "MODE", "STATUS", "TOTAL", "COMPLETED", "RUNNING", "PENDING", "FAILED", "KILLED"]


def progress_update(profile: Profile, started_ms: int, *, has_ended: bool) -> Any:
    """Returns a TProgressUpdateResp."""
    tasks = profile.now.tasks  # for a script: the running statement's
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
    """Returns a row with zeros for missing numbers."""
    counted = [*map(str, numbers)]
    return [name, mode, state, *counted, *["0"] * (len(_HEADERS) - 3 - len(counted))]
