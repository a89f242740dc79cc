"""Which call a thread works for: what lines of the log and traces say besides.

The context is set where a request arrives and where a statement's thread takes it up. It goes with the thread
(`contextvars`), so whatever is logged in between has it without being told.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from engine.runtime.trace_parent import trace_id_of

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:+/=@-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """`trace_parent` is one that follows W3C Trace Context, as the client sent it."""

    request_id: str | None = None
    session_id: str | None = None
    statement_id: str | None = None
    user: str | None = None
    trace_parent: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        """Those that are known, by their names in the log."""
        named = {
            "request_id": self.request_id,
            "session_id": self.session_id,
            "statement_id": self.statement_id,
            "user": self.user,
            "trace_id": trace_id_of(self.trace_parent) if self.trace_parent else None,
        }
        return {name: value for name, value in named.items() if value}


_NO_CALL = CallContext()
_current: ContextVar[CallContext] = ContextVar("call", default=_NO_CALL)


def current_call() -> CallContext:
    return _current.get()


@contextmanager
def working_for(call: CallContext) -> Iterator[None]:
    """For the block, this thread works for `call`."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


def note_user(user: str) -> None:
    """The client of the call has logged in; holds until the block of `working_for` ends."""
    _current.set(replace(_current.get(), user=user))


def request_id_of(given: str | None) -> str:
    """The id that a client gave to its request, if it is well-formed; a new one otherwise."""
    return given if given and _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
