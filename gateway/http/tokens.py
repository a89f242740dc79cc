"""Personal access tokens over HTTP, as in Databricks' Token API 2.0: create, list and delete one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Blueprint

from catalog.grants.tokens import TokenEntry, TokenStore
from engine.runtime.identity import Identity
from engine.runtime.tokens import create_token, revoke_token, visible_tokens
from gateway.http.callers import Callers, json_content, origin_of_request
from gateway.http.requests import TokenScope, parse_new_token, parse_token_id

API = "/api/2.0/token"


def tokens_blueprint(callers: Callers, store: TokenStore | None) -> Blueprint:
    """Returns the routes below `/api/2.0/token`. Without a store they raise `TokenNotAllowed`."""
    routes = Blueprint("tokens", __name__)

    @routes.post(f"{API}/create")
    def create() -> dict[str, Any]:
        identity = callers.identity()
        submitted = parse_new_token(json_content())
        with _record_attempt(callers, identity, "token.create") as recorded:
            token, entry = create_token(
                store,
                identity,
                comment=submitted.comment,
                lifetime_s=submitted.lifetime_s,
                is_read_only=submitted.scope is TokenScope.READ_ONLY,
            )
            recorded.append(entry.token_id)
        return {"token_value": token, "token_info": _info(entry)}

    @routes.get(f"{API}/list")
    def show() -> dict[str, Any]:
        return {"token_infos": [_info(entry) for entry in visible_tokens(store, callers.identity())]}

    @routes.post(f"{API}/delete")
    def delete() -> dict[str, Any]:
        identity = callers.identity()
        token_id = parse_token_id(json_content())
        with _record_attempt(callers, identity, "token.revoke") as recorded:
            recorded.append(token_id)
            revoke_token(store, identity, token_id)
        return {}

    return routes


@contextmanager
def _record_attempt(callers: Callers, identity: Identity, event: str) -> Iterator[list[str]]:
    """Records the attempt to create or revoke a token, and afterwards the token and the outcome."""
    recorded: list[str] = []
    callers.auditor.record_token_change(event, "begin", identity, origin_of_request())
    outcome = "failed"
    try:
        yield recorded
        outcome = "ok"
    finally:
        callers.auditor.record_token_change(event, outcome, identity, origin_of_request(), *recorded)


def _info(entry: TokenEntry) -> dict[str, Any]:
    return {
        "token_id": entry.token_id,
        "creation_time": entry.created_ms,
        "expiry_time": entry.expires_ms,
        "comment": entry.comment,
        "created_by_username": entry.owner.principal,
        "scope": TokenScope.READ_ONLY if entry.is_read_only else TokenScope.SQL,
    }
