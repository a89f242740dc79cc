"""Trials of mutants: each in a forked process that imports the project's modules anew, one of them mutated.

The parent has imported the libraries, so that a trial takes about a second. The changed source stays in memory; no file
is written. Processes that a test starts see the unchanged source.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.mutation.recording import MARKER_EXPRESSION, PACKAGES
from tests.paths import ROOT

_FORK = multiprocessing.get_context("fork")


class _Selection:
    """A pytest plugin: runs the given tests in the given order, and keeps the first one that fails."""

    def __init__(self, tests: tuple[str, ...]) -> None:
        self._order = {name: number for number, name in enumerate(tests)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        selected = [item for item in items if item.nodeid in self._order]
        items[:] = sorted(selected, key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def preload(libraries: Iterable[str]) -> None:
    """Imports libraries, none of the project's modules."""
    for name in libraries:
        with suppress(Exception):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]


def outcome_of(path: str, source: str, tests: tuple[str, ...], timeout_s: float) -> str:
    """Returns `survived`, `timeout`, or the test or error that noticed the module's source."""
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_try, args=(path, source, tests, sender))
    process.start()
    assert process.pid
    sender.close()
    try:
        return str(receiver.recv()) if receiver.poll(timeout_s) else "timeout"
    except EOFError:
        return "the process ended"
    finally:
        process.kill()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # processes that its tests started
        process.join()


def _try(path: str, source: str, tests: tuple[str, ...], sender: Connection) -> None:
    """Runs in the forked process."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    mutated, get_code = str(ROOT / path), SourceFileLoader.get_code

    def get_mutated(loader: SourceFileLoader, name: str) -> Any:
        return compile(source, mutated, "exec") if loader.path == mutated else get_code(loader, name)

    SourceFileLoader.get_code = get_mutated  # type: ignore[assignment, method-assign]
    selection = _Selection(tests)
    with TemporaryDirectory() as folder:
        files = dict.fromkeys(name.partition("::")[0] for name in tests)
        options = ["-x", "-q", "-p", "no:cacheprovider", "--basetemp", f"{folder}/pytest", "-m", MARKER_EXPRESSION]
        code = pytest.main([*options, *files], plugins=[selection])
    survived = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    sender.send("survived" if survived else selection.failed or f"pytest: {code!r}")
    os._exit(0)
