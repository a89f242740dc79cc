"""The plans that Spark executed for a statement, as JSON.

There are none, with the reason, for a statement over protected data: its operators show conditions of row filters and
column masks, and their metrics how much data is hidden. A result from the cache has the plans of the statement that
computed it, if the same user ran that; an answer from the log has the statistics that it follows from.
"""

from __future__ import annotations

from dataclasses import asdict

from engine.runtime.executed_plan import ExecutedPlan, PlanOperator
from engine.tables.scan import TableRead
from gateway.http.statements import state_name
from gateway.sessions.operation import Operation

_RUNNING = frozenset({"PENDING", "RUNNING"})


def plan_body(operation: Operation) -> dict[str, object]:
    """Returns the plans, or the reason for their absence, such as `FROM_CACHE`, `FROM_LOG` or `NOT_RECORDED`."""
    profile, reason = operation.profile, _reason(operation)
    plans = profile.plans if reason in (None, "FROM_CACHE") else ()
    if reason is None and not plans:
        reason = "NOT_RECORDED"
    elif reason is None and all(each.is_repeated for each in plans):
        reason = "REPEATED"
    answer = profile.log_answer if reason == "FROM_LOG" else None
    return {
        "statement_id": str(operation.id),
        "reason": reason,
        "plans": [_plan(each) for each in plans],
        "log_answer": None if answer is None else asdict(answer),
    }


def _reason(operation: Operation) -> str | None:
    profile = operation.profile
    if state_name(operation.state) in _RUNNING:
        return "RUNNING"
    if profile.hides_metrics or profile.hides_texts:
        return "PROTECTED"
    if profile.parts:
        return "SCRIPT"
    if profile.log_answer is not None:
        return "FROM_LOG"
    return "FROM_CACHE" if profile.is_from_cache else None


def read_body(read: TableRead) -> dict[str, object]:
    """Returns the file and byte counts of one table's scan, before and after file pruning."""
    return {
        "table": read.label,
        "version": read.version,
        "files": read.files,
        "files_after_partitions": read.files_partition,
        "files_total": read.files_total,
        "bytes": read.bytes,
        "bytes_total": read.bytes_total,
    }


def _plan(plan: ExecutedPlan) -> dict[str, object]:
    return {
        "id": plan.id,
        "began_ms": plan.began_ms,
        "duration_ms": plan.duration_ms,
        "nodes": [_node(each) for each in plan.operators],
        "edges": [list(edge) for edge in plan.edges],
    }


def _node(operator: PlanOperator) -> dict[str, object]:
    return {
        "id": operator.id,
        "name": operator.name,
        "description": operator.description,
        "cluster": operator.cluster,
        "rows": operator.rows,
        "bytes": operator.size_bytes,
        "time_ms": operator.time_ms,
        "metrics": [{"name": each.name, "value": each.value} for each in operator.metrics],
        "read": None if operator.read is None else read_body(operator.read),
    }
