"""The parent of the server's process, which starts it again after a crash.

A crash in native code, or a kill for want of memory, ends the process of the server with all sessions. So
`delta-gateway serve` is a process that imports next to nothing of the server, and its child, which is the server
(`cli_serve.py`); `lifeline.py` is the child's end of the socket between them.

    signals      SIGTERM, SIGINT and SIGHUP go to the child, which has a process group of its own: a terminal's Ctrl-C
                 reaches it once.
    its end      With an exit code it is the parent's end too, whatever the code: a wrong setting, say, is not retried.
                 So is any end after a signal was passed on. Other ends by a signal are crashes.
    a crash      What is left of the child's process group (Java) is killed, and the child is started again on the same
                 ports: at once after the first crash, then after a pause that grows. Too many crashes in a short time
                 end the parent with an error, for what has started it to decide.
    the parent's end    The child sees the end of the socket and ends, however the parent ended.

As process 1 of a container the parent also takes in what others leave behind, such as a crashed server's Java.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from gateway.observability.log_format import LogFormat, format_step
from gateway.process.lifeline import VARIABLE, has_parent

EXIT_CRASHED = 3
"""The exit code of a server that cannot go on, so that systemd starts it again."""
CRASHES_MAX, CRASHES_WITHIN_S = 5, 600.0
_PAUSES_S = (0.0, 1.0, 4.0, 16.0, 60.0)
"""Before the child is started again, by the number of crashes shortly before."""
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_DIED_OF = 128
"""Added to the number of the signal that ended a process, this is its exit code, as in shells."""


def main(arguments: Sequence[str]) -> int:
    """Run this process's own command as a child until it ends for good; the exit code. The child runs the server."""
    if has_parent():
        return int(import_module("gateway.cli.serve").main(arguments))
    return watch([sys.executable, *sys.orig_argv[1:]])


def watch(command: Sequence[str]) -> int:
    """Run `command`, again after each crash; the exit code."""
    return _Parent(command).run()


class _Parent:
    """One thread does all: signals only wake it, so no signal goes to a process that is gone."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._child = 0
        self._is_ending = False
        self._crashes: deque[float] = deque()
        self._facts: dict[str, object] = {}
        """Facts that the child has sent: the ports in use and the form of log lines."""
        self._count = 0
        self._wakes = _wake_by_signals()

    def run(self) -> int:
        while True:
            status = self._serve_once()
            code = os.waitstatus_to_exitcode(status)
            if code >= 0 or self._is_ending:
                return code if code >= 0 else _DIED_OF - code
            name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
            pause = self._pause()
            if pause is None:
                self._say(f"the server's process ended by {name}, for the {len(self._crashes)}th time in "
                          f"{CRASHES_WITHIN_S / 60:.0f} minutes; giving up", logging.ERROR)  # fmt: skip
                return EXIT_CRASHED
            self._say(f"the server's process {self._child} ended by {name}; starting it again in {pause:.0f} s",
                      logging.ERROR)  # fmt: skip
            end = time.monotonic() + pause
            while (left := end - time.monotonic()) > 0 and not self._is_ending:
                self._take_signals(left)
            if self._is_ending:
                return 0

    def _pause(self) -> float | None:
        """Count a crash; the seconds until the next start, None where there have been too many."""
        now = time.monotonic()
        self._crashes.append(now)
        while now - self._crashes[0] > CRASHES_WITHIN_S:
            self._crashes.popleft()
        self._count += 1
        return _PAUSES_S[len(self._crashes) - 1] if len(self._crashes) <= CRASHES_MAX else None

    def _serve_once(self) -> int:
        """Start the child and wait for its end; its status. Nothing of its process group is left then."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                theirs.set_inheritable(True)
                given = self._facts | {"descriptor": theirs.fileno(), "restarts": self._count}
                environment = {**os.environ, VARIABLE: json.dumps(given)}
                self._child = os.posix_spawn(self._command[0], self._command, environment, setpgroup=0)
            status = None
            while status is None:
                self._take_signals(None)
                status = self._ended()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGKILL)
            self._facts |= _told(ours)
        return status

    def _take_signals(self, seconds: float | None) -> None:
        """Wait for signals, as long as `seconds`, and pass them on."""
        select.select([self._wakes], [], [], seconds)
        with suppress(BlockingIOError):
            for number in self._wakes.recv(4096):
                if number in _PASSED_ON:
                    self._is_ending = True
                    with suppress(ProcessLookupError):
                        os.kill(self._child, number)

    def _ended(self) -> int | None:
        """Take in all processes that have ended; the status of the child if it is one of them."""
        found = None
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                found = status if pid == self._child else found
        return found

    def _say(self, text: str, level: int) -> None:
        is_json = self._facts.get("log_format") == LogFormat.JSON
        sys.stderr.write((format_step(text, level) if is_json else f"delta-gateway: {text}") + "\n")
        sys.stderr.flush()


def _wake_by_signals() -> socket.socket:
    """Returns a socket from which the numbers of signals can be read that arrive from now on."""
    wakes, written = socket.socketpair()
    wakes.setblocking(False)
    written.setblocking(False)
    signal.set_wakeup_fd(written.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _nothing)
    for number in _PASSED_ON:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup, which the child inherits
            signal.signal(number, _nothing)
    return wakes


def _nothing(number: int, frame: object) -> None:
    """Does nothing: `set_wakeup_fd` reports the signal."""


def _told(ours: socket.socket) -> Mapping[str, object]:
    """Reads the facts that a child sent before it ended: objects of JSON, a line each."""
    ours.setblocking(False)
    content = b""
    with suppress(OSError):
        while part := ours.recv(1 << 16):
            content += part
    facts: dict[str, object] = {}
    with suppress(ValueError):  # a line that its end has cut
        for line in content.splitlines():
            facts |= json.loads(line)
    return facts
