"""Which events of lineage a statement has: one when it begins to touch tables, and one when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.runtime.accesses import StatementAccess
from gateway.audit.lineage_sender import LineageSender
from gateway.audit.open_lineage import EventType, datasets, error_facet, job_of, run_event, user_facet
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState


class LineageEvents:
    """Told by the auditor, on the statements' threads; thread-safe."""

    def __init__(self, sender: LineageSender, namespace: str) -> None:
        self._sender, self._namespace = sender, namespace

    def began(self, operation: Operation, access: StatementAccess, text: Mapping[str, Any]) -> None:
        """`text` are the fields of the statement's text in the trail. A script begins with its first statement."""
        if operation.trace is None or operation.trace.accesses:
            return
        job = self._job(access.statement, text)
        event = run_event(EventType.START, operation.created_ms, str(operation.id), job, _user(operation))
        event["inputs"], event["outputs"] = datasets(self._namespace, (access,))
        if event["inputs"] or event["outputs"]:
            self._sender.send(event)

    def ended(self, operation: Operation, text: Mapping[str, Any]) -> None:
        """Nothing is sent of a statement that touched no tables, or was refused."""
        trace = operation.trace
        if trace is None or not trace.accesses or operation.ended_ms is None:
            return
        facets = _user(operation)
        if operation.error is not None:
            facets |= error_facet(operation.error.condition)
        job = self._job(trace.accesses[0].statement, text)
        event = run_event(_kind(operation), operation.ended_ms, str(operation.id), job, facets)
        event["inputs"], event["outputs"] = datasets(self._namespace, trace.accesses, trace)
        if event["inputs"] or event["outputs"]:
            self._sender.send(event)

    def close(self) -> None:
        self._sender.close()

    def _job(self, kind: str, text: Mapping[str, Any]) -> dict[str, Any]:
        return job_of(self._namespace, kind, text["text_sha256"], text.get("text"))


def _kind(operation: Operation) -> EventType:
    if operation.state in (OperationState.CANCELED, OperationState.TIMED_OUT):
        return EventType.ABORT
    return EventType.FAIL if operation.error is not None else EventType.COMPLETE


def _user(operation: Operation) -> dict[str, Any]:
    return user_facet(operation.identity.principal)
