"""OpenLineage events: their content, and delivery to a collector that fails, is unavailable, or rejects some."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import LineageWithoutAudit, TableNotFound
from engine.runtime.accesses import Access, ColumnLineage, ColumnSource, Lineage, StatementAccess, Transformation, Use
from engine.runtime.identity import Identity, Method
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, empty_result
from gateway.audit.audit_log import AuditLog
from gateway.audit.auditor import LogAuditor
from gateway.audit.lineage_sender import LineageEvents, LineageSender
from gateway.audit.start import make_auditor
from gateway.configuration.config import AuditSection, LineageSection, OnFailure, StatementText
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import eventually

T, U = "`c`.`s`.`t`", "`c`.`s`.`u`"
ACCESS = StatementAccess(
    statement="Insert",
    objects=(
        Access(name=U, kind="TABLE", use=Use.WRITE, version=3),
        Access(name=T, kind="TABLE", use=Use.READ, version=0),
        Access(name="f", kind="FUNCTION", use=Use.EXECUTE),
    ),
)
LINEAGE = Lineage(
    columns=(ColumnLineage(U, "x", (ColumnSource(T, "a", Transformation.AGGREGATION),)),),
    others=(ColumnSource(T, "d"),),
)


class Collector:
    """Takes events, or answers with the statuses that are given first."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.tokens: set[str | None] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                status = outer.statuses.pop(0) if outer.statuses else 201
                outer.tokens.add(self.headers["Authorization"])
                if status == 201:
                    outer.events.append(json.loads(content))
                self.send_response(status)
                if status in range(300, 400):
                    self.send_header("Location", outer.url.replace("127.0.0.1", "localhost"))
                self.end_headers()

            def do_GET(self) -> None:
                outer.tokens.add("redirected")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/v1/lineage"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def run(folder: Path, collector: Collector, *texts: str) -> None:
    engine = ArrowEngine()

    def insert(request: StatementRequest) -> ResultStream:
        request.on_authorized(ACCESS)
        assert request.on_lineage
        request.on_lineage(LINEAGE)
        return empty_result()

    def fail(request: StatementRequest) -> ResultStream:
        request.on_authorized(ACCESS)
        raise TableNotFound("secret")

    engine.answers |= {"INSERT 1": insert, "FAIL": fail, "SELECT 1": lambda _: empty_result()}
    events = LineageEvents(LineageSender(collector.url, folder / "lineage", "t0ken", pause_s=0.01), "lake")
    auditor = LogAuditor(
        AuditLog(folder / "audit"), text=StatementText.REDACTED, on_failure=OnFailure.REFUSE, events=events
    )
    registry = Registry(engine, Limits(), auditor=auditor)
    session = registry.open_session(Identity("ann", method=Method.PASSWORD))
    for text in texts:
        session.execute(text).wait(60)
    registry.drain(0)
    assert eventually(lambda: not list((folder / "lineage").glob("*.json")))
    auditor.close()


def test_a_statement_has_a_start_and_an_end(tmp_path: Path, collector: Collector) -> None:
    run(tmp_path, collector, "INSERT 1", "SELECT 1", "FAIL")
    start, end, began, failed = collector.events
    assert [each["eventType"] for each in collector.events] == ["START", "COMPLETE", "START", "FAIL"]
    assert start["run"]["runId"] == end["run"]["runId"] != failed["run"]["runId"]
    assert start["job"] == end["job"] and start["job"]["namespace"] == "lake"
    assert end["job"]["name"].startswith("Insert.") and end["job"]["facets"]["sql"]["query"] == "INSERT ?"
    assert [(one["namespace"], one["name"]) for one in end["inputs"]] == [("lake", "c.s.t")]
    (output,) = end["outputs"]
    facet = output["facets"]["columnLineage"]
    assert (output["name"], facet["fields"]) == (
        "c.s.u",
        {
            "x": {
                "inputFields": [
                    {
                        "namespace": "lake",
                        "name": "c.s.t",
                        "field": "a",
                        "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION"}],
                    }
                ]
            }
        },
    )
    assert [(one["field"], one["transformations"]) for one in facet["dataset"]] == [("d", [{"type": "INDIRECT"}])]
    assert failed["run"]["facets"]["errorMessage"]["message"] == "TABLE_OR_VIEW_NOT_FOUND"
    assert "secret" not in json.dumps(collector.events) and collector.tokens == {"Bearer t0ken"}
    for event in collector.events:
        assert event["schemaURL"].endswith("#/$defs/RunEvent") and event["eventTime"].endswith("Z")


def test_rejected_lineage_event_is_sent_again(tmp_path: Path, collector: Collector) -> None:
    collector.statuses = [500, 429, 503]
    run(tmp_path, collector, "INSERT 1")
    assert [each["eventType"] for each in collector.events] == ["START", "COMPLETE"]


@pytest.mark.parametrize("status", [400, 301, 302, 303, 307, 308])
def test_permanently_rejected_events_are_stored_separately(tmp_path: Path, collector: Collector, status: int) -> None:
    collector.statuses = [status]
    run(tmp_path, collector, "INSERT 1")
    assert [each["eventType"] for each in collector.events] == ["COMPLETE"]
    assert collector.tokens == {"Bearer t0ken"}, "a redirect would take the token elsewhere"
    assert len(list((tmp_path / "lineage").glob("*.refused"))) == 1


def test_unsent_events_are_sent_after_a_restart(tmp_path: Path, collector: Collector) -> None:
    away = LineageSender("http://127.0.0.1:9/", tmp_path / "lineage", pause_s=60)
    away.send({"eventType": "START"})
    assert eventually(lambda: len(list((tmp_path / "lineage").glob("*.json"))) == 1)
    away.close()
    assert (tmp_path / "lineage").stat().st_mode & 0o77 == 0
    sender = LineageSender(collector.url, tmp_path / "lineage", pause_s=0.01)
    assert eventually(lambda: collector.events == [{"eventType": "START"}])
    sender.close()


def test_lineage_events_require_audit_log() -> None:
    with pytest.raises(LineageWithoutAudit):
        make_auditor(AuditSection(), LineageSection(url="http://localhost/lineage"))
