"""`delta-gateway serve` as a separate process, on separate ports, with access to its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from tests.fix_spark import QUICK_JAVA
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT

START_S = 200
END_S = 120
_SETTINGS = MappingProxyType(
    {
        "GATEWAY_SPARK_MASTER": "local[2]",
        "GATEWAY_SPARK_DRIVER_MEMORY": "700m",
        "GATEWAY_SPARK_WARM_UP": "false",
        "GATEWAY_SPARK_CONF": f'{{"spark.driver.extraJavaOptions" = "{QUICK_JAVA}"}}',
    }
)


class ServerProcess:
    """One server; `folder` is for its port file. The environment's own gateway settings do not reach it."""

    # The command without its arguments, and the working directory.
    program: Sequence[str] = (sys.executable, "-m", "gateway")
    cwd = ROOT

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.port_file = folder / "ports.json"
        command = [*self.program, "serve", "--port-file", str(self.port_file)]
        ports = () if "--http-port" in arguments else ("--http-port", "0", "--thrift-port", "0")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}
        self.popen = subprocess.Popen(
            [*command, *ports, *arguments],
            cwd=self.cwd,
            env=inherited | dict(_SETTINGS) | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout
        for line in self.popen.stdout:
            self.output += line
        self.popen.stdout.close()

    def ports(self) -> dict[str, int]:
        """Returns the ports, once the server is ready."""
        assert eventually(lambda: self.port_file.exists() or self.popen.poll() is not None, START_S)
        assert self.popen.poll() is None, self.output
        found: dict[str, int] = json.loads(self.port_file.read_text())
        return found

    def end(self) -> int:
        """Returns the exit code, when the output is complete."""
        code = self.popen.wait(END_S)
        self._reader.join(END_S)
        return code

    @property
    def server_pid(self) -> int:
        """Returns the server's process id; its parent is the started process."""
        (found,) = _children(self.popen.pid)
        return found

    def jvms(self) -> list[int]:
        """Returns the process ids of the server's children."""
        return [jvm for server in _children(self.popen.pid) for jvm in _children(server)]


def _children(pid: int) -> list[int]:
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):  # the creating thread's
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended since
            found += [int(child) for child in children.read_text().split()]
    return found
