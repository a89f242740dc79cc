"""Logging in, and the state that a call has before its method runs.

A client sends `authorization: Basic` or `Bearer` with each call, as over HTTP; or it logs in once by Handshake, with
the header or with a message `BasicAuth`, and receives a token for its other calls. Such a token is valid in this
process, and while it is used.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyarrow import flight

from catalog.conditions import AuthenticationFailed, TooManyFlightCalls
from engine.runtime.identity import Identity
from engine.runtime.trace_parent import trace_parent_of
from gateway.authenticators.exchange import Authenticator, Mechanism, log_in, plain_message
from gateway.authenticators.peer import Peer
from gateway.flight.connections import Connection, Connections
from gateway.flight.errors import flight_error
from gateway.flight.messages import decode
from gateway.sessions.call_context import CallContext, request_id_of
from gateway.sessions.session import Origin

WIRE = "flight"
MIDDLEWARE = "call"
COOKIE = "arrow_flight_session_id"
_TOKEN_PREFIX = "gateway-flight-"
_TOKENS_MAX, _TOKENS_PER_USER_MAX = 10_000, 1000
_TOKEN_IDLE_S = 12 * 3600.0
_AGENT_MAX = 200
_HANDSHAKES_MAX = 100
# The identity of a Handshake, in which no method runs.
_NO_USER = Identity("")
_HANDSHAKE_BYTES_MAX = 16 << 10

Headers = Mapping[str, Sequence[Any]]


@dataclass(slots=True, eq=False)
class LogIn:
    """A login by Handshake, which has a token, or by the header of one call."""

    identity: Identity
    has_token: bool = False
    used: float = field(default_factory=time.monotonic)


class Tokens:
    """The tokens of logins by Handshake. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[bytes, LogIn] = OrderedDict()

    def issue(self, identity: Identity) -> str:
        """Returns a new token for a login; only its digest is stored.

        Drops the user's oldest tokens, then anyone's, beyond the limits.
        """
        token = f"{_TOKEN_PREFIX}{secrets.token_urlsafe(32)}"
        with self._lock:
            own = [key for key, one in self._found.items() if one.identity.owner == identity.owner]
            for key in own[: max(0, len(own) + 1 - _TOKENS_PER_USER_MAX)]:
                del self._found[key]
            while len(self._found) >= _TOKENS_MAX:
                self._found.popitem(last=False)
            self._found[_digest(token)] = LogIn(identity, has_token=True)
        return token

    def find(self, token: str) -> LogIn:
        """Raises `AuthenticationFailed`."""
        with self._lock:
            found = self._found.get(_digest(token))
            now = time.monotonic()
            if found is None or now - found.used > _TOKEN_IDLE_S:
                raise AuthenticationFailed("the token of the session is not valid here, or has expired: log in again.")
            found.used = now
            self._found.move_to_end(_digest(token))
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


@dataclass(slots=True)
class Call:
    """One call of a client that is logged in."""

    context: Any
    identity: Identity
    origin: Origin
    connection: Connection
    # The login by Handshake whose token it has.
    log_in: LogIn | None
    cookie: str | None

    def is_active(self) -> bool:
        """Returns False if the client is gone."""
        return not self.context.is_cancelled()


@dataclass(slots=True)
class LogIns:
    """Authenticates calls; `is_encrypted`: the port takes TLS only."""

    authenticator: Authenticator
    connections: Connections
    tokens: Tokens = field(default_factory=Tokens)

    def authenticate(self, headers: Headers) -> LogIn:
        """Returns the login of a call; that of a token is the same one for all calls. Raises `AuthenticationFailed`."""
        found = self._by_token(headers)
        if found is not None:
            self.authenticator.ensure_current(found.identity)
            return found
        return LogIn(self._identity(headers, self.connections.of_call("", headers).peer))

    def begin(self, context: Any) -> Call:
        """Returns a call, which was authenticated when it arrived."""
        middleware: CallMiddleware = context.get_middleware(MIDDLEWARE)
        headers, log_in = middleware.headers, middleware.log_in
        connection = self.connections.of_call(context.peer(), headers)
        agent = (_first(headers, "user-agent") or "")[:_AGENT_MAX] or None
        origin = Origin(WIRE, connection.peer.address, agent)
        found = log_in if log_in.has_token else None
        return Call(context, log_in.identity, origin, connection, found, _cookie(headers))

    def shake_hands(self, headers: Headers) -> str | None:
        """Returns the token for a Handshake with credentials in its header; None without. Raises as :meth:`begin`."""
        if _first(headers, "authorization") is None:
            return None
        peer = self.connections.of_call("", headers).peer
        return self.tokens.issue(self._identity(headers, peer))

    def log_in_basic(self, message: bytes) -> str:
        """Returns the token for a message `BasicAuth`."""
        if len(message) > _HANDSHAKE_BYTES_MAX:
            raise AuthenticationFailed("the message is too large.")
        found = decode("BasicAuth", message)
        peer = self.connections.of_call("", {}).peer
        identity = log_in(self.authenticator, Mechanism.PLAIN, plain_message(found.username, found.password), peer)
        return self.tokens.issue(identity)

    def _by_token(self, headers: Headers) -> LogIn | None:
        token = _first(headers, "auth-token-bin")
        scheme, _, bearer = (_first(headers, "authorization") or "").strip().partition(" ")
        if scheme.lower() == "bearer" and bearer.strip().startswith(_TOKEN_PREFIX):
            token = bearer.strip()
        return self.tokens.find(token) if token else None

    def _identity(self, headers: Headers, peer: Peer) -> Identity:
        header = _first(headers, "authorization")
        if header is None:
            by_transport = Mechanism.EXTERNAL if peer.certificate_names else Mechanism.ANONYMOUS
            return log_in(self.authenticator, by_transport, b"", peer)
        scheme, _, credentials = header.strip().partition(" ")
        match scheme.lower():
            case "bearer":
                return log_in(self.authenticator, Mechanism.BEARER, credentials.strip().encode(), peer)
            case "basic":
                return log_in(self.authenticator, Mechanism.PLAIN, _plain(credentials), peer)
            case _:  # a token without a scheme must not be repeated in an error
                raise AuthenticationFailed("the header authorization has another scheme than Bearer or Basic.")


class CallMiddleware(flight.ServerMiddleware):  # type: ignore[misc]
    """The headers of a call; of a Handshake, the token for the client."""

    def __init__(self, headers: Headers, log_in: LogIn, limit: CallLimit, token: str | None = None) -> None:
        self.headers = headers
        self.log_in = log_in
        self._limit = limit
        self._token = token

    def sending_headers(self) -> dict[str, str]:
        """Returns the response's headers.

        After a Handshake, `authorization` has the token, as in Flight's Basic authentication.
        """
        return {} if self._token is None else {"authorization": f"Bearer {self._token}"}

    def call_completed(self, exception: BaseException | None) -> None:
        """Releases the call's place. PyArrow calls it once for each call, also after an error."""
        self._limit.release()


class CallLimit:
    """The number of running calls, each of which occupies a thread. Thread-safe."""

    def __init__(self, calls_max: int) -> None:
        self._max = calls_max
        self._places = threading.BoundedSemaphore(calls_max)

    def take(self) -> None:
        """Raises `TooManyFlightCalls`."""
        if not self._places.acquire(blocking=False):
            raise TooManyFlightCalls(self._max)

    def release(self) -> None:
        """Gives back the place of one call that `take` has counted."""
        self._places.release()


class CallStart(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Begins each call: counts and authenticates it before its first message, for which gRPC waits without a limit. A
    Handshake, whose client is not known, does not count as a call.
    """

    def __init__(self, log_ins: LogIns, limit: CallLimit) -> None:
        super().__init__()
        self._log_ins = log_ins
        self._calls = limit
        self._handshakes = CallLimit(_HANDSHAKES_MAX)

    def start_call(self, info: Any, headers: Headers) -> CallMiddleware:
        """Returns the call's middleware with its login.

        Raises PyArrow's Flight error for a call beyond the limit and for rejected credentials.
        """
        is_handshake = info.method == flight.FlightMethod.HANDSHAKE
        limit = self._handshakes if is_handshake else self._calls
        try:
            limit.take()
            try:
                if is_handshake:
                    token = self._log_ins.shake_hands(headers)
                    return CallMiddleware(headers, LogIn(_NO_USER), limit, token)
                return CallMiddleware(headers, self._log_ins.authenticate(headers), limit)
            except BaseException:
                limit.release()
                raise
        except Exception as error:  # noqa: BLE001 - the client gets every error
            raise flight_error(error) from None


class Handshake(flight.ServerAuthHandler):  # type: ignore[misc]
    """Handshake by messages; tokens are checked when a call begins."""

    def __init__(self, log_ins: LogIns) -> None:
        super().__init__()
        self._log_ins = log_ins

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        """Answers the Handshake's message, a `BasicAuth`, with a token.

        A client that sends none has logged in by its header.
        """
        try:
            message = incoming.read()
        except Exception:  # noqa: BLE001 - PyArrow's error for a client that sends no message
            return
        if not message:
            return
        try:
            outgoing.write(self._log_ins.log_in_basic(message).encode())
        except Exception as error:  # noqa: BLE001 - the client gets every error
            raise flight_error(error) from None

    def is_valid(self, token: bytes) -> str:
        """Returns an empty peer name for any token: `CallStart` has checked it."""
        return ""


def call_context(context: Any) -> CallContext:
    """Returns the context of a call for log lines and traces."""
    headers: Headers = context.get_middleware(MIDDLEWARE).headers
    return CallContext(
        request_id=request_id_of(_first(headers, "x-request-id")),
        trace_parent=trace_parent_of(_first(headers, "traceparent") or ""),
    )


def _first(headers: Headers, name: str) -> str | None:
    """Returns a header's first value as text."""
    for value in headers.get(name) or ():
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return None


def _cookie(headers: Headers) -> str | None:
    for line in headers.get("cookie") or ():
        for pair in str(line).split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE and value:
                return value.strip().strip('"')
    return None


def _plain(credentials: str) -> bytes:
    padded = credentials.strip().rstrip("=")
    padded += "=" * (-len(padded) % 4)  # Arrow's clients in Go leave the padding out
    try:
        user, colon, password = b64decode(padded, validate=True).decode().partition(":")
    except ValueError:  # includes decoding errors
        colon = ""
    if not colon:
        raise AuthenticationFailed("the credentials of the scheme Basic are not base64 of user:password in UTF-8.")
    return plain_message(user, password)
