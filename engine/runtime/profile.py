"""The files and rows that a statement read, for EXPLAIN and for the operation log that a client may fetch.

A run collects one :class:`TableRead` for each file listing that Spark requested for a table: a table that occurs twice
in a query with different conditions has two. While Spark runs the query, its tasks are counted about once per second.
Threads of one statement may add entries concurrently.

The log also has the progress of the statement: planned, tasks, rows, the end. For a statement over protected data there
are no reads, notes and tasks, because they reveal how much data there is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.executed_plan import ExecutedPlan
from engine.tables.scan import TableRead


class Stage(StrEnum):
    """The current stage of a statement, in the order of `engine/pipeline.py`; STREAM: its rows are pulled."""

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
    """The total time that a statement spent in a stage, in milliseconds."""

    stage: Stage
    duration_ms: float


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """The tasks in the started Spark stages of a query; `total` grows as more stages start."""

    total: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One interval that a statement spent in a stage, in nanoseconds since the epoch."""

    stage: Stage
    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkJob:
    """A Spark job of a statement; times in milliseconds since the epoch."""

    id: int
    began_ms: int
    ended_ms: int
    stages: int
    tasks: int
    failed_tasks: int
    has_succeeded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAnswer:
    """An answer from a table's log: the `statistics` of so many `files`, such as `max(day)`."""

    table: str
    version: int
    files: int
    statistics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.table}: version {self.version}, answered from the log"


# Reads a statement's executed plans, given the names to restore and the reads of tables.
PlanReader = Callable[[Mapping[str, str], tuple[TableRead, ...]], tuple[ExecutedPlan, ...]]

_FROM_CACHE = "result cache: the answer was there, and no file was read"
# Limits per statement: stage intervals (a statement may be planned many times), and reads and log lines that come from
# the statements of a script.
SPANS_MAX, PART_READS_MAX, PART_LINES_MAX = 200, 1000, 2000


class Profile:
    """The profile of one statement, in chronological order."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is in seconds."""
        self._clock = clock
        self._spent: dict[Stage, float] = {}
        # Stages that were left, with their begin and end by the clock.
        self._spans: list[tuple[Stage, float, float]] = []
        self._part_spans: list[StageSpan] = []
        # The offset from the clock to the time of day, which may be set back meanwhile.
        self._epoch_ns = time.time_ns() - round(clock() * 1e9)
        self._stage: tuple[Stage, float] | None = None
        self._is_over = False
        self._lock = threading.Lock()
        self._entries: list[TableRead | str] = []
        self._log: list[str] = []
        self._steps: dict[str, float] = {}
        self._rules: dict[str, int] = {}
        self._tasks = TaskCounts()
        self._part: Profile | None = None
        # The number of statements of a script that started.
        self.parts = 0
        self.hides_metrics = self.hides_texts = False
        self.is_from_cache = False
        # How the log answered the statement, without a query.
        self.log_answer: LogAnswer | None = None
        # Of a result from the cache: reads the plans of the statement that computed it.
        self._first_plans: Callable[[], tuple[ExecutedPlan, ...]] | None = None
        self._is_part = False
        self._read_plans: PlanReader | None = None
        self._labels: dict[str, str] = {}

    def enter(self, stage: Stage | None) -> None:
        """Enters `stage`, and leaves the current one; None: the statement has ended, and remaining work is in no
        stage.
        """
        with self._lock:
            if self._is_over:
                return
            now, self._is_over = self._clock(), stage is None
            if self._stage is not None:
                left, since = self._stage
                self._spent[left] = self._spent.get(left, 0.0) + now - since
                if len(self._spans) < SPANS_MAX:
                    self._spans.append((left, since, now))
            self._stage = None if stage is None else (stage, now)

    @property
    def stage(self) -> Stage | None:
        """Returns the current stage; None before the first and after the last."""
        stage = self._stage
        return stage[0] if stage else None

    @property
    def stages(self) -> tuple[StageTime, ...]:
        """Returns the time per stage up to now, in the order in which the stages were first entered."""
        with self._lock:
            spent = dict(self._spent)
            if self._stage is not None:
                stage, since = self._stage
                spent[stage] = spent.get(stage, 0.0) + self._clock() - since
        return tuple(StageTime(stage, seconds * 1000) for stage, seconds in spent.items())

    @property
    def spans(self) -> tuple[StageSpan, ...]:
        """Returns the intervals of finished stages; at most :data:`SPANS_MAX`."""
        with self._lock:
            spans = tuple(self._spans)
        return tuple(StageSpan(stage, self._time_ns(since), self._time_ns(end)) for stage, since, end in spans)

    @property
    def part_spans(self) -> tuple[StageSpan, ...]:
        """Returns the intervals of the statements of a script, in order; at most :data:`SPANS_MAX`."""
        with self._lock:
            return tuple(self._part_spans)

    def begin_part(self) -> Profile:
        """Returns the profile of the script's next statement; its lines are in both logs."""
        part = Profile(self._clock)
        part._is_part = True
        with self._lock:
            self.parts += 1
            if len(self._log) < PART_LINES_MAX:
                self._log.append(f"statement {self.parts}")
                part._log = self._log
            self._part = part
        return part

    @property
    def now(self) -> Profile:
        """Returns the profile of the running statement of a script; without a script, or between two statements, this
        profile.
        """
        return self._part or self

    def end_part(self, part: Profile) -> None:
        """Ends the profile of a statement of the script."""
        part.enter(None)
        spans, reads = part.spans, part.reads
        with self._lock:
            self._part = None
            self._part_spans += spans[: max(0, SPANS_MAX - len(self._part_spans))]
            self._entries += reads[: max(0, PART_READS_MAX - len(self._entries))]

    def _time_ns(self, clock_s: float) -> int:
        return self._epoch_ns + round(clock_s * 1e9)

    def add_steps(self, steps: Mapping[str, float]) -> None:
        """Adds the milliseconds that Spark spent in each step of a query."""
        with self._lock:
            for step, duration_ms in steps.items():
                self._steps[step] = self._steps.get(step, 0.0) + duration_ms

    @property
    def steps(self) -> Mapping[str, float]:
        """Returns the milliseconds that Spark spent in each step, over all queries of the statement."""
        with self._lock:
            return dict(self._steps)

    def add_rules(self, counts: Mapping[str, int]) -> None:
        """Adds how often each of the gateway's rules changed the plan of a query."""
        with self._lock:
            for rule, count in counts.items():
                if not self.hides_metrics:
                    self._rules[rule] = self._rules.get(rule, 0) + count

    @property
    def rules(self) -> Mapping[str, int]:
        """Returns how often each rule changed a plan, over all queries of the statement; none if metrics are hidden."""
        with self._lock:
            return dict(self._rules)

    def add_work(self, steps: Mapping[str, float], rules: Mapping[str, int]) -> None:
        """Adds the steps and rules of a query; see :meth:`add_steps` and :meth:`add_rules`."""
        self.add_steps(steps)
        self.add_rules(rules)

    def hide_metrics(self, *, texts: bool = False) -> None:
        """Hides reads, notes and tasks from now on. `texts`: errors do not show the running text either."""
        self.hides_metrics, self.hides_texts = True, texts

    def add_read(self, read: TableRead) -> None:
        """Adds a read; a repeated request for the same files is not another read."""
        with self._lock:
            if read not in self._entries and not self.hides_metrics:
                self._entries.append(read)
                self._log.append(str(read))

    def add_note(self, text: str) -> None:
        """Adds a sentence on how the statement was answered."""
        with self._lock:
            if not self.hides_metrics:
                self._entries.append(text)
                self._log.append(text)

    def note_cached(self, first_plans: Callable[[], tuple[ExecutedPlan, ...]] | None = None) -> None:
        """Notes that the result came from the result cache. `first_plans` reads the plans of the statement that
        computed it.
        """
        self.add_note(_FROM_CACHE)
        self.is_from_cache = not self.hides_metrics
        self._first_plans = first_plans

    def note_log_answer(self, answer: LogAnswer) -> None:
        """Notes that the log answered the statement."""
        self.add_note(str(answer))
        if not self.hides_metrics:
            self.log_answer = answer

    def forget_cached(self) -> None:
        """Forgets a cache hit, because another statement starts: the cached result only became a part of its text."""
        with self._lock:
            self.is_from_cache, self._first_plans, self.log_answer = False, None, None
            self._entries = [entry for entry in self._entries if entry != _FROM_CACHE]

    def add_plans(self, read_plans: PlanReader, labels: Mapping[str, str]) -> None:
        """Sets how the executed plans of all queries are read, and adds the tables' names by the ones in this query's
        plan. A name that stands for several tables is left as it is; a label such as `the table` stands for none.
        """
        with self._lock:
            self._read_plans = read_plans
            for name, label in labels.items():
                known = self._labels.get(name, "")
                if known == name:
                    continue
                if not known.startswith("`"):
                    self._labels[name] = label
                elif label.startswith("`") and label != known:
                    self._labels[name] = name

    @property
    def plans(self) -> tuple[ExecutedPlan, ...]:
        """Returns the executed plans; none if metrics are hidden, for a script, and if Spark no longer has them. For a
        result from the cache, the plans of the statement that computed it.

        Plans of a script are left out, since each of its statements has its own restrictions.
        """
        if self.hides_metrics or self.hides_texts or self.parts or self._is_part:
            return ()
        if self.is_from_cache:
            return () if self._first_plans is None else self._first_plans()
        with self._lock:
            read_plans, labels = self._read_plans, dict(self._labels)
        return () if read_plans is None else read_plans(labels, self.reads)

    def log(self, text: str) -> None:
        """Adds a line to the log alone."""
        with self._lock:
            self._log.append(text)

    def count_tasks(self, tasks: TaskCounts) -> None:
        """Sets the task counts of the running query."""
        if self.hides_metrics:
            return
        with self._lock:
            if tasks != self._tasks:
                failed = f", {tasks.failed} failed" if tasks.failed else ""
                self._log.append(f"Spark: {tasks.done} of {tasks.total} tasks done, {tasks.running} running{failed}")
            self._tasks = tasks

    @property
    def tasks(self) -> TaskCounts:
        """Returns the task counts of the running query, or of the last one."""
        return self._tasks

    @property
    def reads(self) -> tuple[TableRead, ...]:
        """Returns the reads, including those of the running statement of a script."""
        with self._lock:
            own, part = tuple(entry for entry in self._entries if isinstance(entry, TableRead)), self._part
        return own if part is None else (*own, *part.reads)

    @property
    def lines(self) -> tuple[str, ...]:
        """Returns the reads and notes as text lines, in chronological order."""
        with self._lock:
            return tuple(map(str, self._entries))

    @property
    def log_lines(self) -> tuple[str, ...]:
        """Returns the log, which is append-only."""
        with self._lock:
            return tuple(self._log)
