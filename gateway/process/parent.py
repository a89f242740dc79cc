"""The parent of the server's process, which restarts it after a crash.

A crash in native code, or an out-of-memory kill, ends the server process with all sessions. Therefore `delta-gateway
serve` is a process that imports almost none of the server's code, and its child is the server (`gateway/cli/serve.py`);
`lifeline.py` is the child's end of the socket between them.

    signals      SIGTERM, SIGINT and SIGHUP are passed to the child, which has its own process group: a terminal's
                 Ctrl-C reaches it once.
    its exit     With an exit code it is the parent's exit too, for any code: for example, a wrong setting is not
                 retried. The same holds for any end after a signal was passed on. Other ends by a signal are crashes.
    a crash      The rest of the child's process group (Java) is killed, and the child is restarted on the same ports:
                 immediately after the first crash, then after growing pauses. After too many crashes in a short time
                 the parent exits with an error, and its own supervisor decides.
    the parent's end    The child sees the socket close and exits, however the parent ended.

As process 1 in a container the parent also reaps orphans, such as a crashed server's Java.
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

from gateway.configuration.config import LogFormat
from gateway.observability.log_format import format_step
from gateway.process.lifeline import VARIABLE, has_parent

# The exit code for a failed server, so that systemd restarts it.
EXIT_CRASHED = 3
CRASHES_MAX, CRASHES_WITHIN_S = 5, 600.0
# Pauses in seconds before a restart, by the number of recent crashes.
_PAUSES_S = (0.0, 1.0, 4.0, 16.0, 60.0)
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Added to the number of the signal that ended a process, this is its exit code, as in shells.
_DIED_OF = 128


def main(arguments: Sequence[str]) -> int:
    """Runs this process's own command as a child, which runs the server, until it ends permanently; returns the exit
    code.
    """
    if has_parent():
        return int(import_module("gateway.cli.serve").main(arguments))
    return watch([sys.executable, *sys.orig_argv[1:]])


def watch(command: Sequence[str]) -> int:
    """Runs `command`, again after each crash; returns the exit code."""
    return _Parent(command).run()


class _Parent:
    """The parent's single thread: signals only wake it, so no signal is sent to a process that is gone."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._child = 0
        self._is_ending = False
        self._crashes: deque[float] = deque()
        # Facts that the child has sent: the ports in use and the log format.
        self._facts: dict[str, object] = {}
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
        """Counts a crash; returns the seconds until the next start, None after too many crashes."""
        now = time.monotonic()
        self._crashes.append(now)
        while now - self._crashes[0] > CRASHES_WITHIN_S:
            self._crashes.popleft()
        self._count += 1
        return _PAUSES_S[len(self._crashes) - 1] if len(self._crashes) <= CRASHES_MAX else None

    def _serve_once(self) -> int:
        """Starts the child and waits for its end; returns its status. Its process group is empty afterwards."""
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
                status = self._reap()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGKILL)
            self._facts |= _received_state(ours)
        return status

    def _take_signals(self, seconds: float | None) -> None:
        """Waits for signals, at most `seconds`, and passes them on."""
        select.select([self._wakes], [], [], seconds)
        with suppress(BlockingIOError):
            for number in self._wakes.recv(4096):
                if number in _PASSED_ON:
                    self._is_ending = True
                    with suppress(ProcessLookupError):
                        os.kill(self._child, number)

    def _reap(self) -> int | None:
        """Reaps all ended processes; returns the child's status if it is one of them."""
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
    """Returns a socket from which the numbers of arriving signals can be read."""
    wakes, written = socket.socketpair()
    wakes.setblocking(False)
    written.setblocking(False)
    signal.set_wakeup_fd(written.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _do_nothing)
    for number in _PASSED_ON:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup, which the child inherits
            signal.signal(number, _do_nothing)
    return wakes


def _do_nothing(number: int, frame: object) -> None:
    """Does nothing: `set_wakeup_fd` reports the signal."""


def _received_state(ours: socket.socket) -> Mapping[str, object]:
    """Reads the facts that a child sent before it ended: JSON objects, one per line."""
    ours.setblocking(False)
    content = b""
    with suppress(OSError):
        while part := ours.recv(1 << 16):
            content += part
    facts: dict[str, object] = {}
    with suppress(ValueError):  # a truncated line
        for line in content.splitlines():
            facts |= json.loads(line)
    return facts
