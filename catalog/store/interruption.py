"""Interruptible waits: a wait for another server ends when the thread's statement ends.

The code that runs a statement registers it (`interrupted_by`). When the statement is cancelled, a request that changes
nothing is cut off; one that may change something continues to its response, because its outcome would otherwise be
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock
from typing import Protocol

# Interval in seconds at which a thread that waits for a lock checks if its statement has ended.
_LOOKS_S = 0.1


class Interruption(Protocol):
    """A statement's end, such as a cancellation. Thread-safe."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Registers `callback` to be called when the statement is to end; calls it immediately if that is already
        so.
        """
        ...

    def forget(self, callback: Callable[[], None]) -> None:
        """Unregisters a callback."""
        ...

    def ensure_live(self) -> None:
        """Raises the error that ends the statement, if any."""
        ...


_current: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@contextmanager
def interrupted_by(interruption: Interruption) -> Iterator[None]:
    """Applies an interruption to this thread's waits within the block."""
    token = _current.set(interruption)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def interruptible(end: Callable[[], None]) -> Iterator[None]:
    """Calls `end` when the thread's statement ends; raises the statement's error then, and not its consequence."""
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
    """Sleeps; raises the error that ends this thread's statement as soon as it occurs."""
    ended = Event()
    with interruptible(ended.set):
        ended.wait(seconds)
    _ensure_live()


@contextmanager
def hold_lock(lock: Lock) -> Iterator[None]:
    """Holds a lock that other threads may hold during requests. Raises the error that ends this thread's statement."""
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
