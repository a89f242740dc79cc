"""Requests are answered in their time while the engine answers nothing, and it gets over that."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from catalog.conditions import EngineNotAnswering
from gateway.http import readiness, statements
from gateway.sessions.bounded import EngineCalls
from gateway.sessions.operation_state import OperationState
from tests.gateway.http.conftest import STATEMENTS, Api, eventually

SESSIONS = "/api/2.0/sql/sessions"


@pytest.fixture
def stalled(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """Yields an engine that answers nothing until its event is set."""
    monkeypatch.setattr(statements, "_OPEN_S", 1.0)
    monkeypatch.setattr(statements, "_END_S", 0.1)
    monkeypatch.setattr(readiness, "_TIMEOUT_S", 0.2)
    monkeypatch.setattr(readiness, "_GOOD_FOR_S", 0.0)
    api.engine.stalled = threading.Event()
    yield api
    api.engine.stalled.set()


def recover(api: Api) -> None:
    assert api.engine.stalled is not None
    api.engine.stalled.set()


@pytest.mark.parametrize(
    ("path", "body"), [(STATEMENTS, {"statement": "SELECT 1", "wait_timeout": "0s"}), (SESSIONS, {})]
)
def test_late_session_is_rejected_and_closed(stalled: Api, path: str, body: dict[str, str]) -> None:
    for _ in range(3):
        assert stalled.refuse("POST", path, body) == (503, "TEMPORARILY_UNAVAILABLE")
    recover(stalled)
    assert eventually(lambda: len(stalled.engine.sessions) == 3)
    assert eventually(lambda: all(session.closed for session in stalled.engine.sessions))
    assert stalled.registry.sessions() == () and stalled.engine.runs == []  # nothing runs that its client does not know
    assert stalled.submit("SELECT 1")["status"] == {"state": "SUCCEEDED"}


@pytest.mark.parametrize("ending", ["wait", "cancel", "close", "close session"])
def test_a_statement_the_engine_does_not_answer_can_be_waited_for_and_ended(stalled: Api, ending: str) -> None:
    recover(stalled)
    session = stalled.ask("POST", SESSIONS, {})["session_id"]
    stalled.engine.stalled = threading.Event()
    options = {"on_wait_timeout": "CANCEL"} if ending == "wait" else {}
    answer = stalled.submit("SELECT 1", session_id=session, wait_timeout="1s", **options)
    (operation,) = stalled.registry.operations()
    path = f"{STATEMENTS}/{answer['statement_id']}"
    if ending == "wait":
        assert answer["status"]["state"] == "CANCELED"
    else:
        assert answer["status"]["state"] == "RUNNING"
        method, target = {
            "cancel": ("POST", f"{path}/cancel"),
            "close": ("DELETE", path),
            "close session": ("DELETE", f"{SESSIONS}/{session}"),
        }[ending]
        assert stalled.ask(method, target) == {}
    assert eventually(lambda: operation.state in (OperationState.CANCELED, OperationState.CLOSED))
    recover(stalled)
    assert stalled.submit("SELECT 1")["status"] == {"state": "SUCCEEDED"}


def test_readiness_times_out_and_recovers(stalled: Api) -> None:
    for _ in range(3):
        assert stalled.request("GET", "/readyz").status_code == 503
    assert stalled.request("GET", "/healthz").status_code == 200
    recover(stalled)
    assert eventually(lambda: stalled.request("GET", "/readyz").status_code == 200)
    assert len(stalled.engine.sessions) <= 3  # one question at a time


def test_calls_answer_raise_or_are_given_up() -> None:
    calls, started, undone = EngineCalls(2), threading.Event(), list[int]()

    def late(result: int) -> int:
        started.wait()
        return result

    assert calls.run(lambda: 7, 60) == 7
    with pytest.raises(ZeroDivisionError):
        calls.run(lambda: 1 // 0, 60)
    for result in (1, 2, 3):  # the last one finds no thread
        with pytest.raises(EngineNotAnswering):
            calls.run(lambda result=result: late(result), 0.05, abandoned=undone.append)  # type: ignore[misc]
    before = threading.active_count()
    with pytest.raises(EngineNotAnswering):
        calls.run(lambda: late(4), 0.05, abandoned=undone.append)
    assert threading.active_count() <= before and undone == []  # other tests' threads may end
    started.set()
    assert eventually(lambda: sorted(undone) == [1, 2, 3, 4])
    began = time.monotonic()
    assert [calls.run(lambda n=n: n, 60) for n in range(100)] == list(range(100))  # type: ignore[misc]
    assert time.monotonic() - began < 60


def test_an_engine_that_is_busy_is_not_one_that_does_not_answer() -> None:
    """The calls, one after the other, take longer than each may wait for an engine that answers nobody."""
    calls, done = EngineCalls(1), list[int]()

    def call(number: int) -> None:
        calls.run(lambda: time.sleep(0.1), 1.5)
        done.append(number)

    callers = [threading.Thread(target=call, args=(number,)) for number in range(20)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert sorted(done) == list(range(20))
