"""Faults under load, checked by a model: `python -m tests.chaos`.

Run `python -m tests.chaos [--seed TEXT] [--points N] [--minutes M] [--kinds NAME …] [--repeat K] [--expect-recovery]`.
Point n of a seed has always the same faults and the same clients; each is a line in the results file, and a run
continues after the last one of its seed. The clients are in `clients.py`. After each point the tables are read by
deltalake, and compared with the outcomes that the clients saw (`model.py`).

`GATEWAY_OTHER_RELEASE` names a checkout of another release, with its environment in `.venv`, for `pair-release`.

Without a state folder a restart of the gateway ends sessions, statements and results. Such results are counted by name;
`--expect-recovery` makes them violations, and lets two gateways serve each client in turn.
"""

from __future__ import annotations

import argparse
import random
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.chaos.clients import CLIENTS, LOST, RECOVER_S, Client
from tests.chaos.faults import KILLS, Environment, Fault, available_faults, settings_of
from tests.chaos.model import Model, log_damage
from tests.chaos.records import Point, append, next_number, summary
from tests.chaos.rig import CRASHES_MAX, Rig, running_statements, small_disk
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT

# The servers' output of rounds with violations or tracebacks.
LOGS = ROOT / ".bench" / "chaos"
RESULTS = ROOT / "tests" / "bench" / "results" / "chaos.txt"
# Consecutive points in one environment.
ROUND = 5
# Longest time under load before a fault, and the time after each client's first step after the last one.
BEFORE_S = 8.0
# The same for a kill that follows another one, and the parts of them that come while the server is still starting or as
# soon as it is ready, before the clients go on.
BEFORE_NEXT_S, STARTING, JUST_READY = 4.0, 0.4, 0.4
# Seconds since each client has gone on, after which the next kill waits for that too: a start takes minutes on a busy
# machine, and no statement would end within `RECOVER_S` otherwise.
QUICK_S = RECOVER_S / 4
# Longest time to a kill of a server that is starting. A statement fails if Java is killed twice while it runs, because
# it may be the cause, so Java is killed again only before any statement can run in it.
STARTING_S = {"kill-gateway": 12.0, "pair-kill": 12.0, "kill-java": 3.0}
SETTLE_S = 3.0
QUIET_S = 120.0
NOT_READY = "not ready"


def main(arguments: Sequence[str] | None = None) -> int:
    faults = available_faults()
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", default="")
    options.add_argument("--points", type=int, default=10_000, help="at most")
    options.add_argument("--minutes", type=float, default=30.0, help="then the fault is the last one")
    options.add_argument("--kinds", nargs="*", choices=faults, help="default: all that this machine permits")
    options.add_argument(
        "--repeat", type=int, default=1, help=f"faults in each point; at most {CRASHES_MAX} unless all are kills"
    )
    options.add_argument("--clients", nargs="*", choices=CLIENTS, default=list(CLIENTS))
    options.add_argument("--results", type=Path, default=RESULTS)
    options.add_argument("--expect-recovery", action="store_true", help="sessions, statements, results outlive kills")
    given = options.parse_args(arguments)
    if given.repeat > CRASHES_MAX and not (given.kinds and set(given.kinds) <= set(KILLS)):
        options.error(f"--repeat has at most {CRASHES_MAX} for faults other than {', '.join(KILLS)}")
    seed, end, bad = given.seed or secrets.token_hex(4), time.monotonic() + 60 * given.minutes, 0
    faults = {name: fault for name, fault in faults.items() if name in (given.kinds or faults)}
    number = first = next_number(given.results, seed)
    print(f"seed {seed}, from point {first}", flush=True)
    while number < first + given.points and time.monotonic() < end:
        last = min((number // ROUND + 1) * ROUND, first + given.points)
        environment = random.Random(f"{seed} round {number // ROUND}").choice([*faults.values()]).environment
        here = {name: fault for name, fault in faults.items() if fault.environment is environment}
        with opened(environment, given.expect_recovery) as rig:
            points = Round(here, seed, given.clients, given.expect_recovery, given.repeat)
            for point in points.points(rig, range(number, last), end):
                append(given.results, point)
                print(point.line, end="", flush=True)
                bad += bool(point.violations)
                number += 1
    print(summary(given.results))
    return 1 if bad else 0


@dataclass
class Round:
    """Consecutive points in one environment, with one model."""

    faults: dict[str, Fault]
    seed: str
    clients: Sequence[str]
    expects_recovery: bool
    repeat: int = 1
    model: Model = field(default_factory=Model)
    has_violations: bool = False
    # When each client has gone on.
    went_on: float = field(default_factory=time.monotonic)

    def points(self, rig: Rig, numbers: Sequence[int], end: float) -> Iterator[Point]:
        """Yields the points until `end`; the last one has the violations of the processes' end as well."""
        for number in numbers:
            point = self._point(rig, number, end)
            self.has_violations |= bool(point.violations)
            is_last = number == numbers[-1] or time.monotonic() > end or NOT_READY in point.violations
            if is_last:  # numbers that are left belong to the next round
                left = rig.close()
                tracebacks = sum(gateway.output.count("Traceback") for gateway in rig.gateways)
                counts = Counter(point.counts) + Counter({"tracebacks": tracebacks})
                point = replace(point, violations=(*point.violations, *left), counts=counts)
                if tracebacks or self.has_violations or left:
                    save_output(rig, f"{self.seed}-{number}")
            yield point
            if is_last:
                return

    def _point(self, rig: Rig, number: int, end: float) -> Point:
        began, chance = time.monotonic(), random.Random(f"{self.seed} {number}")
        kind = chance.choice(list(self.faults))
        # Before there are clients, because a server that ends takes no new statements.
        crashes = 0 if kind in KILLS else self.repeat  # those limit the crashes of a parent themselves
        ended = [rig.restart(gateway) for gateway in rig.gateways if gateway.crashes + crashes > CRASHES_MAX]
        found = [f"exit code {code}" for code in ended if code]
        clients = [
            CLIENTS[name](name, rig.target(place), self.model, random.Random(f"{self.seed} {number} {name}"))
            for place, name in enumerate(self.clients)
        ]
        for client in clients:
            client.start()
        faults, self.went_on = 0, time.monotonic()
        time.sleep(chance.uniform(1, BEFORE_S))
        while not found and not any(client.violations for client in clients):
            faults += 1
            is_last = faults == self.repeat or time.monotonic() > end
            found += self._fault(rig, kind, chance, clients, is_last)
            if is_last:
                break
        if not rig.await_ready():  # a violation ended the point
            found.append(NOT_READY)
        time.sleep(SETTLE_S)
        for client in clients:
            client.stop()
        for client in clients:
            client.join(RECOVER_S)
            client.close()
        found += [] if eventually(lambda: not any(map(running_statements, rig.gateways)), QUIET_S) else ["runs on"]
        counts = Counter[str]()
        for client in clients:
            counts.update(client.counts)
            found += client.violations
        found += [*self.model.settle(rig.lake), *log_damage(rig.lake)]
        if self.expects_recovery:
            found += [f"{name} {counts[name]}" for name in LOST if counts[name]]
        counts["faults"] = faults
        name = f"{kind} with recovery" if self.expects_recovery else kind
        return Point(self.seed, number, name, round(time.monotonic() - began), counts, tuple(found))

    def _fault(self, rig: Rig, kind: str, chance: random.Random, clients: Sequence[Client], is_last: bool) -> list[str]:
        """Injects a fault under load, and waits until each client goes on; returns violations.

        Before another kill it may wait less, so that kills also hit a server that is starting or continues sessions.
        """
        began, phase = time.monotonic(), chance.random()
        if kind not in KILLS or is_last or began - self.went_on > QUICK_S:
            phase = 1.0
        wait_s = 0.0 if is_last else chance.uniform(0, BEFORE_NEXT_S) if kind in KILLS else chance.uniform(1, BEFORE_S)
        found = self.faults[kind].inject(rig, chance)
        if phase < STARTING:
            time.sleep(chance.uniform(0, STARTING_S[kind]))
            print(f"  {kind}: again {time.monotonic() - began:.0f} s later", flush=True)
            return found
        found += [] if rig.await_ready() else [NOT_READY]
        ready_s = time.monotonic() - began
        if phase < STARTING + JUST_READY and kind != "kill-java":
            print(f"  {kind}: ready after {ready_s:.0f} s", flush=True)
            time.sleep(wait_s)
            return found
        steps = [client.steps for client in clients]
        eventually(lambda: all(client.steps > before for client, before in zip(clients, steps, strict=True)), RECOVER_S)
        self.went_on = time.monotonic()
        print(f"  {kind}: ready after {ready_s:.0f} s, each client after {time.monotonic() - began:.0f} s", flush=True)
        time.sleep(wait_s)
        return found + [
            f"no step after the fault ({client.name})"
            for client, before in zip(clients, steps, strict=True)
            if client.steps == before
        ]


def save_output(rig: Rig, name: str) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    for number, gateway in enumerate(rig.gateways):
        (LOGS / f"{name}-gateway{number}.log").write_text(gateway.output)


@contextmanager
def opened(environment: Environment, expects_recovery: bool) -> Iterator[Rig]:
    """Yields the running processes of an environment, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="chaos") as name, ExitStack() as stack:
        folder = Path(name)
        if environment is Environment.SMALL_DISK:
            stack.enter_context(small_disk(folder))
        gateways = 2 if environment is Environment.PAIR else 1
        rig = Rig(folder, gateways, sticks=not expects_recovery, settings=settings_of(environment, folder))
        stack.callback(rig.abandon)
        yield rig


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the processes too
    sys.exit(main())
