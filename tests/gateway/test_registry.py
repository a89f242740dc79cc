"""Sessions by id, their limits, their expiry, and the orderly end."""

from __future__ import annotations

import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from catalog.conditions import (
    OperationNotFound,
    ServerDraining,
    SessionNotFound,
    StatementTimedOut,
    StatementTooLong,
    TooManyAbandoned,
    TooManyAbandonedOfOwner,
    TooManySessions,
    TooManySessionsOfUser,
    TooManyStatements,
    TooManyStatementsOfUser,
)
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.runtime.identity import Identity, Method, Scope
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, empty_result
from gateway.registry import Registry
from gateway.sessions.admission_rules import AdmissionRules, GroupRules
from gateway.sessions.limits import Limits
from gateway.sessions.operation import TEXT_CHARACTERS_MAX, Operation
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import Answer, ArrowEngine
from tests.gateway.http.conftest import eventually

Maker = Callable[..., Registry]
ANN = Identity("ann")


@pytest.fixture
def make() -> Iterator[Maker]:
    made: list[Registry] = []

    def build(**limits: float) -> Registry:
        made.append(Registry(ArrowEngine(), Limits(**limits)))  # type: ignore[arg-type]
        return made[-1]

    yield build
    for registry in made:
        registry.drain(0)


def test_idle_disconnected_session_is_evicted(make: Maker) -> None:
    """The one that was silent longest; never one with a connection, one that runs a statement, or a recent one."""
    registry = make(sessions_max=4, detached_idle_s=100)
    attached, running, older, newer = (registry.open_session(ANN) for _ in range(4))
    for session in (running, older, newer):
        session.is_detached = True
    running.execute("SLEEP 60")
    with pytest.raises(TooManySessions):
        registry.open_session(Identity("ben"))
    for session, silent_s in ((attached, 900), (running, 900), (older, 300), (newer, 200)):
        session.last_used -= silent_s
    first = registry.open_session(Identity("ben"))
    assert set(registry.sessions()) == {attached, running, newer, first}
    second = registry.open_session(Identity("ben"))
    assert set(registry.sessions()) == {attached, running, first, second}
    with pytest.raises(TooManySessions):
        registry.open_session(Identity("ben"))


def test_session_limit_per_user(make: Maker) -> None:
    registry = make(sessions_max=4, sessions_per_user_max=2, detached_idle_s=100)
    silent, recent = registry.open_session(ANN), registry.open_session(ANN)
    with pytest.raises(TooManySessionsOfUser):
        registry.open_session(ANN)
    others = {registry.open_session(Identity("ben")) for _ in range(2)}
    for session in (silent, *others):
        session.is_detached = True
        session.last_used -= 900
    registry.close_session(others.pop().id, Identity("ben"))
    latest = registry.open_session(ANN)  # instead of the user's own one
    assert set(registry.sessions()) == {recent, latest, *others}


def test_an_operation_is_found_by_its_id_from_anywhere_until_it_is_forgotten(make: Maker) -> None:
    registry = make()
    session = registry.open_session(ANN)
    operation = session.execute("SELECT 1")
    assert operation.wait(60) is OperationState.FINISHED
    assert registry.find_operation(operation.id, ANN) == (session, operation)
    session.forget(operation)
    assert operation.state is OperationState.CLOSED
    with pytest.raises(OperationNotFound):
        registry.find_operation(operation.id, ANN)


def test_closing_a_session_ends_what_it_runs_and_frees_its_place(make: Maker) -> None:
    registry = make(sessions_max=1)
    session = registry.open_session(ANN)
    slow = session.execute("SLEEP 30")
    with pytest.raises(TooManySessions):
        registry.open_session(Identity("bob"))
    registry.close_session(session.id, ANN)
    registry.close_session(session.id, ANN)
    assert slow.state is OperationState.CLOSED and slow.cancel_token.reason is not None
    with pytest.raises(SessionNotFound):
        registry.session(session.id, ANN)
    with pytest.raises(SessionNotFound):
        session.execute("SELECT 1")
    registry.open_session(Identity("bob"))


def test_owner_continues_session_of_read_only_login_within_its_scope(make: Maker) -> None:
    registry = make()
    session = registry.open_session(ANN.reading)
    operation = session.execute("SLEEP 30")
    assert registry.session(session.id, ANN) is session
    assert registry.find_operation(operation.id, ANN) == (session, operation)
    assert session.identity == ANN.reading, "a statement in it may change nothing"
    for other in (Identity("bob"), replace(ANN, is_admin=True), replace(ANN, real_user="hue")):
        with pytest.raises(OperationNotFound):
            registry.find_operation(operation.id, other)
    registry.end_operation(operation.id, ANN)
    assert operation.state is OperationState.CANCELED


def test_an_unknown_session_is_refused(make: Maker) -> None:
    with pytest.raises(SessionNotFound):
        make().session(uuid.uuid4(), ANN)


OTHERS = [
    *(Identity(name) for name in ("bob", "Ann", "ann ", "")),
    None,
    Identity("ann", real_user="hue"),
    Identity("ann", scopes=frozenset({Scope.READ_ONLY})),
]


@pytest.mark.parametrize("other", OTHERS)
def test_ids_are_unknown_to_everybody_but_their_identity(make: Maker, other: Identity | None) -> None:
    registry = make()
    session = registry.open_session(ANN)
    operation = session.execute("SLEEP 30")
    with pytest.raises(SessionNotFound):
        registry.session(session.id, other)
    with pytest.raises(OperationNotFound):
        registry.find_operation(operation.id, other)
    registry.close_operation(operation.id, other)
    registry.close_session(session.id, other)
    again = Identity("ann", groups=frozenset({"staff"}), method=Method.TOKEN, client_id="t1", expires_ms=1)
    assert registry.session(session.id, again) is registry.session(session.id, ANN) is session
    assert registry.find_operation(operation.id, ANN) == (session, operation)
    assert not operation.state.is_terminal
    assert registry.linked_operation(operation.id) is operation  # a link's signature is the right to it
    with pytest.raises(OperationNotFound):
        registry.linked_operation(uuid.uuid4())


def test_statements_over_running_limit_are_queued(make: Maker) -> None:
    registry = make(statements_running_max=1)
    session = registry.open_session(ANN)
    first, second = session.execute("SLEEP 30"), session.execute("SELECT 1")
    assert eventually(lambda: first.state is OperationState.RUNNING)
    assert second.state is OperationState.PENDING
    first.cancel()
    assert second.wait(60) is OperationState.FINISHED


def hangs(until: threading.Event) -> Answer:
    """Simulates Spark's analyzer in the middle of a rule, which no cancellation reaches."""

    def answer(request: StatementRequest) -> ResultStream:
        until.wait(200)
        request.cancel.ensure_live()
        return empty_result()

    return answer


@pytest.fixture
def freed() -> Iterator[threading.Event]:
    """Set, it ends all statements that hang."""
    event = threading.Event()
    yield event
    event.set()


Stuck = Callable[..., tuple[Registry, ArrowEngine]]


@pytest.fixture
def stuck(make: Maker, freed: threading.Event) -> Stuck:
    """Returns a registry where `count` statements have hung and were ended."""

    def build(count: int, end: Callable[[Operation], None] = Operation.cancel, **limits: float) -> object:
        registry = make(**limits)
        engine = registry.engine
        assert isinstance(engine, ArrowEngine)
        engine.answers["HANG"] = hangs(freed)
        hanging = [registry.open_session(ANN).execute("HANG") for _ in range(count)]
        assert eventually(lambda: len(engine.runs) == min(count, registry.limits.statements_running_max))
        for operation in hanging:
            end(operation)
        assert all(operation.state.is_terminal for operation in hanging)
        return registry, engine

    return build  # type: ignore[return-value]


ETL = AdmissionRules(groups=(GroupRules(name="etl", members=("@etl", "ann"), abandoned_max=2),))


@pytest.mark.parametrize(
    "end",
    [Operation.cancel, Operation.close, lambda operation: operation.cancel(StatementTimedOut(1))],
    ids=["cancelled", "closed", "timed out"],
)
def test_a_statement_that_is_ended_and_runs_on_gives_its_place_back(
    stuck: Stuck, end: Callable[[Operation], None]
) -> None:
    registry, engine = stuck(3, end, statements_running_max=3)
    others = [registry.open_session(Identity("bob")).execute("SELECT 1") for _ in range(5)]
    assert [other.wait(60) for other in others] == [OperationState.FINISHED] * 5
    assert not engine.restarts


def test_threads_of_ended_statements_are_limited(stuck: Stuck, freed: threading.Event) -> None:
    registry, engine = stuck(2, statements_running_max=2, abandoned_max=2, abandoned_grace_s=60)
    session = registry.open_session(ANN)
    for _ in range(2):
        session.execute("HANG")
    assert eventually(lambda: len(engine.runs) == 4)
    for operation in session.operations():
        operation.cancel()
    waiting = session.execute("SELECT 1")
    assert waiting.wait(0.2) is OperationState.PENDING and len(engine.runs) == 4
    freed.set()
    assert waiting.wait(60) is OperationState.FINISHED


def test_spark_is_restarted_where_too_many_ended_statements_run_on(stuck: Stuck, freed: threading.Event) -> None:
    registry, engine = stuck(2, abandoned_max=2, abandoned_grace_s=0.05, reap_every_s=0.02)
    assert eventually(lambda: bool(engine.restarts))
    session = registry.open_session(Identity("bob"))
    with pytest.raises(TooManyAbandoned) as caught:
        session.execute("SELECT 1")
    assert caught.value.sqlstate == "53000" and not session.operations()
    time.sleep(0.1)
    (reason,) = engine.restarts  # on a busy machine one may be noticed before the other
    assert re.fullmatch(r"[12] statements in it that were ended do not end", reason)
    freed.set()  # as a Spark that is killed does
    assert eventually(lambda: not registry.abandoned_count)
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED


@pytest.mark.parametrize(
    ("limits", "refused", "accepted"),
    [
        ({"abandoned_per_user_max": 2}, Identity("ann"), Identity("bob", groups=frozenset({"etl"}))),
        ({"admission": ETL}, Identity("eve", groups=frozenset({"etl"})), Identity("bob")),
    ],
    ids=["user", "group"],
)
def test_ended_statements_that_run_on_count_for_their_user_and_group_first(
    stuck: Stuck, freed: threading.Event, limits: dict[str, Any], refused: Identity, accepted: Identity
) -> None:
    registry, engine = stuck(2, abandoned_max=8, abandoned_grace_s=0.05, reap_every_s=0.02, **limits)
    assert eventually(lambda: bool(engine.restarts))
    session = registry.open_session(refused)
    with pytest.raises(TooManyAbandonedOfOwner) as caught:
        session.execute("SELECT 1")
    assert caught.value.condition == "TOO_MANY_ABANDONED_STATEMENTS.OF_OWNER" and not session.operations()
    assert registry.open_session(accepted).execute("SELECT 1").wait(60) is OperationState.FINISHED
    time.sleep(0.1)
    assert len(engine.restarts) == 1  # others are not disturbed again so soon
    freed.set()
    assert eventually(lambda: not registry.abandoned_count)
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED


def test_ended_statement_whose_tasks_run_on_counts_as_abandoned(make: Maker) -> None:
    registry = make(abandoned_per_user_max=1, abandoned_grace_s=5)
    engine = registry.engine
    assert isinstance(engine, ArrowEngine)
    session, other = registry.open_session(ANN), registry.open_session(Identity("bob"))
    operation = session.execute("SLEEP 30")
    assert eventually(lambda: len(engine.runs) == 1)
    operation.cancel()
    assert eventually(lambda: not registry.abandoned_count)
    engine.left_statements = {operation.id.hex: 3, "unknown": 100}
    assert registry.abandoned_count == 2
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED
    engine.left_statements = {operation.id.hex: 6, "unknown": 100}
    with pytest.raises(TooManyAbandonedOfOwner):
        session.execute("SELECT 1")
    assert other.execute("SELECT 1").wait(60) is OperationState.FINISHED


def test_statements_that_end_soon_after_they_were_cancelled_are_no_reason_to_restart(make: Maker) -> None:
    registry = make(statements_running_max=8, abandoned_max=1, reap_every_s=0.02)
    session = registry.open_session(ANN)
    for _ in range(10):
        running = [session.execute("SLEEP 30") for _ in range(8)]
        for operation in running:
            operation.cancel()
            session.forget(operation)
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED
    assert not registry.engine.restarts  # type: ignore[attr-defined]


def test_a_statement_that_is_cancelled_while_it_waits_never_runs(stuck: Stuck, freed: threading.Event) -> None:
    registry, engine = stuck(0, statements_running_max=1)
    session = registry.open_session(ANN)
    first, second = session.execute("HANG"), session.execute("ROWS 1")
    second.cancel()
    freed.set()
    assert first.wait(60) is OperationState.FINISHED and session.execute("ROWS 2").wait(60) is OperationState.FINISHED
    assert [run.text for run in engine.runs] == ["HANG", "ROWS 2"]


def test_draining_keeps_its_deadline_whatever_runs_on(stuck: Stuck) -> None:
    registry, _ = stuck(1, end_grace_s=0.1)
    hanging = registry.open_session(ANN).execute("HANG")
    draining = threading.Thread(target=registry.drain, args=(0.1,))
    draining.start()
    draining.join(60)  # the statements hang three times as long
    assert not draining.is_alive() and hanging.state is OperationState.CLOSED


def test_a_session_holds_a_limited_number_of_statements(make: Maker) -> None:
    session = make(statements_per_session_max=2).open_session(ANN)
    submitted = [session.execute("SELECT 1") for _ in range(2)]
    with pytest.raises(TooManyStatements):
        session.execute("SELECT 1")
    session.forget(submitted[0])
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED


def test_the_sessions_of_a_user_hold_a_limited_number_of_statements_together(make: Maker) -> None:
    registry = make(statements_per_user_max=3)
    first, second, other = (registry.open_session(user) for user in (ANN, ANN, Identity("ben")))
    read, unread, running = first.execute("SET x"), first.execute("ROWS 5"), second.execute("SLEEP 60")
    for operation in (read, unread):
        assert operation.wait(60) is OperationState.FINISHED
    read.tell_end()
    later = second.execute("SLEEP 60")  # instead of the fetched one, in the other session
    assert [operation.state for operation in (read, unread)] == [OperationState.CLOSED, OperationState.FINISHED]
    assert set(registry.operations()) == {unread, running, later}
    with pytest.raises(TooManyStatementsOfUser, match="sessions of ann have 3 open statements"):
        first.execute("SELECT 1")
    assert set(first.operations()) == {unread}
    other.execute("SELECT 1")
    registry.close_session(second.id, ANN)
    for _ in range(2):
        first.execute("SLEEP 60")
    with pytest.raises(TooManyStatementsOfUser):
        first.execute("SELECT 1")


def test_statements_of_retired_sessions_do_not_count(make: Maker) -> None:
    registry = make(statements_per_user_max=1)
    for _ in range(3):
        session = registry.open_session(ANN)
        operation = session.execute("SELECT 1", through=lambda stream: stream)
        registry.retire_after(session, operation)
        assert operation.wait(60) is OperationState.FINISHED and eventually(lambda: not registry.sessions())
    assert len(registry.operations()) == 3


def test_a_statement_past_the_servers_limit_is_ended(make: Maker) -> None:
    session = make(statement_timeout_s=0.05).open_session(ANN)
    assert session.execute("SLEEP 30").wait(60) is OperationState.TIMED_OUT
    assert session.execute("SLEEP 30", timeout_s=60).wait(60) is OperationState.TIMED_OUT


def test_a_session_may_set_a_time_limit_of_its_own(make: Maker) -> None:
    registry = make(statement_timeout_s=60)
    session = registry.open_session(ANN)
    registry.engine.sessions[0].statement_timeout_s = 0.05  # type: ignore[attr-defined]
    assert session.execute("SLEEP 30").wait(60) is OperationState.TIMED_OUT


def test_idle_sessions_and_ended_statements_expire_and_busy_ones_do_not(make: Maker) -> None:
    registry = make(session_idle_s=0.5, statement_idle_s=0.05, reap_every_s=0.02)
    idle, busy = registry.open_session(ANN), registry.open_session(Identity("bob"))
    ended, running = idle.execute("SELECT 1"), busy.execute("SLEEP 30")
    assert eventually(lambda: ended.state is OperationState.CLOSED)
    assert eventually(lambda: idle not in registry.sessions())
    time.sleep(0.6)
    assert registry.sessions() == (busy,) and running.state is OperationState.RUNNING


def test_draining_refuses_new_work_and_lets_short_work_end(make: Maker) -> None:
    registry = make()
    session = registry.open_session(ANN)
    short, long = session.execute("SLEEP 0.2"), session.execute("SLEEP 30")
    assert short.wait(60) is OperationState.FINISHED
    registry.drain(0.2)
    assert long.state is OperationState.CLOSED and long.cancel_token.reason is not None
    assert registry.sessions() == ()
    with pytest.raises(ServerDraining):
        registry.open_session(ANN)


def test_draining_waits_for_a_client_that_still_fetches(make: Maker) -> None:
    registry = make(linger_s=1.0)
    operation = registry.open_session(ANN).execute("ROWS 50")
    assert operation.wait(60) is OperationState.FINISHED
    draining = threading.Thread(target=registry.drain, args=(30,))
    draining.start()
    fetched = 0
    while page := operation.fetch(5).rows.num_rows:  # two seconds in all, each fetch within the linger
        fetched += page
        time.sleep(0.2)
    assert fetched == 50
    draining.join(60)
    assert not draining.is_alive() and operation.state is OperationState.CLOSED


def test_a_retired_session_frees_its_place_and_keeps_its_operation(make: Maker) -> None:
    registry = make(sessions_max=1)
    session = registry.open_session(ANN)
    operation = session.execute("ROWS 3", through=lambda stream: stream)
    registry.retire_after(session, operation)
    assert operation.wait(60) is OperationState.FINISHED
    assert eventually(lambda: registry.sessions() == ())
    assert registry.find_operation(operation.id, ANN) == (session, operation)
    assert operation.page(0, 10).rows.num_rows == 3
    with pytest.raises(SessionNotFound):
        session.execute("SELECT 1")
    registry.close_operation(operation.id, ANN)
    registry.close_operation(operation.id, ANN)
    assert operation.state is OperationState.CLOSED and registry.operations() == ()


@pytest.mark.parametrize(
    ("limits", "closed"),
    [
        ({"kept_max": 3}, [False, True, True, True, False, False]),
        ({"kept_bytes_max": 260}, [False, True, True, True, True, False]),
        ({"kept_bytes_per_user_max": 350}, [False, True, True, True, False, False]),
        ({"kept_bytes_per_user_max": 10}, [False, True, True, True, True, False]),
    ],
)
def test_results_of_largest_user_are_evicted(make: Maker, limits: Any, closed: list[bool]) -> None:
    registry = make(**limits)

    def submitted(principal: str) -> Operation:
        session = registry.open_session(Identity(principal))
        operation = session.execute("ROWS 7", through=lambda stream: stream)
        registry.retire_after(session, operation)
        assert operation.wait(60) is OperationState.FINISHED
        assert eventually(lambda: not registry.sessions())
        return operation

    first = submitted("ann")
    many = [submitted("bob") for _ in range(5)]
    assert [one.state is OperationState.CLOSED for one in (first, *many)] == closed


def test_fetched_statements_of_session_are_evicted(make: Maker) -> None:
    session = make(statements_per_session_max=2).open_session(ANN)
    unread = session.execute("ROWS 5")
    for _ in range(5):
        operation = session.execute("SET x")
        assert operation.wait(60) is OperationState.FINISHED
        operation.tell_end()
    assert unread.wait(60) is OperationState.FINISHED and len(session.operations()) == 2


def test_a_session_that_its_client_closed_does_not_retire_as_well(make: Maker) -> None:
    registry = make()
    session = registry.open_session(ANN)
    operation = session.execute("SLEEP 30", through=lambda stream: stream)
    registry.retire_after(session, operation)
    registry.close_session(session.id, ANN)
    assert operation.state is OperationState.CLOSED and registry.operations() == ()


def test_failing_close_does_not_stop_expiry(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = make(session_idle_s=0.2, reap_every_s=0.02)
    first, second = registry.open_session(ANN), registry.open_session(Identity("bob"))

    def close() -> None:
        raise RuntimeError("Java is gone")

    monkeypatch.setattr(first, "close", close)
    assert eventually(lambda: second not in registry.sessions())
    third = registry.open_session(ANN)
    assert eventually(lambda: third not in registry.sessions())


def test_expiry_thread_death_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    deaths: list[str] = []
    registry = Registry(ArrowEngine(), Limits(reap_every_s=0.02), deaths.append)
    assert deaths == []
    monkeypatch.setattr(registry, "operations", None)
    assert eventually(lambda: deaths == ["reaper"])
    monkeypatch.undo()
    registry.drain(0)


def test_a_statement_whose_end_fails_gives_its_place_back(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, tried = make(statements_running_max=1), threading.Event()
    session = registry.open_session(ANN)

    def fail(operation: Operation, *_: object) -> None:
        tried.set()
        raise RuntimeError("a bug")

    monkeypatch.setattr(Operation, "_fail", fail)
    session.execute("no statement")
    assert tried.wait(60)
    monkeypatch.undo()
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED


def test_a_text_that_is_too_long_is_refused_and_not_held(make: Maker) -> None:
    operation = make().open_session(ANN).execute("SELECT '" + "x" * TEXT_LENGTH_MAX + "'")
    assert operation.wait(60) is OperationState.FAILED and isinstance(operation.error, StatementTooLong)
    assert operation.error.length == TEXT_LENGTH_MAX + 9
    assert operation.text == "SELECT '" + "x" * (TEXT_CHARACTERS_MAX - 8)


def test_an_ended_statement_keeps_the_beginning_of_its_text(make: Maker) -> None:
    registry, text = make(), "SELECT '" + "x" * (TEXT_LENGTH_MAX // 4) + "'"
    engine = registry.engine
    assert isinstance(engine, ArrowEngine)
    engine.answers[text] = lambda _: empty_result()
    before = sys.getrefcount(text)
    operation = registry.open_session(ANN).execute(text)
    assert operation.wait(60) is OperationState.FINISHED
    assert eventually(lambda: len(operation.text) == TEXT_CHARACTERS_MAX)
    engine.runs.clear()
    assert eventually(lambda: sys.getrefcount(text) == before), "nothing else holds it"
