"""Three writers in every order of reads, puts and retries after a lost put."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interleave import histories
from tests.interleave.histories import Op, check_history, run_op, table_in_memory
from tests.interleave.scheduler import Step, explore
from tests.interleave.storages import DictStorage, Interposed
from tests.samples import some

TRIPLES = (
    (histories.APPEND_A, histories.REWRITE_A, histories.APPEND_A),
    (histories.REWRITE_A, histories.REWRITE_B, histories.APPEND_B),
    (histories.REWRITE_A, histories.DELETE_A, histories.INSERT_SELECT),
    (histories.COMPACT_A, histories.APPEND_A, histories.DELETE_A),
    (histories.ONCE, histories.ONCE, histories.OVERWRITE),
    (histories.SET_PROPERTY, histories.APPEND_A, histories.REWRITE_A),
)


@pytest.mark.parametrize("triple", some(TRIPLES, TRIPLES[1:5]), ids=lambda triple: " | ".join(op.name for op in triple))
def test_every_interleaving_of_three_statements_is_serializable(triple: tuple[Op, Op, Op]) -> None:
    ops = dict(zip("xyz", triple, strict=True))

    def make() -> tuple[list[Any], DictStorage]:
        storage = table_in_memory()
        return [
            lambda step, op=op, who=who: run_op(_before_puts(storage, step), op, who, lambda: None)
            for who, op in ops.items()
        ], storage

    runs = 0
    for run, storage in explore(make):
        check_history(storage, ops, dict(zip(ops, run.results, strict=True)))
        runs += 1
    assert runs >= 90  # three writers with at least two steps each


def _before_puts(storage: DictStorage, step: Step) -> Interposed:
    """Stops before every put. Between two puts a writer only reads, and sees the state at their end."""

    def around(method: str, name: str, do: Any) -> Any:
        if method == "put":
            step()
        return do()

    return Interposed(storage, around)
