"""Real races: threads and processes that commit to one local table at once."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.delta.commit.transaction import Committed
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import open_storage
from tests.interleave import histories
from tests.interleave.histories import begin, check_history, create_table

ROUNDS = 100


@pytest.mark.parametrize("root", ["{tmp}", "memory://race-{id}"], ids=["local", "memory"])
def test_of_eight_threads_that_put_one_file_exactly_one_wins(tmp_path: Path, root: str) -> None:
    storage = open_storage(root.format(tmp=tmp_path, id=id(tmp_path)))
    for number in range(ROUNDS):
        winners: list[int] = []
        barrier = threading.Barrier(8)

        def race(who: int, name: str, winners: list[int] = winners, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            if storage.put_if_absent(name, str(who).encode() * 1000):
                winners.append(who)

        _in_threads(race, 8, f"_delta_log/{number:020d}.json")
        assert len(winners) == 1
        assert storage.read_bytes(f"_delta_log/{number:020d}.json") == str(winners[0]).encode() * 1000
    assert len(storage.list_names("_delta_log")) == ROUNDS  # no temporary file is left


def test_of_four_processes_that_put_one_file_exactly_one_wins(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    processes = [context.Process(target=_put_rounds, args=(str(tmp_path), who, barrier, results)) for who in range(4)]
    for process in processes:
        process.start()
    wins = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(number for won in wins for number in won) == list(range(ROUNDS))


def test_threads_that_append_at_once_all_get_a_version(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    create_table(storage)
    ops = {f"w{number}": histories.APPEND_A for number in range(8)}
    results: dict[str, Committed] = {}

    def run(number: int, _: str) -> None:
        who = f"w{number}"
        results[who] = begin(Snapshot.load(storage), ops[who], who).commit()

    _in_threads(run, 8, "")
    assert sorted(committed.version for committed in results.values()) == list(range(1, 9))
    check_history(storage, ops, results)


def _in_threads(run: Callable[[int, str], Any], count: int, argument: str) -> None:
    threads = [threading.Thread(target=run, args=(number, argument)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _put_rounds(root: str, who: int, barrier: Any, results: Any) -> None:
    storage = open_storage(root)
    won = []
    for number in range(ROUNDS):
        barrier.wait()
        if storage.put_if_absent(f"_delta_log/{number:020d}.json", str(who).encode() * 1000):
            won.append(number)
    results.put(won)
