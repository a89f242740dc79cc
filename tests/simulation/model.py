"""The model: an object store, and the statements of gateways as the requests that they send one after the other.

`tests/stores/test_requests.py` counts the same requests. A commit is a conditional put, which succeeds for
one writer of each version; a loser lists and reads the winning commits, and puts the next version
(`engine/concurrency/retry.py`). Writers of one gateway on one table wait for each other. A change of the catalog is a
put of the object, then a conditional put of the generation; a loser lists, and reads the generation and the objects
that changed. The store answers after a random time, and limits the requests per second of each prefix, as S3 documents
it; a request beyond the limit is sent again after a pause.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import StrEnum

from catalog.catalog import _BACKOFF_S, CHANGE_ATTEMPTS_MAX
from engine.concurrency.retry import _PATIENT_REBASES, RetryPolicy
from tests.simulation.events import Clock, Lock, Process

_POLICY = RetryPolicy()
# Requests of a statement that no other one disturbs; `tests/stores/test_requests.py` counts them.
INSERT_REQUESTS, CREATE_VIEW_REQUESTS = 6, 5
# In place of a table: the locks of a gateway's changes of the catalog.
CATALOG = -1


class Kind(StrEnum):
    """The requests that count toward one limit."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """S3's limits for a prefix, and the times of its answers: log-normal, in seconds."""

    reads_per_s: float = 5500.0
    writes_per_s: float = 3500.0
    median_s: float = 0.02
    sigma: float = 0.5
    retry_s: float = 0.05


@dataclass
class Store:
    """The store; `sent` counts requests, `refused` requests beyond a limit."""

    clock: Clock
    options: StoreOptions
    random: random.Random
    sent: int = 0
    refused: int = 0
    _tokens: dict[tuple[str, Kind], tuple[float, float]] = field(default_factory=dict)

    def request(self, prefix: str, kind: Kind) -> Generator[float, None, float]:
        """Yields until the moment at which the store carries out the request; returns the seconds of its answer."""
        attempt = 0
        while True:
            self.sent += 1
            half_s = self._duration_s() / 2
            yield half_s
            if self._admits(prefix, kind):
                return half_s
            self.refused += 1
            attempt += 1
            yield half_s + self.random.uniform(0, self.options.retry_s * min(2**attempt, 64))

    def read_many(self, prefix: str, count: int) -> Generator[float, None, None]:
        """Reads files at the same time: the slowest request counts."""
        if count:
            duration_s = max(self._duration_s() for _ in range(count))
            self.sent += count
            for _ in range(count):
                self._admits(prefix, Kind.READ)
            yield duration_s

    def _duration_s(self) -> float:
        return self.random.lognormvariate(math.log(self.options.median_s), self.options.sigma)

    def _admits(self, prefix: str, kind: Kind) -> bool:
        limit = self.options.reads_per_s if kind is Kind.READ else self.options.writes_per_s
        tokens, at_s = self._tokens.get((prefix, kind), (limit, self.clock.now_s))
        tokens = min(limit, tokens + (self.clock.now_s - at_s) * limit)
        is_admitted = tokens >= 1
        self._tokens[prefix, kind] = (tokens - is_admitted, self.clock.now_s)
        return is_admitted


@dataclass
class Outcome:
    """The outcomes of a run's statements."""

    durations_s: list[float] = field(default_factory=list)
    attempts: int = 0
    failed: int = 0


@dataclass
class Lake:
    """The versions in the store, and the newest one that each gateway has seen."""

    clock: Clock
    store: Store
    outcome: Outcome = field(default_factory=Outcome)
    versions: Counter[int] = field(default_factory=Counter)
    seen: dict[tuple[int, int], int] = field(default_factory=dict)
    locks: dict[tuple[int, int], Lock] = field(default_factory=dict)
    generation: int = 0
    generations: Counter[int] = field(default_factory=Counter)

    def read(self, prefix: str) -> Generator[float, None, None]:
        yield (yield from self.store.request(prefix, Kind.READ))

    def write(self, prefix: str) -> Generator[float, None, None]:
        yield (yield from self.store.request(prefix, Kind.WRITE))

    def insert(self, gateway: int, table: int) -> Process:
        """INSERT of a row: two listings, a check and a commit, then another check and a checksum in the background."""
        begun_s = self.clock.now_s
        log = f"table {table}"
        yield from self.read(log)
        expected = self.versions[table]
        yield from self.store.read_many(log, expected - self.seen.get((gateway, table), expected))
        yield from self.read("generations")
        lock = self.locks.setdefault((gateway, table), Lock())
        yield lock
        try:
            expected = max(expected, self.seen.get((gateway, table), 0))  # commits of this gateway meanwhile
            yield from self.read(log)
            yield from self._commit(gateway, table, expected)
        finally:
            self.clock.release(lock)
        self.outcome.durations_s.append(self.clock.now_s - begun_s)
        yield from self.read(log)
        yield from self.write(log)

    def _commit(self, gateway: int, table: int, expected: int) -> Generator[float, None, None]:
        log, lost = f"table {table}", 0
        while True:
            self.outcome.attempts += 1
            answer_s = yield from self.store.request(log, Kind.WRITE)
            has_won = self.versions[table] == expected
            self.versions[table] += has_won
            yield answer_s
            if has_won:
                self.seen[gateway, table] = expected + 1
                return
            answer_s = yield from self.store.request(log, Kind.READ)  # lists the winning commits
            winners, expected = self.versions[table] - expected, self.versions[table]
            yield answer_s
            yield from self.store.read_many(log, winners)
            lost += 1
            if lost >= _PATIENT_REBASES:
                longest_s = min(_POLICY.rebase_pause_max_s, _POLICY.pause_min_s * 2.0 ** (lost - _PATIENT_REBASES))
                yield self.store.random.uniform(0, longest_s)

    def change_catalog(self, gateway: int) -> Process:
        """CREATE VIEW: a listing, two of the lake, the object and the generation. A gateway makes one at a time."""
        begun_s = self.clock.now_s
        yield from self.read("generations")
        self.generations[gateway] = self.generation
        yield from self.read("lake")
        yield from self.read("lake")
        lock = self.locks.setdefault((gateway, CATALOG), Lock())
        yield lock
        for attempt in range(CHANGE_ATTEMPTS_MAX):
            if (yield from self._put_generation(gateway)):
                self.outcome.durations_s.append(self.clock.now_s - begun_s)
                break
            yield self.store.random.uniform(0, _BACKOFF_S * min(attempt + 1, 10))
            yield from self.read("generations")  # lists them
            yield from self.read("generations")  # reads the newest one
            missed, self.generations[gateway] = self.generation - self.generations[gateway], self.generation
            yield from self.store.read_many("objects", missed)
        else:
            self.outcome.failed += 1
        self.clock.release(lock)

    def _put_generation(self, gateway: int) -> Generator[float, None, bool]:
        self.outcome.attempts += 1
        expected = self.generations[gateway]
        yield from self.write("objects")
        answer_s = yield from self.store.request("generations", Kind.WRITE)
        has_won = self.generation == expected
        self.generation += has_won
        yield answer_s
        if has_won:
            self.generations[gateway] = expected + 1
        return has_won


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Statements per second of all gateways together, for `seconds`; each names one of `tables`, drawn evenly."""

    per_s: float
    gateways: int = 100
    tables: int = 10_000
    seconds: float = 10.0
    changes_catalog: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a run. Durations are in milliseconds."""

    ended_per_s: float
    median_ms: float
    p99_ms: float
    requests: float
    attempts: float
    failed: int


def simulate(load: Load, options: StoreOptions = StoreOptions(), seed: int = 1) -> Figures:
    """Runs a load on an empty lake, and returns figures for the statements that ended within its time."""
    clock, numbers = Clock(), random.Random(seed)
    store = Store(clock, options, numbers)
    lake = Lake(clock, store)
    at_s = 0.0
    while (at_s := at_s + numbers.expovariate(load.per_s)) < load.seconds:
        if load.changes_catalog:
            clock.start(lake.change_catalog(numbers.randrange(load.gateways)), at_s)
        else:
            clock.start(lake.insert(numbers.randrange(load.gateways), numbers.randrange(load.tables)), at_s)
    clock.run(load.seconds)
    durations = sorted(lake.outcome.durations_s)
    ended = max(1, len(durations))
    return Figures(
        ended_per_s=len(durations) / load.seconds,
        median_ms=1000 * durations[len(durations) // 2] if durations else math.inf,
        p99_ms=1000 * durations[len(durations) * 99 // 100] if durations else math.inf,
        requests=store.sent / ended,
        attempts=lake.outcome.attempts / ended,
        failed=lake.outcome.failed,
    )
