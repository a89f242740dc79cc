"""Runs writers in every order of their steps, one at a time.

A writer is a function that is given a `step` to call before whatever the others may see or change. The scheduler lets
exactly one writer run from one step to the next, so a schedule (who goes next, at each point of choice) determines the
run. `explore` enumerates all schedules by depth-first search over the choices that each run turned out to have.
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
    """One run: the choices made, how many there were at each point, and what the writers gave."""

    choices: list[int] = field(default_factory=list)
    options: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    """Which writer went, at each point."""
    results: list[Any] = field(default_factory=list)
    """What each writer returned, or the exception that it raised."""


class _Lane:
    """One writer's thread, and the two flags by which it is let go and stopped."""

    def __init__(self, writer: Writer) -> None:
        self.go = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        self.done = False
        self.result: Any = None
        self.thread = threading.Thread(target=self._run, args=(writer,), daemon=True)

    def _run(self, writer: Writer) -> None:
        self.go.acquire()
        try:
            self.result = writer(self._step)
        except Exception as error:  # noqa: BLE001 - what a writer raises is a result of the run
            self.result = error
        self.done = True
        self.stopped.release()

    def _step(self) -> None:
        self.stopped.release()
        self.go.acquire()

    def advance(self) -> None:
        self.go.release()
        assert self.stopped.acquire(timeout=60), "a writer hangs"


def run_schedule(writers: Sequence[Writer], prefix: Sequence[int] = ()) -> Run:
    """Follows `prefix` (a number counts round those that are not done), then always the first that is not done."""
    lanes = [_Lane(writer) for writer in writers]
    for lane in lanes:
        lane.thread.start()
    run = Run()
    while ready := [number for number, lane in enumerate(lanes) if not lane.done]:
        point = len(run.choices)
        choice = prefix[point] % len(ready) if point < len(prefix) else 0
        run.choices.append(choice)
        run.options.append(len(ready))
        run.order.append(ready[choice])
        lanes[ready[choice]].advance()
    run.results = [lane.result for lane in lanes]
    return run


def explore(make: Callable[[], tuple[Sequence[Writer], Any]]) -> Iterator[tuple[Run, Any]]:
    """Every schedule, each on fresh writers; gives the run and whatever `make` gave beside the writers."""
    prefix: list[int] | None = []
    while prefix is not None:
        writers, world = make()
        run = run_schedule(writers, prefix)
        yield run, world
        prefix = _next(run)


def _next(run: Run) -> list[int] | None:
    """The choices that lead to the next schedule in lexicographic order."""
    for point in range(len(run.choices) - 1, -1, -1):
        if run.choices[point] + 1 < run.options[point]:
            return [*run.choices[:point], run.choices[point] + 1]
    return None
