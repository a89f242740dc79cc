"""The call that a thread works for, as context for log lines and traces.

The context is set when a request arrives and when a statement's thread starts to run it. It is a context variable
(`contextvars`), so log calls in between use it without a parameter.
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
    """A call; `trace_parent` is a valid W3C Trace Context header from the client."""

    request_id: str | None = None
    session_id: str | None = None
    statement_id: str | None = None
    user: str | None = None
    trace_parent: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        """Returns the known fields by their names in the log."""
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
    """Returns the context of the thread's call; an empty one outside of calls."""
    return _current.get()


@contextmanager
def working_for(call: CallContext) -> Iterator[None]:
    """Sets the thread's call within the block."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


def note_user(user: str) -> None:
    """Sets the call's user after login, until the `working_for` block ends."""
    _current.set(replace(_current.get(), user=user))


def request_id_of(given: str | None) -> str:
    """Returns the client's request id if it is well-formed, else a new one."""
    return given if given and _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
