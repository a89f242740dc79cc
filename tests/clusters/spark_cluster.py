"""Clusters of Spark in processes of this machine, and their executors."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from tests.clients.drivers import java
from tests.gateway.http.conftest import eventually
from tests.junit import JUNIT, JUNIT_SHA256
from tests.maven import take_jar
from tests.paths import ROOT

HOME = Path(pyspark.__file__).parent
HADOOP_JAR = ROOT / ".oracle-hdfs" / "minicluster.jar"
START_S = 120
EXECUTORS = 2
_HOST = "127.0.0.1"
# What MiniYARNCluster needs and its jar lacks: assertions, and certificates.
_OF_YARN = {
    "junit": (JUNIT, JUNIT_SHA256),
    "bcprov": (
        "org.bouncycastle:bcprov-jdk18on:1.82", "14cde2fdfaa8890480a8e5b67aceef0c90f96682c1e23c133bafdc9e0b3255ce"
    ),
    "bcpkix": (
        "org.bouncycastle:bcpkix-jdk18on:1.82", "bdc723e20834832ac6af136cb5b5ff05e43b71d4fa151cc6510d9212ee086e63"
    ),
    "bcutil": (
        "org.bouncycastle:bcutil-jdk18on:1.82", "4420691958ad1c0ba275a6d6d8a6317adbdbdc9277055b6a72aa89c88cda8c7d"
    ),
}  # fmt: skip


class SparkCluster:
    """`settings` are those of a gateway that runs its queries there; each of the two executors has one core."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def settings(self, **conf: str) -> dict[str, str]:
        """Returns the environment of a gateway with further settings of Spark."""
        given = {
            "spark.driver.bindAddress": _HOST,
            "spark.driver.host": _HOST,
            "spark.executor.cores": "1",
            "spark.executor.instances": str(EXECUTORS),
            "spark.executor.maxNumFailures": "1000",
            "spark.executor.memory": "600m",
            "spark.sql.shuffle.partitions": "4",
            **conf,
        }
        pairs = ", ".join(f'"{name}" = "{value}"' for name, value in given.items())
        return {"GATEWAY_SPARK_CONF": f"{{{pairs}}}", "GATEWAY_SPARK_DRIVER_MEMORY": "900m"}

    def executors(self) -> list[int]:
        """Returns the process ids of the running executors, oldest first."""
        return sorted(pid for pid, command in _processes_in(self.folder) if "ExecutorBackend" in command)

    def wait_for_executors(self, count: int = EXECUTORS) -> None:
        assert eventually(lambda: len(self.executors()) >= count, START_S), self.logs()

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(START_S)
        for pid, _ in _processes_in(self.folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def logs(self) -> str:
        return "\n".join(path.read_text()[-4000:] for path in sorted(self.folder.glob("*.log")))

    def _start(self, name: str, *command: str, **environment: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                command, cwd=folder, env=os.environ | environment, stdout=output, stderr=output, stdin=subprocess.PIPE
            )
        self._processes.append(process)
        return log


class StandaloneCluster(SparkCluster):
    """A master and two workers of one core."""

    def __init__(self, folder: Path, memory: str = "1g") -> None:
        super().__init__(folder)
        self._memory = memory
        log = self._start_class("master", "master.Master")
        pattern = re.compile(rf"spark://{_HOST}:\d+")
        assert eventually(lambda: pattern.search(log.read_text()) is not None, START_S), log.read_text()
        found = pattern.search(log.read_text())
        assert found
        self.url = found[0]
        self._workers = 0
        for _ in range(EXECUTORS):
            self.add_worker()

    def settings(self, **conf: str) -> dict[str, str]:
        return super().settings(**conf) | {"GATEWAY_SPARK_MASTER": self.url}

    def add_worker(self) -> None:
        self._workers += 1
        limits = ("--cores", "1", "--memory", self._memory, "--work-dir", str(self.folder / f"work{self._workers}"))
        self._start_class(f"worker{self._workers}", "worker.Worker", *limits, self.url)

    def kill_worker(self) -> None:
        """Kills the last worker and its executor, as the loss of a node does."""
        name = f"work{self._workers}"
        for pid, command in _processes_in(self.folder):
            if name in command or name in str(_cwd(pid)):
                os.kill(pid, signal.SIGKILL)
        self._processes.pop().wait(START_S)

    def _start_class(self, folder: str, name: str, *arguments: str) -> Path:
        ports = ("--host", _HOST, "--port", "0", "--webui-port", "0")
        command = (str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *ports, *arguments)
        return self._start(folder, *command, SPARK_HOME=str(HOME), SPARK_LOCAL_IP=_HOST)


class YarnCluster(SparkCluster):
    """A ResourceManager and two NodeManagers; the containers are executors and the application's master."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        assert HADOOP_JAR.exists(), "make test-slow gets the servers of YARN, by Maven"
        conf = folder / "conf"
        conf.mkdir()
        site = conf / "yarn-site.xml"
        jars = [
            HADOOP_JAR,
            *(take_jar(name, HADOOP_JAR.parent / f"{i}.jar", sha) for i, (name, sha) in _OF_YARN.items()),
        ]
        path = ":".join(map(str, [*jars, HOME / "jars" / "*"]))
        source = str(Path(__file__).parent / "MiniYarn.java")
        command = (java(), "-Xmx400m", "-cp", path, source, str(site))
        log = self._start("yarn", *command, JAVA_HOME=str(Path(java()).resolve().parent.parent))
        assert eventually(lambda: site.exists() or "Exception in" in log.read_text(), START_S), log.read_text()
        assert site.exists(), log.read_text()

    def settings(self, **conf: str) -> dict[str, str]:
        given = {
            "spark.yarn.am.memory": "400m",
            "spark.yarn.jars": f"local:{HOME}/jars/*",
            "spark.yarn.stagingDir": f"file:{self.folder}/staging",
            **conf,
        }
        return super().settings(**given) | {
            "GATEWAY_SPARK_MASTER": "yarn",
            "HADOOP_CONF_DIR": str(self.folder / "conf"),
        }


@contextmanager
def stopping(cluster: SparkCluster) -> Iterator[SparkCluster]:
    try:
        yield cluster
    finally:
        cluster.stop()


def _processes_in(folder: Path) -> list[tuple[int, str]]:
    """Returns the processes whose working directory is in the folder, with their commands."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and folder in (_cwd(int(entry.name)) or Path("/")).parents:
            with suppress(FileNotFoundError, ProcessLookupError):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


def _cwd(pid: int) -> Path | None:
    with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        return (Path("/proc") / str(pid) / "cwd").readlink()
    return None


KINDS: Mapping[str, type[SparkCluster]] = {"standalone": StandaloneCluster, "yarn": YarnCluster}
