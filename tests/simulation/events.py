"""Discrete events. A process is a generator that yields the seconds until it continues, or a lock to wait for."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field

Process = Generator["float | Lock", None, None]


@dataclass(eq=False, slots=True)
class Lock:
    """A lock whose waiters continue in order; a process yields it to take it."""

    is_taken: bool = False
    waiting: deque[Process] = field(default_factory=deque)


class Clock:
    """The events by time. `now_s` is the time of the current one."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._events: list[tuple[float, int, Process]] = []
        self._numbers = itertools.count()

    def start(self, process: Process, at_s: float) -> None:
        heapq.heappush(self._events, (at_s, next(self._numbers), process))

    def release(self, lock: Lock) -> None:
        """Gives a lock to the next process that waits for it."""
        if lock.waiting:
            self.start(lock.waiting.popleft(), self.now_s)
        else:
            lock.is_taken = False

    def run(self, until_s: float) -> None:
        """Runs all events until a time; later ones do not happen."""
        while self._events and self._events[0][0] <= until_s:
            self.now_s, _, process = heapq.heappop(self._events)
            self._resume(process)

    def _resume(self, process: Process) -> None:
        for step in process:
            if isinstance(step, Lock):
                if step.is_taken:
                    step.waiting.append(process)
                    return
                step.is_taken = True
            else:
                self.start(process, self.now_s + step)
                return
