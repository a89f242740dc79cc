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
        path=r"cdc\..*",
        why="we write change files for rows in deletion vectors, since not every reader finds them there, and none "
        "where whole files go; what is read as changes is the same",
        holds=lambda ours, theirs: ABSENT in (ours, theirs),
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.numAddedChangeFiles",
        why="as their number",
        holds=lambda ours, theirs: "0" in (ours, theirs) and ABSENT not in (ours, theirs),
    ),
    Explained(
        path=r"commitInfo\.tags\.delta\.rowTracking\.preserved",
        why="we also say it where no row was written again",
        holds=lambda ours, theirs: ours == "true" and theirs == ABSENT,
    ),
    Explained(
        path=r"domainMetadata\.\d+\.configuration\.domainName",
        why="the protocol gives the domain of row tracking its high-water mark only",
        holds=lambda ours, theirs: ours == ABSENT and theirs == "delta.rowTracking",
    ),
    Explained(
        path=r"add\.\d+\.stats\.tightBounds",
        why="bounds are tight where nothing is said",
        holds=lambda ours, theirs: ours == ABSENT and theirs is True,
    ),
    Explained(
        path=r"remove\.\d+\.stats\.numRecords",
        why="statistics of removes are optional; it has the number where it did not read the file",
        holds=lambda ours, theirs: ours == ABSENT,
    ),
    Explained(
        path=r"remove\.\d+\.partitionValues(\.[\w-]+)?",
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
