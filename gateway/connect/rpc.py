"""The calls of gRPC: decoding, logging in, and errors.

Messages are decoded here, and not by gRPC, which logs a traceback for each malformed one. A call is authenticated by
its metadata `authorization` as an HTTP request is by its header: `Bearer` with a token, or `Basic`. Without it, and
with anonymous authentication, the name in `user_context` is the user, as HiveServer2's user name is. A call that names
another gateway's session is sent there (`forwarding.py`), with the identity instead of the credentials.
"""

from __future__ import annotations

import logging
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message

from catalog.conditions import AuthenticationFailed, ConnectPlanUnreadable
from engine.runtime.identity import Identity
from engine.runtime.trace_parent import trace_parent_of
from gateway.authenticators.exchange import Authenticator, Mechanism, log_in, plain_message
from gateway.authenticators.peer import Peer
from gateway.connect.client_sessions import WIRE, Call
from gateway.connect.errors import abort
from gateway.connect.forwarding import KEY, Elsewhere, OwnerFailed
from gateway.connect.proto import pb2
from gateway.connect.replies import Response
from gateway.sessions.call_context import CallContext, note_user, request_id_of, working_for
from gateway.sessions.session import Origin
from gateway.state.records import restored_identity

logger = logging.getLogger(__name__)

SERVICE = "spark.connect.SparkConnectService"
_AGENT_MAX = 200
_AUTHORIZATION, _REQUEST_ID, _TRACE_PARENT = "authorization", "x-request-id", "traceparent"

Unary = Callable[[Any, Call], Any]
Streaming = Callable[[Any, Call], Iterator[Response]]


class StatementFailed(Exception):
    """A statement has ended with `error`, which repeating the request would not change."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class Rpc:
    """Makes gRPC's handlers of methods; `is_encrypted`: the port takes TLS only."""

    authenticator: Authenticator
    is_encrypted: bool
    # None: there are no other gateways.
    elsewhere: Elsewhere | None = None

    def unary(self, name: str, kind: type[Message], method: Unary, *, is_client_streaming: bool = False) -> Any:
        """Returns gRPC's handler for a method with one response.

        A client's stream of requests is decided by its first message.
        """

        def answer(data: Any, context: grpc.ServicerContext) -> bytes:
            call: Call | None = None
            with working_for(_context_of(context)):
                try:
                    # The first message has the session, and nothing that is not rejected follows it.
                    data = next(data, b"") if is_client_streaming else data
                    request = decode(kind, data)
                    call = self._begin(name, data, request, context)
                    if (responses := self._responses_elsewhere(name, data, request, call)) is not None:
                        return next(responses, b"")
                    return bytes(method(request, call).SerializeToString())
                except Exception as error:  # noqa: BLE001 - the client gets every error
                    _abort(context, error, call)
                    return b""  # the client is gone

        if is_client_streaming:
            return grpc.stream_unary_rpc_method_handler(answer)
        return grpc.unary_unary_rpc_method_handler(answer)

    def streaming(self, name: str, kind: type[Message], method: Streaming) -> Any:
        """Returns gRPC's handler for a method with a stream of responses."""

        def answer(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            call: Call | None = None
            with working_for(_context_of(context)):
                try:
                    request = decode(kind, data)
                    call = self._begin(name, data, request, context)
                    if (responses := self._responses_elsewhere(name, data, request, call)) is not None:
                        yield from responses
                        return
                    for response in method(request, call):
                        yield response.encode()
                except Exception as error:  # noqa: BLE001 - the client gets every error
                    _abort(context, error, call)

        return grpc.unary_stream_rpc_method_handler(answer)

    def _begin(self, name: str, data: bytes, request: pb2.ExecutePlanRequest, context: grpc.ServicerContext) -> Call:
        metadata = _metadata(context)
        peer = Peer(_address(context.peer()), is_encrypted=self.is_encrypted)
        is_forwarded = KEY in metadata and self.elsewhere is not None
        if self.elsewhere is not None and is_forwarded:
            forwarded = self.elsewhere.verify(metadata[KEY], _path(name), data)
            assert forwarded.identity is not None
            identity = restored_identity(forwarded.identity)
            peer = Peer(forwarded.peer, is_encrypted=forwarded.is_encrypted)
        else:
            identity = self._log_in(metadata.get(_AUTHORIZATION), request.user_context, peer)
        note_user(identity.principal)
        agent = getattr(request, "client_type", "")[:_AGENT_MAX] or None
        return Call(context, identity, Origin(WIRE, peer.address, agent), peer, metadata, is_forwarded)

    def _responses_elsewhere(
        self, name: str, data: bytes, request: pb2.ExecutePlanRequest, call: Call
    ) -> Iterator[bytes] | None:
        """Returns the responses of the gateway that has the session; None if the call has to be processed here."""
        if self.elsewhere is None:
            return None
        return self.elsewhere.responses(_path(name), data, request, call)

    def _log_in(self, header: str | None, user: pb2.UserContext, peer: Peer) -> Identity:
        if header is None:
            name = user.user_id or user.user_name
            if name and Mechanism.ANONYMOUS in self.authenticator.mechanisms:
                return log_in(self.authenticator, Mechanism.PLAIN, plain_message(name, ""), peer)
            return log_in(self.authenticator, Mechanism.ANONYMOUS, b"", peer)
        scheme, _, credentials = header.strip().partition(" ")
        match scheme.lower():
            case "bearer":
                return log_in(self.authenticator, Mechanism.BEARER, credentials.strip().encode(), peer)
            case "basic":
                return log_in(self.authenticator, Mechanism.PLAIN, _plain(credentials), peer)
            case _:  # a token without a scheme must not be repeated in an error
                raise AuthenticationFailed("the metadata authorization has another scheme than Bearer or Basic.")


def decode(kind: type[Message], data: bytes) -> Any:
    """Raises `ConnectPlanUnreadable`."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise ConnectPlanUnreadable("the message is malformed, or has more than 100 levels") from error


def _abort(context: grpc.ServicerContext, error: Exception, call: Call | None) -> None:
    """Ends the call with the status for `error`; returns if the client has ended it."""
    if not context.is_active():
        logger.debug("a call ended without its client: %s", error)
        return
    if isinstance(error, OwnerFailed):
        error.abort(context)
    details = call.client.errors if call is not None and call.client is not None else None
    if isinstance(error, StatementFailed):
        abort(context, error.error, details, has_run=True)
    abort(context, error, details)


def _path(method: str) -> str:
    return f"/{SERVICE}/{method}"


def _plain(credentials: str) -> bytes:
    try:
        user, colon, password = b64decode(credentials.strip(), validate=True).decode().partition(":")
    except ValueError:  # includes decoding errors
        colon = ""
    if not colon:
        raise AuthenticationFailed("the credentials of the scheme Basic are not base64 of user:password in UTF-8.")
    return plain_message(user, password)


def _context_of(context: grpc.ServicerContext) -> CallContext:
    metadata = _metadata(context)
    return CallContext(
        request_id=request_id_of(metadata.get(_REQUEST_ID)),
        trace_parent=trace_parent_of(metadata.get(_TRACE_PARENT, "")),
    )


def _metadata(context: grpc.ServicerContext) -> dict[str, str]:
    """Returns the textual metadata; of a repeated key, the first value."""
    found: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        if isinstance(value, str):
            found.setdefault(key, value)
    return found


def _address(peer: str) -> str:
    """Returns the address in gRPC's name of a peer: `ipv4:127.0.0.1:40000`, `ipv6:%5B::1%5D:40000`."""
    _, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]")
