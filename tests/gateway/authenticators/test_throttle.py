"""Guesses get slower, for the one who guesses."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from catalog.conditions import CredentialsRefused, TooManyFailures, TooManyLogIns
from gateway.authenticators import throttle as module
from gateway.authenticators.peer import Peer
from gateway.authenticators.throttle import Throttle

HERE, NEIGHBOR, ELSEWHERE = Peer("192.0.2.1"), Peer("192.0.2.77"), Peer("198.51.100.1")


@dataclass
class World:
    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.throttle = Throttle(lambda: self.now, self.slept.append)

    def guess(self, user: str = "ann", peer: Peer = HERE, error: type[Exception] = CredentialsRefused) -> str:
        try:
            with self.throttle.attempt(user, peer):
                raise error()
        except TooManyFailures as refused:
            return f"wait {refused.retry_after_s}"
        except (CredentialsRefused, TooManyLogIns):
            return "failed"

    def log_in(self, user: str = "ann", peer: Peer = HERE) -> str:
        try:
            with self.throttle.attempt(user, peer):
                return "in"
        except TooManyFailures as refused:
            return f"wait {refused.retry_after_s}"


@pytest.fixture
def world() -> Iterator[World]:
    yield World()


def test_after_some_failures_each_next_one_waits_twice_as_long(world: World) -> None:
    assert [world.guess() for _ in range(6)] == ["failed"] * 5 + ["wait 1"]
    waits = []
    for _ in range(8):
        waits.append(world.guess())
        world.now += int(waits[-1].removeprefix("wait "))
        assert world.guess() == "failed"
    assert waits == [f"wait {seconds}" for seconds in (1, 2, 4, 8, 16, 32, 60, 60)]
    assert world.log_in(peer=NEIGHBOR) == "in"  # a neighbor
    assert world.guess("eve") == "failed"
    assert world.guess(peer=ELSEWHERE) == "failed"
    world.now += 60
    assert world.log_in() == "in"
    assert [world.guess() for _ in range(6)] == ["failed"] * 5 + ["wait 1"]


def test_failures_are_forgotten_after_a_while(world: World) -> None:
    for _ in range(5):
        world.guess()
    world.now += 901
    assert [world.guess() for _ in range(6)] == ["failed"] * 5 + ["wait 1"]


def test_guesses_for_one_user_from_many_addresses_are_throttled(world: World) -> None:
    assert world.log_in("ann", ELSEWHERE) == "in"
    answers = [world.guess("ann", Peer(f"10.0.{number}.1")) for number in range(110)]
    assert answers == ["failed"] * 100 + ["wait 1"] * 10
    assert world.log_in("ann", ELSEWHERE) == "in"  # ann's earlier address
    assert world.log_in("eve", Peer("10.0.1.1")) == "in"


def test_many_users_guessed_from_one_place(world: World) -> None:
    assert world.log_in("eve") == "in"
    answers = [world.guess(f"user{number}") for number in range(30)]
    assert answers == ["failed"] * 20 + ["wait 1"] * 10
    assert world.log_in("eve") == "in"  # who was there before
    assert world.log_in("new") == "wait 1"
    assert world.log_in("new", NEIGHBOR) == "in"
    assert world.log_in("new", ELSEWHERE) == "in"


@pytest.mark.parametrize(
    ("address", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::1%eth1", True),
        ("", "", True),
    ],
)
def test_a_client_is_an_address(world: World, address: str, other: str, is_same: bool) -> None:
    for _ in range(5):
        world.guess(peer=Peer(address))
    assert world.log_in(peer=Peer(other)) == ("wait 1" if is_same else "in")


@pytest.mark.parametrize("is_correct", [True, False])
def test_attempts_at_the_same_time_wait_for_each_other(world: World, is_correct: bool) -> None:
    """The first five run; all correct ones succeed, and at most five wrong ones are checked."""
    running, first = threading.Semaphore(0), threading.Event()
    answers: list[str] = []

    def attempt() -> None:
        try:
            with world.throttle.attempt("ann", HERE):
                running.release()
                assert first.wait(60)
                if not is_correct:
                    raise CredentialsRefused()
            answers.append("in")
        except (CredentialsRefused, TooManyFailures) as refused:
            answers.append(type(refused).__name__)

    threads = [threading.Thread(target=attempt) for _ in range(30)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert running.acquire(timeout=60)
    assert not running.acquire(timeout=0.1)
    first.set()
    for thread in threads:
        thread.join(60)
    expected = ["in"] * 30 if is_correct else ["CredentialsRefused"] * 5 + ["TooManyFailures"] * 25
    assert sorted(answers) == expected
    assert bool(world.throttle._failures) is not is_correct


def test_attempts_that_do_not_end_keep_others_waiting_for_a_while_only() -> None:
    throttle = Throttle(wait_s=0.1)
    with contextlib.ExitStack() as running:
        for _ in range(5):
            running.enter_context(throttle.attempt("ann", HERE))
        with pytest.raises(TooManyLogIns), throttle.attempt("ann", HERE):
            pass
        with throttle.attempt("ann", NEIGHBOR):
            pass
    with throttle.attempt("ann", HERE):
        pass


def test_unrelated_error_is_not_a_failed_login(world: World) -> None:
    assert [world.guess(error=TooManyLogIns) for _ in range(50)] == ["failed"] * 50
    assert world.slept == []


def test_a_failure_takes_its_time(world: World) -> None:
    world.guess()
    assert world.slept == [module.FAILURE_S]


def test_the_table_has_an_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENTRIES_MAX", 10)
    for number in range(50):
        world.guess(f"user{number}", Peer(f"10.0.{number}.1"))
    assert len(world.throttle._failures) == 10
