"""The server process's parent: exit codes, signals, restarts, and a child's remains."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.gateway.http.conftest import eventually
from tests.paths import ROOT

PARENT = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
from gateway.process import parent
parent._PAUSES_S = tuple(map(float, sys.argv[1].split(",")))
sys.exit(parent.watch([sys.executable, "-c", sys.argv[2], *sys.argv[3:]]))
"""
CHILD = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from gateway.process.lifeline import take_lifeline
lifeline = take_lifeline()
starts = Path(sys.argv[1], "starts")
with starts.open("a") as file:
    file.write(f"{os.getpid()}\\n")
count = len(starts.read_text().split())

def crash(number=signal.SIGSEGV):
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)

def wait():
    print("waiting", flush=True)
    while True:
        time.sleep(0.05)
"""
NO_PAUSES = "0,0,0,0,0"


@contextmanager
def parent(folder: Path, text: str, pauses: str = NO_PAUSES) -> Iterator[subprocess.Popen[str]]:
    """Yields a parent for a child that runs `text`."""
    command = [sys.executable, "-c", PARENT, pauses, CHILD + text, str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def starts(folder: Path) -> list[int]:
    """Returns the children's process ids so far."""
    file = folder / "starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("text", "code", "children", "said"),
    [
        ("", 0, 1, []),
        ("sys.exit(2)", 2, 1, []),
        ("os._exit(3)", 3, 1, []),
        ("crash() if count == 1 else sys.exit(lifeline.restarts)", 1, 2, ["SIGSEGV"]),
        ("crash(signal.SIGKILL) if count < 3 else sys.exit(7)", 7, 3, ["SIGKILL"] * 2),
        ("os.abort() if count < 6 else sys.exit(7)", 7, 6, ["SIGABRT"] * 5),
        ("crash(signal.SIGBUS)", 3, 6, ["SIGBUS"] * 6),
    ],
)
def test_a_crash_is_started_again_and_an_exit_is_not(
    tmp_path: Path, text: str, code: int, children: int, said: list[str]
) -> None:
    with parent(tmp_path, text) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert len(starts(tmp_path)) == children
    assert [line.split(" ended by ")[1].split(";")[0].split(",")[0] for line in errors.splitlines()] == said


def test_child_state_is_passed_to_successor(tmp_path: Path) -> None:
    text = """
if count == 1:
    lifeline.tell(log_format="json")
    lifeline.tell(ports={"http": 1, "thrift": 2})
    crash()
print(json.dumps([lifeline.restarts, lifeline.ports]))
"""
    with parent(tmp_path, text) as process:
        output, errors = process.communicate(timeout=60)
    assert json.loads(output) == [1, {"http": 1, "thrift": 2}]
    said = json.loads(errors)
    assert said["level"] == "ERROR" and "ended by SIGSEGV" in said["message"]


@pytest.mark.parametrize(
    ("number", "text", "code"),
    [
        (signal.SIGTERM, "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); wait()", 5),
        (signal.SIGINT, "signal.signal(signal.SIGINT, lambda *_: sys.exit(6)); wait()", 6),
        (signal.SIGHUP, "signal.signal(signal.SIGHUP, lambda *_: sys.exit(7)); wait()", 7),
        (signal.SIGHUP, "wait()", 128 + signal.SIGHUP),
        (signal.SIGTERM, "signal.signal(signal.SIGTERM, lambda *_: crash()); wait()", 128 + signal.SIGSEGV),
    ],
)
def test_signals_are_passed_on_and_end_the_restarts(tmp_path: Path, number: int, text: str, code: int) -> None:
    with parent(tmp_path, text) as process:
        assert process.stdout and process.stdout.readline() == "waiting\n"
        process.send_signal(number)
        assert process.wait(60) == code
    assert len(starts(tmp_path)) == 1


def test_a_signal_ends_the_pause_before_a_restart(tmp_path: Path) -> None:
    with parent(tmp_path, "crash()", pauses="600") as process:
        assert process.stderr and "starting it again in 600 s" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert len(starts(tmp_path)) == 1


@pytest.mark.parametrize("hangs", [False, True])
def test_the_child_ends_with_its_parent(tmp_path: Path, hangs: bool) -> None:
    """Even if its threads cannot run."""
    text = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); " + (
        "print('waiting', flush=True); import ctypes; ctypes.PyDLL(None).sleep(600)" if hangs else "wait()"
    )
    with parent(tmp_path, text) as process:
        assert process.stdout and process.stdout.readline() == "waiting\n"
        process.kill()
        process.wait()
        (child,) = starts(tmp_path)
        assert eventually(lambda: not is_running(child))


def test_processes_of_a_crashed_child_are_killed_first(tmp_path: Path) -> None:
    text = """
if count == 1:
    Path(sys.argv[1], "left").write_text(str(subprocess.Popen(["sleep", "600"]).pid))
    crash()
left = int(Path(sys.argv[1], "left").read_text())
state = Path(f"/proc/{left}/stat")
sys.exit(5 if state.exists() and state.read_text().split()[2] not in "ZX" else 0)
"""
    with parent(tmp_path, text) as process:
        assert process.wait(60) == 0
        assert not is_running(int((tmp_path / "left").read_text()))


def test_the_child_has_a_process_group_of_its_own(tmp_path: Path) -> None:
    """Else a terminal's Ctrl-C would reach it twice."""
    with parent(tmp_path, "wait()") as process:
        assert process.stdout and process.stdout.readline() == "waiting\n"
        (child,) = starts(tmp_path)
        assert os.getpgid(child) == child != os.getpgid(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
