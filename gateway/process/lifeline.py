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

# The environment variable: JSON with the socket's descriptor, the number of restarts, and the facts sent before.
VARIABLE = "DELTA_GATEWAY_PARENT"
_PR_SET_PDEATHSIG = 1
_EXIT = 1


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The socket to the parent.

    `restarts` is the number of restarts after a crash, `ports` are the previous ports.
    """

    restarts: int = 0
    ports: dict[str, int] = field(default_factory=dict)
    _socket: socket.socket | None = None

    def tell(self, **facts: object) -> None:
        """Sends facts to the parent for the next server process, in case this one crashes."""
        if self._socket is not None:
            with suppress(OSError):  # the parent is gone, so this process ends
                self._socket.sendall(json.dumps(facts).encode() + b"\n")


def take_lifeline() -> Lifeline:
    """Takes over the parent's socket and watches it: when it closes, this process ends immediately.

    Without a parent, for example in a test, nothing is watched.
    """
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return Lifeline()
    given = json.loads(text)
    end = socket.socket(fileno=given["descriptor"])
    end.set_inheritable(False)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # the parent owns the terminal's process group
    if sys.platform == "linux":  # works even if native code hangs and no Python thread runs
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(end,), name="lifeline", daemon=True).start()
    return Lifeline(given["restarts"], given.get("ports", {}), end)


def has_parent() -> bool:
    """Returns True if a parent has started this server process."""
    return VARIABLE in os.environ


def _end_with(end: socket.socket) -> None:
    with suppress(OSError):
        while end.recv(1):
            pass
    os._exit(_EXIT)
