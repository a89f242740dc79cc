"""`GET /metrics` in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flask import Blueprint, Response

from engine.runtime.metrics import Labels, MetricFamily
from gateway.http.callers import Callers
from gateway.lifecycle import Lifecycle
from gateway.observability.server_metrics import server_metrics

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_blueprint(lifecycle: Lifecycle, callers: Callers) -> Blueprint:
    """Returns the route `GET /metrics`, for callers with valid credentials."""
    routes = Blueprint("metrics", __name__)

    @routes.get("/metrics")
    def metrics() -> Response:
        callers.identity()
        families = server_metrics(lifecycle)
        return Response("".join(f"{line}\n" for line in format_metrics(families)), content_type=_TYPE)

    return routes


def format_metrics(families: Iterable[MetricFamily]) -> Iterator[str]:
    """Yields an exposition's lines."""
    for family in families:
        yield f"# HELP {family.name} {_escape(family.description)}"
        yield f"# TYPE {family.name} {family.kind}"
        for sample in family.samples:
            yield f"{family.name}{sample.suffix}{_labels(sample.labels)} {sample.value:.17g}"


def _labels(labels: Labels) -> str:
    label_text = ",".join(
        f'{name}="{_escape(value).replace(chr(34), chr(92) + chr(34))}"' for name, value in labels.items()
    )
    return f"{{{label_text}}}" if label_text else ""


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
