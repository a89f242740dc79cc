"""The processes of a run: one or two gateways over one lake behind a load balancer, and what they leave on disk."""

from __future__ import annotations

import os
import re
import signal
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
DISK_BYTES = 192 << 20
# Age at which a starting server removes the files of killed ones, at its minimum.
_AGE_S = 3600
_TEMPORARY = re.compile(r".*(\.tmp|\.lock|\.lck|\.partial|\.writing)")
_GONE_S = 60
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
        self.output = ""
        # The checkout that is served, with its own environment.
        self.release = ROOT
        # Process ids with the start of each, because ids are used again.
        self.pids: dict[int, str] = {}
        self.start()

    def start(self) -> None:
        self.process = _server_of(self.release)(self.folder, str(self._lake), **self._settings)

    def ports(self) -> dict[str, int]:
        found = self.process.ports()
        self.note_processes()
        return found

    def note_processes(self) -> None:
        """Remembers the processes, which must be gone at the end."""
        if self.has_ended:
            return
        for pid in (self.process.popen.pid, self.process.server_pid, *self.process.jvms()):
            self.pids[pid] = start_time(pid)

    @property
    def has_ended(self) -> bool:
        """Returns whether the parent has given up, for example."""
        return self.process.popen.poll() is not None

    def kill(self) -> None:
        """Kills the server's process, which its parent starts again."""
        self.crashes += 1
        self.note_processes()
        os.kill(self.process.server_pid, signal.SIGKILL)

    def kill_all(self) -> None:
        """Kills the server's process, its parent and Java, and starts the gateway again on other ports."""
        self.note_processes()
        server, jvms = self.process.server_pid, self.process.jvms()
        self.process.popen.kill()
        for pid in (server, *jvms):
            with suppress(ProcessLookupError):  # Java ends with its server
                os.kill(pid, signal.SIGKILL)
        self.process.end()
        self.output += self.process.output
        self.crashes = 0
        self.process.port_file.unlink(missing_ok=True)
        self.start()

    def drain(self) -> int:
        """Ends the gateway by SIGTERM, and returns its exit code."""
        self.note_processes()
        self.process.popen.send_signal(signal.SIGTERM)
        code = self.process.end()
        self.output += self.process.output
        self.crashes = 0
        return code

    def is_ready(self) -> bool:
        if self.has_ended or not self.process.port_file.exists():
            return False
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.process.ports()['http']}/readyz", timeout=_PROBE_S
            ) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def running(self) -> list[int]:
        """Returns the noted processes that still run."""
        return [pid for pid, began in self.pids.items() if began and start_time(pid) == began]

    def close(self) -> None:
        if not self.has_ended:
            self.process.popen.kill()
            self.process.end()
        self.output += self.process.output


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
        client = HttpClient(self.gateways[0].ports()["http"])
        for text in (*CREATED, "CREATE SCHEMA other"):
            client.run(text)

    @staticmethod
    def _targets(gateways: list[Gateway]) -> dict[str, list[int]]:
        ports = [gateway.ports() for gateway in gateways]
        return {name: [found[name] for found in ports] for name in ("http", "thrift")}

    def target(self, number: int) -> Target:
        """Returns the ports for client `number`."""
        return Target(**self.proxies[number % len(self.proxies)].ports)

    def restart(self, gateway: Gateway) -> int:
        """Drains a gateway and starts it again, on other ports; returns its exit code.

        Meanwhile new connections go to the others, as with a load balancer that probes for readiness.
        """
        for proxy, group in zip(self.proxies, self._groups, strict=True):
            if others := [other for other in group if other is not gateway]:
                proxy.connect_to(self._targets(others))
        code = gateway.drain()
        gateway.start()
        gateway.ports()
        for proxy, group in zip(self.proxies, self._groups, strict=True):
            proxy.connect_to(self._targets(group))
        return code

    def kill(self, gateway: Gateway) -> None:
        """Kills the server's process, and every third time its parent as well, which would make a longer pause."""
        if gateway.crashes < _QUICK_CRASHES:
            gateway.kill()
            return
        gateway.kill_all()
        gateway.ports()
        for proxy, group in zip(self.proxies, self._groups, strict=True):
            proxy.connect_to(self._targets(group))

    def await_ready(self) -> bool:
        for proxy in self.proxies:
            proxy.resume()
        return all(eventually(gateway.is_ready, READY_S) for gateway in self.gateways)

    def close(self) -> list[str]:
        """Ends all processes; returns violations: exit codes, processes and files that are left."""
        found = [f"exit code {code}" for code in [gateway.drain() for gateway in self.gateways] if code]
        if temporary_files(self.lake):  # of killed processes: the next start removes them once they are old
            _age(self.lake, _AGE_S)
            last = self.gateways[0]
            last.start()
            last.ports()
            eventually(lambda: not temporary_files(self.lake), _GONE_S)
            found += [f"exit code {code}" for code in [last.drain()] if code]
        found += [f"file left ({path.relative_to(self.folder)})" for path in temporary_files(self.lake)]
        for gateway in self.gateways:
            found += [f"file left ({each.relative_to(self.folder)})" for each in (gateway.folder / "local").iterdir()]
            eventually(lambda one=gateway: not one.running(), _GONE_S)  # type: ignore[misc]
            found += [f"process left ({pid})" for pid in gateway.running()]
        return found

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
    found = metrics(gateway.process.ports()["http"])
    return sum(value for name, value in found.items() if name.startswith("gateway_statements{"))


def temporary_files(lake: Path) -> list[Path]:
    """Returns lock files, temporary files, and folders of dropped tables in the lake, its catalog and its state."""
    return [path for path in lake.rglob("*") if _TEMPORARY.fullmatch(path.name) or path.name.startswith(".removed-")]


def _age(folder: Path, seconds: float) -> None:
    """Makes all files older, so that a starting server takes temporary ones for leftovers."""
    then = time.time() - 2 * seconds
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def start_time(pid: int) -> str:
    """Returns the time at which a process began, in clock ticks since the boot; empty if there is no such process."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return status.rpartition(")")[2].split()[19]


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mounts a file system in memory with a limited size at `folder`."""
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs"]
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
