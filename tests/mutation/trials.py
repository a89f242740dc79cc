"""Trials of mutants, each in a forked process; the changed source stays in memory.

A change in a function is tried in a copy of a pytest session that has collected its tests: existing functions get the
changed code. Any other change takes effect on import, so the process imports the project's modules anew; only libraries
are loaded already. Processes that a test starts see the unchanged source.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from multiprocessing.connection import Connection
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutation.recording import MARKER_EXPRESSION, PACKAGES
from tests.paths import ROOT

SURVIVED, TIMEOUT = "survived", "timeout"
_FORK = multiprocessing.get_context("fork")
_ON_IMPORT = "takes effect on import"


@dataclass(frozen=True)
class Trial:
    """A module's source, and the tests to run on it until one fails."""

    path: str
    source: str
    in_function: bool
    tests: tuple[str, ...]
    timeout_s: float

    @property
    def file(self) -> str:
        return str(ROOT / self.path)


def preload(libraries: Iterable[str]) -> None:
    """Imports libraries, none of the project's modules."""
    for name in libraries:
        with suppress(Exception):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]


def outcomes(trials: list[Trial], processes: int) -> Iterator[tuple[int, str]]:
    """Yields each trial's index with `SURVIVED`, `TIMEOUT`, or the test or error that noticed the source."""
    remaining = []
    collected = {index: trial for index, trial in enumerate(trials) if trial.in_function}
    for index, found in _in_session(collected, processes) if collected else ():
        if found == _ON_IMPORT:
            remaining.append(index)
        else:
            yield index, found
    remaining += [index for index, trial in enumerate(trials) if not trial.in_function]
    with ThreadPoolExecutor(processes) as pool:
        yield from zip(remaining, pool.map(lambda index: _fork_fresh(trials[index]), remaining), strict=True)


def _forked(run: Callable[[], str], timeout_s: float) -> str:
    """Returns a function's result in a forked process, `TIMEOUT`, or that the process ended."""

    def target() -> None:
        os.setsid()
        with tempfile.TemporaryDirectory() as tempfile.tempdir:
            sender.send(run())
        os._exit(0)

    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=target)
    process.start()
    assert process.pid
    sender.close()
    try:
        return str(receiver.recv()) if receiver.poll(timeout_s) else TIMEOUT
    except EOFError:
        return "the process ended"
    finally:
        process.kill()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # processes that its tests started
        process.join()


class _Tests:
    """A pytest plugin: runs a trial's tests, and keeps the first failure."""

    failed = ""

    def run(self, items: Iterable[pytest.Item], trial: Trial) -> str:
        by_id = {item.nodeid: item for item in items}
        if missing := [name for name in trial.tests if name not in by_id]:
            return f"not collected: {missing[0]}"  # after a change of the tests, which every trial reports
        selected = [by_id[name] for name in trial.tests]
        for item, following in zip(selected, [*selected[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed
        return SURVIVED

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


class _Fresh(_Tests):
    """Runs one trial in its own session."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.outcome = "an import failed"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            self.outcome = self.run(session.items, self._trial)
        return True


def _fork_fresh(trial: Trial) -> str:
    return _forked(lambda: _try_fresh(trial), trial.timeout_s) if trial.tests else SURVIVED


def _try_fresh(trial: Trial) -> str:
    get_code = SourceFileLoader.get_code

    def get_mutated(loader: SourceFileLoader, name: str) -> Any:
        return compile(trial.source, trial.file, "exec") if loader.path == trial.file else get_code(loader, name)

    SourceFileLoader.get_code = get_mutated  # type: ignore[assignment, method-assign]
    _silence()
    fresh = _Fresh(trial)
    pytest.main(_arguments({name.partition("::")[0] for name in trial.tests}), plugins=[fresh])
    return fresh.outcome


class _Forking(_Tests):
    """Runs trials in copies of one session."""

    def __init__(self, trials: dict[int, Trial], processes: int, sender: Connection) -> None:
        self._trials = trials
        self._processes = processes
        self._sender = sender

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions: dict[str, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()
        for found in gc.get_objects():
            if isinstance(found, FunctionType):
                functions[found.__code__.co_filename].append(found)

        def outcome(trial: Trial) -> str:
            def run() -> str:
                return self.run(session.items, trial) if _replace(functions[trial.file], trial) else _ON_IMPORT

            return _forked(run, trial.timeout_s) if trial.tests else SURVIVED

        with ThreadPoolExecutor(self._processes) as pool:
            for index, found in zip(self._trials, pool.map(outcome, self._trials.values()), strict=True):
                self._sender.send((index, found))
        return True


def _in_session(trials: dict[int, Trial], processes: int) -> Iterator[tuple[int, str]]:
    receiver, sender = _FORK.Pipe(duplex=False)
    files = {name.partition("::")[0] for trial in trials.values() for name in trial.tests}

    def target() -> None:
        receiver.close()
        _silence()
        pytest.main(_arguments(files), plugins=[_Forking(trials, processes, sender)])

    process = _FORK.Process(target=target)
    process.start()
    sender.close()
    try:
        while True:
            yield receiver.recv()
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _arguments(files: Iterable[str]) -> list[str]:
    return ["-q", "-s", "-p", "no:cacheprovider", "-m", MARKER_EXPRESSION, *sorted(files)]


def _replace(functions: Iterable[FunctionType], trial: Trial) -> bool:
    """Gives existing functions the code of the trial's source; returns False if their variables do not fit."""
    codes: dict[tuple[str, int], CodeType] = {}
    remaining = [compile(trial.source, trial.file, "exec")]
    while remaining:
        code = remaining.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        remaining += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    for function in functions:
        if function.__name__ == "<lambda>":  # of a module or class, several may be on one line
            continue
        code = codes[function.__code__.co_qualname, function.__code__.co_firstlineno]
        if len(code.co_freevars) != len(function.__code__.co_freevars):
            return False
        function.__code__ = code
    return True
