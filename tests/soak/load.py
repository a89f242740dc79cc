"""Threads that open connections, run random statements and close them again."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.errors import condition_in
from tests.soak.front_ends import FRONT_ENDS, Connection, Login, StatementError

JOIN_S = 400
NUMBERS = 20_000
SETUP = (
    f"CREATE TABLE numbers AS SELECT id, id % 10 AS digit, concat('text ', id) AS text FROM range({NUMBERS})",
    "CREATE TABLE written (id BIGINT, text STRING)",
)
# A text with `{n}` for a random number, its number of rows or its error's condition, and its weight.
STATEMENTS: tuple[tuple[str, int | str, int], ...] = (
    ("SELECT {n}", 1, 30),
    ("SELECT text FROM numbers WHERE id = {n}", 1, 30),
    ("SELECT digit, count(*), {n} FROM numbers GROUP BY digit", 10, 15),
    ("SELECT id, text FROM numbers WHERE id >= {n} ORDER BY id LIMIT 3000", -1, 5),
    ("SELECT count(*) FROM numbers", 1, 10),
    ("SHOW TABLES", -1, 10),
    ("SET spark.sql.shuffle.partitions = 4", -1, 5),
    ("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT {n} AS n", 0, 5),
    ("DESCRIBE numbers", -1, 5),
    ("SELECT nothing FROM numbers", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 4),
    ("SELECT sum(1 / (id - {n})) FROM numbers", "DIVIDE_BY_ZERO", 4),
    ("INSERT OVERWRITE written SELECT id, 'x' FROM range(100)", -1, 1),
)
_WEIGHTS = [weight for _, _, weight in STATEMENTS]


@dataclass
class Load:
    """Workers, and what they count; `violations` are other results than the expected ones."""

    ports: Mapping[str, int]
    logins: Sequence[Callable[[], Login]]
    seed: str
    statements_max: int = 20
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, workers: int, seconds: float, name: str) -> None:
        """Returns when all workers have closed their connections."""
        end = time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._work, args=(random.Random(f"{self.seed} {name} {number}"), end), daemon=True)
            for number in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + JOIN_S)
            if thread.is_alive():
                self.violations.append("a client is stuck")

    def _work(self, chance: random.Random, end: float) -> None:
        while time.monotonic() < end:
            front_end, login = chance.choice(list(FRONT_ENDS)), chance.choice(self.logins)()
            try:
                connection = FRONT_ENDS[front_end](self.ports, login)
            except Exception as error:  # noqa: BLE001 (whatever a driver raises)
                self._note(f"no connection ({front_end}, {login.method}: {error!r:.300})")
                time.sleep(1)
                continue
            with self._lock:
                self.counts.update({"connections": 1, front_end: 1, login.method: 1})
            is_usable, left = True, chance.randrange(1, self.statements_max)
            while is_usable and left and time.monotonic() < end:
                is_usable, left = self._run_one(connection, chance, front_end), left - 1
            try:
                connection.close()
            except Exception as error:  # noqa: BLE001
                if is_usable:
                    self._note(f"close failed ({front_end}: {error!r:.300})")

    def _run_one(self, connection: Connection, chance: random.Random, front_end: str) -> bool:
        """Returns whether the connection is still usable."""
        ((text, expected, _),) = chance.choices(STATEMENTS, _WEIGHTS)
        began, found = time.monotonic(), 0 if isinstance(expected, int) else ""
        try:
            found = connection.run(text.format(n=chance.randrange(NUMBERS)))
        except StatementError as error:
            found = condition_in(str(error))
        except Exception as error:  # noqa: BLE001
            self._note(f"connection failed ({front_end}: {error!r:.300})")
            return False
        with self._lock:
            self.counts["statements"] += 1
            self.latencies.append(time.monotonic() - began)
        if found != expected and (expected != -1 or isinstance(found, str)):
            self._note(f"{found} instead of {expected} ({front_end}: {text})")
        return True

    def _note(self, violation: str) -> None:
        with self._lock:
            self.violations.append(violation)
