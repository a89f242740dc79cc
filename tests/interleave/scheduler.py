"""Runs writers in every order of their steps, one at a time.

A writer is a function with a `step` parameter to call before any access that others may see or change. The scheduler
lets exactly one writer run from one step to the next, so a schedule (the next writer at each choice point) determines
the run. `explore` enumerates all schedules by depth-first search over the choices in each run. A writer that waits for
another passes the condition (`Schedule.until`), and is not chosen before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[], None]
Writer: TypeAlias = Callable[[Step], Any]


@dataclass(slots=True)
class Run:
    """One run: the choices made, the options at each point, and the writers' results."""

    choices: list[int] = field(default_factory=list)
    options: list[list[int]] = field(default_factory=list)
    # If the last writer could continue, which is then the first option.
    may_stay: list[bool] = field(default_factory=list)
    # The chosen writer at each point.
    order: list[int] = field(default_factory=list)
    # Each writer's return value or exception.
    results: list[Any] = field(default_factory=list)


class Schedule:
    """One writer's `step`; `shared` is the state that a run's writers have in common."""

    def __init__(self, lane: _Lane, shared: dict[str, Any]) -> None:
        self._lane, self.shared = lane, shared

    def __call__(self) -> None:
        self._lane.pause()

    def until(self, may_go: Callable[[], bool]) -> None:
        """Returns when `may_go`; the others have to see to that."""
        self._lane.may_go = may_go
        self._lane.pause()
        self._lane.may_go = None


class _Lane:
    """One writer's thread, and the two flags by which it is let go and stopped."""

    def __init__(self, writer: Writer, shared: dict[str, Any]) -> None:
        self.go = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        self.done = False
        self.may_go: Callable[[], bool] | None = None
        self._schedule = Schedule(self, shared)
        self.result: Any = None
        self.thread = threading.Thread(target=self._run, args=(writer,), daemon=True)

    def _run(self, writer: Writer) -> None:
        self.go.acquire()
        try:
            self.result = writer(self._schedule)
        except Exception as error:  # noqa: BLE001 - what a writer raises is a result of the run
            self.result = error
        self.done = True
        self.stopped.release()

    def pause(self) -> None:
        self.stopped.release()
        self.go.acquire()

    @property
    def is_ready(self) -> bool:
        return not self.done and (self.may_go is None or self.may_go())

    def advance(self) -> None:
        self.go.release()
        assert self.stopped.acquire(timeout=60), "a writer hangs"


def run_schedule(writers: Sequence[Writer], prefix: Sequence[int] = ()) -> Run:
    """Follows `prefix` (a number modulo the unfinished writers), then continues with the last writer, or the first
    unfinished one.
    """
    shared: dict[str, Any] = {}
    lanes = [_Lane(writer, shared) for writer in writers]
    for lane in lanes:
        lane.thread.start()
    run = Run()
    while ready := [number for number, lane in enumerate(lanes) if lane.is_ready]:
        may_stay = bool(run.order) and run.order[-1] in ready
        stays = ready.index(run.order[-1]) if may_stay else 0
        point = len(run.choices)
        option = prefix[point] % len(ready) if point < len(prefix) else stays
        run.choices.append(option)
        run.options.append([stays, *(other for other in range(len(ready)) if other != stays)])
        run.may_stay.append(may_stay)
        run.order.append(ready[option])
        lanes[ready[option]].advance()
    assert all(lane.done for lane in lanes), "writers wait for each other"
    run.results = [lane.result for lane in lanes]
    return run


def explore(
    make: Callable[[], tuple[Sequence[Writer], Any]], switches_max: int | None = None
) -> Iterator[tuple[Run, Any]]:
    """Yields every schedule, each on fresh writers: the run and `make`'s second result. With `switches_max`, only
    schedules with at most that many preemptions.
    """
    prefix: list[int] | None = []
    while prefix is not None:
        writers, world = make()
        run = run_schedule(writers, prefix)
        yield run, world
        prefix = _next(run, switches_max)


def _next(run: Run, switches_max: int | None) -> list[int] | None:
    """Returns the choices that lead to the next schedule in lexicographic order."""
    interrupted = [
        stay and option != options[0]
        for stay, option, options in zip(run.may_stay, run.choices, run.options, strict=True)
    ]
    for point in range(len(run.choices) - 1, -1, -1):
        tried = run.options[point].index(run.choices[point])
        is_allowed = switches_max is None or sum(interrupted[:point]) + run.may_stay[point] <= switches_max
        if tried + 1 < len(run.options[point]) and is_allowed:
            return [*run.choices[:point], run.options[point][tried + 1]]
    return None
