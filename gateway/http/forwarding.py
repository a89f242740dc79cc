"""Forwarded requests over HTTP: to the gateway that has the named session, and from another gateway.

A request is forwarded after its sender is authenticated; see `gateway/forwarding`. The receiving gateway handles it as
if the client had sent it there: links in responses have the client's URL for the server.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import Response, request

from catalog.conditions import ForwardedRequestRefused
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer
from gateway.forwarding.forwarder import Forwarder, OutgoingCall
from gateway.forwarding.signed_calls import HEADER, CallSigner, ForwardedCall
from gateway.http.callers import FORWARDED, PEER
from gateway.http.wsgi import Application
from gateway.state.records import saved_identity

_ENVIRONMENT_KEY = f"HTTP_{HEADER.upper().replace('-', '_')}"
# Headers that are about one connection, that the gateway has checked, or that it writes itself.
_OWN_REQUEST_HEADERS = frozenset(
    ("host", "content-length", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect")
    + ("authorization", "cookie", "accept-encoding", "forwarded", "via", "x-real-ip", "origin", HEADER.lower())
)
_OWN_REQUEST_PREFIXES = ("x-forwarded-", "sec-", "proxy-")
_OWN_RESPONSE_HEADERS = frozenset(
    ("connection", "keep-alive", "transfer-encoding", "date", "server", "set-cookie", "x-request-id")
)


class ForwardedCalls:
    """Wraps `application`; a request that another gateway has signed comes from the client that this one names."""

    def __init__(self, application: Application, signer: CallSigner | None) -> None:
        self._application = application
        self._signer = signer

    def __call__(self, environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        header = environment.pop(_ENVIRONMENT_KEY, None)
        if header is not None and self._signer is not None:
            try:
                call = environment[FORWARDED] = self._verify(self._signer, header, environment)
                _use(call, environment)
            except ForwardedRequestRefused as error:
                environment[FORWARDED] = error
        return self._application(environment, start_response)

    def _verify(self, signer: CallSigner, header: str, environment: Mapping[str, Any]) -> ForwardedCall:
        content = environment["wsgi.input"]
        if not isinstance(content, io.BytesIO):
            raise ForwardedRequestRefused("it is an upload")
        method, target = environment["REQUEST_METHOD"], environment["REQUEST_URI"]
        return signer.verify(header, method, target, content.getvalue())


def _use(call: ForwardedCall, environment: dict[str, Any]) -> None:
    environment["REMOTE_ADDR"] = call.peer
    environment[PEER] = Peer(call.peer, is_encrypted=call.is_encrypted)
    if call.base_url:
        base = urlsplit(call.base_url)
        environment |= {"wsgi.url_scheme": base.scheme, "HTTP_HOST": base.netloc, "SCRIPT_NAME": base.path}


def forwarded_call() -> ForwardedCall | None:
    """Returns the call if another gateway has forwarded the request; raises `ForwardedRequestRefused`."""
    found = request.environ.get(FORWARDED)
    if isinstance(found, SqlError):
        raise found
    return found if isinstance(found, ForwardedCall) else None


@dataclass(frozen=True, slots=True)
class Target:
    """The session or statement that a request names."""

    object_id: uuid.UUID
    starts_statement: bool


def find_target() -> Target | None:
    """Returns what the request names; None if it belongs to no session, or if its id is malformed."""
    found = request.view_args or {}
    text = found.get("statement_id") or found.get("session_id")
    starts_statement = text is None
    if text is None and request.method == "POST" and request.is_json and "warehouse_id" not in found:
        body = request.get_json(silent=True)
        text = body.get("session_id") if isinstance(body, dict) else None
    try:
        return Target(uuid.UUID(text), starts_statement) if isinstance(text, str) else None
    except ValueError:
        return None


def forward(forwarder: Forwarder, target: Target, identity: Identity | None, base_url: str) -> Response | None:
    """Returns the response of the gateway that has the session; None if the request has to be handled here."""
    if forwarded_call() is not None:
        forwarder.ensure_here(target.object_id, starts_statement=target.starts_statement)
        return None
    if not forwarder.must_forward(target.object_id, starts_statement=target.starts_statement):
        return None
    outgoing = OutgoingCall(
        call=_call(identity, base_url),
        method=request.method,
        target=request.environ["REQUEST_URI"],
        headers=[(name, value) for name, value in request.headers.items() if _is_forwarded(name.lower())],
        body=request.get_data(),
        may_repeat=not target.starts_statement,
    )
    return _forwarded(forwarder, target, outgoing)


def read_elsewhere(
    forwarder: Forwarder, object_id: uuid.UUID, path: str, identity: Identity, base_url: str
) -> Response | None:
    """Returns the response of the gateway that has taken the session over to GET `path`."""
    outgoing = OutgoingCall(_call(identity, base_url), "GET", path, (), b"", may_repeat=True)
    return _forwarded(forwarder, Target(object_id, starts_statement=False), outgoing)


def _forwarded(forwarder: Forwarder, target: Target, outgoing: OutgoingCall) -> Response | None:
    found = forwarder.forward(target.object_id, outgoing, starts_statement=target.starts_statement)
    if found is None:
        return None
    headers = [(name, value) for name, value in found.headers if name.lower() not in _OWN_RESPONSE_HEADERS]
    response = Response(found.pieces(), status=found.status, headers=headers)
    response.call_on_close(found.close)
    return response


def _call(identity: Identity | None, base_url: str) -> ForwardedCall:
    return ForwardedCall(
        identity=None if identity is None else saved_identity(identity),
        peer=request.remote_addr or "",
        is_encrypted=request.is_secure,
        base_url=base_url,
    )


def _is_forwarded(name: str) -> bool:
    return name not in _OWN_REQUEST_HEADERS and not name.startswith(_OWN_REQUEST_PREFIXES)
