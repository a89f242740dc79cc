"""Runs continue after the recorded points of their seed."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.records import Point, append, next_number, summary


def test_run_continues_after_the_last_point_of_its_seed(tmp_path: Path) -> None:
    file = tmp_path / "results" / "chaos.txt"
    assert next_number(file, "a") == 0
    append(file, Point("a", 0, "cut", 3, {"writes": 2, "unknown session": 1}))
    append(file, Point("a", 1, "cut", 3, {"faults": 4, "writes": 5}, ("rows lost (events 1)",)))
    append(file, Point("b", 6, "drain", 3))
    assert (next_number(file, "a"), next_number(file, "b"), next_number(file, "c")) == (2, 7, 0)
    assert summary(file).splitlines() == [
        "cut: 2 points, 5 faults, 1 points with violations; unknown session 1, writes 7",
        "drain: 1 points, 1 faults, 0 points with violations; ",
    ]
