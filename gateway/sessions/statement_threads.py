"""The threads that run statements: a number of slots, and a thread for each statement in a slot.

A cancelled or timed-out statement releases its slot immediately, though its thread may continue: Spark's analyzer
cannot be stopped within a rule, nor can a hanging call to a store. Such a thread is abandoned, and counted until it
ends. Beyond `abandoned_max` each further one keeps its slot, so the number of threads never exceeds both limits
together. A statement whose thread has ended counts as well while its tasks in Spark continue. If a user or a group
exceeds its own limit for longer than cancellation takes, its statements are rejected; if all together reach
`abandoned_max`, everybody's are. Then `on_stuck` is called, which frees hanging work in Spark. Threads are daemons:
none delays the process's end.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from catalog.conditions import TooManyAbandoned, TooManyAbandonedOfOwner
from gateway.sessions.admission import Admission
from gateway.sessions.admission_rules import GroupRules
from gateway.sessions.call_context import working_for
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation

logger = logging.getLogger(__name__)

_CANCELLED_MAX = 1000


class StatementThreads:
    """Runs statements. Thread-safe. `statements_running_max` statements have a slot at the same time, further ones wait
    in `Admission`.
    """

    def __init__(
        self, limits: Limits, on_stuck: Callable[[str], None], left_statements: Callable[[], Mapping[str, int]]
    ) -> None:
        """Starts without threads; `left_statements` returns the ended statements whose tasks continue, by id, with
        seconds.
        """
        self._limits = limits
        self._on_stuck = on_stuck
        self._left_statements = left_statements
        # Guards all attributes below.
        self._lock = threading.RLock()
        # Conditions for idle threads, one woken per statement, and for the shutdown.
        self._has_taken, self._has_ended = threading.Condition(self._lock), threading.Condition(self._lock)
        self._admission = Admission(limits.admission)
        # Statements with a slot, but without a thread yet.
        self._taken: deque[Operation] = deque()
        self._running: set[Operation] = set()
        self._abandoned: dict[Operation, float] = {}
        # User and group for recently cancelled statements whose threads have ended.
        self._cancelled: OrderedDict[str, tuple[str, GroupRules]] = OrderedDict()
        self._warned_at = float("-inf")
        self._known = 0
        self._idle = 0
        self._is_closed = False

    @property
    def abandoned_count(self) -> int:
        """Returns the number of ended statements whose threads, or tasks, have not all ended."""
        with self._lock:
            return len(self._abandoned) + len(self._left_statements().keys() - _ids(self._abandoned))

    def submit(self, operation: Operation) -> None:
        """Runs `operation` when there is a slot.

        Raises `TooManyAbandonedOfOwner`, `TooManyAbandoned`, `TooManyQueued`.
        """
        operation.on_staged = lambda: self._leave_slot(operation)
        with self._lock:
            if self._abandoned or self._cancelled:
                self._ensure_few_stuck(*self._owners(operation))
            self._admission.add(operation, time.monotonic())
            self._give_places()
        # After `submit`, and outside of the lock: an operation that has ended meanwhile
        # calls back at once, on this thread.
        operation.on_end(lambda: self._release(operation))

    def watch(self) -> None:
        """Checks for hanging threads, and for statements that have waited too long; called periodically."""
        with self._lock:
            stuck = self._count_stuck().total()
            now = time.monotonic()
            is_due = now - self._warned_at > self._pause_s()
            if is_due:
                self._warned_at = now
            changed, self._known = stuck != self._known, stuck
            expired = list(self._admission.expired_statements(now))
        for operation, error in expired:
            # Outside the lock: refusing runs the statement's callbacks, `_release` among
            # them.
            operation.refuse(error)
        if changed:
            logger.warning("statements that were ended and run on: %d", stuck)
        if is_due:
            logger.error("%d statements that were ended do not end", stuck)
            self._on_stuck(f"{stuck} statements in it that were ended do not end")

    def running_by_group(self) -> dict[str, int]:
        """Returns the number of running statements of each configured group."""
        with self._lock:
            return self._admission.running_by_group()

    def count_elsewhere(self, counts: Sequence[Mapping[str, int]]) -> None:
        """Sets the numbers of running statements at other gateways, by group, and starts what they leave room for."""
        with self._lock:
            self._admission.count_elsewhere(counts)
            self._give_places()

    def close(self, grace_s: float) -> bool:
        """Starts nothing more, and waits for the threads; returns True if all ended in time."""
        end = time.monotonic() + grace_s
        with self._lock:
            self._is_closed = True
            self._admission.clear()
            self._has_taken.notify_all()
            self._has_ended.wait_for(lambda: not self._running and not self._abandoned, max(0, end - time.monotonic()))
            return not self._running and not self._abandoned

    def _give_places(self) -> None:
        while (operation := self._admission.take(self._places())) is not None:
            self._running.add(operation)
            self._taken.append(operation)
            # An idle thread takes it; a new one is only needed if all idle threads have
            # been promised to earlier statements.
            if self._idle >= len(self._taken):
                self._has_taken.notify()
            else:
                threading.Thread(target=self._work, name="statement", daemon=True).start()

    def _places(self) -> int:
        num_replaceable = max(0, len(self._abandoned) - self._limits.abandoned_max)
        return self._limits.statements_running_max - self._admission.running - num_replaceable

    def _count_stuck(self) -> Counter[tuple[str, GroupRules]]:
        """Returns the number of statements, by user and group, that were abandoned for longer than cancellation
        takes.
        """
        grace_s = self._limits.abandoned_grace_s
        since = time.monotonic() - grace_s
        stuck = Counter(self._owners(operation) for operation, began in self._abandoned.items() if began < since)
        # A statement counts once, whether its thread, its Spark tasks or both go on.
        left = {id for id, seconds in self._left_statements().items() if seconds > grace_s} - _ids(self._abandoned)
        stuck.update(self._cancelled[id] for id in left & self._cancelled.keys())
        return stuck

    def _owners(self, operation: Operation) -> tuple[str, GroupRules]:
        identity = operation.identity
        return identity.principal, self._limits.admission.group_of(identity, operation.kind)

    def _ensure_few_stuck(self, user: str, group: GroupRules) -> None:
        stuck = self._count_stuck()
        of_user = _count(stuck, user=user)
        user_max = self._limits.abandoned_per_user_max
        if user_max and of_user >= user_max:
            raise TooManyAbandonedOfOwner(user, of_user)
        of_group = _count(stuck, group=group)
        if group.abandoned_max and of_group >= group.abandoned_max:
            raise TooManyAbandonedOfOwner(f"the group {group.name}", of_group)
        if stuck.total() >= self._limits.abandoned_max:
            raise TooManyAbandoned(stuck.total())

    def _pause_s(self) -> float:
        """Returns the seconds between two calls to `on_stuck`, infinite while there is no reason for one."""
        limits, stuck = self._limits, self._count_stuck()
        if stuck.total() >= limits.abandoned_max:
            return limits.abandoned_warning_interval_s
        for user, group in stuck:
            user_is_full = 0 < limits.abandoned_per_user_max <= _count(stuck, user=user)
            if user_is_full or 0 < group.abandoned_max <= _count(stuck, group=group):
                return limits.abandoned_own_warning_interval_s
        return math.inf

    def _work(self) -> None:
        while (operation := self._next()) is not None:
            try:
                with working_for(operation.call):
                    operation.run()
            except Exception:
                logger.exception("statement %s ended by an error of ours", operation.id)
            finally:
                self._end(operation)

    def _next(self) -> Operation | None:
        """Returns the next statement; None if there are enough threads without this one."""
        with self._lock:
            if not self._taken and self._idle >= self._limits.statements_running_max:
                return None
            self._idle += 1
            try:
                self._has_taken.wait_for(lambda: self._taken or self._is_closed)
            finally:
                self._idle -= 1
            return self._taken.popleft() if self._taken else None

    def _end(self, operation: Operation) -> None:
        with self._lock:
            since = self._abandoned.pop(operation, None)
            # Its tasks in Spark may outlive the thread; the owner is needed to count them
            # against the right limit.
            if operation.cancel_token.reason is not None:
                self._cancelled[operation.id.hex] = self._owners(operation)
                if len(self._cancelled) > _CANCELLED_MAX:
                    self._cancelled.popitem(last=False)
            self._running.discard(operation)
            self._admission.remove(operation)
            self._give_places()
            self._has_ended.notify_all()
        if since is not None:
            with working_for(operation.call):
                logger.info("statement %s ended, %.1f s after it was given up", operation.id, time.monotonic() - since)

    def _leave_slot(self, operation: Operation) -> None:
        """Releases the slot of a statement that waits, on its thread, for the end of its transaction block."""
        with self._lock:
            if operation in self._running:
                self._running.discard(operation)
                self._admission.remove(operation)
                self._give_places()

    def _release(self, operation: Operation) -> None:
        """Releases a slot: the operation ended for its client; its thread may still work."""
        with self._lock:
            if operation not in self._running:
                self._admission.remove(operation)
            # Its own thread is about to return and calls `_end`; a statement without a
            # thread yet is dropped when a thread takes it. Neither is abandoned.
            if operation not in self._running or operation.is_on_this_thread or operation in self._taken:
                return
            self._running.discard(operation)
            self._admission.remove(operation)
            self._abandoned[operation] = time.monotonic()
            self._give_places()


def _ids(operations: Iterable[Operation]) -> set[str]:
    return {operation.id.hex for operation in operations}


def _count(stuck: Counter[tuple[str, GroupRules]], *, user: str | None = None, group: GroupRules | None = None) -> int:
    """Returns the number of statements for the user, or for the group."""
    return sum(count for owner, count in stuck.items() if user == owner[0] or group == owner[1])
