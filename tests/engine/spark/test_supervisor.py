"""When a process counts as ready, when another one is started in its place, and when no more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from catalog.conditions import SparkRestarting, SparkUnavailable, StatementCancelled
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.spark.supervisor import Supervision, Supervisor
from tests.gateway.http.conftest import eventually


@dataclass(eq=False)
class Process:
    """A process with faults, each switched on by a test."""

    illness: str | None = None
    silence_s: float = 0.0
    unstoppable: str | None = None
    killed: bool = False
    stopped: bool = False

    def kill(self) -> None:
        self.killed = True

    def stop(self) -> None:
        self.stopped = True


@dataclass
class World:
    """Process starts: each entry in `faults` is a start's error, None for a success; later ones succeed."""

    faults: list[Exception | None] = field(default_factory=list)
    started: list[Process] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    given_up: list[SqlError] = field(default_factory=list)
    attempts: int = 0

    def launch(self) -> Process:
        if self.started:
            self.gate.wait(30)
        self.attempts += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        self.started.append(Process())
        return self.started[-1]


Maker = Callable[..., Supervisor[Process]]


@pytest.fixture
def world() -> World:
    made = World()
    made.gate.set()
    return made


@pytest.fixture
def make(world: World) -> Iterator[Maker]:
    made: list[Supervisor[Process]] = []

    def build(**policy: float) -> Supervisor[Process]:
        given = {"pause_s": 0.01, "wait_s": 20.0} | policy
        made.append(Supervisor(world.launch, Supervision(**given), world.given_up.append))  # type: ignore[arg-type]
        made[-1].start()
        return made[-1]

    yield build
    world.gate.set()
    for supervisor in made:
        supervisor.stop()


def end(process: Process) -> None:
    process.illness = "its process ended with code -9"


def stick(process: Process) -> None:
    process.silence_s = 1000.0


@pytest.mark.parametrize("fault", [end, stick], ids=["ended", "stuck"])
def test_a_process_that_is_lost_is_killed_and_replaced(
    world: World, make: Maker, fault: Callable[[Process], None]
) -> None:
    supervisor = make()
    first = supervisor.take()
    fault(first)
    assert eventually(lambda: len(world.started) == 2 and supervisor.unready_reason is None)
    second = supervisor.take()
    assert second is world.started[1] and first.killed and not second.killed
    fault(second)
    assert eventually(
        lambda: supervisor.unready_reason is None and supervisor.process is world.started[-1] is not second
    )


def test_restart_on_request(world: World, make: Maker) -> None:
    supervisor = make()
    supervisor.restart("three statements do not end")
    assert eventually(lambda: len(world.started) == 2)
    assert world.started[0].killed and eventually(lambda: supervisor.take() is world.started[1])


def test_a_silent_process_is_not_ready_until_it_answers(world: World, make: Maker) -> None:
    supervisor = make(wait_s=0)
    world.started[0].silence_s = 30.0
    assert eventually(lambda: supervisor.unready_reason is not None)
    with pytest.raises(SparkRestarting, match="has not answered for 30 s"):
        supervisor.take()
    world.started[0].silence_s = 0.0
    assert eventually(lambda: supervisor.unready_reason is None)
    assert supervisor.take() is world.started[0] and not world.started[0].killed


def test_callers_wait_for_next_spark(world: World, make: Maker) -> None:
    supervisor = make()
    world.gate.clear()
    end(world.started[0])
    assert eventually(lambda: supervisor.unready_reason is not None)
    taken: list[Process] = []
    waiting = threading.Thread(target=lambda: taken.append(supervisor.take(CancelToken())))
    waiting.start()
    world.gate.set()
    waiting.join(60)
    assert taken == world.started[1:]


def test_waiting_is_bounded_and_ends_with_the_statement(world: World, make: Maker) -> None:
    supervisor, bounded = make(), make(wait_s=0.05)
    world.gate.clear()
    for process in world.started:
        end(process)
    assert eventually(lambda: None not in (supervisor.unready_reason, bounded.unready_reason))
    with pytest.raises(SparkRestarting, match="code -9"):
        bounded.take()
    cancel, raised = CancelToken(), list[Exception]()

    def wait() -> None:
        try:
            supervisor.take(cancel)
        except SqlError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    cancel.cancel()
    waiting.join(60)
    assert [type(error) for error in raised] == [StatementCancelled]


def test_starts_that_fail_are_repeated(world: World, make: Maker) -> None:
    supervisor = make()
    world.faults = [SparkUnavailable("no memory"), OSError("no processes"), None]
    end(world.started[0])
    assert eventually(lambda: supervisor.unready_reason is None and len(world.started) == 2)
    assert world.attempts == 4 and not world.given_up


def test_after_so_many_failed_starts_in_a_row_it_gives_up(world: World, make: Maker) -> None:
    supervisor = make(failures_max=3)
    world.faults = [SparkUnavailable("no memory")] * 9
    end(world.started[0])
    assert eventually(lambda: bool(world.given_up))
    assert world.attempts == 4 and "3 starts in a row failed" in world.given_up[0].message
    assert "no memory" in world.given_up[0].message
    with pytest.raises(SparkUnavailable):
        supervisor.take()


@pytest.mark.parametrize("stable_s", [0, 60])
def test_process_that_was_ready_is_replaced_however_often_it_ends(world: World, make: Maker, stable_s: float) -> None:
    make(failures_max=2, stable_s=stable_s)
    for number in range(9):
        assert eventually(lambda number=number: len(world.started) == number + 1)  # type: ignore[misc]
        end(world.started[number])
        world.faults = [OSError("no processes")]  # one failed start each time
    assert eventually(lambda: len(world.started) == 10) and not world.given_up


def test_a_supervision_that_fails_gives_up_aloud(world: World, make: Maker) -> None:
    supervisor = make()

    def kill() -> None:
        raise RuntimeError("a bug")

    world.started[0].kill = kill  # type: ignore[method-assign]
    end(world.started[0])
    assert eventually(lambda: bool(world.given_up)) and "a bug" in world.given_up[0].message
    with pytest.raises(SparkUnavailable):
        supervisor.take()
    assert supervisor.unready_reason is not None


def test_the_first_start_raises_its_error(world: World, make: Maker) -> None:
    world.faults = [SparkUnavailable("no Java")]
    with pytest.raises(SparkUnavailable, match="no Java"):
        make()


def test_stopping_ends_the_process_and_who_waits(world: World, make: Maker) -> None:
    supervisor = make()
    world.started[0].silence_s = 30.0
    assert eventually(lambda: supervisor.unready_reason is not None)
    raised: list[Exception] = []

    def wait() -> None:
        try:
            supervisor.take()
        except SqlError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    supervisor.stop()
    waiting.join(60)
    assert world.started[0].killed and len(world.started) == 1  # it would not end in good order
    assert [type(error) for error in raised] == [SparkRestarting]


def test_a_process_that_is_well_is_stopped_in_good_order(world: World, make: Maker) -> None:
    make().stop()
    assert world.started[0].stopped and not world.started[0].killed


def test_well_process_with_work_that_nothing_ends_is_replaced_and_counts_as_no_failure(
    world: World, make: Maker
) -> None:
    supervisor = make(failures_max=2, stable_s=1000)
    for count in range(1, 7):
        process = supervisor.process
        process.unstoppable = "a task does not end"
        assert eventually(lambda count=count: len(world.started) == count + 1)  # type: ignore[misc]
        assert eventually(lambda: supervisor.unready_reason is None)
        assert process.killed and supervisor.was_condemned(process)
        assert not supervisor.was_condemned(supervisor.process)
    assert not world.given_up


@pytest.mark.parametrize("end", ["ill", "restarted"])
def test_only_a_process_that_was_well_counts_as_condemned(world: World, make: Maker, end: str) -> None:
    supervisor = make()
    process = supervisor.process
    if end == "ill":
        process.illness = "it died"
    else:
        supervisor.restart("statements in it do not end")
    assert eventually(lambda: len(world.started) == 2 and supervisor.unready_reason is None)
    assert supervisor.was_condemned(process) is (end == "restarted")
