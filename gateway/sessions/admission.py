"""Admission control: selects the next waiting statement, by groups, and within a group by users in turn.

The group with the fewest running statements relative to its weight is first; in it the user not chosen for longest;
that user's oldest statement. A statement that would exceed its group's or user's limit waits without blocking others.
Metadata commands never wait: they have separate slots.

Not thread-safe: `StatementThreads` calls it under its lock. All operations take time in the number of waiting groups
and users, not statements.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from catalog.conditions import QueuedTooLong, TooManyQueued
from catalog.errors import SqlError
from engine.runtime.statement import StatementClass
from gateway.sessions.admission_rules import METADATA_GROUP, AdmissionRules, GroupRules
from gateway.sessions.operation import Operation

_RETRY_S_MAX = 60


@dataclass(slots=True)
class _Group:
    rules: GroupRules
    # By user, in the order of turns: statements, oldest first, and the start of their wait.
    waiting: OrderedDict[str, OrderedDict[Operation, float]] = field(default_factory=OrderedDict)
    queued: int = 0
    # By user.
    running: Counter[str] = field(default_factory=Counter)
    # At other gateways, and the number of these.
    running_elsewhere: int = 0
    others: int = 0

    @property
    def running_max(self) -> int:
        """Returns how many may run here: what others leave, and at least an equal share."""
        running_max = self.rules.running_max
        return max(running_max - self.running_elsewhere, running_max // (1 + self.others), 1)

    @property
    def load(self) -> float:
        return self.running.total() / self.rules.weight

    def next_user(self) -> str | None:
        """Returns the user whose turn it is; None if no user's statement may run now."""
        if not self.waiting or self.running.total() >= self.running_max:
            return None
        most = self.rules.running_per_user_max
        # `waiting` is in the order of turns: a user that has started a statement goes to
        # its end.
        return next((user for user in self.waiting if not most or self.running[user] < most), None)

    def retry_after_s(self) -> int:
        """Returns an estimate: one second per statement."""
        return min(_RETRY_S_MAX, 1 + self.queued // max(1, self.running.total()))


class Admission:
    """Waiting statements, and the number of running ones by group and user."""

    def __init__(self, rules: AdmissionRules) -> None:
        self._rules = rules
        self._groups = {group.name: _Group(group) for group in (*rules.groups, rules.default)}
        # One user's catalog browser must not take all slots for metadata commands.
        shared = rules.metadata_running_max // 2 if rules.default.running_per_user_max else 0
        commands = GroupRules(
            name=METADATA_GROUP,
            running_max=rules.metadata_running_max,
            running_per_user_max=shared,
            queued_max=rules.default.queued_max,
        )
        self._metadata = _Group(commands)
        self._group_of: dict[Operation, _Group] = {}

    @property
    def running(self) -> int:
        """Returns the number of statements in shared slots: all but the metadata commands."""
        return sum(group.running.total() for group in self._groups.values())

    def running_by_group(self) -> dict[str, int]:
        """Returns the number of running statements of each configured group."""
        return {rules.name: self._groups[rules.name].running.total() for rules in self._rules.groups}

    def count_elsewhere(self, counts: Sequence[Mapping[str, int]]) -> None:
        """Sets the numbers of running statements at other gateways, by group. The default group is the part of a server
        that its groups do not use, and so has no limit over several.
        """
        for rules in self._rules.groups:
            group = self._groups[rules.name]
            group.running_elsewhere = sum(count.get(rules.name, 0) for count in counts)
            group.others = len(counts)

    def add(self, operation: Operation, now: float) -> None:
        """Enqueues a statement. Raises `TooManyQueued`."""
        group = self._find(operation)
        user = operation.identity.principal
        own_max = group.rules.queued_per_user_max
        own = len(group.waiting.get(user, ()))
        if own >= own_max or group.queued >= group.rules.queued_max:
            count, whose = (own_max, user) if own >= own_max else (group.rules.queued_max, f"group {group.rules.name}")
            raise TooManyQueued(whose, count, group.retry_after_s())
        group.waiting.setdefault(user, OrderedDict())[operation] = now
        group.queued += 1
        self._group_of[operation] = group

    def take(self, places: int) -> Operation | None:
        """Returns the next statement to run, and counts it as running; None if there is none. `places` are free for all
        but metadata commands.
        """
        # Metadata commands are short, and BI tools open with dozens: behind a queue of
        # queries they would look like a hanging server.
        if (user := self._metadata.next_user()) is not None:
            return self._start(self._metadata, user)
        if places <= 0:
            return None
        ready = [(group, user) for group in self._groups.values() if (user := group.next_user()) is not None]
        if not ready:
            return None
        # Weighted fair queueing by the number of running statements; among equal groups the
        # longest wait decides.
        return self._start(*min(ready, key=lambda each: (each[0].load, _oldest(*each))))

    def remove(self, operation: Operation) -> None:
        """Removes a statement that no longer waits, or has released its slot."""
        group = self._group_of.pop(operation, None)
        if group is None:
            return
        user = operation.identity.principal
        if operation in group.waiting.get(user, ()):
            _take_out(group, user, operation)
        else:
            group.running[user] -= 1
            if not group.running[user]:
                del group.running[user]

    def clear(self) -> None:
        """Discards all waiting statements."""
        for group in (*self._groups.values(), self._metadata):
            group.waiting.clear()
            group.queued = 0

    def expired_statements(self, now: float) -> Iterator[tuple[Operation, SqlError]]:
        """Yields statements that have waited too long, with the error that ends them."""
        for group in self._groups.values():
            limit = group.rules.queue_timeout_s
            for operations in group.waiting.values() if limit else ():
                for operation, since in operations.items():
                    # The oldest comes first within a user, so that the rest of the queue is
                    # younger still.
                    if now - since < limit:
                        break
                    yield operation, QueuedTooLong(group.rules.name, limit, group.retry_after_s())

    def _find(self, operation: Operation) -> _Group:
        if operation.kind is StatementClass.METADATA:
            return self._metadata
        rules = self._rules.group_of(operation.identity, operation.kind)
        # The text may turn out to be of another kind, and then belong to another group: the
        # strictest limit holds until it is parsed.
        if not operation.is_kind_known:
            operation.scan_bytes_max = self._rules.lowest_scan_bytes_max(operation.identity)
        else:
            operation.scan_bytes_max = rules.scan_bytes_max
        operation.pool = rules.name if self._rules.groups else None
        return self._groups[rules.name]

    def _start(self, group: _Group, user: str) -> Operation:
        operation = next(iter(group.waiting[user]))
        _take_out(group, user, operation)
        if user in group.waiting:
            group.waiting.move_to_end(user)
        group.running[user] += 1
        return operation


def _take_out(group: _Group, user: str, operation: Operation) -> None:
    del group.waiting[user][operation]
    group.queued -= 1
    if not group.waiting[user]:
        del group.waiting[user]


def _oldest(group: _Group, user: str) -> float:
    return next(iter(group.waiting[user].values()))
