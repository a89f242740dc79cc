"""Whole statements in every order of their storage steps, each compared with the two serial runs.

All statements are in one server: they share its catalog, locks and registry of running statements, and each runs in a
scheduler lane. A lane stops before it accesses shared state: before a version is loaded, before a commit is put, with a
concurrent VACUUM before its executor reads or writes rows, and in a VACUUM before it lists files and before it removes
some. Data files are written without a stop, since others cannot see them. A VACUUM does not stop before its planned
version, since it loads another one, nor before its initial commit, which nobody reads. Tables that only one statement
uses are called `other`, and cause no stop.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from catalog.errors import SqlError
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA
from engine.binding.sources import Sources
from engine.concurrency.table_locks import TableLocks
from engine.delta.snapshot.snapshot import Snapshot
from engine.formats.delta.delta_format import DeltaFormat
from engine.main import EngineOptions, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.storage.storage import Storage
from engine.tables.formats import TableFormats, formats_of
from tests.engine.contexts import run_on
from tests.engine.parsed import parse_one
from tests.interleave.outcomes import Outcome, open_in, outcome, row_ids_given
from tests.interleave.scheduler import Run, Step, explore
from tests.interleave.storages import Interposed

# A text, or a function instead.
Statement = str | Callable[["Server", "Lane"], object]

_NO_CHECK = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}


@dataclass
class Lane:
    """One statement's view of the server, which stops at its `step`. `executor` replaces Spark."""

    lake: Path
    step: Any
    executor: Any
    vacuums: bool
    beside_vacuum: bool
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _loads: int = 0
    _removes: bool = False

    def storage(self, location: str) -> Storage:
        return Interposed(open_in(self.lake, location), self._around)

    def load(self, location: str, version: int | None) -> Snapshot:
        self._loads += 1
        if not location.endswith("other") and (not self.vacuums or self._loads > 1):
            self.step()
        return Snapshot.load(self.storage(location), version)

    def _around(self, method: str, name: str, do: Callable[[], Any]) -> Any:
        with self._lock:  # several threads remove files
            if self._stops(method, name):
                self.step()
            return do()

    def _stops(self, method: str, name: str) -> bool:
        is_commit = method == "put" and name.startswith("_delta_log/")
        if not self.vacuums:
            return is_commit
        if method == "delete" and not self._removes:
            self._removes = True
            return True
        return (is_commit and self._removes) or (method == "list" and name == "")

    def run_query(self, *arguments: Any) -> Any:
        return self._executed("run_query", arguments)

    def write_files(self, *arguments: Any) -> Any:
        return self._executed("write_files", arguments)

    def _executed(self, name: str, arguments: Sequence[Any]) -> Any:
        if self.beside_vacuum:
            self.step()
        return getattr(self.executor, name)(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Acts as an executor session."""
        return getattr(self.executor, name)

    @contextmanager
    def hold(self, key: str, cancel: object) -> Iterator[None]:
        """Replaces the server's locks: a waiting lane yields."""
        held = self.step.shared.setdefault("locks", set())
        while key in held:
            self.step.until(lambda: key not in held)
        held.add(key)
        try:
            yield
        finally:
            held.discard(key)

    hold_all = TableLocks.hold_all


@dataclass
class Server:
    """One server over a lake; `executors` replace its lanes' Spark sessions."""

    lake: Path
    executors: Sequence[Any]
    shared: Sources = field(init=False)

    def __post_init__(self) -> None:
        opened = open_sources(EngineOptions(lake_folder=str(self.lake)))
        self.shared = replace(opened, after_commit=lambda _: None)

    def writer(self, number: int, statement: Statement, *, beside_vacuum: bool) -> Callable[[Step], str]:
        """Returns a writer that runs the statement; its result is `done`, or the error's condition."""

        def write(step: Any) -> str:
            lane = Lane(
                self.lake,
                step,
                self.executors[number],
                vacuums=is_vacuum(statement),
                beside_vacuum=beside_vacuum and not is_vacuum(statement),
            )
            try:
                if callable(statement):
                    statement(self, lane)
                else:
                    self._run(statement, lane)
            except SqlError as error:
                return error.condition
            return "done"

        return write

    def formats(self, lane: Lane) -> TableFormats:
        return formats_of(DeltaFormat(read=lane.load, open=lane.storage))

    def run(self, text: str) -> None:
        """Runs a statement without stops."""
        _take(text, self.shared, self.executors[0])

    def _run(self, text: str, lane: Lane) -> None:
        _take(text, replace(self.shared, formats=self.formats(lane), locks=lane, write_queue=None), lane)  # type: ignore[arg-type]


def _take(text: str, sources: Sources, executor: Any) -> None:
    state = SessionState(identity=Identity("ann"), catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA, values=_NO_CHECK)
    request = StatementRequest(identity=Identity("ann"))
    run_on(parse_one(text), state, sources, executor, request).result.close()


def is_vacuum(statement: Statement) -> bool:
    return isinstance(statement, str) and statement.startswith("VACUUM")


# --- Every order -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explored:
    """The number of runs, and the count by outcome."""

    runs: int
    outcomes: Mapping[Outcome, int]


def explored(
    base: Path,
    place: Path,
    executors: Sequence[Any],
    statements: Sequence[Statement],
    switches_max: int | None = None,
    before: Sequence[str] = (),
) -> Explored:
    """Runs the statements over copies of the lake `base`, in all orders with limited preemptions; fails if the result
    matches no serial order. The server has already run `before`.
    """
    beside = any(map(is_vacuum, statements))
    given = row_ids_given(base)

    def make() -> tuple[list[Any], Path]:
        lake = place / "lake"
        shutil.rmtree(lake, ignore_errors=True)
        shutil.copytree(base, lake, ignore=shutil.ignore_patterns("*.tmp"))  # post-commit work may still run
        server = Server(lake, executors)
        for text in before:
            server.run(text)
        lanes = enumerate(statements)
        return [server.writer(at, statement, beside_vacuum=beside) for at, statement in lanes], lake

    serial, found = set(), dict[Outcome, int]()
    runs: list[tuple[Run, Outcome]] = []
    for run, lake in explore(make, switches_max):
        said = [each if isinstance(each, str) else repr(each) for each in run.results]
        left = outcome(lake, said, given, keeps_all=not beside)
        runs.append((run, left))
        found[left] = found.get(left, 0) + 1
        if _is_serial(run.order):
            serial.add(left)
    assert len(serial) in (1, 2)
    for run, left in runs:
        assert left in serial, f"{run.order}: {left} is none of {serial}"
    return Explored(len(runs), found)


def _is_serial(order: Sequence[int]) -> bool:
    """One after the other."""
    return sum(one != other for one, other in zip(order, order[1:], strict=False)) == len(set(order)) - 1
