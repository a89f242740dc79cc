"""What a statement read, for EXPLAIN and for the log that a client may ask for.

A run collects one :class:`TableRead` for each question that Spark asked of a table's files: a table that occurs twice
in a query under different conditions has two. While Spark works for it, its tasks are counted about once a second.
Threads of one statement may add at once.

The log has all that and how far the statement has come: planned, tasks, rows, the end. Of a statement over what its
principal may not know there are no reads, notes and tasks: they tell how much is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.tables.scan import TableRead


class Stage(StrEnum):
    """The stage that a statement is in, in the order of `engine/pipeline.py`; STREAM: its rows are pulled."""

    QUEUE = "queue"
    PARSE = "parse"
    BIND = "bind"
    AUTHORIZE = "authorize"
    ANALYZE = "analyze"
    PLAN = "plan"
    ENFORCE = "enforce"
    EXECUTE = "execute"
    COMMIT = "commit"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class StageTime:
    """How many milliseconds a statement was in a stage, all times together."""

    stage: Stage
    duration_ms: float


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Tasks of Spark in the stages that were begun; `total` grows as further ones begin."""

    total: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class StageSpan:
    """A time that a statement spent in a stage; in nanoseconds since the epoch."""

    stage: Stage
    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkJob:
    """A job of Spark that ran for a statement; times in milliseconds since the epoch."""

    id: int
    began_ms: int
    ended_ms: int
    stages: int
    tasks: int
    failed_tasks: int
    has_succeeded: bool


_FROM_CACHE = "result cache: the answer was there, and no file was read"
SPANS_MAX, PART_READS_MAX, PART_LINES_MAX = 200, 1000, 2000
"""Times in stages that are kept of one statement, which may be planned again and again, and reads and lines of the
statements in a script.
"""


class Profile:
    """The lines of one statement, in the order in which they became known."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is in seconds."""
        self._clock = clock
        self._spent: dict[Stage, float] = {}
        self._spans: list[StageSpan] = []
        self._part_spans: list[StageSpan] = []
        self._epoch_ns = time.time_ns() - round(clock() * 1e9)
        """What is added to the clock to get the time of day, which may be set back in between."""
        self._stage: tuple[Stage, float] | None = None
        self._is_over = False
        self._lock = threading.Lock()
        self._entries: list[TableRead | str] = []
        self._log: list[str] = []
        self._steps: dict[str, float] = {}
        self._tasks = TaskCounts()
        self._part: Profile | None = None
        self.parts = 0
        """Statements of a script that were begun."""
        self.hides_work = self.hides_texts = False
        self.is_from_cache = False

    def enter(self, stage: Stage | None) -> None:
        """The statement leaves the stage that it was in for `stage`; None: it has ended, and whatever still runs for it
        is in no stage.
        """
        with self._lock:
            if self._is_over:
                return
            now, self._is_over = self._clock(), stage is None
            self._spent = self._spent_until(now)
            if self._stage is not None and len(self._spans) < SPANS_MAX:
                left, since = self._stage
                self._spans.append(StageSpan(left, self._time_ns(since), self._time_ns(now)))
            self._stage = None if stage is None else (stage, now)

    @property
    def stage(self) -> Stage | None:
        """The one it is in; None before the first and after the last."""
        stage = self._stage
        return stage[0] if stage else None

    @property
    def stages(self) -> tuple[StageTime, ...]:
        """In the order in which they were first entered, up to now."""
        with self._lock:
            spent = self._spent_until(self._clock())
        return tuple(StageTime(stage, seconds * 1000) for stage, seconds in spent.items())

    @property
    def spans(self) -> tuple[StageSpan, ...]:
        """The stages that were left, each time by itself; at most :data:`SPANS_MAX`."""
        with self._lock:
            return tuple(self._spans)

    @property
    def part_spans(self) -> tuple[StageSpan, ...]:
        """Those of the statements in a script, in their order; at most :data:`SPANS_MAX`."""
        with self._lock:
            return tuple(self._part_spans)

    def begin_part(self) -> Profile:
        """The profile of the next statement of the script that this is of; its lines are in the log of both."""
        part = Profile(self._clock)
        with self._lock:
            self.parts += 1
            if len(self._log) < PART_LINES_MAX:
                self._log.append(f"statement {self.parts}")
                part._log = self._log
            self._part = part
        return part

    @property
    def now(self) -> Profile:
        """Of the statement of a script that runs now; of no script, or between two of them, this one."""
        return self._part or self

    def end_part(self, part: Profile) -> None:
        """The statement of the script has ended."""
        part.enter(None)
        spans, reads = part.spans, part.reads
        with self._lock:
            self._part = None
            self._part_spans += spans[: max(0, SPANS_MAX - len(self._part_spans))]
            self._entries += reads[: max(0, PART_READS_MAX - len(self._entries))]

    def _time_ns(self, clock_s: float) -> int:
        return self._epoch_ns + round(clock_s * 1e9)

    def _spent_until(self, now: float) -> dict[Stage, float]:
        if self._stage is None:
            return self._spent
        stage, since = self._stage
        return self._spent | {stage: self._spent.get(stage, 0.0) + now - since}

    def add_steps(self, steps: Mapping[str, float]) -> None:
        """How many ms Spark took for which step of a query."""
        with self._lock:
            for step, duration_ms in steps.items():
                self._steps[step] = self._steps.get(step, 0.0) + duration_ms

    @property
    def steps(self) -> Mapping[str, float]:
        """How many ms Spark took for which step, of all queries that it ran for the statement."""
        with self._lock:
            return dict(self._steps)

    def hide_work(self, *, texts: bool = False) -> None:
        """From now on. `texts`: errors tell nothing of the text that runs either."""
        self.hides_work, self.hides_texts = True, texts

    def add_read(self, read: TableRead) -> None:
        """The same question asked again is no other read."""
        with self._lock:
            if read not in self._entries and not self.hides_work:
                self._entries.append(read)
                self._log.append(str(read))

    def add_note(self, text: str) -> None:
        """A sentence on how the statement was answered."""
        with self._lock:
            if not self.hides_work:
                self._entries.append(text)
                self._log.append(text)

    def note_cached(self) -> None:
        """The answer came from the result cache."""
        self.add_note(_FROM_CACHE)
        self.is_from_cache = not self.hides_work

    def forget_cached(self) -> None:
        """Another statement begins: what came from the result cache went into its text."""
        with self._lock:
            self.is_from_cache = False
            self._entries = [entry for entry in self._entries if entry != _FROM_CACHE]

    def log(self, text: str) -> None:
        """A line for the log alone."""
        with self._lock:
            self._log.append(text)

    def count_tasks(self, tasks: TaskCounts) -> None:
        """The tasks of the query that Spark runs now."""
        if self.hides_work:
            return
        with self._lock:
            if tasks != self._tasks:
                failed = f", {tasks.failed} failed" if tasks.failed else ""
                self._log.append(f"Spark: {tasks.done} of {tasks.total} tasks done, {tasks.running} running{failed}")
            self._tasks = tasks

    @property
    def tasks(self) -> TaskCounts:
        """Of the query that Spark runs for the statement, or ran last."""
        return self._tasks

    @property
    def reads(self) -> tuple[TableRead, ...]:
        """With those of the statement of a script that runs now."""
        with self._lock:
            own, part = tuple(entry for entry in self._entries if isinstance(entry, TableRead)), self._part
        return own if part is None else (*own, *part.reads)

    @property
    def lines(self) -> tuple[str, ...]:
        """What was read, for people, in the order in which it became known."""
        with self._lock:
            return tuple(map(str, self._entries))

    @property
    def log_lines(self) -> tuple[str, ...]:
        """The log, to which lines are only ever added."""
        with self._lock:
            return tuple(self._log)
