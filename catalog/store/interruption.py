"""Waits for other servers that end when the statement does for which a thread waits.

Whoever runs a statement says so (`interrupted_by`). A request that changes nothing is then cut off where the statement
is cancelled; one that may change something goes on to its answer, since nobody would know what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock
from typing import Protocol

_LOOKS_S = 0.1
"""How often who waits for a lock looks whether the statement has ended."""


class Interruption(Protocol):
    """What ends a statement. Thread-safe."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the statement is to end, at once if it is by now."""
        ...

    def forget(self, callback: Callable[[], None]) -> None:
        """Do not call it any more."""
        ...

    def ensure_live(self) -> None:
        """Raises what ends the statement, if something does."""
        ...


_current: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@contextmanager
def interrupted_by(interruption: Interruption) -> Iterator[None]:
    """For what this thread asks in the block."""
    token = _current.set(interruption)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def interruptible(end: Callable[[], None]) -> Iterator[None]:
    """Calls `end` where the statement of this thread ends; raises then what ends it, and not what follows from it."""
    interruption = _current.get()
    if interruption is None:
        yield
        return
    interruption.ensure_live()
    interruption.on_cancel(end)
    try:
        yield
    except Exception:
        interruption.ensure_live()
        raise
    finally:
        interruption.forget(end)


def pause_for(seconds: float) -> None:
    """Waits so long. Raises what ends the statement of this thread as soon as it does."""
    ended = Event()
    with interruptible(ended.set):
        ended.wait(seconds)
    _ensure_live()


@contextmanager
def held(lock: Lock) -> Iterator[None]:
    """Holds a lock that others hold while a server answers them. Raises what ends the statement of this thread."""
    while not lock.acquire(timeout=_LOOKS_S):
        _ensure_live()
    try:
        yield
    finally:
        lock.release()


def _ensure_live() -> None:
    interruption = _current.get()
    if interruption is not None:
        interruption.ensure_live()
