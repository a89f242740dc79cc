"""A session's current catalog and schema, in which its next statement resolves names.

GET   /api/2.0/sql/sessions/{id}
PATCH /api/2.0/sql/sessions/{id}   sets them, as USE does
"""

from __future__ import annotations

from flask import Blueprint

from catalog.conditions import EngineNotAnswering
from engine.runtime.statement import Statement
from engine.statements.session.statement import UseCatalog, UseSchema
from gateway.http.activity import session_info
from gateway.http.callers import json_content
from gateway.http.delivery import API, context_of
from gateway.http.requests import SessionPlace, parse_handle, parse_session_place
from gateway.http.statements import StatementApi
from gateway.sessions.session import Session

_ANSWER_S = 60.0


def session_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes `GET` and `PATCH /api/2.0/sql/sessions/{id}`: the current catalog and schema."""
    routes = Blueprint("session", __name__)
    routes.before_request(api.authenticate)

    def find(session_id: str) -> Session:
        return api.registry().session(parse_handle(session_id), api.identity())

    @routes.get(f"{API}/sessions/<session_id>")
    def show(session_id: str) -> dict[str, object]:
        return _body(find(session_id))

    @routes.patch(f"{API}/sessions/<session_id>")
    def change(session_id: str) -> dict[str, object]:
        session, place = find(session_id), parse_session_place(json_content())
        operation = session.request(_use(place))
        if not operation.wait(_ANSWER_S).is_final:
            raise EngineNotAnswering(_ANSWER_S)
        if operation.error is not None:
            raise operation.error
        session.forget(operation)
        session.record()
        return _body(session)

    return routes


def _use(place: SessionPlace) -> Statement:
    if place.schema is None:
        return UseCatalog(catalog=place.catalog or "")
    parts = (place.schema,) if place.catalog is None else (place.catalog, place.schema)
    return UseSchema(parts=parts, schema_only=True)


def _body(session: Session) -> dict[str, object]:
    return session_info(session) | context_of(session).body()
