"""The cases of `make soak`; each returns its line for the results file and its violations."""

from __future__ import annotations

import json
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.proxy import Proxy
from tests.clients.http_client import API
from tests.gateway.http.conftest import eventually
from tests.soak.front_ends import ANONYMOUS, FRONT_ENDS, Hs2, Login, StatementError
from tests.soak.load import Load
from tests.soak.served import served
from tests.soak.sizes import changes, measured

WORKERS = 8
# The share of a run before the first measurement.
WARM = 0.3
GROUPS, CLIENTS = 10, 500
# Clients that connect at the same time, and the time until all have connected.
CONNECTING, START_S = 100, 600
PAUSE_S, IDLE_S = 120.0, 300.0
_SHORT = "SELECT count(sha2(cast(id + {n} AS string), 256)) FROM range(20000)"
_LONG = "SELECT count(sha2(cast(id + {n} AS string), 256)) FROM range(4000000)"
_WIDE = "SELECT id, repeat(cast(id AS string), 200) AS text FROM range(200000)"
DEVIATION_MAX, TAIL_MAX = 0.05, 3.0


@dataclass(frozen=True)
class Run:
    """The arguments of a case."""

    folder: Path
    seed: str
    minutes: float
    clients: int


@dataclass(frozen=True)
class Outcome:
    """`text` is for the results file."""

    text: str
    violations: tuple[str, ...]


def _counts(load: Load) -> str:
    names = sorted(load.counts.keys() - {"statements", "connections"})
    details = ", ".join(f"{name} {load.counts[name]}" for name in names)
    return f"statements {load.counts['statements']}, connections {load.counts['connections']} ({details})"


def mixed(run: Run) -> Outcome:
    """All front ends and logins; sizes of the processes after the warm-up and at the end, without connections."""
    has_users = run.seed != ANONYMOUS
    with served(run.folder, has_users) as server:
        load = Load(server.ports, server.logins, run.seed)
        load.run(WORKERS, 60 * run.minutes * WARM, "warm-up")
        begin = measured(server.process)
        load.run(WORKERS, 60 * run.minutes * (1 - WARM), "load")
        end = measured(server.process)
    return Outcome(f"{_counts(load)}; {changes(begin, end)}", tuple(load.violations))


def groups(run: Run) -> Outcome:
    """Groups of equal weight that always wait: their shares of the statements, and the short statements' latencies."""
    names = [[f"g{group}u{number}" for number in range(run.clients // GROUPS)] for group in range(GROUPS)]
    entries = [f'{{name = "g{group}", members = {json.dumps(users)}}}' for group, users in enumerate(names)]
    settings = {"GATEWAY_ADMISSION_GROUPS": f"[{', '.join(entries)}]", "GATEWAY_STATEMENTS_RUNNING_MAX": "8"}
    ended: Counter[int] = Counter()
    latencies: list[float] = []
    violations: list[str] = []
    with served(run.folder, False, **settings) as server:
        stop, start, connecting = threading.Event(), threading.Event(), threading.Semaphore(CONNECTING)
        connected: list[str] = []

        def work(group: int, user: str, is_long: bool) -> None:
            try:
                with connecting:
                    connection = Hs2(server.ports, Login(ANONYMOUS, user, "x"))
                connected.append(user)
                start.wait(START_S)
                number = 0
                while not stop.is_set():
                    number, began = number + 1, time.monotonic()
                    connection.run((_LONG if is_long else _SHORT).format(n=hash((user, number)) % 10**9))
                    if not is_long and not stop.is_set():
                        ended[group] += 1
                        latencies.append(time.monotonic() - began)
                connection.close()
            except Exception as error:  # noqa: BLE001 (whatever a driver raises)
                violations.append(f"client failed ({error!r:.200})")

        threads = [
            threading.Thread(target=work, args=(group, user, place == 0), daemon=True)
            for group, users in enumerate(names)
            for place, user in enumerate(users)
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: len(connected) + len(violations) == len(threads), START_S)
        start.set()
        time.sleep(60 * run.minutes)
        stop.set()
        for thread in threads:
            thread.join(600)
    mean = sum(ended.values()) / GROUPS
    deviation = max(abs(ended[group] - mean) for group in range(GROUPS)) / max(mean, 1)
    quantiles = statistics.quantiles(latencies, n=100)
    tail = quantiles[98] / quantiles[49]
    violations += [f"share off by {deviation:.1%}"] if deviation > DEVIATION_MAX else []
    violations += [f"p99 {tail:.1f} times p50"] if tail > TAIL_MAX else []
    text = f"statements {ended.total()}, connections {run.clients}; shares within {deviation:.1%}"
    tails = f"p50 {quantiles[49]:.2f} s, p99 {quantiles[98]:.2f} s ({tail:.1f} times)"
    return Outcome(f"{text}, {tails}", tuple(violations))


def pause(run: Run) -> Outcome:
    """A load balancer that forwards nothing for two minutes, in the middle of the load."""
    with served(run.folder, True) as server:
        proxy = Proxy({name: [port] for name, port in server.ports.items()})
        load = Load(proxy.ports, server.logins, run.seed)
        timers = [
            threading.Timer(30 * run.minutes, proxy.pause),
            threading.Timer(30 * run.minutes + PAUSE_S, proxy.resume),
        ]
        for timer in timers:
            timer.start()
        load.run(WORKERS, 60 * run.minutes + PAUSE_S, "pause")
        proxy.close()
    return Outcome(f"{_counts(load)}; pause of {PAUSE_S:.0f} s, longest {max(load.latencies):.0f} s", _all(load))


def idle(run: Run) -> Outcome:
    """Sessions of each front end that send nothing for five minutes, and are used again."""
    violations = []
    with served(run.folder, True) as server:
        opened = [
            (name, make().method, FRONT_ENDS[name](server.ports, make()))
            for name in FRONT_ENDS
            if name != "mcp"  # which has no sessions
            for make in server.logins
        ]
        for _, _, connection in opened:
            connection.run("CREATE TEMPORARY VIEW mine AS SELECT 42 AS n")
        time.sleep(IDLE_S)
        for name, method, connection in opened:
            try:
                found = connection.run("SELECT n FROM mine")
                violations += [] if found == 1 else [f"{found} rows ({name} {method})"]
                connection.close()
            except Exception as error:  # noqa: BLE001 (whatever a driver raises)
                violations.append(f"{name} {method}: {error!r:.200}")
    text = f"statements {2 * len(opened)}, connections {len(opened)}; idle for {IDLE_S:.0f} s"
    return Outcome(text, tuple(violations))


def unread(run: Run) -> Outcome:
    """Clients that request large results and never read them, under the mixed load."""
    with served(run.folder, False) as server:
        load = Load(server.ports, server.logins, run.seed)
        load.run(WORKERS, 60 * run.minutes * WARM, "before")
        before, load.latencies = load.latencies, []
        begin = measured(server.process)
        silent = [_request_and_never_read(server.ports["http"]) for _ in range(4)]
        over_thrift = Hs2(server.ports, Login(ANONYMOUS, "ann", "x"))
        over_thrift.opened.cursor().execute(_WIDE)
        load.run(WORKERS, 60 * run.minutes * (1 - WARM), "unread")
        end = measured(server.process)
        for connection in silent:
            connection.close()
        over_thrift.close()
    medians = [statistics.median(each) for each in (before, load.latencies)]
    text = f"{_counts(load)}; median {medians[0]:.3f} s before, {medians[1]:.3f} s with clients that never read"
    return Outcome(f"{text}; {changes(begin, end)}", _all(load))


def _request_and_never_read(port: int) -> socket.socket:
    """Returns a connection with a small receive buffer, on which the file of a large result is requested."""
    api = FRONT_ENDS["api"]({"http": port}, Login(ANONYMOUS, "ann", "x"))
    try:
        answer = api.ask("POST", f"{API}/statements", {"statement": _WIDE, "wait_timeout": "50s"})  # type: ignore[attr-defined]
    except StatementError as error:
        raise AssertionError(str(error)) from error
    silent = socket.socket()
    silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    silent.connect(("127.0.0.1", port))
    path = f"{API}/statements/{answer['statement_id']}/result/file?format=csv"
    silent.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return silent


def _all(load: Load) -> tuple[str, ...]:
    return tuple(load.violations)


CASES: Mapping[str, Callable[[Run], Outcome]] = {
    "mixed": mixed,
    "groups": groups,
    "pause": pause,
    "idle": idle,
    "unread": unread,
}
