"""Files for a LIMIT without an order."""

from __future__ import annotations

import numpy as np
import pytest

from engine.planning.reads.table_pruning import enough_files

LIVE, SIZES = (5, -1, 500, 50, 0, 60, 50), (10, 1, 900, 100, 1, 90, 300)
CASES = (
    # requested rows, positions in the file list
    (1, [0]),
    (6, [5]),  # the smallest with enough rows
    (60, [5]),
    (61, [2]),
    (501, [2, 5]),
    (561, [2, 3, 5]),
    (665, [0, 2, 3, 5, 6]),
    (666, None),
)


@pytest.mark.parametrize(("rows", "expected"), CASES)
def test_files_with_as_many_rows(rows: int, expected: list[int] | None) -> None:
    found = enough_files(np.array(LIVE), np.array(SIZES), rows)
    assert (None if found is None else found.tolist()) == expected


def test_counts_beyond_reason_do_not_overflow() -> None:
    found = enough_files(np.full(3, 2**63 - 1), np.array([3, 2, 1]), 2**63 - 1)
    assert found is None


def test_no_file_is_known_to_have_a_row() -> None:
    assert enough_files(np.array([], np.int64), np.array([], np.int64), 1) is None
    assert enough_files(np.array([-1, 0]), np.array([1, 1]), 1) is None
