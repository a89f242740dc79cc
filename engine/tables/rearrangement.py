"""What OPTIMIZE has to do and has done: a schedule of bins, and the sizes of files that went and came.

A large table is rearranged in steps, each of which is a version: a failure, or a concurrent writer, costs one step.
Bins are known by the identities of their files, so a step may begin on a newer version than the one the schedule was
made from; files that are gone by then are left out.

A job is what one run of Spark writes. Large bins have a task, or several, of their own. Small bins of many partitions
are `joint`: their rows are distributed by partition, which costs a shuffle and saves a task for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

STEP_BYTES = 64 << 30
"""What a step reads, unless one bin alone is larger."""

JOINT_BYTES_MAX = 64 << 20
"""Below this a bin is not worth a task of its own."""

BINS_MAX = 32
"""Bins with tasks of their own in one job: each is a scan in its plan."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Live files of one partition, by what identifies them in their format; `num_bytes` of them all."""

    keys: tuple[str, ...]
    num_bytes: int
    partition: int
    """Counts the partitions of one packing."""


@dataclass(frozen=True, slots=True)
class Job:
    """`is_joint`: of different partitions, and distributed by these."""

    bins: tuple[Bin, ...]
    is_joint: bool = False

    @property
    def num_bytes(self) -> int:
        return sum(each.num_bytes for each in self.bins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Sizes in bytes of the files that came and went, and the deletion vectors that went with these."""

    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    vectors: int = 0
    vector_rows: int = 0
    vector_bytes: int = 0

    def __add__(self, other: Moved) -> Moved:
        return Moved(
            added=self.added + other.added,
            removed=self.removed + other.removed,
            vectors=self.vectors + other.vectors,
            vector_rows=self.vector_rows + other.vector_rows,
            vector_bytes=self.vector_bytes + other.vector_bytes,
        )

    @property
    def metrics(self) -> dict[str, str]:
        """For the history, by the names that delta-spark gives them."""
        sizes = sorted(self.added)
        quartiles = ("min", 0), ("p25", len(sizes) // 4), ("p50", len(sizes) // 2), ("p75", len(sizes) * 3 // 4)
        spread = {f"{name}FileSize": sizes[at] for name, at in quartiles} | {"maxFileSize": sizes[-1]} if sizes else {}
        values = {
            "numAddedFiles": len(self.added),
            "numAddedBytes": sum(self.added),
            "numRemovedFiles": len(self.removed),
            "numRemovedBytes": sum(self.removed),
            **spread,
            "numDeletionVectorsRemoved": self.vectors,
            "numDeletionVectorRowsRemoved": self.vector_rows,
            "numDeletionVectorBytesRemoved": self.vector_bytes,
        }
        return {name: str(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangement:
    """`steps` are those that are left. What it began with is for the answer of the statement."""

    steps: tuple[tuple[Job, ...], ...]
    begun_ms: int
    num_considered: int
    num_bins: int
    num_partitions: int
    considered: Considered
    done: Moved = Moved()

    def after_step(self, moved: Moved) -> Rearrangement:
        """With the first step done."""
        return replace(self, steps=self.steps[1:], done=self.done + moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """Number and bytes of files that were clustered as they are now to be, and of others; how many cubes the former
    are, and what of all was chosen.
    """

    clustered: tuple[int, int] = (0, 0)
    others: tuple[int, int] = (0, 0)
    num_cubes: int = 0
    chosen: tuple[int, int] = (0, 0)


def merging_jobs(bins: Sequence[Bin]) -> list[Job]:
    """Each bin becomes a file."""
    small = [each for each in bins if each.num_bytes < JOINT_BYTES_MAX]
    joint = small if len({each.partition for each in small}) == len(small) > 1 else []
    alone = [each for each in bins if not joint or each.num_bytes >= JOINT_BYTES_MAX]
    return [
        *(Job(tuple(part), is_joint=True) for part in _parts(joint, len(joint))),
        *(Job(tuple(part)) for part in _parts(alone, BINS_MAX)),
    ]


def sorting_jobs(bins: Sequence[Bin], target_bytes: int) -> list[Job]:
    """The rows of each bin are sorted, and become as many files as they fill."""
    small = [each for each in bins if each.num_bytes < target_bytes]
    joint = small if len(small) > 1 else []
    alone = [each for each in bins if not joint or each.num_bytes >= target_bytes]
    return [
        *(Job(tuple(part), is_joint=True) for part in _parts(joint, len(joint))),
        *(Job((each,)) for each in alone),
    ]


def in_steps(jobs: Iterable[Job]) -> tuple[tuple[Job, ...], ...]:
    """Jobs that are committed together."""
    steps: list[list[Job]] = [[]]
    num_bytes = 0
    for job in jobs:
        if steps[-1] and num_bytes + job.num_bytes > STEP_BYTES:
            steps.append([])
            num_bytes = 0
        steps[-1].append(job)
        num_bytes += job.num_bytes
    return tuple(tuple(step) for step in steps if step)


def _parts(bins: Sequence[Bin], count_max: int) -> Iterable[list[Bin]]:
    """Of so many bins at most, and of a step's bytes if they are more than one."""
    part: list[Bin] = []
    for each in bins:
        if part and (len(part) >= count_max or sum(b.num_bytes for b in part) + each.num_bytes > STEP_BYTES):
            yield part
            part = []
        part.append(each)
    if part:
        yield part
