"""An OpenTelemetry trace collector on a local port, with the received spans as trees."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Received:
    """A span; `parent` is its parent's id, in hexadecimal."""

    id: str
    trace: str
    parent: str
    name: str
    attributes: dict[str, Any]
    began_ns: int
    ended_ns: int
    is_error: bool
    service: str
    children: list[Received] = field(default_factory=list)

    def find(self, name: str) -> list[Received]:
        """Returns the spans with that name at or below it."""
        return [*([self] if self.name == name else []), *(found for each in self.children for found in each.find(name))]


@dataclass
class Collector:
    url: str
    headers: list[dict[str, str]] = field(default_factory=list)
    spans: list[Received] = field(default_factory=list)

    def roots(self) -> list[Received]:
        """Returns the spans without a parent here, each with its descendants."""
        by_id = {span.id: span for span in self.spans}
        for span in self.spans:
            span.children = sorted(
                (each for each in self.spans if each.parent == span.id), key=lambda one: one.began_ns
            )
        return [span for span in self.spans if span.parent not in by_id]


@contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = ExportTraceServiceRequest.FromString(body)
            collector.headers.append(dict(self.headers))
            collector.spans += _received(request)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}/v1/traces")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield collector
    server.shutdown()
    server.server_close()


def _received(request: Any) -> Iterator[Received]:
    for resource in request.resource_spans:
        service = _values(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    id=span.span_id.hex(),
                    trace=span.trace_id.hex(),
                    parent=span.parent_span_id.hex(),
                    name=span.name,
                    attributes=_values(span.attributes),
                    began_ns=span.start_time_unix_nano,
                    ended_ns=span.end_time_unix_nano,
                    is_error=span.status.code == 2,
                    service=service,
                )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
