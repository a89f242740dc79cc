"""An operation's states and transitions; `gateway/sessions/operation.py` applies them.

    PENDING ──► RUNNING ──► STREAMING ──► FINISHED ──► CLOSED
       │           ├────────────┼───────► FAILED   ──► CLOSED
       └───────────┴────────────┴───────► CANCELED ──► CLOSED      (also TIMED_OUT, for one past its time limit)

STREAMING is a query whose first rows can be fetched while it computes the others; most queries change from RUNNING to
FINISHED.
"""

from __future__ import annotations

from enum import Enum, auto


class OperationState(Enum):
    PENDING = auto()
    RUNNING = auto()
    STREAMING = auto()
    FINISHED = auto()
    FAILED = auto()
    CANCELED = auto()
    TIMED_OUT = auto()
    CLOSED = auto()

    @property
    def is_terminal(self) -> bool:
        """Returns True if the statement is no longer executed."""
        return self not in (OperationState.PENDING, OperationState.RUNNING, OperationState.STREAMING)

    @property
    def is_final(self) -> bool:
        """Returns True if a client that waits for the statement can continue: it has ended, or rows can be fetched."""
        return self.is_terminal or self is OperationState.STREAMING


_S = OperationState
_ENDED_BADLY = frozenset({_S.FAILED, _S.CANCELED, _S.TIMED_OUT, _S.CLOSED})
# All transitions: a terminal state can only change to CLOSED.
TRANSITIONS: dict[OperationState, frozenset[OperationState]] = {
    _S.PENDING: _ENDED_BADLY | {_S.RUNNING},
    _S.RUNNING: _ENDED_BADLY | {_S.STREAMING, _S.FINISHED},
    _S.STREAMING: _ENDED_BADLY | {_S.FINISHED},
    _S.FINISHED: frozenset({_S.CLOSED}),
    _S.FAILED: frozenset({_S.CLOSED}),
    _S.CANCELED: frozenset({_S.CLOSED}),
    _S.TIMED_OUT: frozenset({_S.CLOSED}),
    _S.CLOSED: frozenset(),
}
