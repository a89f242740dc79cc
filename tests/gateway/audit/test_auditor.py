"""Audit records for logins, sessions and statements, and failures to write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import (
    AuditNotWritten,
    AuthenticationFailed,
    InsufficientPermissions,
    TableNotFound,
    ViewOwnerLacksPrivileges,
)
from engine.runtime.accesses import (
    Access,
    ColumnLineage,
    ColumnSource,
    Commit,
    Lineage,
    StatementAccess,
    Transformation,
    Use,
)
from engine.runtime.identity import Identity, Method
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from gateway.audit.audit_log import AuditLog, log_contents
from gateway.audit.auditor import LogAuditor
from gateway.audit.chain import verify
from gateway.audit.log_ins import RecordedLogIns
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Mechanism, log_in, plain_message
from gateway.authenticators.peer import Peer
from gateway.configuration.config import OnFailure, StatementText
from gateway.observability.traffic import Traffic
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Origin
from tests.gateway.arrow_engine import ArrowEngine, fails, rows
from tests.gateway.http.conftest import eventually

ANN = Identity("ann", groups=frozenset({"g"}), method=Method.PASSWORD)
ORIGIN = Origin("thrift", "10.0.0.1")
ACCESS = StatementAccess(
    statement="Insert",
    objects=(
        Access(name="c.s.t", kind="TABLE", use=Use.WRITE, version=3),
        Access(name="c.s.u", kind="TABLE", use=Use.READ, version=0, via_view="c.s.v"),
    ),
)


class AuditedServer:
    """A registry whose auditor writes to a folder."""

    def __init__(self, folder: Path, text: StatementText, on_failure: OnFailure) -> None:
        self.folder, self.engine = folder, ArrowEngine()
        self.auditor = LogAuditor(AuditLog(folder), text=text, on_failure=on_failure)
        self.registry = Registry(self.engine, Limits(reap_every_s=0.2), auditor=self.auditor)
        self.effects: list[str] = []
        self.engine.answers["INSERT"] = self._insert

    def _insert(self, request: StatementRequest) -> ResultStream:
        request.on_authorized(ACCESS)
        self.effects.append("inserted")
        return rows(pa.table({"a": [1]}))(request)

    def run(self, text: str) -> Operation:
        session = self.registry.open_session(ANN, origin=ORIGIN)
        operation = session.execute(text)
        operation.wait(60)
        self.registry.close_session(session.id, ANN)
        return operation

    def lines(self) -> list[dict[str, Any]]:
        assert verify(log_contents(self.folder))[1] is None
        return [json.loads(line) for _, content in log_contents(self.folder) for line in content.splitlines()]

    def events(self) -> list[tuple[str, str]]:
        return [(line["event"], line["outcome"]) for line in self.lines()]


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AuditedServer]:
    text, on_failure = getattr(request, "param", (StatementText.FULL, OnFailure.REFUSE))
    made = AuditedServer(tmp_path / "audit", text, on_failure)
    yield made
    made.registry.drain(0)
    made.auditor.close()


def test_a_statement_is_recorded_before_it_acts_and_at_its_end(server: AuditedServer) -> None:
    operation = server.run("INSERT")
    assert operation.error is None
    assert server.events() == [
        ("session.open", "ok"),
        ("statement.begin", "ok"),
        ("statement.end", "ok"),
        ("session.close", "ok"),
    ]
    begin, end = server.lines()[1:3]
    assert begin["statement"] == end["statement"] == str(operation.id)
    assert (begin["principal"], begin["method"], begin["peer"], begin["wire"]) == (
        "ann",
        "password",
        "10.0.0.1",
        "thrift",
    )
    assert (begin["kind"], begin["text"], len(begin["text_sha256"])) == ("Insert", "INSERT", 64)
    assert begin["objects"] == [
        {"name": "c.s.t", "kind": "TABLE", "use": "write", "version": 3, "via_view": None},
        {"name": "c.s.u", "kind": "TABLE", "use": "read", "version": 0, "via_view": "c.s.v"},
    ]
    assert len(begin["groups_sha256"]) == 64 and end["ms"] >= 0


def test_a_statement_that_fails_is_recorded_without_its_message(server: AuditedServer) -> None:
    server.engine.answers["SELECT x"] = fails(TableNotFound("secret_table"))
    server.run("SELECT x")
    end = server.lines()[1]
    assert (end["event"], end["outcome"], end["sqlstate"]) == ("statement.end", "failed", "42P01")
    assert end["condition"] == "TABLE_OR_VIEW_NOT_FOUND" and "secret_table" not in json.dumps(end)


def test_cancelled_statement_is_recorded_as_cancelled(server: AuditedServer) -> None:
    session = server.registry.open_session(ANN, origin=ORIGIN)
    operation = session.execute("SLEEP 60")
    operation.cancel()
    assert eventually(lambda: ("statement.end", "cancelled") in server.events())


ADMIN = Identity("root", is_admin=True)


def end_of(server: AuditedServer, by: Identity, what: str) -> None:
    session = server.registry.open_session(ANN, origin=ORIGIN)
    operation = session.execute("SLEEP 60")
    if what == "statement":
        server.registry.end_operation(operation.id, by, Origin("http", "10.0.0.9"))
    else:
        server.registry.end_session(session.id, by, Origin("http", "10.0.0.9"))


@pytest.mark.parametrize(("what", "event"), [("statement", "statement.cancel"), ("session", "session.end")])
def test_ending_another_users_statement_is_recorded_first(server: AuditedServer, what: str, event: str) -> None:
    end_of(server, ADMIN, what)
    assert eventually(lambda: ("statement.end", "cancelled") in server.events())
    names = [name for name, _ in server.events()]
    assert names.index(event) < names.index("statement.end")
    opened = server.lines()[0]
    line = server.lines()[names.index(event)]
    assert (line["principal"], line["owner"], line["peer"]) == ("root", "ann", "10.0.0.9")
    assert line["session"] == opened["session"] and ("statement" in line) == (what == "statement")


@pytest.mark.parametrize("what", ["statement", "session"])
def test_users_end_their_own_without_another_line(server: AuditedServer, what: str) -> None:
    end_of(server, ANN, what)
    assert eventually(lambda: ("statement.end", "cancelled") in server.events())
    assert not {"statement.cancel", "session.end"} & {name for name, _ in server.events()}


def test_another_users_statement_is_not_ended_without_a_record(
    server: AuditedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = server.registry.open_session(ANN, origin=ORIGIN)
    operation = session.execute("SLEEP 60")
    monkeypatch.setattr("gateway.audit.audit_log.os.write", lambda *_: 0)
    with pytest.raises(AuditNotWritten):
        server.registry.end_operation(operation.id, ADMIN)
    with pytest.raises(AuditNotWritten):
        server.registry.end_session(session.id, ADMIN)
    monkeypatch.undo()
    assert not operation.state.is_terminal


def test_unrecordable_statement_does_not_run(server: AuditedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = server.registry.open_session(ANN, origin=ORIGIN)
    monkeypatch.setattr("gateway.audit.audit_log.os.write", lambda *_: 0)
    operation = session.execute("INSERT")
    assert operation.wait(60) is OperationState.FAILED
    assert isinstance(operation.error, AuditNotWritten) and not server.effects
    with pytest.raises(AuditNotWritten):
        server.registry.open_session(ANN, origin=ORIGIN)
    monkeypatch.undo()
    assert session.execute("INSERT").wait(60) is OperationState.FINISHED
    assert server.effects == ["inserted"]


@pytest.mark.parametrize("server", [(StatementText.FULL, OnFailure.LOG)], indirect=True)
def test_with_that_setting_it_is_done_all_the_same(server: AuditedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.audit.audit_log.os.write", lambda *_: 0)
    assert server.run("INSERT").error is None and server.effects == ["inserted"]


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ((StatementText.FULL, OnFailure.REFUSE), "SELECT 'x' WHERE password = ***"),
        ((StatementText.REDACTED, OnFailure.REFUSE), "SELECT ? WHERE password = ?"),
        ((StatementText.NONE, OnFailure.REFUSE), None),
    ],
    indirect=["server"],
)
def test_how_much_of_the_text_is_recorded(server: AuditedServer, text: str | None) -> None:
    server.run("SELECT 'x' WHERE password = 'hunter2'")
    (end,) = (line for line in server.lines() if line["event"] == "statement.end")
    shown = end.get("text")
    assert shown == text
    assert "hunter2" not in json.dumps(end) and len(end["text_sha256"]) == 64


def test_log_ins_are_recorded_and_refusals_with_the_name_that_was_tried(server: AuditedServer) -> None:
    authenticator = RecordedLogIns(Anonymous(), server.auditor, Traffic())
    peer = Peer("127.0.0.1")
    for _ in range(3):
        log_in(authenticator, Mechanism.PLAIN, plain_message("ann", "hunter2"), peer)
    with pytest.raises(AuthenticationFailed):
        log_in(authenticator, Mechanism.PLAIN, b"no plain message", peer)
    assert server.events() == [("login", "ok"), ("login", "denied")]
    ok, denied = server.lines()
    assert (ok["principal"], ok["peer"], denied["sqlstate"]) == ("ann", "127.0.0.1", "28000")
    assert "hunter2" not in json.dumps(server.lines())


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        ("ann", "ann"),
        ("dgp_9f8aQZsecretsecretsecretsecret", "***"),
        ("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln", "***"),
        ("x" * 190 + " dgp_9f8aQZsecretsecretsecretsecret", "x" * 190 + " ***"),
    ],
)
def test_a_token_that_is_sent_as_the_name_is_not_recorded(server: AuditedServer, user: str, shown: str) -> None:
    server.auditor.record_refusal(user, ORIGIN, AuthenticationFailed("no"))
    (line,) = server.lines()
    assert line["user"] == shown


def test_denial_is_recorded_with_the_privilege(server: AuditedServer) -> None:
    server.engine.answers["DENIED"] = fails(InsufficientPermissions("SELECT", "Table 'c.s.t'"))
    server.engine.answers["OWNER"] = fails(ViewOwnerLacksPrivileges("View 'c.s.v'"))
    server.run("DENIED")
    server.run("OWNER")
    ends = [line for line in server.lines() if line["event"] == "statement.end"]
    assert [end["outcome"] for end in ends] == ["denied", "denied"]
    assert [end["denied"] for end in ends] == [{"privilege": "SELECT", "on": "Table 'c.s.t'"}, {"on": "View 'c.s.v'"}]


def test_the_columns_and_commits_of_a_statement_are_in_its_end(server: AuditedServer) -> None:
    source = ColumnSource("c.s.u", "b", Transformation.TRANSFORMATION)
    reported = Lineage(columns=(ColumnLineage("c.s.t", "a", (source,)),), others=(ColumnSource("c.s.u", "d"),))

    def insert(request: StatementRequest) -> ResultStream:
        assert request.on_lineage
        request.on_lineage(reported)
        request.on_lineage(reported)
        request.on_commit(Commit("c.s.t", 4))
        return rows(pa.table({"a": [1]}))(request)

    server.engine.answers["INSERT 2"] = insert
    server.run("INSERT 2")
    (end,) = (line for line in server.lines() if line["event"] == "statement.end")
    sources = [{"relation": "c.s.u", "column": "b", "transformation": "TRANSFORMATION"}]
    assert end["lineage"] == [{"target": "c.s.t", "column": "a", "sources": sources}]
    assert end["columns"] == [
        {"name": "c.s.u", "read": ["b", "d"], "written": []},
        {"name": "c.s.t", "read": [], "written": ["a"]},
    ]
    assert end["commits"] == [{"name": "c.s.t", "version": 4}]
