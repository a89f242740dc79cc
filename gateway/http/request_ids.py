"""Each request has an id: the client's `X-Request-Id` if it is well-formed, or a new one. Its answer and the lines of
the log about it have it, and so does what is logged of the statements that it starts. Refusals of bytes that are no
request of HTTP have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.runtime.trace_parent import trace_parent_of
from gateway.http.wire import REQUEST_ID
from gateway.http.wsgi import Application
from gateway.observability.call_context import CallContext, request_id_of, working_for

TRACE_PARENT = "traceparent"


class RequestIds:
    """`application`, whose requests and answers have ids."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        call = call_of(environment.get("HTTP_X_REQUEST_ID"), environment.get("HTTP_TRACEPARENT"))

        def start(status: str, headers: list[tuple[str, str]], *given: Any) -> Any:
            return start_response(status, [*headers, (REQUEST_ID, call.request_id)], *given)

        with working_for(call):
            return self._application(environment, start)


def call_of(request_id: str | None, trace_parent: str | None) -> CallContext:
    """The call that a request with these headers is."""
    return CallContext(request_id=request_id_of(request_id), trace_parent=trace_parent_of(trace_parent))
