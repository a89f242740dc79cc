"""Two writers in every order of their steps: no change is lost or repeated, and every answer is explained."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from catalog.conditions import (
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentTransaction,
    ConcurrentWrite,
    MetadataChanged,
)
from engine.delta.commit.transaction import Committed
from engine.delta.maintenance.after_commit import PostCommit, run_hooks
from engine.delta.snapshot.snapshot import Snapshot
from tests.interleave import histories
from tests.interleave.histories import Op, check_history, run_op, table_in_memory
from tests.interleave.scheduler import Run, Step, explore
from tests.interleave.storages import DictStorage, Interposed
from tests.samples import with_slow

OPS = (
    histories.APPEND_A,
    histories.APPEND_B,
    histories.INSERT_SELECT,
    histories.REWRITE_A,
    histories.REWRITE_B,
    histories.OVERWRITE,
    histories.DELETE_A,
    histories.COMPACT_A,
    histories.SET_PROPERTY,
    histories.ONCE,
    histories.RESTORE,
)
PAIRS = list(itertools.combinations_with_replacement(OPS, 2))
_OF_ALL_FILES = (histories.OVERWRITE, histories.SET_PROPERTY, histories.ONCE, histories.RESTORE)
_OF_B = (histories.APPEND_B, histories.REWRITE_B)
# Pairs covered by the other file too: with statements from both files, and with themselves.
_MIRRORED = {
    number
    for number, (first, second) in enumerate(PAIRS)
    if (first in _OF_B and second in (first, *_OF_ALL_FILES)) or (second in _OF_B and first in _OF_ALL_FILES)
}


def stepped(storage: DictStorage, step: Step) -> Interposed:
    """Stops before every listing and every put: others' changes in between are seen or missed there."""

    def around(method: str, name: str, do: Any) -> Any:
        if method in ("list", "put"):
            step()
        return do()

    return Interposed(storage, around)


@pytest.mark.parametrize(
    ("first", "second"), with_slow(PAIRS, _MIRRORED), ids=[f"{a.name} | {b.name}" for a, b in PAIRS]
)
def test_every_interleaving_of_two_statements_is_serializable(first: Op, second: Op) -> None:
    ops = {"x": first, "y": second}

    def make() -> tuple[list[Any], DictStorage]:
        storage = table_in_memory()
        writers = [
            lambda step, op=op, who=who: run_op(stepped(storage, step), op, who, lambda: None)
            for who, op in ops.items()
        ]
        return writers, storage

    runs = 0
    for run, storage in explore(make):
        check_history(storage, ops, dict(zip(ops, run.results, strict=True)))
        runs += 1
    assert runs > 1


@pytest.mark.parametrize(
    ("winner", "loser", "expected"),
    [
        (histories.APPEND_A, histories.APPEND_A, Committed),
        (histories.APPEND_A, histories.REWRITE_A, ConcurrentAppend),
        (histories.APPEND_B, histories.REWRITE_A, Committed),
        (histories.APPEND_A, histories.INSERT_SELECT, ConcurrentAppend),
        (histories.APPEND_A, histories.COMPACT_A, Committed),
        (histories.APPEND_A, histories.SET_PROPERTY, Committed),
        (histories.REWRITE_A, histories.APPEND_A, Committed),
        (histories.REWRITE_A, histories.REWRITE_A, ConcurrentAppend),
        (histories.DELETE_A, histories.REWRITE_A, ConcurrentDeleteRead),
        (histories.DELETE_A, histories.DELETE_A, ConcurrentDeleteRead),
        (histories.REWRITE_A, histories.REWRITE_B, Committed),
        (histories.REWRITE_B, histories.OVERWRITE, ConcurrentAppend),
        (histories.COMPACT_A, histories.APPEND_A, Committed),
        (histories.COMPACT_A, histories.REWRITE_A, ConcurrentAppend),
        (histories.COMPACT_A, histories.DELETE_A, ConcurrentAppend),
        (histories.COMPACT_A, histories.COMPACT_A, ConcurrentDeleteRead),
        (histories.COMPACT_A, histories.REWRITE_B, Committed),
        (histories.SET_PROPERTY, histories.APPEND_A, MetadataChanged),
        (histories.SET_PROPERTY, histories.REWRITE_A, MetadataChanged),
        (histories.SET_PROPERTY, histories.COMPACT_A, MetadataChanged),
        (histories.SET_PROPERTY, histories.SET_PROPERTY, MetadataChanged),
        (histories.ONCE, histories.ONCE, ConcurrentTransaction),
        (histories.ONCE, histories.APPEND_A, Committed),
        (histories.APPEND_B, histories.RESTORE, ConcurrentWrite),
        (histories.RESTORE, histories.APPEND_B, Committed),
    ],
    ids=lambda value: value.name if isinstance(value, Op) else value.__name__,
)
def test_the_loser_of_a_race_gets_what_the_matrix_says(winner: Op, loser: Op, expected: type) -> None:
    storage = table_in_memory()
    before = Snapshot.load(storage)
    losing = histories.begin(before, loser, "y")
    histories.begin(before, winner, "x").commit()
    try:
        result: Any = losing.commit()
    except Exception as error:  # noqa: BLE001 - compared below
        result = error
    assert type(result) is expected
    check_history(storage, {"x": winner, "y": loser}, {"y": result})


def test_two_removals_of_one_file_that_nobody_read_conflict() -> None:
    blind_delete = Op(name="blind delete", derive=histories._delete("a"))
    storage = table_in_memory()
    before = Snapshot.load(storage)
    losing = histories.begin(before, blind_delete, "y")
    histories.begin(before, blind_delete, "x").commit()
    with pytest.raises(ConcurrentDeleteDelete):
        losing.commit()


@pytest.mark.parametrize(
    ("first", "second"),
    with_slow([(histories.APPEND_A, histories.REWRITE_A), (histories.DELETE_A, histories.APPEND_B)], (1,)),
    ids=lambda op: op.name,
)
def test_post_commit_work_may_interleave_with_everything(first: Op, second: Op) -> None:
    """A checkpoint at every version, its hint and the checksums, stepped as well."""
    ops = {"x": first, "y": second}

    def make() -> tuple[list[Any], DictStorage]:
        storage = table_in_memory(checkpointInterval="1")
        writers = [lambda step, op=op, who=who: _commit_and_maintain(storage, op, who, step) for who, op in ops.items()]
        return writers, storage

    runs: list[Run] = []
    for run, storage in explore(make):
        check_history(storage, ops, dict(zip(ops, run.results, strict=True)))
        newest = Snapshot.load(storage)
        assert newest.log_segment.checkpoint is not None
        runs.append(run)
    assert len(runs) > 20


def _commit_and_maintain(storage: DictStorage, op: Op, who: str, step: Step) -> Any:
    def around(method: str, name: str, do: Any) -> Any:
        if method == "write" or (method == "put" and name.endswith(".json")):
            step()
        return do()

    interposed = Interposed(storage, around)
    return run_op(interposed, op, who, lambda: None, lambda committed: run_hooks(PostCommit(committed)))
