"""Audit records for clients of a whole server: tokens, links, ended sessions, logouts, password guesses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.runtime.identity import Identity
from gateway.audit.audit_log import AuditLog, log_contents
from gateway.audit.auditor import LogAuditor
from gateway.audit.chain import verify
from gateway.authenticators.password_file import remove_user
from gateway.configuration.config import OnFailure, StatementText
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import eventually
from tests.security.secure_server import STATEMENTS, SecureServer, basic

TOKENS = "/api/2.0/token"


class Recorded(SecureServer):
    """A server whose trail is looked at."""

    def __init__(self, folder: Path, **flags: object) -> None:
        self.audit_log = folder / "audit"
        methods = ["password", "token"]
        super().__init__(folder, audit__folder=str(self.audit_log), authentication__methods=methods, **flags)

    def lines(self, event: str) -> list[dict[str, Any]]:
        assert verify(log_contents(self.audit_log))[1] is None
        reported = [json.loads(line) for _, content in log_contents(self.audit_log) for line in content.splitlines()]
        return [line for line in reported if line["event"] == event]


@pytest.fixture
def server(folder: Path) -> Iterator[Recorded]:
    server = Recorded(folder)
    server.start()
    yield server
    server.stop()


def test_tokens_are_recorded_when_they_are_made_and_revoked(server: Recorded) -> None:
    made = server.ask("POST", f"{TOKENS}/create", {"comment": "ci"}, **basic("ann")).body
    token_id = made["token_info"]["token_id"]
    server.ask("POST", f"{TOKENS}/delete", {"token_id": token_id}, **basic("bob"))
    server.ask("POST", f"{TOKENS}/delete", {"token_id": token_id}, **basic("ann"))
    (created,), (refused, revoked) = server.lines("token.create"), server.lines("token.revoke")
    assert (created["principal"], created["token_id"], created["outcome"]) == ("ann", token_id, "ok")
    assert (created["peer"], created["wire"]) == ("127.0.0.1", "http")
    assert (refused["principal"], refused["outcome"]) == ("bob", "failed")
    assert (revoked["principal"], revoked["token_id"], revoked["outcome"]) == ("ann", token_id, "ok")
    assert made["token_value"] not in "".join(map(str, log_contents(server.audit_log)))


def test_a_link_that_is_followed_is_recorded(server: Recorded) -> None:
    answer = server.submit("SELECT 1", disposition="EXTERNAL_LINKS", wait_timeout="10s")
    (link,) = answer["result"]["external_links"]
    target = "/" + link["external_link"].split("/", 3)[3]
    assert server.ask("GET", target).status == 200
    assert server.ask("GET", target + "0").status != 200
    (followed,) = server.lines("download")
    assert (followed["principal"], followed["statement"]) == ("ann", answer["statement_id"])
    assert (followed["part"], followed["peer"]) == ("chunk 0", "127.0.0.1")
    assert link["external_link"].partition("signature=")[2] not in "".join(map(str, log_contents(server.audit_log)))


def test_a_session_ends_for_a_reason(tmp_path: Path) -> None:
    auditor = LogAuditor(AuditLog(tmp_path), text=StatementText.NONE, on_failure=OnFailure.REFUSE)
    limits = Limits(sessions_max=3, session_idle_s=0.3, detached_idle_s=-1, reap_every_s=0.02)
    registry, ann = Registry(ArrowEngine(), limits, auditor=auditor), Identity("ann")
    closed, silent, other = (registry.open_session(ann) for _ in range(3))
    silent.is_detached = True
    registry.close_session(closed.id, ann)
    registry.open_session(ann)
    registry.open_session(ann)  # replaces the silent one
    assert eventually(lambda: len(registry.sessions()) == 0)
    last = registry.open_session(ann)
    registry.drain(0)
    auditor.close()
    reported = [json.loads(line) for _, content in log_contents(tmp_path) for line in content.splitlines()]
    reasons = {line["session"]: line["reason"] for line in reported if line["event"] == "session.close"}
    assert [reasons[str(one.id)] for one in (closed, silent, other, last)] == ["client", "room", "idle", "shutdown"]


def test_a_page_that_logs_out_is_recorded(server: Recorded) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    cookie = server.ask("POST", "/login", b"user=ann&password=annann", **form).headers["Set-Cookie"].partition(";")[0]
    server.ask("POST", "/logout", b"", Cookie=cookie, Sec_Fetch_Site="same-origin", **form)
    (line,) = server.lines("logout")
    assert (line["principal"], line["outcome"]) == ("ann", "ok")


def test_guesses_that_come_too_fast_are_recorded_once_a_minute(server: Recorded) -> None:
    for _ in range(12):
        server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("ann", "guess"))
    refused = [line["condition"] for line in server.lines("login") if line["outcome"] == "denied"]
    throttled = [condition for condition in refused if "TOO_MANY" in condition]
    assert len(throttled) == 1 and 5 <= len(refused) <= 8


def test_a_file_of_users_that_is_read_again_is_recorded(server: Recorded, folder: Path) -> None:
    remove_user(folder / "users", "bob")
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("bob")).status == 401
    (line,) = server.lines("config.reload")
    assert (line["file"], line["outcome"]) == (str(folder / "users"), "ok")
