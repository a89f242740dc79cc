"""OpenLineage events about statements, from audit data. Pure.

A statement is a run, and its text is the job: the same text again is the same job. Datasets are tables and views, and
files by folder, in the server's namespace. Facets: the written columns' lineage, the statement's text (as the audit log
has it), the principal, and an error's condition, not its message.

Source: OpenLineage 2-0-2 (RunEvent), ColumnLineageDatasetFacet 1-2-0, SQLJobFacet 1-1-0, JobTypeJobFacet 2-0-3,
ErrorMessageRunFacet 1-0-1.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from engine.runtime.accesses import Access, ColumnLineage, ColumnSource, StatementAccess, Use, resolve_lineage
from gateway.release import VERSION
from gateway.sessions.trace import Trace

PRODUCER = f"https://delta-gateway.invalid/{VERSION}"
_SPEC = "https://openlineage.io/spec"
_WRITES = (Use.WRITE, Use.CREATE)
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")


class EventType(StrEnum):
    START = "START"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


def run_event(
    kind: EventType, time_ms: int, run_id: str, job: Mapping[str, Any], run_facets: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns a run event; `job` comes from :func:`job_of`, `run_id` is a UUID."""
    moment = dt.datetime.fromtimestamp(time_ms / 1000, dt.UTC).isoformat(timespec="milliseconds")
    return {
        "eventType": kind,
        "eventTime": moment.replace("+00:00", "Z"),
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id, "facets": dict(run_facets or {})},
        "job": job,
        "inputs": [],
        "outputs": [],
    }


def job_of(namespace: str, kind: str, text_sha256: str, text: str | None) -> dict[str, Any]:
    """Returns a statement's job."""
    job_type = {"processingType": "BATCH", "integration": "DELTA_GATEWAY", "jobType": "QUERY"}
    facets: dict[str, Any] = {"jobType": _facet("2-0-3/JobTypeJobFacet", **job_type)}
    if text is not None:
        facets["sql"] = _facet("1-1-0/SQLJobFacet", query=text, dialect="spark")
    return {"namespace": namespace, "name": f"{kind}.{text_sha256[:16]}", "facets": facets}


def datasets(
    namespace: str, accesses: Iterable[StatementAccess], trace: Trace | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns inputs and outputs; with a trace, outputs have their column lineage."""
    objects = [each for access in accesses for each in access.objects if each.use is not Use.DESCRIBE]
    inputs = dict.fromkeys(each.name for each in objects if each.use is Use.READ)
    outputs = dict.fromkeys(each.name for each in objects if each.use in _WRITES and _is_data(each))
    columns, others = resolve_lineage(trace.lineage if trace else ())
    return (
        [_dataset(namespace, name) for name in inputs],
        [_dataset(namespace, name, _column_lineage(namespace, name, columns, others)) for name in outputs],
    )


def error_facet(condition: str) -> dict[str, Any]:
    """Returns the run facet for a failed statement.

    Its message is the condition's name, because messages may contain values.
    """
    return {"errorMessage": _facet("1-0-1/ErrorMessageRunFacet", message=condition, programmingLanguage="SQL")}


def user_facet(principal: str, version: str = "1-0-0") -> dict[str, Any]:
    """Returns our own facet with the user who runs the statement."""
    return {"deltaGateway_user": {"_producer": PRODUCER, "_schemaURL": f"{PRODUCER}/user/{version}", "name": principal}}


def _is_data(access: Access) -> bool:
    return access.kind in ("TABLE", "VIEW", "FILES")


def _dataset(namespace: str, name: str, facets: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"namespace": namespace, "name": _plain(name), "facets": dict(facets or {})}


def _column_lineage(
    namespace: str, name: str, columns: Iterable[ColumnLineage], others: Iterable[ColumnSource]
) -> dict[str, Any]:
    own = [column for column in columns if column.target == name]
    if not own:
        return {}
    fields = {
        column.column: {
            "inputFields": [
                {
                    **_field(namespace, source),
                    "transformations": [{"type": "DIRECT", "subtype": source.transformation}],
                }
                for source in column.sources
            ]
        }
        for column in own
    }
    decides = {(source.relation, source.column): source for source in others}
    whole = [{**_field(namespace, source), "transformations": [{"type": "INDIRECT"}]} for source in decides.values()]
    return {"columnLineage": _facet("1-2-0/ColumnLineageDatasetFacet", fields=fields, dataset=whole)}


def _field(namespace: str, source: ColumnSource) -> dict[str, str]:
    return {"namespace": namespace, "name": _plain(source.relation), "field": source.column}


def _plain(name: str) -> str:
    """Returns a name without SQL quotes."""
    return _QUOTED.sub(lambda quoted: quoted[1].replace("``", "`"), name)


def _facet(schema: str, **fields: Any) -> dict[str, Any]:
    name = schema.partition("/")[2]
    return {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/facets/{schema}.json#/$defs/{name}", **fields}
