"""The faults, each in the environment that it needs. A fault is over when its function returns."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.chaos.dbt_runs import DBT, kill_under_dbt
from tests.chaos.rig import READY_S, Rig, kill
from tests.gateway.http.conftest import eventually
from tests.paths import MAY_MOUNT, ROOT

CLOCK_FILE, SLOW_DISK_FILE = "clock", "slow"
COMPILER = shutil.which("cc")
# A checkout of another release, with its environment in `.venv`.
OTHER_RELEASE = os.environ.get("GATEWAY_OTHER_RELEASE", "")
# Faults that may be repeated more often than a gateway's parent permits crashes.
KILLS = ("kill-gateway", "kill-java", "pair-kill")
_BALLAST_BYTES = 1 << 20


class Environment(Enum):
    """The processes and folders that a fault needs; consecutive points with the same one share them."""

    PLAIN = "plain"
    SMALL_DISK = "small disk"
    PRELOADED = "preloaded"
    PAIR = "pair"


@dataclass(frozen=True)
class Fault:
    """Returns the violations that it saw itself, such as an exit code."""

    environment: Environment
    inject: Callable[[Rig, random.Random], list[str]]


def kill_gateway(rig: Rig, chance: random.Random) -> list[str]:
    rig.kill(chance.choice(rig.gateways), chance)
    return []


def kill_java(rig: Rig, chance: random.Random) -> list[str]:
    gateway = chance.choice(rig.gateways)
    if not eventually(lambda: bool(gateway.process.jvms()), READY_S):
        return ["no Java"]
    killed = gateway.process.jvms()
    for jvm in killed:
        kill(jvm)
    # The server is ready until it notices.
    return [] if eventually(lambda: not {*killed} & {*gateway.process.jvms()}, READY_S) else ["Java's end not noticed"]


def stop_gateway(rig: Rig, chance: random.Random) -> list[str]:
    with stopped(chance.choice(rig.gateways).process.server_pid):
        time.sleep(chance.uniform(2, 12))
    return []


def stop_java(rig: Rig, chance: random.Random) -> list[str]:
    gateway = chance.choice(rig.gateways)
    with stopped(gateway.process.jvms()[0]):
        time.sleep(chance.uniform(2, 12))
    return []


def drain(rig: Rig, chance: random.Random) -> list[str]:
    """Restarts the gateways one after the other, as a rolling restart does."""
    codes = [rig.restart(gateway) for gateway in rig.gateways]
    return [f"exit code {code}" for code in codes if code]


def change_release(rig: Rig, chance: random.Random) -> list[str]:
    """Restarts the gateways one after the other, each with the other release: forward, and the next time back."""
    codes = []
    for gateway in rig.gateways:
        gateway.release = Path(OTHER_RELEASE) if gateway.release == ROOT else ROOT
        codes.append(rig.restart(gateway))
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 5))  # both releases serve the clients
    return [f"exit code {code}" for code in codes if code]


def cut(rig: Rig, chance: random.Random) -> list[str]:
    for _ in range(chance.randrange(1, 5)):
        for proxy in rig.proxies:
            proxy.cut()
        time.sleep(chance.random())
    return []


def cut_by_age(rig: Rig, chance: random.Random) -> list[str]:
    """Cuts each connection after some seconds, as load balancers do after a minute."""
    for proxy in rig.proxies:
        proxy.cut_after_s = chance.uniform(0.3, 2)
        proxy.cut()
    time.sleep(chance.uniform(4, 8))
    for proxy in rig.proxies:
        proxy.cut_after_s = None
    return []


def half_open(rig: Rig, chance: random.Random) -> list[str]:
    for proxy in rig.proxies:
        proxy.silence()
    time.sleep(chance.uniform(1, 4))
    return []


def pause(rig: Rig, chance: random.Random) -> list[str]:
    for proxy in rig.proxies:
        proxy.pause()
    time.sleep(chance.uniform(2, 15))
    for proxy in rig.proxies:
        proxy.resume()
    return []


def fill_disk(rig: Rig, chance: random.Random) -> list[str]:
    ballast = rig.folder / "ballast"
    end = time.monotonic() + chance.uniform(3, 8)
    with ballast.open("wb", buffering=0) as file:
        while time.monotonic() < end:
            try:
                file.write(bytes(_BALLAST_BYTES))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                time.sleep(0.05)  # what is freed meanwhile is filled again
    ballast.unlink()
    return []


def slow_disk(rig: Rig, chance: random.Random) -> list[str]:
    switch = rig.folder / SLOW_DISK_FILE
    switch.touch()
    time.sleep(chance.uniform(5, 15))
    switch.unlink()
    return []


def jump_clock(rig: Rig, chance: random.Random) -> list[str]:
    seconds = chance.choice([-86_400, -3_600, -30, 30, 900, 7_200, 86_400])
    (rig.folder / CLOCK_FILE).write_text(f"{seconds:+d}\n")
    time.sleep(chance.uniform(2, 6))
    if chance.random() < 0.5:
        (rig.folder / CLOCK_FILE).write_text("+0\n")
        time.sleep(2)
    return []


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def available_faults() -> dict[str, Fault]:
    """Returns the faults that this machine permits, by name."""
    plain, pair = Environment.PLAIN, Environment.PAIR
    found = {
        "kill-gateway": Fault(plain, kill_gateway),
        "kill-java": Fault(plain, kill_java),
        "stop-gateway": Fault(plain, stop_gateway),
        "stop-java": Fault(plain, stop_java),
        "drain": Fault(plain, drain),
        "cut": Fault(plain, cut),
        "cut-by-age": Fault(plain, cut_by_age),
        "half-open": Fault(plain, half_open),
        "pause": Fault(plain, pause),
        "pair-kill": Fault(pair, kill_gateway),
        "pair-stop": Fault(pair, stop_gateway),
        "pair-drain": Fault(pair, drain),
    }
    if MAY_MOUNT:
        found["full-disk"] = Fault(Environment.SMALL_DISK, fill_disk)
    if COMPILER:
        found["clock"] = Fault(Environment.PRELOADED, jump_clock)
        found["slow-disk"] = Fault(Environment.PRELOADED, slow_disk)
    if OTHER_RELEASE:
        found["pair-release"] = Fault(pair, change_release)
    if DBT.exists():
        found["dbt"] = Fault(plain, kill_under_dbt)
    return found


def settings_of(environment: Environment, folder: Path) -> dict[str, str]:
    """Returns environment variables for the gateways."""
    match environment:
        case Environment.PRELOADED:
            library, source = folder / "preloaded.so", Path(__file__).with_name("preloaded.c")
            subprocess.run([COMPILER or "cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
            return {
                "LD_PRELOAD": str(library),
                "SLOW_DISK_SWITCH": str(folder / SLOW_DISK_FILE),
                "CLOCK_OFFSET": str(folder / CLOCK_FILE),
            }
        case Environment.PLAIN | Environment.SMALL_DISK | Environment.PAIR:
            return {}
