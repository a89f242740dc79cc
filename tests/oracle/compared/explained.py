"""Where we differ from delta-spark on purpose, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ABSENT = "<absent>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`path` and `case` are regular expressions that match the whole; a path begins behind the version."""

    path: str
    why: str
    holds: Callable[[Any, Any], bool] = lambda ours, theirs: True
    case: str = ".*"


EXPLAINED: tuple[Explained, ...] = (
    Explained(
        path=r"commitInfo\.userName",
        why="we know who runs a statement",
        holds=lambda ours, theirs: ours == "ann" and theirs == ABSENT,
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.predicate(\.0)?",
        why="we tell the condition as it was written, delta-spark as Spark has resolved it",
        holds=lambda ours, theirs: ABSENT not in (ours, theirs),
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.(execution|scan|rewrite)TimeMs",
        why="we do not tell them yet",
        holds=lambda ours, theirs: ours == ABSENT,
    ),
    Explained(
        path=r"remove\.\d+\.stats\.numRecords",
        why="statistics of removes are optional; it has the number where it did not read the file",
        holds=lambda ours, theirs: ours == ABSENT,
    ),
    Explained(
        path=r"remove\.\d+\.partitionValues(\.\w+)?",
        why="it leaves NULL out of the partition values of a remove, though the protocol has a value for each column",
        holds=lambda ours, theirs: (ours, theirs) in ((None, ABSENT), (ABSENT, {})),
    ),
)


def is_explained(case: str, path: str, ours: Any, theirs: Any) -> bool:
    """Whether some explanation holds for these values."""
    inner = re.sub(r"^\d+ ", "", path)
    return any(
        re.fullmatch(each.path, inner) and re.fullmatch(each.case, case) and each.holds(ours, theirs)
        for each in EXPLAINED
    )
