"""Who runs next: groups by their weights, users in turn, limits that keep nobody else from running."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from catalog.conditions import QueuedTooLong, TooManyQueued
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, empty_result
from engine.runtime.statement import StatementClass, class_of
from gateway.registry import Registry
from gateway.sessions.admission import Admission
from gateway.sessions.admission_rules import AdmissionRules, GroupRules
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import eventually


def operation(user: str, kind: StatementClass = StatementClass.READ, *groups: str) -> Operation:
    made = Operation(Identity(user, frozenset(groups)), "SELECT 1", lambda _: empty_result(), result_bytes_max=1)
    made.kind = kind
    return made


def taken(admission: Admission, places: int = 1 << 30) -> list[str]:
    """Returns the users whose statements begin now."""
    users = []
    while (each := admission.take(places - admission.running)) is not None:
        users.append(each.identity.principal)
    return users


def filled(rules: AdmissionRules, *requested: tuple[str, int], groups: dict[str, str] | None = None) -> Admission:
    admission = Admission(rules)
    for user, count in requested:
        for _ in range(count):
            member = (groups or {}).get(user)
            admission.add(operation(user, StatementClass.READ, *([member] if member else [])), 0.0)
    return admission


def test_users_are_scheduled_fairly() -> None:
    admission = filled(AdmissionRules(), ("ann", 32), ("bob", 2), ("eve", 1))
    assert taken(admission, 6) == ["ann", "bob", "eve", "ann", "bob", "ann"]


def test_a_user_has_no_more_than_its_share() -> None:
    rules = AdmissionRules(default=GroupRules(name="default", running_per_user_max=2))
    admission = filled(rules, ("ann", 32), ("bob", 1))
    assert taken(admission, 8) == ["ann", "bob", "ann"]
    admission.add(operation("eve"), 0.0)
    assert taken(admission, 8) == ["eve"]


def test_groups_run_by_their_weights() -> None:
    rules = AdmissionRules(groups=(GroupRules(name="etl", members=("@ETL",), weight=3),))
    admission = filled(rules, ("ann", 30), ("bob", 30), groups={"bob": "etl"})
    assert Counter(taken(admission, 8)) == {"bob": 6, "ann": 2}


def test_full_group_does_not_block_others() -> None:
    rules = AdmissionRules(groups=(GroupRules(name="etl", members=("bob",), running_max=1, queued_max=2),))
    admission = filled(rules, ("bob", 2), ("ann", 3))
    assert Counter(taken(admission)) == {"bob": 1, "ann": 3}
    admission.add(operation("bob"), 0.0)
    with pytest.raises(TooManyQueued) as caught:
        admission.add(operation("bob"), 0.0)
    assert (caught.value.whose, caught.value.sqlstate, caught.value.retry_after_s) == ("bob", "53400", 3)


def test_the_first_group_that_takes_a_statement_has_it() -> None:
    rules = AdmissionRules(
        groups=(
            GroupRules(name="nightly", members=("*",), classes=("maintenance",)),
            GroupRules(name="bi", members=("@bi", "ann")),
        )
    )
    found = [
        rules.group_of(Identity(user, frozenset(groups)), kind).name
        for user, groups, kind in (
            ("ann", (), StatementClass.MAINTENANCE),
            ("Ann", (), StatementClass.READ),
            ("bob", ("BI",), StatementClass.WRITE),
            ("bi", (), StatementClass.READ),
        )
    ]
    assert found == ["nightly", "bi", "bi", "default"]


def test_commands_wait_for_nobody() -> None:
    admission = filled(AdmissionRules(metadata_running_max=1), ("ann", 5))
    assert len(taken(admission, 2)) == 2
    for user in ("bob", "eve"):
        admission.add(operation(user, StatementClass.METADATA), 0.0)
    assert taken(admission, 2) == ["bob"]


def test_queue_timeout_is_reported() -> None:
    rules = AdmissionRules(default=GroupRules(name="default", queue_timeout_s=10))
    admission = filled(rules, ("ann", 2))
    assert list(admission.expired_statements(9.9)) == []
    late = operation("ann")
    admission.add(late, 5.0)
    expired = list(admission.expired_statements(10.0))
    assert len(expired) == 2 and all(isinstance(error, QueuedTooLong) for _, error in expired)
    assert late not in dict(expired)


@pytest.mark.parametrize("seed", range(10))
def test_limits_hold_whatever_happens(seed: int) -> None:
    """Random arrivals, ends and cancels: no limit is passed, no place stays free in vain, nothing is forgotten."""
    choose = random.Random(seed)
    rules = AdmissionRules(
        groups=(GroupRules(name="a", members=("u0", "u1"), running_max=3, running_per_user_max=2, weight=2),),
        default=GroupRules(name="default", running_per_user_max=2),
        metadata_running_max=2,
    )
    admission = Admission(rules)
    waiting: set[Operation] = set()
    running: set[Operation] = set()
    for _ in range(600):
        match choose.randrange(3):
            case 0:
                kind = choose.choice([StatementClass.READ, StatementClass.READ, StatementClass.METADATA])
                made = operation(f"u{choose.randrange(4)}", kind)
                admission.add(made, 0.0)
                waiting.add(made)
            case 1 if running:
                ended = choose.choice(sorted(running, key=lambda each: each.id))
                running.remove(ended)
                admission.remove(ended)
            case 2 if waiting:
                cancelled = choose.choice(sorted(waiting, key=lambda each: each.id))
                waiting.remove(cancelled)
                admission.remove(cancelled)
        while (each := admission.take(5 - admission.running)) is not None:
            waiting.remove(each)
            running.add(each)
        work = [each for each in running if each.kind is StatementClass.READ]
        users = Counter(each.identity.principal for each in work)
        assert admission.running == len(work) <= 5 and max(users.values(), default=0) <= 2
        assert users["u0"] + users["u1"] <= 3 and len(running) - len(work) <= 2
        left = {each.identity.principal for each in waiting if each.kind is StatementClass.READ}
        left = {user for user in left if users[user] < 2}
        if users["u0"] + users["u1"] == 3:
            left -= {"u0", "u1"}
        assert len(work) == 5 or not left
    for each in (*waiting, *running):
        admission.remove(each)
    assert not admission.running and admission.take(100) is None


CLASSES = [
    ("SHOW TABLES", "metadata"),
    ("  -- why\n/* so */ describe t", "metadata"),
    ("SET x = 1", "metadata"),
    ("SET VAR x = (SELECT max(a) FROM t)", "read"),
    ("DESCRIBE QUERY SELECT 1", "read"),
    ("DESC SELECT * FROM t", "read"),
    ("(SELECT 1)", "read"),
    ("with a as (select 1) select * from a", "read"),
    ("INSERT INTO t VALUES (1)", "write"),
    ("OPTIMIZE t", "maintenance"),
    ("/*" + "x" * 5000 + "*/ SELECT 1", "read"),
    ("-- x\n" * 5000 + "SELECT 1", "read"),
    ("/**/ " * 100_000 + "SELECT 1", "read"),
    ("BEGIN SELECT * FROM t; END", None),
    ("EXECUTE IMMEDIATE 'SELECT * FROM t'", None),
    ("DECLARE VARIABLE x INT DEFAULT (SELECT max(a) FROM t)", None),
    ("", None),
    ("*", None),
    ("/* not closed SHOW", None),
    ("'SHOW'", None),
]


@pytest.mark.parametrize(("text", "kind"), CLASSES, ids=[text[:20] for text, _ in CLASSES])
def test_the_first_words_tell_the_class(text: str, kind: str | None) -> None:
    assert class_of(text) == kind


@pytest.mark.parametrize(
    ("text", "user", "limit"),
    [
        ("SELECT * FROM t", "ann", 100),
        ("/*" + "x" * 5000 + "*/ SELECT * FROM t", "ann", 100),
        ("INSERT INTO t SELECT * FROM u", "ann", 900),
        ("BEGIN SELECT * FROM t; END", "ann", 100),
        ("EXECUTE IMMEDIATE 'SELECT * FROM t'", "ann", 100),
        ("BEGIN SELECT * FROM t; END", "etl", 900),
        ("BEGIN SELECT * FROM t; END", "bob", 500),
    ],
)
def test_a_group_limits_reads_however_they_are_written(text: str, user: str, limit: int) -> None:
    engine, read = ArrowEngine(), list[int]()

    def answer(request: StatementRequest) -> ResultStream:
        read.append(request.scan_bytes_max)
        return empty_result()

    engine.answers[text] = answer
    rules = AdmissionRules(
        groups=(
            GroupRules(name="etl", members=("etl",), scan_bytes_max=900),
            GroupRules(name="reads", members=("ann",), classes=("read",), scan_bytes_max=100),
            GroupRules(name="writes", members=("ann",), classes=("write",), scan_bytes_max=900),
            GroupRules(name="all", members=("bob",), classes=("read", "write")),
        ),
        default=GroupRules(name="default", scan_bytes_max=500),
    )
    registry = Registry(engine, Limits(admission=rules))
    session = registry.open_session(Identity(user))
    assert session.execute(text).wait(60) is OperationState.FINISHED
    registry.drain(0)
    assert read == [limit]


@pytest.fixture
def busy() -> Iterator[tuple[Registry, Callable[[], None]]]:
    """Yields a server with four slots, at most two per user, whose statements end when they are released."""
    engine, free = ArrowEngine(), threading.Event()

    def hold(request: StatementRequest) -> ResultStream:
        while not free.wait(0.01):
            request.cancel.ensure_live()
        return empty_result()

    engine.answers["LONG"], engine.answers["SHOW TABLES"] = hold, lambda _: empty_result()
    rules = AdmissionRules(
        default=GroupRules(name="default", running_per_user_max=2, queued_max=80, queue_timeout_s=60)
    )
    registry = Registry(engine, Limits(statements_running_max=4, admission=rules, reap_every_s=0.02))
    yield registry, free.set
    free.set()
    registry.drain(0)


def test_a_user_with_many_long_statements_stops_nobody(busy: tuple[Registry, Callable[[], None]]) -> None:
    registry, let_go = busy
    ann, bob = (registry.open_session(Identity(name)) for name in ("ann", "bob"))
    long = [ann.execute("LONG") for _ in range(32)]
    assert eventually(lambda: sum(one.state is OperationState.RUNNING for one in long) == 2)
    for text in ("SELECT 1", "SHOW TABLES", "SELECT 1"):
        assert bob.execute(text).wait(60) is OperationState.FINISHED
    assert sum(one.state is OperationState.RUNNING for one in long) == 2
    long[-1].cancel()
    assert long[-1].state is OperationState.CANCELED
    let_go()
    assert all(one.wait(60) is OperationState.FINISHED for one in long[:-1])


def test_a_queue_that_is_full_refuses_and_stays_usable(busy: tuple[Registry, Callable[[], None]]) -> None:
    registry, let_go = busy
    ann = registry.open_session(Identity("ann"))
    long = [ann.execute("LONG") for _ in range(42)]
    with pytest.raises(TooManyQueued):
        ann.execute("LONG")
    assert len(ann.operations()) == 42
    long[-1].cancel()
    last = ann.execute("LONG")
    let_go()
    assert last.wait(60) is OperationState.FINISHED


def test_a_statement_that_waits_too_long_fails() -> None:
    engine, free = ArrowEngine(), threading.Event()
    engine.answers["LONG"] = lambda _: (free.wait(20), empty_result())[1]
    rules = AdmissionRules(default=GroupRules(name="default", queue_timeout_s=0.05))
    registry = Registry(engine, Limits(statements_running_max=1, admission=rules, reap_every_s=0.02))
    session = registry.open_session(Identity("ann"))
    first, second = session.execute("LONG"), session.execute("LONG")
    assert second.wait(60) is OperationState.FAILED and isinstance(second.error, QueuedTooLong)
    free.set()
    assert first.wait(60) is OperationState.FINISHED
    registry.drain(0)


def test_group_counts_statements_at_other_gateways() -> None:
    etl = GroupRules(name="etl", members=("@etl",), running_max=6)
    rules = AdmissionRules(groups=(etl,))
    admission = filled(rules, ("ann", 20), groups={"ann": "etl"})
    admission.count_elsewhere([{"etl": 2}])
    assert len(taken(admission)) == 4
    assert admission.running_by_group() == {"etl": 4}
    admission.count_elsewhere([{"etl": 1}])
    assert len(taken(admission)) == 1
    admission.count_elsewhere([])
    assert len(taken(admission)) == 1


def test_group_always_has_an_equal_share_beside_other_gateways() -> None:
    etl = GroupRules(name="etl", members=("@etl",), running_max=6)
    admission = filled(AdmissionRules(groups=(etl,)), ("ann", 20), ("eve", 3), groups={"ann": "etl"})
    admission.count_elsewhere([{"etl": 6}, {"etl": 6, "default": 50}])
    assert sorted(taken(admission)) == ["ann", "ann", "eve", "eve", "eve"]


def test_statement_that_waits_for_the_end_of_its_block_takes_no_slot() -> None:
    engine, goes_on = ArrowEngine(), threading.Event()

    def stage(request: StatementRequest) -> ResultStream:
        request.on_staged(empty_result())
        goes_on.wait(60)
        return empty_result()

    engine.answers["UPDATE"] = stage
    rules = AdmissionRules(default=GroupRules(name="default", running_per_user_max=1))
    registry = Registry(engine, Limits(statements_running_max=1, admission=rules))
    session = registry.open_session(Identity("ann"))
    waiting = [session.execute("UPDATE") for _ in range(3)]
    assert all(one.wait_until_staged(60) is not None for one in waiting)
    assert session.execute("SELECT 1").wait(60) is OperationState.FINISHED
    assert [one.state for one in waiting] == [OperationState.RUNNING] * 3
    goes_on.set()
    assert all(one.wait(60) is OperationState.FINISHED for one in waiting)
    registry.drain(0)
