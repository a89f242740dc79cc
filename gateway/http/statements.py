"""The SQL Statement Execution API 2.0 as Databricks' clients use it: submit, poll, fetch by chunks, cancel, close.

An accepted statement always returns 200 with failures in its status; other errors are HTTP errors. In addition to that
API: `GET /statements/{id}?wait_timeout=10s` waits for the end; with `on_disconnect=CANCEL` a client that disconnects
during the wait cancels; and a chunk requested with `Accept: application/vnd.apache.arrow.stream` or `text/csv` is
returned as that document.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from weakref import WeakKeyDictionary

from flask import Blueprint, Response, g, request

from catalog.conditions import EngineNotAnswering, OperationNotFound, ServerStarting, SessionNotHere, TooManyWaiting
from engine.runtime.identity import Identity
from gateway.http.callers import CLIENT_DESCRIPTOR, Callers, json_content, origin_of_request
from gateway.http.delivery import API, CONTENT_TYPES, Delivery, context_of
from gateway.http.forwarding import find_target, forward, forwarded_call, read_elsewhere
from gateway.http.queries import option_of
from gateway.http.requests import (
    WAIT_MAX_S,
    Format,
    OnWaitTimeout,
    SessionRequest,
    StatementRequest,
    parse_handle,
    parse_session_request,
    parse_statement_request,
    parse_wait,
)
from gateway.http.staged_links import LinkSigner
from gateway.http.waiting import WaitQueue, wait_for_end
from gateway.lifecycle import Lifecycle
from gateway.observability.status import describe
from gateway.recovery import Attach, Through
from gateway.registry import Registry
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Session

Body = dict[str, object]
_NAME = "statements"

# Minimum time in seconds that a request waits for a session to open, the same without a free slot, and for an end to be
# reported.
_OPEN_S, _OPEN_WITHOUT_PLACE_S, _END_S = 5.0, 1.0, 1.0

_STATES = {
    OperationState.PENDING: "PENDING",
    OperationState.RUNNING: "RUNNING",
    OperationState.STREAMING: "RUNNING",
    OperationState.FINISHED: "SUCCEEDED",
    OperationState.FAILED: "FAILED",
    OperationState.CANCELED: "CANCELED",
    OperationState.TIMED_OUT: "FAILED",
    OperationState.CLOSED: "CLOSED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementApi:
    """The routes; `deliveries` has the result options for each statement submitted here."""

    lifecycle: Lifecycle
    callers: Callers
    signer: LinkSigner
    wait_queue: WaitQueue
    calls: EngineCalls
    public_url: str
    deliveries: WeakKeyDictionary[Operation, Delivery] = field(default_factory=WeakKeyDictionary)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def blueprint(self) -> Blueprint:
        """Returns the routes for statements, their results and sessions."""
        routes = Blueprint(_NAME, __name__)
        for method, path, view in (
            ("POST", f"{API}/statements", self.submit),
            ("GET", f"{API}/statements/<statement_id>", self.poll),
            ("DELETE", f"{API}/statements/<statement_id>", self.close),
            ("POST", f"{API}/statements/<statement_id>/cancel", self.cancel),
            ("GET", f"{API}/statements/<statement_id>/result/chunks/<int:index>", self.fetch),
            ("GET", f"{API}/results/<statement_id>/<int:index>", self.follow),
            ("POST", f"{API}/sessions", self.open_session),
            ("POST", f"{API}/warehouses/<warehouse_id>/sessions", self.open_session_of),
            ("DELETE", f"{API}/sessions/<session_id>", self.close_session),
        ):
            routes.add_url_rule(path, view.__name__, view, methods=[method])
        routes.before_request(self.authenticate)
        return routes

    def submit(self) -> Body | Response:
        """Submits a statement and returns its response (`POST /api/2.0/sql/statements`).

        Waits up to the request's `wait_timeout` for the end; then `on_wait_timeout` decides whether the statement runs
        on or is cancelled. The response is a later owner's if the session was handed over meanwhile. Raises
        `TooManyWaiting` if no place is free and the statement could not be waited for.
        """
        submitted = parse_statement_request(json_content())
        end = time.monotonic() + submitted.wait_timeout_s
        with self.wait_queue.place() as may_wait:
            # Without a place the request could not wait, and would have to cancel the
            # statement that it has just started.
            if not may_wait and submitted.on_wait_timeout is OnWaitTimeout.CANCEL:
                raise TooManyWaiting(self.wait_queue.places)
            operation, delivery = self.start(submitted, may_wait=may_wait)
            is_there = not may_wait or wait_for_end(operation, end - time.monotonic(), client_of_request())
        # Cancelling an ended statement does nothing, so that the state need not be checked,
        # and no race arises from checking it.
        if not is_there or submitted.on_wait_timeout is OnWaitTimeout.CANCEL:
            self.end(operation.cancel)
        return self._answer_or_forward(operation, delivery, end)

    def poll(self, statement_id: str) -> Body | Response:
        """Returns a statement's state (`GET /api/2.0/sql/statements/{id}`); waits up to `wait_timeout` for its end.

        With `on_disconnect=CANCEL`, a client that disconnects while waiting cancels it.
        """
        operation, delivery = self.find(statement_id)
        seconds = parse_wait("wait_timeout", request.args.get("wait_timeout"), 0.0)
        end = time.monotonic() + seconds
        on_disconnect = option_of("on_disconnect", OnWaitTimeout.CONTINUE)
        if seconds:
            with self.wait_queue.place() as may_wait:
                is_there = not may_wait or wait_for_end(operation, seconds, client_of_request())
            if not is_there and on_disconnect is OnWaitTimeout.CANCEL:
                self.end(operation.cancel)
        return self._answer_or_forward(operation, delivery, end)

    def fetch(self, statement_id: str, index: int) -> Body | Response:
        """Returns a chunk (`GET …/statements/{id}/result/chunks/{index}`).

        Its form is JSON with rows or links as in Databricks' API, or the document that `Accept` requests.
        """
        operation, delivery = self.find(statement_id)
        accepted = request.accept_mimetypes.best_match([CONTENT_TYPES[Format.JSON_ARRAY], *_DOCUMENTS])
        if accepted in _DOCUMENTS:
            return _document(operation, delivery, index, _DOCUMENTS[accepted])
        return delivery.result(operation, index, self.signer, self.base_url())

    def follow(self, statement_id: str, index: int) -> Response:
        """Returns an external link's target."""
        self.signer.ensure_valid(request.path, request.args.get("expires", ""), request.args.get("signature", ""))
        operation, delivery = self.find(statement_id, linked_part=f"chunk {index}")
        return _document(operation, delivery, index, delivery.format)

    def cancel(self, statement_id: str) -> Body:
        """Cancels a statement (`POST …/statements/{id}/cancel`); one that has ended stays as it is."""
        self.end(self.find(statement_id)[0].cancel)
        return {}

    def close(self, statement_id: str) -> Body:
        """Closes a statement and drops its result (`DELETE …/statements/{id}`)."""
        operation, _ = self.find(statement_id)
        self.end(partial(self.registry().close_operation, operation.id, self.identity()))
        return {}

    def open_session(self) -> Body:
        """Opens a session and returns its context (`POST /api/2.0/sql/sessions`).

        Waits less for it if the wait queue is full.
        """
        submitted = parse_session_request(json_content())
        with self.wait_queue.place() as may_wait:
            session = self.open(submitted, _OPEN_S if may_wait else _OPEN_WITHOUT_PLACE_S)
        session.record()
        return context_of(session).body()

    def open_session_of(self, warehouse_id: str) -> Body:
        """Opens a session on Databricks' JDBC driver's path; there is one warehouse, for any name."""
        return self.open_session()

    def close_session(self, session_id: str) -> Body:
        """Closes a session with its statements (`DELETE …/sessions/{id}`). Raises `SessionNotFound`."""
        registry = self.registry()
        identity = self.identity()
        session = registry.session(parse_handle(session_id), identity)
        self.end(partial(registry.close_session, session.id, identity))
        return {}

    def open(self, submitted: SessionRequest, seconds: float, *, may_lack_schema: bool = False) -> Session:
        """Opens a session within `seconds`, or raises."""
        registry, identity, origin = self.registry(), self.identity(), origin_of_request()
        return self._open_within(
            seconds,
            lambda: registry.open_session(
                identity,
                settings=submitted.settings,
                catalog=submitted.catalog,
                schema=submitted.schema,
                may_lack_schema=may_lack_schema,
                origin=origin,
            ),
        )

    def _open_single(self, submitted: StatementRequest, seconds: float) -> Session:
        """Opens a session for one statement."""
        registry, identity, origin = self.registry(), self.identity(), origin_of_request()
        return self._open_within(
            seconds,
            lambda: registry.open_single_session(
                identity, catalog=submitted.catalog, schema=submitted.schema, origin=origin
            ),
        )

    def _open_within(self, seconds: float, open_session: Callable[[], Session]) -> Session:
        registry, identity = self.registry(), self.identity()
        return self.calls.run(
            open_session,
            seconds,
            # A session that opens after the request has given up would belong to nobody.
            abandoned=lambda session: registry.close_session(session.id, identity),
        )

    def end(self, end: Callable[[], None]) -> None:
        """Cancels or closes: the effect is visible immediately, while the engine may be notified slightly later."""
        with suppress(EngineNotAnswering):
            self.calls.run(end, _END_S)

    def start(self, submitted: StatementRequest, *, may_wait: bool) -> tuple[Operation, Delivery]:
        """Starts a statement in its session; a request that `may_wait` waits longer for a new one to open."""
        open_s = max(_OPEN_S, submitted.wait_timeout_s) if may_wait else _OPEN_WITHOUT_PLACE_S
        registry = self.registry()
        identity = self.identity()
        if submitted.session_id:
            session = registry.session(submitted.session_id, identity)
        else:
            session = self._open_single(submitted, open_s)
        delivery = Delivery(submitted, context_of(session))
        try:
            operation = session.execute(
                submitted.text, parameters=submitted.parameters, through=delivery.cut, wanted=delivery.wanted_result
            )
        except BaseException:
            if not submitted.session_id:
                self.end(partial(registry.close_session, session.id, identity))
            raise
        if not submitted.session_id:
            registry.retire_after(session, operation)
        self.attach(operation, delivery)
        return operation, delivery

    def attach(self, operation: Operation, delivery: Delivery) -> None:
        """Remembers the result options."""
        operation.options = delivery.saved
        with self.lock:
            self.deliveries[operation] = delivery

    def through(self, session: Session, options: Mapping[str, object]) -> tuple[Through, Attach]:
        """Returns what a restored statement needs; see `FrontEnd`."""
        delivery = Delivery.restored(options, context_of(session))
        return delivery.cut, lambda operation: self.attach(operation, delivery)

    def find(self, statement_id: str, *, linked_part: str | None = None) -> tuple[Operation, Delivery]:
        """Returns a statement that belongs to the request's identity; for a link, which itself grants access, any
        statement.
        """
        operation_id = parse_statement_id(statement_id)
        if linked_part is not None:
            operation = self.registry().linked_operation(operation_id, linked_part, origin_of_request())
        else:
            _, operation = self.registry().find_operation(operation_id, self.identity())
        with self.lock:
            delivery = self.deliveries.get(operation)
        if delivery is None:  # started over another interface
            raise OperationNotFound()
        return operation, delivery

    def _answer_or_forward(self, operation: Operation, delivery: Delivery, end: float) -> Body | Response:
        """Returns the response; if the session was handed over during the request, the one of its new owner, until
        `end`, on the monotonic clock.
        """
        body = self._answer(operation, delivery)
        forwarder = self.lifecycle.forwarder
        # Checked last: a statement is only cancelled by the hand-over after this is set.
        if forwarder is None or not self.registry().is_suspended:
            return body
        if forwarded_call() is not None:
            raise SessionNotHere()
        wait_s = max(0, min(WAIT_MAX_S, end - time.monotonic()))
        path = f"{API}/statements/{operation.id}?wait_timeout={wait_s:.0f}s"
        return read_elsewhere(forwarder, operation.id, path, self.identity(), self.base_url()) or body

    def _answer(self, operation: Operation, delivery: Delivery) -> Body:
        operation.recorder.record()
        state = operation.state
        status: Body = {"state": state_name(state)}
        if operation.error:
            failure = describe(operation.error)
            status["error"] = {"error_code": failure.http_error_code, "message": failure.message} | failure.details
            status["sql_state"] = failure.sqlstate
        if state.is_terminal:
            operation.tell_end()
        body: Body = {"statement_id": str(operation.id), "status": status}
        if delivery.context is not None:
            body["session"] = delivery.context.body()
        if state is OperationState.FINISHED:
            body["manifest"] = delivery.manifest(operation)
            body["result"] = delivery.result(operation, 0, self.signer, self.base_url())
        operation.recorder.flush(is_whole=state.is_terminal and delivery.is_whole(operation))
        return body

    def registry(self) -> Registry:
        """Returns the registry. Raises `ServerStarting` before the engine is ready."""
        registry = self.lifecycle.registry
        if registry is None:
            raise ServerStarting()
        return registry

    def base_url(self) -> str:
        """Returns the links' base: the server's URL as clients reach it."""
        return self.public_url or request.root_url.rstrip("/")

    def authenticate(self) -> Response | None:
        """Authenticates before any other processing, and forwards a request for another gateway's session. A link
        itself grants access to its target.
        """
        identity = None
        if request.endpoint != f"{_NAME}.{self.follow.__name__}":
            identity = g.identity = self.callers.identity()
        forwarder, target = self.lifecycle.forwarder, find_target()
        if target is not None and forwarded_call() is not None and self.lifecycle.registry is None:
            raise SessionNotHere()  # this process is still starting
        if forwarder is None or target is None:
            return None
        return forward(forwarder, target, identity, self.base_url())

    def identity(self) -> Identity:
        """Returns the caller's identity, which `authenticate` has set for the request."""
        identity = g.identity
        assert isinstance(identity, Identity)
        return identity


def parse_statement_id(text: str) -> uuid.UUID:
    """Parses a statement id; a malformed one is a statement that does not exist."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise OperationNotFound() from None


def state_name(state: OperationState) -> str:
    """Returns Databricks' name."""
    return _STATES[state]


_DOCUMENTS = {CONTENT_TYPES[Format.ARROW_STREAM]: Format.ARROW_STREAM, "text/csv": Format.CSV}


def _document(operation: Operation, delivery: Delivery, index: int, format_: Format) -> Response:
    content = delivery.content(operation, delivery.chunk(operation, index), format_)
    return Response(content, HTTPStatus.OK, content_type=CONTENT_TYPES[format_])


def client_of_request() -> int | None:
    """Returns the descriptor of the client's socket."""
    descriptor = request.environ.get(CLIENT_DESCRIPTOR)
    return descriptor if isinstance(descriptor, int) else None
