"""Request ids: the client's `X-Request-Id` if it is well-formed, or a new one. It is in the response, in log lines
about the request, and in log lines about its statements. Rejections of malformed HTTP have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.runtime.trace_parent import trace_parent_of
from gateway.http.wire import REQUEST_ID
from gateway.http.wsgi import Application
from gateway.sessions.call_context import CallContext, request_id_of, working_for

TRACE_PARENT = "traceparent"


class RequestIds:
    """Wraps `application`, and adds ids to requests and responses."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        call = call_of(environment.get("HTTP_X_REQUEST_ID"), environment.get("HTTP_TRACEPARENT"))

        def start(status: str, headers: list[tuple[str, str]], *given: Any) -> Any:
            return start_response(status, [*headers, (REQUEST_ID, call.request_id)], *given)

        with working_for(call):
            return self._application(environment, start)


def call_of(request_id: str | None, trace_parent: str | None) -> CallContext:
    """Returns the call for a request with these headers."""
    return CallContext(request_id=request_id_of(request_id), trace_parent=trace_parent_of(trace_parent))
