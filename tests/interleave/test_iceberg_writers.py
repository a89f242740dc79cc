"""Two writers on an Iceberg table in every order of their steps, and one that dies at any step."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from engine.iceberg.transaction.transaction import IcebergCommit
from engine.storage.storage import Storage
from tests.interleave import histories
from tests.interleave.histories import Op
from tests.interleave.iceberg_histories import (
    begin,
    check_history,
    create_table,
    format_over,
    run_op,
    state_of,
    states_of,
    table_in_memory,
)
from tests.interleave.scheduler import Step, explore
from tests.interleave.storages import DictStorage, Interposed, deaths

OPS = (
    histories.APPEND_A,
    histories.APPEND_B,
    histories.INSERT_SELECT,
    histories.REWRITE_A,
    histories.OVERWRITE,
    histories.DELETE_A,
    histories.COMPACT_A,
    histories.SET_PROPERTY,
)
PAIRS = list(itertools.combinations_with_replacement(OPS, 2))
_SHORT_LIVED = {
    "write.metadata.previous-versions-max": "1",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.compression-codec": "gzip",
}


@cache
def _made(*, short_lived: bool) -> DictStorage:
    storage = DictStorage()
    create_table(storage, **(_SHORT_LIVED if short_lived else {}))
    return storage


def stepped(storage: DictStorage, step: Step) -> Interposed:
    """Stops before the newest version is looked up, before the next is put, and before the hint is."""

    def around(method: str, name: str, do: Any) -> Any:
        if name.endswith("version-hint.text") or method == "put" or (method, name[-5:]) == ("delete", ".json"):
            step()
        return do()

    return Interposed(storage, around)


def explored(ops: dict[str, Op], *, short_lived: bool = False, switches_max: int | None = None) -> int:
    def make() -> tuple[list[Any], DictStorage]:
        storage = table_in_memory(_made(short_lived=short_lived))
        writers = [lambda step, op=op, who=who: run_op(stepped(storage, step), op, who) for who, op in ops.items()]
        return writers, storage

    runs = 0
    for run, storage in explore(make, switches_max):
        check_history(storage, ops, dict(zip(ops, run.results, strict=True)))
        runs += 1
    return runs


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{a.name} | {b.name}" for a, b in PAIRS])
def test_every_interleaving_of_two_statements_is_serializable(first: Op, second: Op) -> None:
    assert explored({"x": first, "y": second}, switches_max=4) > 5


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (histories.APPEND_A, histories.APPEND_A),
        (histories.REWRITE_A, histories.APPEND_A),
        (histories.REWRITE_A, histories.DELETE_A),
        (histories.COMPACT_A, histories.SET_PROPERTY),
    ],
    ids=lambda op: op.name,
)
def test_interleavings_of_two_statements_are_serializable(first: Op, second: Op) -> None:
    assert explored({"x": first, "y": second}, switches_max=1) > 5


@pytest.mark.parametrize("when", ["before the put", "after the put"])
def test_a_version_that_later_commits_have_removed_is_no_drop(when: str) -> None:
    storage = table_in_memory(_made(short_lived=True))
    ops = {"x": histories.APPEND_A, "y": histories.APPEND_B, "z": histories.APPEND_B}
    begun = begin(storage, ops["x"], "x")
    results, written = dict[str, Any](), list[str]()

    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        found = do() if when == "after the put" and method == "put" else None
        if method == "write" and "/snap-" in name:
            written.append(name)
        # The commit looks for its base, and for later versions, when the manifest list is written.
        if (method == "put" if found else method == "list" and written) and not results:
            results.update((who, None) for who in ("y", "z"))
            results.update((who, run_op(storage, ops[who], who)) for who in ("y", "z"))
        return do() if found is None else found

    object.__setattr__(begun.store, "storage", Interposed(storage, around))
    results["x"] = begun.commit()
    check_history(storage, ops, results)
    rows = {row for file in state_of(format_over(storage).load(storage.root)).files for row in file.rows}
    assert rows >= {"x", "y", "z"}


def test_a_storage_that_fails_once_the_version_is_there_undoes_nothing() -> None:
    """Neither the version nor a referenced file is removed, regardless of the reported error."""
    storage = table_in_memory(_made(short_lived=False))
    is_put = False

    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        nonlocal is_put
        if is_put and method in ("stat", "write"):
            raise TimeoutError("no answer")
        found = do()
        is_put = is_put or method == "put"
        return found

    committed = run_op(Interposed(storage, around), histories.APPEND_A, "x")
    check_history(storage, {"x": histories.APPEND_A}, {"x": committed})


@pytest.mark.diagonals("op", "when", step=2)
@pytest.mark.parametrize("when", ["after", "before"])
@pytest.mark.parametrize("op", [histories.SET_PROPERTY, histories.REWRITE_A], ids=lambda op: op.name)
def test_a_crash_at_any_storage_call_leaves_the_table_whole(op: Op, when: str) -> None:
    ops = {"x": op, "after": histories.APPEND_B, "later": histories.REWRITE_A}
    for storage, result in deaths(
        lambda: table_in_memory(_made(short_lived=False)), lambda storage: run_op(storage, op, "x"), when
    ):
        check_history(storage, ops, {"x": result})
        later = {who: run_op(storage, ops[who], who) for who in ("after", "later")}
        check_history(storage, ops, {"x": result, **later})


def failing(storage: Storage, fails: Callable[[str, str], bool]) -> Interposed:
    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        if fails(method, name):
            raise TimeoutError("no answer")
        return do()

    return Interposed(storage, around)


def test_a_hint_that_cannot_be_written_fails_nothing() -> None:
    storage = table_in_memory(_made(short_lived=False))
    before = len(states_of(storage))
    for who in ("x", "y"):
        committed = run_op(
            failing(storage, lambda method, name: method == "write" and name.endswith("hint.text")),
            histories.APPEND_A,
            who,
        )
        assert isinstance(committed, IcebergCommit)
    assert len(states_of(storage)) == before + 2
    rows = {row for file in state_of(format_over(storage).load(storage.root)).files for row in file.rows}
    assert {"x", "y"} <= rows


def test_a_retry_writes_the_list_of_manifests_again_and_no_manifest() -> None:
    storage = table_in_memory(_made(short_lived=False))
    transaction = begin(storage, histories.APPEND_A, "x")
    for who in ("y", "z"):
        run_op(storage, histories.APPEND_B, who)
    written: list[str] = []

    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method == "put" and len(written) < 3:  # two others come first, after the list was written
            run_op(storage, histories.APPEND_B, f"w{len(written)}")
        if method == "write" and name.endswith(".avro"):
            written.append(name)
        return do()

    object.__setattr__(transaction.store, "storage", Interposed(storage, around))
    transaction.commit()
    lists = [name for name in written if "/snap-" in name]
    assert len(written) - len(lists) == 1
    assert len(lists) > 1
