"""Which files have as many rows as a LIMIT asks for, where it says nothing of which rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_ROWS_MAX = 1 << 40
"""Of one file: no count of another writer makes the sum overflow."""


def enough_files(live: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64] | None:
    """Positions of files, ascending, that have `rows` rows together: the smallest one that has, or the fewest.

    `live` are the rows of each file (-1: unknown, or not to be taken), `sizes` its bytes. None: no files are known to.
    """
    known = np.flatnonzero(live > 0)
    counts = np.minimum(live[known], _ROWS_MAX)
    alone = known[counts >= rows]
    if len(alone):
        return alone[[np.argmin(sizes[alone])]]
    order = np.argsort(-counts, kind="stable")
    sums = np.cumsum(counts[order])
    if not len(sums) or sums[-1] < rows:
        return None
    return np.sort(known[order[: np.searchsorted(sums, rows) + 1]])
