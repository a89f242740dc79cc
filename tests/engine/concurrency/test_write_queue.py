"""Turns at a table, and the pauses that give writers elsewhere an attempt."""

from __future__ import annotations

import pytest

from engine.concurrency.write_queue import WriteQueue
from tests.engine.concurrency.test_retry import Pauses


def pauses_of(versions: list[int], others_s: float = 60.0) -> list[float]:
    """Returns the seconds paused before each commit by a server, given the resulting versions."""
    write_queue, pauses, found = WriteQueue(0.1, others_s), list[float](), list[float]()
    for version in versions:
        with write_queue.hold("t", Pauses(pauses), 60) as has_waited:
            assert has_waited is bool(pauses)
            found.append(sum(pauses))
            pauses.clear()
        write_queue.note_commit("t", version)
    return found


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([*range(1, 9)], [0] * 8),
        ([1, 3, 4, 6, 7, 9, 10], [0, 0, 0, 0.1, 0, 0.1, 0]),
        ([1, 3, *range(4, 19)], [0, 0, 0, 0.1, 0, 0.2, 0, 0.4, 0, 0.8, 0, 0.8, 0, 0, 0, 0, 0]),
        ([1, 3, *range(4, 9), 10, 11, 12, 13], [0, 0, 0, 0.1, 0, 0.2, 0, 0.4, 0, 0.4, 0]),
        ([1, 3, 4, 5, 6, 8, 9, 14, 15, 20, 21, 25, 26], [0, 0, 0, 0.1, 0, 0.2, 0, 0.2, 0, 0.1, 0, 0.05, 0]),
        ([1, 1, 1, 1], [0] * 4),
    ],
    ids=[
        "alone",
        "another uses each pause",
        "another has gone",
        "another needs longer ones",
        "another makes many",
        "commits of nothing",
    ],
)
def test_pauses_are_made_where_another_writer_uses_them(versions: list[int], expected: list[float]) -> None:
    assert pauses_of(versions) == expected


def test_a_writer_that_was_seen_long_ago_costs_nothing() -> None:
    assert pauses_of([1, 3, *range(4, 20)], others_s=0) == [0] * 18


def test_tables_are_counted_apart() -> None:
    write_queue, pauses = WriteQueue(), list[float]()
    for table, version in (("t", 1), ("t", 3), ("t", 4), ("u", 7), ("u", 8), ("u", 9)):
        with write_queue.hold(table, Pauses(pauses), 60):
            pass
        write_queue.note_commit(table, version)
    assert not pauses
    with write_queue.hold("t", Pauses(pauses), 60):
        assert pauses == [0.1]
