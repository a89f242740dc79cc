"""The check before each commit that this process may still commit for the statement.

A process that was suspended may continue after another one has taken its statements over. The one that runs a statement
sets a guard on the statement's thread; the writers of commits call `ensure_may_commit` directly before each
put-if-absent. Between the two the process may be suspended as well: then the transaction id in the log prevents a
second commit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")
_guard: ContextVar[Callable[[], None] | None] = ContextVar("commit_guard", default=None)


def run_guarded(ensure: Callable[[], None], run: Callable[[_Argument], _Result], argument: _Argument) -> _Result:
    """Returns the result of `run`. Calls `ensure` before each commit on this thread; its exception prevents the
    commit.
    """
    token = _guard.set(ensure)
    try:
        return run(argument)
    finally:
        _guard.reset(token)


def ensure_may_commit() -> None:
    """Raises the guard's exception."""
    if (guard := _guard.get()) is not None:
        guard()
