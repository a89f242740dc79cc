"""HiveServer2 calls over HTTP: each is a POST body, as Hive's and Databricks' clients send them.

    /cliservice                                     Hive's own path
    /sql/1.0/warehouses/<id>, /sql/1.0/endpoints/<id>, /sql/protocolv1/o/<organization>/<cluster>     Databricks'

with and without a trailing slash; ids are ignored, since there is one server. The route is a separate handler next to
the WSGI application, and reaches the calls through :class:`Conversations`, which the Thrift server provides.

A call's HTTP status is always 200, and failures are in the response's own status. A malformed request gets an HTTP
error with the text in its body and in `X-Thriftserver-Error-Message`, which Databricks' clients read.

A logged-in client gets a cookie (`cookies.py`) with Hive's cookie name, since Hive's JDBC driver and impyla then omit
their credentials, which are verified once and not with every row. The type `application/x-thrift` is required: no web
page can send it to another site without a preflight request, so the cookie needs no additional token, and Hive's
`X-XSRF-HEADER` is ignored. If a request has no explicit credentials (only a cookie, a certificate, or none), and the
browser reports that another site's page sent it (Sec-Fetch-Site, Origin), it is rejected.
"""

from __future__ import annotations

import json
import re
import time
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from catalog.conditions import (
    CookieRefused,
    ForwardedRequestRefused,
    LengthMissing,
    MethodNotAllowed,
    NotThrift,
    ServerStarting,
    SessionNotHere,
)
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.peer import Peer
from gateway.forwarding.forwarder import Forwarder, OutgoingCall
from gateway.forwarding.signed_calls import HEADER, CallSigner, ForwardedCall
from gateway.http.authentication import authenticate, challenges, retry_after
from gateway.http.connection import Connection, Conversation, KnownCaller
from gateway.http.cookies import COOKIE_NAME, Cookies
from gateway.http.hosts import KnownHosts, ensure_own_page
from gateway.http.request_ids import TRACE_PARENT, call_of
from gateway.http.row_links import RowLinkMaker
from gateway.http.wire import REQUEST_ID, Answer, Head, Request, format_answer
from gateway.observability.status import describe
from gateway.results.row_links import LinkedRows
from gateway.sessions.call_context import current_call, note_user, request_id_of, working_for
from gateway.state.log_ins import LogIns
from gateway.state.records import restored_identity

CONTENT_TYPE = "application/x-thrift"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
_PATH = re.compile(r"/(cliservice|sql/1\.0/(warehouses|endpoints)/[^/]+|sql/protocolv1/o/[^/]+/[^/]+)/?")
_NO_STORE = ("Cache-Control", "no-store")
_HEADERS = (("Content-Type", CONTENT_TYPE), _NO_STORE)
# Headers of a link's document that come from the gateway that has it.
_LINK_HEADERS = ("content-type", "cache-control", "retry-after")
_ERROR_HEADER, _ERROR_LENGTH_MAX = "X-Thriftserver-Error-Message", 2000
# Time in seconds for which the credentials from a connection's last call are not verified again, for calls without
# work.
_BELIEVED_S = 10.0


class Conversations(Protocol):
    """The service for the route."""

    def begin(self, peer: Peer, descriptor: int) -> Conversation:
        """Begins a conversation on a new connection from the client at `peer`."""
        ...

    def linked_rows(self, rows: LinkedRows, peer: Peer) -> bytes:
        """Returns a link's document for the client at `peer`."""
        ...


class ThriftRoute:
    """The Thrift route. Returns 503 until `open`; thread-safe."""

    def __init__(
        self,
        authenticator: Authenticator,
        hosts: KnownHosts,
        links: RowLinkMaker,
        call_signer: CallSigner | None = None,
        log_ins: LogIns | None = None,
    ) -> None:
        """Creates the route; `call_signer` verifies the calls that other gateways forward, and `log_ins` has the
        cookies of all gateways.
        """
        self._call_signer = call_signer
        # None: there are no other gateways.
        self.forwarder: Forwarder | None = None
        self._authenticator = authenticator
        self._hosts = hosts
        self._links = links
        self._cookies = Cookies()
        self._cookies.log_ins = log_ins
        self._conversations: Conversations | None = None

    def open(self, conversations: Conversations) -> None:
        """Accepts calls from now on."""
        self._conversations = conversations

    def matches(self, head: Head) -> bool:
        """Returns True for the paths of Thrift clients, and for links to result rows."""
        path = head.target.partition("?")[0]
        return _PATH.fullmatch(path) is not None or self._links.matches(path)

    def answer(self, request: Request, connection: Connection) -> Answer:
        """Returns the response to a matching request; never raises because of client input."""
        head = request.head
        call = call_of(head.value("x-request-id"), head.value(TRACE_PARENT))
        with working_for(call):
            return self._answer(request, connection, [*_HEADERS, (REQUEST_ID, call.request_id or "")])

    def _answer(self, request: Request, connection: Connection, headers: list[tuple[str, str]]) -> Answer:
        connection.caller = None
        try:
            forwarded = self._forwarded(request)
            if self._links.matches(request.head.target.partition("?")[0]):
                return self._answer_link(request.head, connection.client, forwarded)
            if forwarded is not None:
                return self._answer_forwarded(request, connection, forwarded)
            self._ensure_call(request.head)
            identity, cookie = self._log_in(request, connection.client)
            if cookie:
                headers.append(("Set-Cookie", cookie))
            note_user(identity.principal)
            links = self._links.links_for(request.head, is_encrypted=connection.is_encrypted)
            agent = request.head.value("user-agent") or ""
            reply = self._conversation(connection).answer(request.body, identity, links, agent)
        except Exception as error:  # noqa: BLE001 - `describe` logs those that are bugs
            return self.refuse(error, request.head)
        connection.caller = KnownCaller(request.head, identity, time.monotonic() + _BELIEVED_S)
        return format_answer("200 OK", headers, [reply], request.head)

    def _forwarded(self, request: Request) -> ForwardedCall | None:
        """Returns the call if another gateway has forwarded it; raises `ForwardedRequestRefused`."""
        header = request.head.value(HEADER.lower())
        if header is None or self._call_signer is None:
            return None
        return self._call_signer.verify(header, request.head.method, request.head.target, request.body)

    def _answer_forwarded(self, request: Request, connection: Connection, call: ForwardedCall) -> Answer:
        """Returns the response to a call that another gateway has forwarded."""
        head = request.head
        if call.identity is None:
            raise ForwardedRequestRefused("it has no identity")
        if self._conversations is None:
            raise SessionNotHere()  # this process is still starting
        identity = restored_identity(call.identity)
        note_user(identity.principal)
        links = self._links.links_at(call.base_url, head) if call.base_url else None
        peer = Peer(call.peer, is_encrypted=call.is_encrypted)
        conversation = self._conversations.begin(peer, connection.descriptor)
        agent = head.value("user-agent") or ""
        reply = conversation.answer(request.body, identity, links, agent, is_forwarded=True)
        return format_answer("200 OK", _HEADERS, [reply], head)

    def recall(self, request: Request, connection: Connection) -> Answer | None:
        """Returns the response if it is known from the connection's preceding call, without running statements or
        verifying credentials.

        Before each result row, hive-jdbc requests again if the statement has ended.
        """
        caller, conversation = connection.caller, connection.conversation
        # By identity: the connection keeps the head object if the next request's bytes are
        # the same, credentials included.
        if caller is None or conversation is None or request.head is not caller.head or time.monotonic() > caller.until:
            return None
        reply = conversation.recall(request.body, caller.identity)
        if reply is None:
            return None
        headers = [*_HEADERS, (REQUEST_ID, request_id_of(request.head.value("x-request-id")))]
        return format_answer("200 OK", headers, [reply], request.head)

    def _answer_link(self, head: Head, peer: Peer, forwarded: ForwardedCall | None) -> Answer:
        """Returns a link's target, which needs no other credentials."""
        if forwarded is None:
            self._hosts.ensure_known(head.value("host") or "localhost")
        if head.method != "GET":
            raise MethodNotAllowed(head.method)
        if self._conversations is None:
            raise ServerStarting()
        rows = self._links.parse(head.target)
        if self.forwarder is not None and forwarded is not None:
            self.forwarder.ensure_here(rows.operation_id, starts_statement=False)
        elif self.forwarder is not None and not self.forwarder.is_here(rows.operation_id):
            call = ForwardedCall(identity=None, peer=peer.address, is_encrypted=peer.is_encrypted)
            outgoing = OutgoingCall(call, "GET", head.target, (), b"", may_repeat=True)
            if (response := self.forwarder.forward(rows.operation_id, outgoing, starts_statement=False)) is not None:
                status = f"{response.status} {response.reason}"
                headers = [(name, value) for name, value in response.headers if name.lower() in _LINK_HEADERS]
                return format_answer(status, headers, [response.read()], head)
        content = self._conversations.linked_rows(rows, peer)
        headers = [("Content-Type", ARROW_STREAM), _NO_STORE, (REQUEST_ID, current_call().request_id or "")]
        return format_answer("200 OK", headers, [content], head)

    def _ensure_call(self, head: Head) -> None:
        self._hosts.ensure_known(head.value("host") or "localhost")
        if head.method != "POST":
            raise MethodNotAllowed(head.method)
        if head.is_chunked:
            raise LengthMissing()
        kind = (head.value("content-type") or "of no stated type").partition(";")[0].strip()
        if kind.lower() != CONTENT_TYPE:
            raise NotThrift(kind)

    def _log_in(self, request: Request, peer: Peer) -> tuple[Identity, str | None]:
        """Returns the identity, and a cookie for a client without a valid one."""
        head = request.head
        header = head.value("authorization")
        cookie = head.cookie(COOKIE_NAME)
        known = self._cookies.identity(cookie, peer.address) if cookie is not None else None
        if header is None:
            hosts = (head.value("host") or "localhost", urlsplit(self._links.public_url).netloc)
            # Without a header the browser itself may add the cookie or the certificate,
            # whichever page has made it send the request.
            ensure_own_page(head.value("sec-fetch-site"), head.value("origin"), hosts, must_be_said=False)
        if header is None and cookie is not None:
            if known is None:  # never as anonymous: the client assumes that it has logged in
                raise CookieRefused()
            self._authenticator.ensure_current(known)
            return known, None
        identity = authenticate(self._authenticator, header, peer)
        if header is None or identity == known:
            return identity, None
        return identity, self._cookies.format(self._cookies.give(identity, peer.address), is_secure=peer.is_encrypted)

    def _conversation(self, connection: Connection) -> Conversation:
        if self._conversations is None:
            raise ServerStarting()
        if connection.conversation is None:
            connection.conversation = self._conversations.begin(connection.client, connection.descriptor)
        return connection.conversation

    def refuse(self, error: Exception, head: Head) -> Answer:
        """Returns the response to a request that fails with `error` before it is a call."""
        failure = describe(error)
        status = failure.http_status
        content = {"error_code": failure.http_error_code, "message": failure.message, "sql_state": failure.sqlstate}
        headers = [("Content-Type", "application/json"), _NO_STORE, (_ERROR_HEADER, header_text(failure.message))]
        headers.append((REQUEST_ID, current_call().request_id or request_id_of(head.value("x-request-id"))))
        if status is HTTPStatus.UNAUTHORIZED:
            headers += challenges(self._authenticator)
        elif status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append(("Allow", "GET" if self._links.matches(head.target.partition("?")[0]) else "POST"))
        elif waiting := retry_after(error):
            headers += waiting
        elif status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
            headers.append(("Retry-After", "1"))
        return format_answer(f"{status.value} {status.phrase}", headers, [json.dumps(content).encode()], head)


def header_text(message: str) -> str:
    """Returns the part of a message that a header can contain."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(message.split()))
    return line[:_ERROR_LENGTH_MAX].encode("latin-1", "replace").decode("latin-1")
