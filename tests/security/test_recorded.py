"""What the audit trail has of clients of a whole server: tokens, links, sessions that end, log-outs, guesses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.audit.chain import verify
from gateway.audit.trail import trail_contents
from tests.gateway.http.conftest import eventually
from tests.security.house import SESSIONS, STATEMENTS, SecureHouse, basic

TOKENS = "/api/2.0/token"


class Recorded(SecureHouse):
    """A server whose trail is looked at."""

    def __init__(self, folder: Path, **flags: object) -> None:
        self.trail = folder / "audit"
        methods = ["password", "token"]
        super().__init__(folder, audit__folder=str(self.trail), authentication__methods=methods, **flags)

    def lines(self, event: str) -> list[dict[str, Any]]:
        assert verify(trail_contents(self.trail))[1] is None
        told = [json.loads(line) for _, content in trail_contents(self.trail) for line in content.splitlines()]
        return [line for line in told if line["event"] == event]


@pytest.fixture
def house(folder: Path) -> Iterator[Recorded]:
    house = Recorded(folder)
    house.start()
    yield house
    house.stop()


def test_tokens_are_recorded_when_they_are_made_and_revoked(house: Recorded) -> None:
    made = house.ask("POST", f"{TOKENS}/create", {"comment": "ci"}, **basic("ann")).body
    token_id = made["token_info"]["token_id"]
    house.ask("POST", f"{TOKENS}/delete", {"token_id": token_id}, **basic("bob"))
    house.ask("POST", f"{TOKENS}/delete", {"token_id": token_id}, **basic("ann"))
    (created,), (refused, revoked) = house.lines("token.create"), house.lines("token.revoke")
    assert (created["principal"], created["token_id"], created["outcome"]) == ("ann", token_id, "ok")
    assert (created["peer"], created["wire"]) == ("127.0.0.1", "http")
    assert (refused["principal"], refused["outcome"]) == ("bob", "failed")
    assert (revoked["principal"], revoked["token_id"], revoked["outcome"]) == ("ann", token_id, "ok")
    assert made["token_value"] not in "".join(map(str, trail_contents(house.trail)))


def test_a_link_that_is_followed_is_recorded(house: Recorded) -> None:
    answer = house.submit("SELECT 1", disposition="EXTERNAL_LINKS", wait_timeout="10s")
    (link,) = answer["result"]["external_links"]
    target = "/" + link["external_link"].split("/", 3)[3]
    assert house.ask("GET", target).status == 200
    assert house.ask("GET", target + "0").status != 200
    (followed,) = house.lines("download")
    assert (followed["principal"], followed["statement"]) == ("ann", answer["statement_id"])
    assert (followed["part"], followed["peer"]) == ("chunk 0", "127.0.0.1")
    assert link["external_link"].partition("signature=")[2] not in "".join(map(str, trail_contents(house.trail)))


def test_a_session_ends_for_a_reason(folder: Path) -> None:
    house = Recorded(folder, sessions__idle_s=1.0)
    house.start()
    sessions = [house.ask("POST", SESSIONS, {}, **basic("ann")).body["session_id"] for _ in range(2)]
    house.ask("DELETE", f"{SESSIONS}/{sessions[0]}", **basic("ann"))
    assert eventually(lambda: len(house.lines("session.close")) == 2, 15)
    house.ask("POST", SESSIONS, {}, **basic("bob"))
    house.stop()
    reasons = {line["session"]: line["reason"] for line in house.lines("session.close")}
    assert [reasons[name] for name in sessions] == ["client", "idle"]
    assert sorted(reasons.values()) == ["client", "idle", "shutdown"]


def test_a_page_that_logs_out_is_recorded(house: Recorded) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    cookie = house.ask("POST", "/login", b"user=ann&password=annann", **form).headers["Set-Cookie"].partition(";")[0]
    house.ask("POST", "/logout", b"", Cookie=cookie, Sec_Fetch_Site="same-origin", **form)
    (line,) = house.lines("logout")
    assert (line["principal"], line["outcome"]) == ("ann", "ok")


def test_guesses_that_come_too_fast_are_recorded_once_a_minute(house: Recorded) -> None:
    for _ in range(12):
        house.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("ann", "guess"))
    refused = [line["condition"] for line in house.lines("login") if line["outcome"] == "denied"]
    throttled = [condition for condition in refused if "TOO_MANY" in condition]
    assert len(throttled) == 1 and 5 <= len(refused) <= 8
