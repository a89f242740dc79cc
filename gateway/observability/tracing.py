"""Statement traces: a statement's spans, independent of the exporter.

    statement                     from its arrival to its end; a child of the client's span (`traceparent`)
    ├─ queue, parse, bind, …      a span for each time that it was in a stage
    │  └─ Spark job               in the stage during which the job began
    ├─ commit
    │  └─ commit attempt          with the version, or the conflict that causes another attempt
    └─ execute                    for a script: contains its statements' stages

Spans are created after the statement's end from recorded times; a statement that is not traced therefore costs nothing,
and a traced one only a list with its jobs. Attributes follow OpenTelemetry's conventions for databases if there is one,
and begin with `gateway.` otherwise. For a statement over tables with policies, metrics are hidden, as in its log.

`make_tracer` creates the configured tracer.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, assert_never

from catalog.conditions import TracingNotInstalled
from catalog.secret_files import read_secret
from engine.concurrency.retry import RetryReason
from engine.runtime.accesses import Commit
from engine.runtime.profile import SparkJob, Stage, StageSpan
from gateway.configuration.config import StatementText, TracingSection
from gateway.observability.redaction import redact, without_literals
from gateway.sessions.operation import Operation
from gateway.sessions.trace import Trace

logger = logging.getLogger(__name__)

Attributes = Mapping[str, str | int | float | bool]

_TEXT_MAX = 16_384
# Maximum number of jobs per statement; the first ones are recorded.
_JOBS_MAX = 1000
_PLAIN_QUOTED = re.compile(r"`(\w+)`")
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span; times are nanoseconds since the epoch; `error` is the failure's condition."""

    name: str
    began_ns: int
    ended_ns: int
    attributes: Attributes
    children: tuple[Span, ...] = ()
    error: str | None = None


class SpanExporter(Protocol):
    """Exports whole traces without blocking."""

    def export(self, root: Span, trace_parent: str | None) -> None:
        """Exports a statement's span with its children.

        `trace_parent` is the client's `traceparent` (W3C Trace Context).
        """
        ...

    def close(self) -> None:
        """Sends pending traces, within a few seconds."""
        ...


class StatementTracer:
    """Creates and exports traces. Thread-safe."""

    def __init__(self, exporter: SpanExporter, text: StatementText) -> None:
        self._exporter = exporter
        self._text = text

    def follow(self, trace: Trace | None) -> Trace:
        """Returns the trace to record a statement's execution: the auditor's, if there is one, else a new one."""
        trace = trace or Trace(wants_lineage=False)
        trace.jobs = []
        return trace

    def statement_ended(self, operation: Operation) -> None:
        """Exports a statement's trace. Never raises, because other observers follow."""
        try:
            self._exporter.export(statement_span(operation, self._text), operation.call.trace_parent)
        except Exception:
            logger.exception("the trace of statement %s was not made", operation.id)

    def close(self) -> None:
        """Closes the exporter."""
        self._exporter.close()


def statement_span(operation: Operation, text: StatementText) -> Span:
    """Returns an ended statement's span, with all its children."""
    trace = operation.trace or Trace()
    stages = operation.profile.spans
    created_ns = operation.created_ms * _NS_PER_MS
    ended_ns = max([span.ended_ns for span in stages], default=(operation.ended_ms or 0) * _NS_PER_MS)
    parts = operation.profile.part_spans
    kind = next((access.statement for access in trace.accesses), operation.kind.name.capitalize())
    kind = "Script" if parts else kind
    named = {one.name for access in trace.accesses for one in access.objects if one.kind == "TABLE"}
    tables = {_PLAIN_QUOTED.sub(r"\1", name) for name in named}
    jobs = list(trace.jobs or ())[:_JOBS_MAX]
    below = tuple(_stage_spans(stages, parts, jobs, trace))
    return Span(
        name=f"{kind} {next(iter(tables))}" if len(tables) == 1 else kind,
        began_ns=min([span.began_ns for span in stages], default=created_ns),
        ended_ns=max(ended_ns, created_ns),
        attributes=_statement_attributes(operation, kind, tables) | _text_attributes(operation.text, text),
        children=(*below, *map(_job_span, jobs)),
        error=operation.error.condition if operation.error else None,
    )


def _statement_attributes(operation: Operation, kind: str, tables: set[str]) -> dict[str, str | int | float | bool]:
    named = {
        "db.system.name": "other_sql",
        "db.operation.name": kind,
        "db.collection.name": next(iter(tables)) if len(tables) == 1 else None,
        "db.response.status_code": operation.error.sqlstate if operation.error else None,
        "db.response.returned_rows": operation.rows_total,
        "user.name": operation.call.user,
        "gateway.statement.id": operation.call.statement_id,
        "gateway.sessions.session.id": operation.call.session_id,
        "gateway.request.id": operation.call.request_id,
        "gateway.statement.state": operation.state.name.lower(),
        "gateway.statement.class": operation.kind.name.lower(),
        "gateway.statement.reruns": operation.retries[RetryReason.RERUN],
        "gateway.read.bytes": sum(read.bytes for read in operation.profile.reads),
        "gateway.pruned.bytes": sum(read.bytes_total - read.bytes for read in operation.profile.reads),
        "gateway.modified.rows": operation.rows_modified,
    }
    return {name: value for name, value in named.items() if value is not None}


def _text_attributes(sql: str, text: StatementText) -> dict[str, str]:
    match text:
        case StatementText.NONE:
            return {}
        case StatementText.REDACTED:
            return {"db.query.text": without_literals(sql[:_TEXT_MAX])}
        case StatementText.FULL:
            return {"db.query.text": redact(sql[:_TEXT_MAX])}
        case _:
            assert_never(text)


def _is_within(job: SparkJob, stage: StageSpan) -> bool:
    """Returns True if `job` began during a stage; its time has only milliseconds."""
    return stage.began_ns - _NS_PER_MS < job.began_ms * _NS_PER_MS <= stage.ended_ns


def _stage_spans(
    stages: tuple[StageSpan, ...], parts: tuple[StageSpan, ...], jobs: list[SparkJob], trace: Trace
) -> Iterator[Span]:
    """Yields the stages' spans; `parts` are the stages of a script's statements. Assigned jobs are removed from
    `jobs`.
    """
    for stage in stages:
        inner = tuple(part for part in parts if stage.began_ns <= part.began_ns and part.ended_ns <= stage.ended_ns)
        below = tuple(_stage_spans(inner, (), jobs, trace))
        own: list[SparkJob] = []
        others: list[SparkJob] = []
        for job in jobs:
            (own if _is_within(job, stage) else others).append(job)
        jobs[:] = others
        attempts = tuple(_attempts(stage, trace)) if stage.stage is Stage.COMMIT else ()
        yield Span(
            name=stage.stage,
            began_ns=stage.began_ns,
            ended_ns=stage.ended_ns,
            attributes={},
            children=(*below, *map(_job_span, own), *attempts),
        )


def _job_span(job: SparkJob) -> Span:
    attributes = {
        "gateway.spark.job.id": job.id,
        "gateway.spark.job.stages": job.stages,
        "gateway.spark.job.tasks": job.tasks,
        "gateway.spark.job.failed_tasks": job.failed_tasks,
    }
    return Span(
        name="Spark job",
        began_ns=job.began_ms * _NS_PER_MS,
        ended_ns=job.ended_ms * _NS_PER_MS,
        attributes=attributes,
        error=None if job.has_succeeded else "SPARK_JOB_FAILED",
    )


def _attempts(stage: StageSpan, trace: Trace) -> Iterator[Span]:
    """Yields the commit attempts: each ends with a version, or with a winning commit; the last one may end with the
    statement's error.
    """
    moments = [(at, what) for at, what in trace.moments if stage.began_ns <= at <= stage.ended_ns]
    began_ns, number = stage.began_ns, 0
    for at, what in moments:
        number += 1
        attributes: dict[str, str | int] = {"gateway.commit.attempt": number}
        match what:
            case Commit(relation=relation, version=version):
                attributes |= {"gateway.commit.table": relation, "gateway.commit.version": version}
            case RetryReason() as reason:
                attributes |= {"gateway.commit.conflict": reason}
            case _:
                assert_never(what)
        yield Span(name="commit attempt", began_ns=began_ns, ended_ns=at, attributes=attributes)
        began_ns = at


# Imported by name on demand: its packages are optional, and slow to import.
_EXPORTER = "gateway.observability.open_telemetry"


def make_tracer(section: TracingSection) -> StatementTracer | None:
    """Returns the tracer; None if tracing is off. Raises `TracingNotInstalled`."""
    if not section.url:
        return None
    try:
        module = importlib.import_module(_EXPORTER)
    except ModuleNotFoundError as error:
        raise TracingNotInstalled(error.name or "opentelemetry") from error
    token = read_secret(Path(section.token_file)).decode().strip() if section.token_file else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    exporter: SpanExporter = module.OtlpExporter(
        section.url, service=section.service, share=section.share, headers=headers
    )
    return StatementTracer(exporter, section.statement_text)
