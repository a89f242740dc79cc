"""Jobs of one step of OPTIMIZE go on at once: what they write comes in their order, and goes if one of them fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import engine.formats.delta.writing.optimize as optimize_module
from engine.runtime.context import StatementContext
from engine.runtime.identity import Identity
from engine.spark.run import Run


class Jobs:
    """Parts are numbers; `broken` cannot be written."""

    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken
        self.statements: set[str] = set()
        self.written: set[int] = set()
        self.removed: set[int] = set()

    @contextmanager
    def write(self, table: Any, part: int, run: Run) -> Iterator[int]:
        if part == self.broken:
            raise ValueError(part)
        self.statements.add(run.context.statement_id)
        self.written.add(part)
        try:
            yield part
        except ValueError:
            self.removed.add(part)
            raise

    def run(self, count: int) -> list[Any]:
        run, plan = Run(executor=None, context=StatementContext(identity=Identity("ann"))), SimpleNamespace(table=None)  # type: ignore[arg-type]
        with ExitStack() as written:
            return optimize_module._written(plan, list(range(count)), written, run)  # type: ignore[arg-type]


def test_files_come_in_the_order_of_their_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs()
    monkeypatch.setattr(optimize_module, "regrouped_rows", jobs.write)
    assert jobs.run(0) == [] and jobs.run(30) == list(range(30))
    assert len(jobs.statements) == 30 and not jobs.removed


@pytest.mark.parametrize("broken", [0, 7, 29])
def test_nothing_stays_where_one_fails(monkeypatch: pytest.MonkeyPatch, broken: int) -> None:
    jobs = Jobs(broken)
    monkeypatch.setattr(optimize_module, "regrouped_rows", jobs.write)
    with pytest.raises(ValueError, match=str(broken)):
        jobs.run(30)
    assert jobs.removed == jobs.written
