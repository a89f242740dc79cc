"""Parallel jobs in one OPTIMIZE step: their results keep their order, and are removed if one job fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import engine.formats.delta.writing.optimize as optimize_module
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.execution_context import ExecutionContext
from tests.engine.contexts import context_without_spark


class Jobs:
    """Parts are numbers; `broken` cannot be written."""

    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken
        self.statements: set[str] = set()
        self.written: set[int] = set()
        self.removed: set[int] = set()

    @contextmanager
    def write(self, table: Any, part: int, context: ExecutionContext) -> Iterator[int]:
        if part == self.broken:
            raise ValueError(part)
        self.statements.add(context.request.statement_id)
        self.written.add(part)
        try:
            yield part
        except ValueError:
            self.removed.add(part)
            raise

    def run(self, count: int) -> list[Any]:
        context = context_without_spark(StatementRequest(identity=Identity("ann")))
        plan = SimpleNamespace(table=None)
        with ExitStack() as written:
            return optimize_module._write_jobs(plan, list(range(count)), written, context)  # type: ignore[arg-type]


def test_files_come_in_the_order_of_their_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs()
    monkeypatch.setattr(optimize_module, "regrouped_rows", jobs.write)
    assert jobs.run(0) == [] and jobs.run(30) == list(range(30))
    assert len(jobs.statements) == 30 and not jobs.removed


@pytest.mark.parametrize("broken", [0, 7, 29])
def test_failed_optimize_job_removes_all_written_files(monkeypatch: pytest.MonkeyPatch, broken: int) -> None:
    jobs = Jobs(broken)
    monkeypatch.setattr(optimize_module, "regrouped_rows", jobs.write)
    with pytest.raises(ValueError, match=str(broken)):
        jobs.run(30)
    assert jobs.removed == jobs.written
