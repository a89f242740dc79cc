"""Sessions and statement history over HTTP, and their termination.

    GET  /api/2.0/sql/history/queries               running and ended statements, as Databricks' Query History API
    POST /api/2.0/sql/history/queries/{id}/cancel   a statement from any interface
    GET  /api/2.0/sql/sessions
    POST /api/2.0/sql/sessions/{id}/end             a session from any interface
    GET  /api/2.0/preview/scim/v2/Me                the authenticated user

Users see and end their own, administrators all; see `gateway/observability/history.py`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial
from itertools import islice

from flask import Blueprint, Response, request

from catalog.conditions import InvalidField, OperationNotFound
from engine.runtime.activity import SessionRow
from gateway.http.callers import origin_of_request
from gateway.http.delivery import API
from gateway.http.forwarding import forwarded_call
from gateway.http.queries import number_of
from gateway.http.requests import parse_handle
from gateway.http.statements import StatementApi, parse_statement_id
from gateway.observability.activity import session_row
from gateway.observability.history import StatementInfo
from gateway.observability.other_gateways import all_sessions, all_statements, encode_sessions, encode_statements
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Session

_QUERIES_MAX = 1000
_STATUS = {
    OperationState.PENDING: "QUEUED",
    OperationState.RUNNING: "RUNNING",
    OperationState.STREAMING: "RUNNING",
    OperationState.FINISHED: "FINISHED",
    OperationState.FAILED: "FAILED",
    OperationState.CANCELED: "CANCELED",
    OperationState.TIMED_OUT: "FAILED",
    OperationState.CLOSED: "FINISHED",
}


def activity_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes `/api/2.0/sql/history/queries` and `/api/2.0/sql/sessions`, and SCIM's `Me`.

    Users see and end their own statements and sessions, administrators all.
    """
    routes = Blueprint("activity", __name__)
    routes.before_request(api.authenticate)

    @routes.get(f"{API}/history/queries")
    def queries() -> dict[str, object] | Response:
        own = api.registry().statements(api.identity())
        if forwarded_call() is not None:
            return Response(encode_statements(own), content_type="application/json")
        count = number_of("max_results", default=100, smallest=1, largest=_QUERIES_MAX)
        statements = all_statements(own, api.lifecycle.forwarder, api.identity())
        found = list(islice(_after_token(_filter_statements(statements)), count + 1))
        more = {"next_page_token": str(found[count - 1].id)} if len(found) > count else {}
        return {"res": [query_info(info) for info in found[:count]], "has_next_page": bool(more), **more}

    @routes.post(f"{API}/history/queries/<statement_id>/cancel")
    def cancel(statement_id: str) -> dict[str, object]:
        operation_id = parse_statement_id(statement_id)
        api.end(partial(api.registry().end_operation, operation_id, api.identity(), origin_of_request()))
        return {}

    @routes.get(f"{API}/sessions")
    def sessions() -> dict[str, object] | Response:
        own = map(session_row, api.registry().managed_sessions(api.identity()))
        if forwarded_call() is not None:
            return Response(encode_sessions(own), content_type="application/json")
        found = all_sessions(own, api.lifecycle.forwarder, api.identity())
        return {"sessions": [_session_body(row) for row in sorted(found, key=lambda row: -row.created)]}

    @routes.post(f"{API}/sessions/<session_id>/end")
    def end(session_id: str) -> dict[str, object]:
        api.end(partial(api.registry().end_session, parse_handle(session_id), api.identity(), origin_of_request()))
        return {}

    @routes.get("/api/2.0/preview/scim/v2/Me")
    def me() -> dict[str, object]:
        identity = api.identity()
        groups = sorted(identity.groups | ({"admins"} if identity.is_admin else set()))
        return {
            "id": identity.principal,
            "userName": identity.principal,
            "displayName": identity.principal,
            "active": True,
            "groups": [{"display": group} for group in groups],
        }

    return routes


def query_info(info: StatementInfo) -> dict[str, object]:
    """Returns a statement in Databricks' form, with the additional fields `condition`, `session_id`, `stages` and the
    interface.
    """
    body: dict[str, object] = {
        "query_id": str(info.id),
        "session_id": str(info.session_id),
        "status": _STATUS[info.state],
        "query_text": info.text,
        "statement_type": info.kind.name,
        "user_name": info.identity.principal,
        "client_application": info.wire,
        "query_start_time_ms": info.created_ms,
        "rows_produced": info.rows,
        "is_final": info.state.is_terminal,
        "metrics": {
            "read_bytes": info.bytes_read,
            "pruned_bytes": info.bytes_pruned,
            "rows_produced_count": info.rows,
            "result_from_cache": info.is_from_cache,
        },
        "stages": [{"name": each.stage, "duration_ms": round(each.duration_ms, 3)} for each in info.stages],
    }
    if info.ended_ms is not None:
        body |= {"query_end_time_ms": info.ended_ms, "duration": info.ended_ms - info.created_ms}
    if info.failure:
        body |= {"error_message": info.failure.message} | info.failure.details
    return body


def session_info(session: Session) -> dict[str, object]:
    """Returns a session; times are milliseconds since the epoch."""
    return _session_body(session_row(session))


def _session_body(row: SessionRow) -> dict[str, object]:
    return {
        "session_id": row.session_id,
        "user_name": row.user_name,
        "interface": row.interface,
        "address": row.client_address,
        "client": row.user_agent,
        "created_ms": row.created,
        "last_used_ms": row.last_used,
        "running": row.running_statements,
    }


def _filter_statements(found: Iterator[StatementInfo]) -> Iterator[StatementInfo]:
    """Filters by the request's text, status and user."""
    statuses = set(request.args.getlist("filter_by.statuses") or request.args.getlist("status"))
    if unknown := statuses - set(_STATUS.values()):
        raise InvalidField("status", f"must be one of {', '.join(sorted(set(_STATUS.values())))}, not {unknown.pop()}")
    text = request.args.get("text", "").casefold()
    user = request.args.get("user")
    for info in found:
        if statuses and _STATUS[info.state] not in statuses or user not in (None, "", info.identity.principal):
            continue
        if text in info.text.casefold() or text in str(info.id):
            yield info


def _after_token(found: Iterator[StatementInfo]) -> Iterator[StatementInfo]:
    """Yields the statements after the preceding page's last one. If that statement is no longer kept, the list ends."""
    token = request.args.get("page_token")
    if token:
        last = _parse_token(token)
        for info in found:
            if info.id == last:
                break
    yield from found


def _parse_token(text: str) -> uuid.UUID:
    try:
        return parse_statement_id(text)
    except OperationNotFound:
        raise InvalidField("page_token", "must be one that an earlier answer gave") from None
