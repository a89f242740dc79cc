"""The SQL Statement Execution API 2.0 as Databricks' clients speak it: submit, poll, fetch by chunks, cancel, close.

A statement that was accepted always answers 200, its failure is in its status; other errors are HTTP errors. On top of
that API: `GET /statements/{id}?wait_timeout=10s` waits for the end, with `on_disconnect=CANCEL` a client that hangs up
meanwhile cancels; and a chunk that is asked for with `Accept: application/vnd.apache.arrow.stream` or `text/csv` is
answered as that document.
"""

from __future__ import annotations

import socket
import threading
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus
from weakref import WeakKeyDictionary

from flask import Blueprint, Response, request

from gateway.authenticators import Authenticator
from gateway.errors import OperationNotFound
from gateway.http.delivery import API, CONTENT_TYPES, Delivery
from gateway.http.errors import ServerStarting, TooManyWaiting, UnsupportedMediaType
from gateway.http.links import LinkSigner
from gateway.http.requests import (
    Format,
    OnWaitTimeout,
    StatementRequest,
    parse_handle,
    parse_session_request,
    parse_statement_request,
    parse_wait,
)
from gateway.http.waiting import WaitingRoom, wait_for_end
from gateway.lifecycle import Lifecycle
from gateway.operation import Operation, OperationState
from gateway.registry import Registry
from gateway.status import describe

CLIENT_SOCKET = "gateway.client_socket"
"""Key of the WSGI environment under which the server gives the client's socket."""

Body = dict[str, object]

_STATES = {
    OperationState.PENDING: "PENDING",
    OperationState.RUNNING: "RUNNING",
    OperationState.FINISHED: "SUCCEEDED",
    OperationState.FAILED: "FAILED",
    OperationState.CANCELED: "CANCELED",
    OperationState.TIMED_OUT: "FAILED",
    OperationState.CLOSED: "CLOSED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementApi:
    """The routes; `deliveries` says of each statement submitted here how its result is handed over."""

    lifecycle: Lifecycle
    authenticator: Authenticator
    signer: LinkSigner
    room: WaitingRoom
    deliveries: WeakKeyDictionary[Operation, Delivery] = field(default_factory=WeakKeyDictionary)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def blueprint(self) -> Blueprint:
        routes = Blueprint("statements", __name__)
        for method, path, view in (
            ("POST", f"{API}/statements", self.submit),
            ("GET", f"{API}/statements/<statement_id>", self.poll),
            ("DELETE", f"{API}/statements/<statement_id>", self.close),
            ("POST", f"{API}/statements/<statement_id>/cancel", self.cancel),
            ("GET", f"{API}/statements/<statement_id>/result/chunks/<int:index>", self.fetch),
            ("GET", f"{API}/results/<statement_id>/<int:index>", self.follow),
            ("POST", f"{API}/sessions", self.open_session),
            ("DELETE", f"{API}/sessions/<session_id>", self.close_session),
        ):
            routes.add_url_rule(path, view.__name__, view, methods=[method])
        return routes

    def submit(self) -> Body:
        asked = parse_statement_request(_json_content())
        with self.room.place() as may_wait:
            if not may_wait and asked.on_wait_timeout is OnWaitTimeout.CANCEL:
                raise TooManyWaiting(self.room.places)
            operation, delivery = self._start(asked)
            is_there = not may_wait or wait_for_end(operation, asked.wait_timeout_s, _client())
        if not is_there or asked.on_wait_timeout is OnWaitTimeout.CANCEL:
            operation.cancel()
        return self._answer(operation, delivery)

    def poll(self, statement_id: str) -> Body:
        operation, delivery = self._find(statement_id)
        seconds = parse_wait("wait_timeout", request.args.get("wait_timeout"), 0.0)
        if seconds:
            with self.room.place() as may_wait:
                is_there = not may_wait or wait_for_end(operation, seconds, _client())
            if not is_there and request.args.get("on_disconnect") == OnWaitTimeout.CANCEL:
                operation.cancel()
        return self._answer(operation, delivery)

    def fetch(self, statement_id: str, index: int) -> Body | Response:
        operation, delivery = self._find(statement_id)
        accepted = request.accept_mimetypes.best_match([CONTENT_TYPES[Format.JSON_ARRAY], *_DOCUMENTS])
        if accepted in _DOCUMENTS:
            return _document(operation, delivery, index, _DOCUMENTS[accepted])
        return delivery.result(operation, index, self.signer, _base_url())

    def follow(self, statement_id: str, index: int) -> Response:
        """The target of an external link."""
        self.signer.ensure_valid(request.path, request.args.get("expires", ""), request.args.get("signature", ""))
        operation, delivery = self._find(statement_id, is_linked=True)
        return _document(operation, delivery, index, delivery.format)

    def cancel(self, statement_id: str) -> Body:
        self._find(statement_id)[0].cancel()
        return {}

    def close(self, statement_id: str) -> Body:
        self._registry().close_operation(self._find(statement_id)[0].id, self._principal())
        return {}

    def open_session(self) -> Body:
        asked = parse_session_request(_json_content())
        session = self._registry().open_session(
            self._principal(), settings=asked.settings, catalog=asked.catalog, schema=asked.schema
        )
        return {"session_id": str(session.id)}

    def close_session(self, session_id: str) -> Body:
        registry, principal = self._registry(), self._principal()
        registry.close_session(registry.session(parse_handle(session_id), principal).id, principal)
        return {}

    def _start(self, asked: StatementRequest) -> tuple[Operation, Delivery]:
        registry, principal, delivery = self._registry(), self._principal(), Delivery(asked)
        if asked.session_id:
            session = registry.session(asked.session_id, principal)
        else:
            session = registry.open_session(principal, catalog=asked.catalog, schema=asked.schema)
        try:
            operation = session.execute(asked.text, parameters=asked.parameters, through=delivery.cut)
        except BaseException:
            if not asked.session_id:
                registry.close_session(session.id, principal)
            raise
        if not asked.session_id:
            registry.retire_after(session, operation)
        with self.lock:
            self.deliveries[operation] = delivery
        return operation, delivery

    def _find(self, statement_id: str, *, is_linked: bool = False) -> tuple[Operation, Delivery]:
        """A statement of the request's principal; for a link, which carries the right itself, of any."""
        try:
            operation_id = uuid.UUID(statement_id)
        except ValueError:
            raise OperationNotFound() from None
        if is_linked:
            operation = self._registry().linked_operation(operation_id)
        else:
            _, operation = self._registry().find_operation(operation_id, self._principal())
        with self.lock:
            delivery = self.deliveries.get(operation)
        if delivery is None:  # started over another interface
            raise OperationNotFound()
        return operation, delivery

    def _answer(self, operation: Operation, delivery: Delivery) -> Body:
        state = operation.state
        status: Body = {"state": _STATES[state]}
        if operation.error:
            failure = describe(operation.error)
            status["error"] = {"error_code": failure.http_error_code, "message": failure.message}
            status["sql_state"] = failure.sqlstate
        body: Body = {"statement_id": str(operation.id), "status": status}
        if state is OperationState.FINISHED:
            body["manifest"] = delivery.manifest(operation)
            body["result"] = delivery.result(operation, 0, self.signer, _base_url())
        return body

    def _registry(self) -> Registry:
        registry = self.lifecycle.registry
        if registry is None:
            raise ServerStarting()
        return registry

    def _principal(self) -> str:
        basic = request.authorization if request.authorization and request.authorization.type == "basic" else None
        user, password = (basic.username or "", basic.password or "") if basic else ("", "")
        return self.authenticator.authenticate(user, password, request.remote_addr or "")


_DOCUMENTS = {CONTENT_TYPES[Format.ARROW_STREAM]: Format.ARROW_STREAM, "text/csv": Format.CSV}


def _document(operation: Operation, delivery: Delivery, index: int, format_: Format) -> Response:
    content = delivery.content(operation, delivery.chunk(operation, index), format_)
    return Response(content, HTTPStatus.OK, content_type=CONTENT_TYPES[format_])


def _json_content() -> bytes:
    if not request.is_json:
        raise UnsupportedMediaType(request.mimetype or "of no stated type")
    return request.get_data()


def _client() -> socket.socket | None:
    client = request.environ.get(CLIENT_SOCKET)
    return client if isinstance(client, socket.socket) else None


def _base_url() -> str:
    return request.host_url.rstrip("/")
