"""The processes of a run: one or two gateways over one lake behind a load balancer, and what they leave on disk.

A gateway has the same ports over all its starts. Its load balancer connects clients to them while it is not ready too.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.clients import Target
from tests.chaos.model import CREATED
from tests.chaos.proxy import Proxy
from tests.clients.http_client import HttpClient
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT
from tests.server_process import START_S, ServerProcess

# After as many crashes within ten minutes a gateway's parent gives up (`gateway/process/parent.py`).
CRASHES_MAX = 4
# After as many crashes its parent pauses for four seconds and more before it starts the server again.
_QUICK_CRASHES = 2
# Ports of gateways: below those that the kernel gives to outgoing connections, which could have them at a restart.
_PORTS = range(18_000, 32_000)
DISK_BYTES = 192 << 20
# Age at which a starting server removes the files of killed ones, at its minimum.
_AGE_S = 3600
_TEMPORARY = re.compile(r".*(\.tmp|\.lock|\.lck|\.partial|\.writing)")
_GONE_S = 60
# Time between probes of a server that is starting, for whose processor time they compete.
_POLL_S = 0.2
# A start on a busy machine takes minutes, and a probe as long as the server's own time limit for it.
READY_S, _PROBE_S = 2 * START_S, 30


class Gateway:
    """One gateway, which keeps its folder over its starts."""

    def __init__(self, folder: Path, lake: Path, settings: Mapping[str, str]) -> None:
        self.folder, self._lake = folder, lake
        (folder / "local").mkdir(parents=True)
        self._settings = {
            "GATEWAY_SPARK_LOCAL_DIR": str(folder / "local"),
            "GATEWAY_SPARK_SILENT_S": "4",
            "GATEWAY_SPARK_WAIT_S": "120",
            "GATEWAY_SPARK_FAILURES_MAX": "100",
            "GATEWAY_LAKE_LEFTOVERS_AGE_S": str(_AGE_S),
            **settings,
        }
        self.crashes = 0
        # The last one is the current one.
        self._processes: list[ServerProcess] = []
        http, thrift = free_ports(2)
        self.ports = {"http": http, "thrift": thrift}
        # The checkout that is served, with its own environment.
        self.release = ROOT
        self.start()

    def start(self) -> None:
        server = _server_of(self.release)
        self._processes.append(server(self.folder, str(self._lake), *self._port_options(), **self._settings))

    @property
    def process(self) -> ServerProcess:
        return self._processes[-1]

    def _port_options(self) -> list[str]:
        return [word for name, port in self.ports.items() for word in (f"--{name}-port", str(port))]

    def await_start(self) -> None:
        """Waits until a start in an empty folder is complete."""
        self.process.ports()

    @property
    def has_ended(self) -> bool:
        """Returns whether the parent has given up, for example."""
        return self.process.popen.poll() is not None

    @property
    def output(self) -> str:
        return "".join(process.output for process in self._processes)

    @property
    def server_pid(self) -> int | None:
        """Returns the server's process id; None while its parent has none."""
        with suppress(ValueError):
            return self.process.server_pid
        return None

    def kill(self) -> None:
        """Kills the server's process, which its parent starts again."""
        if (server := self.server_pid) is not None:
            self.crashes += 1
            kill(server)

    def kill_parent(self) -> None:
        """Kills the server's parent alone, with which the others have to end, and starts the gateway again."""
        self.process.popen.kill()
        self._start_again()

    def kill_all(self) -> None:
        """Kills the server's process, its parent and Java, and starts the gateway again."""
        server, jvms = self.server_pid, self.process.jvms()
        self.process.popen.kill()
        for pid in (server, *jvms):
            if pid is not None:
                kill(pid)
        self._start_again()

    def _start_again(self) -> None:
        """Starts the gateway once its ports are free; a supervisor would repeat the start until they are."""
        self.process.popen.wait()
        self.crashes = 0
        self.process.port_file.unlink(missing_ok=True)
        if not eventually(lambda: all(map(is_free, self.ports.values())), _GONE_S):
            raise RuntimeError(f"the ports {self.ports} of a killed gateway are in use")
        self.start()

    def drain(self) -> int:
        """Ends the gateway by SIGTERM, and returns its exit code."""
        self.process.popen.send_signal(signal.SIGTERM)
        code = self.process.end()
        self.crashes = 0
        return code

    def is_ready(self) -> bool:
        if self.has_ended:
            return False
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['http']}/readyz", timeout=_PROBE_S) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def close(self) -> None:
        if not self.has_ended:
            self.process.popen.kill()
            self.process.end()


def _server_of(release: Path) -> type[ServerProcess]:
    if release == ROOT:
        return ServerProcess
    program = (str(release / ".venv" / "bin" / "python"), "-m", "gateway")
    return type("ServerOfRelease", (ServerProcess,), {"program": program, "cwd": release})


class Rig:
    """Gateways with clients' ports. `sticks`: each client has its own gateway, as far as there are several."""

    def __init__(self, folder: Path, gateways: int, sticks: bool, settings: Mapping[str, str]) -> None:
        self.folder, self.lake = folder, folder / "lake"
        self.lake.mkdir()
        self.gateways = [Gateway(folder / f"gateway{number}", self.lake, settings) for number in range(gateways)]
        self._groups = [[gateway] for gateway in self.gateways] if sticks else [self.gateways]
        self.proxies = [Proxy(self._targets(group)) for group in self._groups]
        for gateway in self.gateways:
            gateway.await_start()
        client = HttpClient(self.gateways[0].ports["http"])
        for text in (*CREATED, "CREATE SCHEMA other"):
            client.run(text)

    @staticmethod
    def _targets(gateways: list[Gateway]) -> dict[str, list[int]]:
        return {name: [gateway.ports[name] for gateway in gateways] for name in ("http", "thrift")}

    def target(self, number: int) -> Target:
        """Returns the ports for client `number`."""
        return Target(**self.proxies[number % len(self.proxies)].ports)

    def restart(self, gateway: Gateway) -> int:
        """Drains a gateway and starts it again; returns its exit code.

        Meanwhile new connections go to the others, as with a load balancer that probes for readiness.
        """
        for proxy, group in zip(self.proxies, self._groups, strict=True):
            if others := [other for other in group if other is not gateway]:
                proxy.connect_to(self._targets(others))
        code = gateway.drain()
        gateway.start()
        gateway.await_start()
        for proxy, group in zip(self.proxies, self._groups, strict=True):
            proxy.connect_to(self._targets(group))
        return code

    def kill(self, gateway: Gateway, chance: random.Random) -> None:
        """Kills the server's process, its parent, or both with Java.

        The parent pauses longer after each crash. So after two of the server, it is killed too.
        """
        spares_parent, spares_server = chance.random() < 0.6, chance.random() < 0.5
        if spares_parent and gateway.crashes < _QUICK_CRASHES and gateway.server_pid is not None:
            gateway.kill()
        elif spares_server:
            gateway.kill_parent()
        else:
            gateway.kill_all()

    def await_ready(self) -> bool:
        for proxy in self.proxies:
            proxy.resume()
        end = time.monotonic() + READY_S
        while not all(gateway.is_ready() for gateway in self.gateways):
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_S)
        return True

    def close(self) -> list[str]:
        """Ends all processes; returns violations: exit codes, processes and files that are left."""
        found = [f"exit code {code}" for code in [gateway.drain() for gateway in self.gateways] if code]
        if temporary_files(self.lake):  # of killed processes: the next start removes them once they are old
            _age(self.lake, _AGE_S)
            last = self.gateways[0]
            last.start()
            last.await_start()
            eventually(lambda: not temporary_files(self.lake), _GONE_S)
            found += [f"exit code {code}" for code in [last.drain()] if code]
        found += [f"file left ({path.relative_to(self.folder)})" for path in temporary_files(self.lake)]
        for gateway in self.gateways:
            found += [f"file left ({each.relative_to(self.folder)})" for each in (gateway.folder / "local").iterdir()]
        eventually(lambda: not processes_of(self.folder), _GONE_S)
        return found + [f"process left ({process})" for process in processes_of(self.folder)]

    def abandon(self) -> None:
        """Ends what still runs; harmless after `close`."""
        for gateway in self.gateways:
            gateway.close()
        for proxy in self.proxies:
            proxy.close()


def metrics(port: int) -> dict[str, float]:
    """Returns the server's metrics by name with labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as response:
        lines = [line for line in response.read().decode().splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def running_statements(gateway: Gateway) -> float:
    """Returns the number of statements that wait or run."""
    if gateway.has_ended:
        return 0
    found = metrics(gateway.ports["http"])
    return sum(value for name, value in found.items() if name.startswith("gateway_statements{"))


def temporary_files(lake: Path) -> list[Path]:
    """Returns lock files, temporary files, and folders of dropped tables in the lake, its catalog and its state."""
    return [path for path in lake.rglob("*") if _TEMPORARY.fullmatch(path.name) or path.name.startswith(".removed-")]


def _age(folder: Path, seconds: float) -> None:
    """Makes all files older, so that a starting server takes temporary ones for leftovers."""
    then = time.time() - 2 * seconds
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # Java, for example, ends with its server
        os.kill(pid, signal.SIGKILL)


def processes_of(folder: Path) -> list[str]:
    """Returns the ids and names of the processes that have `folder` in their environment, which children inherit."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended since
            if f"{folder}/".encode() in (process / "environ").read_bytes():
                found.append(f"{process.name} {(process / 'comm').read_text().strip()}")
    return found


def free_ports(count: int) -> list[int]:
    """Returns ports that no process uses now, in a random place."""
    first = random.randrange(len(_PORTS))
    found = (port for port in (*_PORTS[first:], *_PORTS[:first]) if is_free(port))
    return [next(found) for _ in range(count)]


def is_free(port: int) -> bool:
    with suppress(OSError):
        socket.create_server(("127.0.0.1", port)).close()
        return True
    return False


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mounts a file system in memory with a limited size at `folder`."""
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs"]
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
