"""Exports spans to a collector by OpenTelemetry's SDK, over OTLP/HTTP. Requires the packages in the extra `otel`.

The SDK sends batches on its own thread; if the collector does not keep up, spans are dropped, and statements never
wait. A client's sampling decision is respected; other statements are sampled with the configured ratio.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gateway.observability.tracing import Span
from gateway.release import VERSION

_TIMEOUT_S = 10.0
_END_S = 3.0


class OtlpExporter:
    """A `SpanExporter` to a collector's traces URL, such as http://localhost:4318/v1/traces."""

    def __init__(self, url: str, *, service: str, share: float, headers: Mapping[str, str]) -> None:
        resource = Resource.create({"service.name": service, "service.version": VERSION})
        self._provider = TracerProvider(
            resource=resource, sampler=ParentBasedTraceIdRatio(share), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=url, headers=dict(headers), timeout=_TIMEOUT_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("delta-gateway", VERSION)
        self._propagator = TraceContextTextMapPropagator()

    def export(self, root: Span, trace_parent: str | None) -> None:
        given = {"traceparent": trace_parent} if trace_parent else {}
        _emit(self._tracer, root, self._propagator.extract(given, Context()), SpanKind.SERVER)

    def close(self) -> None:
        """Sends pending spans by the SDK's shutdown, which takes up to the request timeout if the collector hangs."""
        ending = threading.Thread(target=self._provider.shutdown, name="tracing-end", daemon=True)
        ending.start()
        ending.join(_END_S)


def _emit(tracer: Tracer, span: Span, parent: Context, kind: SpanKind) -> None:
    made = tracer.start_span(span.name, parent, kind, dict(span.attributes), start_time=span.began_ns)
    if span.error is not None:
        made.set_attribute("error.type", span.error)
        made.set_status(Status(StatusCode.ERROR, span.error))
    if made.is_recording():
        within = set_span_in_context(made, parent)
        for child in span.children:
            _emit(tracer, child, within, SpanKind.INTERNAL)
    made.end(max(span.ended_ns, span.began_ns))
