"""`GET /metrics` in the text format of Prometheus (version 0.0.4). Labels name no user, table or statement.

gateway_up                                       1 while statements are taken
gateway_sessions, gateway_statements{state}      open now; statements that wait, run or stream
gateway_statements_abandoned                     ended ones whose threads still run
gateway_statements_ended_total{state,class}      since the start, as all that follow
gateway_stage_seconds_sum{stage}, …_count        time of statements by stage (see the runbook)
gateway_result_rows_total                        rows of ended statements that were held
gateway_read_bytes_total, gateway_pruned_bytes_total   sizes of data files that were read, and left by pruning
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from flask import Blueprint, Response

from gateway.http.callers import Callers
from gateway.lifecycle import Lifecycle, Phase
from gateway.operation import OperationState
from gateway.registry import Registry

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OPEN_STATES = (OperationState.PENDING, OperationState.RUNNING, OperationState.STREAMING)

Labels = Mapping[str, str]
Samples = Iterable[tuple[Labels, float]]


def metrics_blueprint(lifecycle: Lifecycle, callers: Callers) -> Blueprint:
    routes = Blueprint("metrics", __name__)

    @routes.get("/metrics")
    def metrics() -> Response:
        callers.identity()
        registry = lifecycle.registry
        is_up = registry is not None and lifecycle.phase is Phase.READY and registry.engine.unready_reason is None
        lines = [*_family("gateway_up", "gauge", "Whether statements are taken.", [({}, float(is_up))])]
        if registry is not None:
            lines += _open(registry)
            lines += _ended(registry)
        return Response("".join(f"{line}\n" for line in lines), content_type=_TYPE)

    return routes


def _open(registry: Registry) -> Iterator[str]:
    states = Counter(operation.state for operation in registry.operations())
    sessions = float(len(registry.sessions()))
    abandoned = float(registry.abandoned_count)
    by_state = [({"state": state.name.lower()}, float(states[state])) for state in _OPEN_STATES]
    yield from _family("gateway_sessions", "gauge", "Open sessions.", [({}, sessions)])
    yield from _family("gateway_statements", "gauge", "Statements that have not ended.", by_state)
    yield from _family("gateway_statements_abandoned", "gauge", "Ended statements that still run.", [({}, abandoned)])


def _ended(registry: Registry) -> Iterator[str]:
    counts = registry.totals.counts()
    ended = [
        ({"state": state.name.lower(), "class": kind.name.lower()}, float(count))
        for (state, kind), count in counts.ended.items()
    ]
    yield from _family("gateway_statements_ended_total", "counter", "Statements that have ended.", ended)
    yield "# HELP gateway_stage_seconds Time of ended statements by stage."
    yield "# TYPE gateway_stage_seconds summary"
    for stage, seconds in counts.stage_seconds.items():
        yield _sample("gateway_stage_seconds_sum", {"stage": stage}, seconds)
        yield _sample("gateway_stage_seconds_count", {"stage": stage}, counts.stage_statements[stage])
    yield from _family("gateway_result_rows_total", "counter", "Rows of results.", [({}, counts.rows)])
    yield from _family(
        "gateway_read_bytes_total", "counter", "Sizes of files that were read.", [({}, counts.bytes_read)]
    )
    yield from _family(
        "gateway_pruned_bytes_total", "counter", "Sizes of files that pruning left out.", [({}, counts.bytes_pruned)]
    )


def _family(name: str, kind: str, help_text: str, samples: Samples) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield _sample(name, labels, value)


def _sample(name: str, labels: Labels, value: float) -> str:
    """Labels are members of closed sets, which need no quoting."""
    told = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{told}}} {value:.17g}" if told else f"{name} {value:.17g}"
