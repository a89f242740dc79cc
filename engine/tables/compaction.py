"""OPTIMIZE's schedule and progress: bins to rewrite, and the sizes of removed and added files.

A large table is rearranged in steps, each a version: a failure, or a concurrent writer, costs one step. Bins identify
their files, so a step may start on a newer version than the schedule's; files removed since are omitted.

A job is one Spark run. Large bins have one or more tasks each. Small bins from many partitions are `joint`: their rows
are distributed by partition, which costs a shuffle and saves a task per bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

# A step's input size limit, unless one bin alone is larger.
STEP_BYTES = 64 << 30

# Below this size a bin does not justify its own task.
JOINT_BYTES_MAX = 64 << 20

# Bins with own tasks in one job: each is a scan in its plan.
BINS_MAX = 32


@dataclass(frozen=True, slots=True)
class Bin:
    """Live files in one partition, by their format's identity; `num_bytes` is their total size."""

    keys: tuple[str, ...]
    num_bytes: int
    # Numbers the partitions in one packing.
    partition: int


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `is_joint`: its bins are in different partitions, and rows are distributed by partition."""

    bins: tuple[Bin, ...]
    is_joint: bool = False

    @property
    def num_bytes(self) -> int:
        """Returns the total size of the files that the job reads."""
        return sum(each.num_bytes for each in self.bins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Added and removed files' sizes in bytes, and the removed files' deletion vectors."""

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
        """Returns the history metrics, under delta-spark's names."""
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
class Compaction:
    """A rearrangement in progress: `steps` remain. The initial state is for the statement's result."""

    steps: tuple[tuple[Job, ...], ...]
    begun_ms: int
    num_considered: int
    num_bins: int
    num_partitions: int
    considered: Considered
    done: Moved = Moved()

    def after_step(self, moved: Moved) -> Compaction:
        """Returns the state after the first step."""
        return replace(self, steps=self.steps[1:], done=self.done + moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """The number and bytes of files already clustered by the current columns, and of others; the former's number of
    cubes, and the selected files.
    """

    clustered: tuple[int, int] = (0, 0)
    others: tuple[int, int] = (0, 0)
    num_cubes: int = 0
    selected: tuple[int, int] = (0, 0)


def merging_jobs(bins: Sequence[Bin]) -> list[Job]:
    """Returns jobs that merge each bin into one file."""
    small = [each for each in bins if each.num_bytes < JOINT_BYTES_MAX]
    joint = small if len({each.partition for each in small}) == len(small) > 1 else []
    alone = [each for each in bins if not joint or each.num_bytes >= JOINT_BYTES_MAX]
    return [
        *(Job(tuple(part), is_joint=True) for part in _parts(joint, len(joint))),
        *(Job(tuple(part)) for part in _parts(alone, BINS_MAX)),
    ]


def sorting_jobs(bins: Sequence[Bin], target_bytes: int) -> list[Job]:
    """Returns jobs that sort each bin's rows into files with the target size."""
    small = [each for each in bins if each.num_bytes < target_bytes]
    joint = small if len(small) > 1 else []
    alone = [each for each in bins if not joint or each.num_bytes >= target_bytes]
    return [
        *(Job(tuple(part), is_joint=True) for part in _parts(joint, len(joint))),
        *(Job((each,)) for each in alone),
    ]


def in_steps(jobs: Iterable[Job]) -> tuple[tuple[Job, ...], ...]:
    """Groups jobs that are committed together."""
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
    """Splits bins by a maximum count, and by a step's bytes."""
    part: list[Bin] = []
    for each in bins:
        if part and (len(part) >= count_max or sum(b.num_bytes for b in part) + each.num_bytes > STEP_BYTES):
            yield part
            part = []
        part.append(each)
    if part:
        yield part
