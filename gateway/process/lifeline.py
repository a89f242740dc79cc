"""The server's end of the socket to its parent (`parent.py`)."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field

VARIABLE = "DELTA_GATEWAY_PARENT"
"""The environment variable: JSON with the socket's descriptor, the number of restarts, and the facts sent before."""
_PR_SET_PDEATHSIG = 1
_EXIT = 1


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The socket to the parent.

    `restarts` is how often it has started the server again after a crash, `ports` are those before.
    """

    restarts: int = 0
    ports: dict[str, int] = field(default_factory=dict)
    _socket: socket.socket | None = None

    def tell(self, **facts: object) -> None:
        """Tell the parent what the next server is to know, should this one crash."""
        if self._socket is not None:
            with suppress(OSError):  # the parent is gone, so this process ends
                self._socket.sendall(json.dumps(facts).encode() + b"\n")


def take_lifeline() -> Lifeline:
    """Takes the socket that the parent gave and watches it from now on: with its end this process ends at once.

    Without a parent, in a test say, nothing is watched.
    """
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return Lifeline()
    given = json.loads(text)
    end = socket.socket(fileno=given["descriptor"])
    end.set_inheritable(False)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # the terminal's process group is the parent's
    if sys.platform == "linux":  # also where native code hangs and no thread of ours runs
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(end,), name="lifeline", daemon=True).start()
    return Lifeline(given["restarts"], given.get("ports", {}), end)


def has_parent() -> bool:
    """Returns whether this process is a server that a parent has started."""
    return VARIABLE in os.environ


def _end_with(end: socket.socket) -> None:
    with suppress(OSError):
        while end.recv(1):
            pass
    os._exit(_EXIT)
