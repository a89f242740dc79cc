"""The results files of seeded runs: a line per point, which a later run continues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

OK, BAD = "ok", "BAD"
_VIOLATIONS_MAX = 6


@dataclass(frozen=True)
class Point:
    """One fault: counts of named results, and the names of those that must not occur."""

    seed: str
    number: int
    kind: str
    seconds: int
    counts: Mapping[str, int] = field(default_factory=dict)
    violations: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        shown = [*self.violations[:_VIOLATIONS_MAX], f"{len(self.violations)} in all"]
        outcome = f"{BAD} {'; '.join(shown)}" if self.violations else OK
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{self.seed}\t{self.number}\t{self.kind}\t{self.seconds} s\t{outcome}\t{counts}\n"


def append(file: Path, point: Point) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as opened:
        opened.write(point.line)


def points(file: Path) -> list[list[str]]:
    """Returns the fields of each recorded point; lines that begin with # are comments."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def next_number(file: Path, seed: str) -> int:
    return max((int(number) + 1 for found, number, *_ in points(file) if found == seed), default=0)


def summary(file: Path) -> str:
    """Returns a line per kind: points, faults, points with violations, and the sums of the named results.

    A point without a number of faults has one.
    """
    count, faults, bad, sums = Counter[str](), Counter[str](), Counter[str](), dict[str, Counter[str]]()
    for _, _, kind, _, outcome, counts in points(file):
        found = {name: int(number) for name, number in (pair.rsplit(" ", 1) for pair in counts.split(", ") if pair)}
        count[kind] += 1
        faults[kind] += found.pop("faults", 1)
        bad[kind] += outcome.startswith(BAD)
        sums.setdefault(kind, Counter()).update(found)
    return "\n".join(
        f"{kind}: {count[kind]} points, {faults[kind]} faults, {bad[kind]} points with violations; "
        + ", ".join(f"{name} {number}" for name, number in sorted(sums[kind].items()))
        for kind in sorted(count)
    )
