"""The Java side: finds a Java, and launches and ends Spark's process.

Spark's `spark-submit` starts a class that serves py4j, and writes its address and the connection secret into a file
that an environment variable names. Settings are passed in a file as well, not on the command line, which every user on
the machine can read; both files are in a directory with mode 0700, which is removed as soon as Java has answered. Only
environment variables in `_INHERITED` are passed on: not the gateway's own settings, and no variables that change how
Spark or Java start (SPARK_HOME, PYSPARK_SUBMIT_ARGS, JAVA_TOOL_OPTIONS).
"""

from __future__ import annotations

import base64
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyspark
from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, ClientServer, JavaParameters, PythonParameters
from py4j.protocol import BYTES_TYPE, register_output_converter
from pyspark.serializers import UTF8Deserializer, read_int

from catalog.conditions import JavaNotFound, SparkUnavailable

JAVA_VERSION_MIN = 17
SPARK_VERSION: str = pyspark.__version__
EXIT_S = 5.0

_spark_log = logging.getLogger("engine.spark.spark")
_LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}
_INHERITED = (
    *("HOME", "JAVA_HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"),
    *("HADOOP_CONF_DIR", "KRB5CCNAME", "KRB5_CONFIG"),
)
# Variables that Hadoop's connectors read for storage credentials.
_INHERITED_PREFIXES = ("AWS_", "AZURE_", "GOOGLE_")
_INFO_VARIABLE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_POLL_S = 0.02
_STACK = ("\tat ", "Caused by: ", "\t...")

# py4j converts each byte of an answer by a call of Python: 13 ms for a result of 256 KB, in which no
# other thread runs, where this takes 1 ms.
register_output_converter(BYTES_TYPE, lambda text, _: bytearray(base64.standard_b64decode(text)))


def ensure_java() -> Path:
    """Returns the `java` that Spark will use: from JAVA_HOME, else the first in PATH; raises `JavaNotFound`."""
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise JavaNotFound(f"JAVA_HOME is {home}, which has no bin/java")
    java = Path(home) / "bin" / "java" if home else shutil.which("java")
    if java is None:
        raise JavaNotFound("JAVA_HOME is not set and there is no java in PATH")
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaNotFound(f"{java} does not run ({error})") from error
    version = re.search(r'version "(?:1\.)?(\d+)', shown)
    if version is None or int(version[1]) < JAVA_VERSION_MIN:
        raise JavaNotFound(f"{java} is {version[1] if version else 'of an unknown version'}")
    return Path(java)


class JavaProcesses:
    """The Java processes of one driver, of which also one that is still starting ends with it. Thread-safe."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        self._is_closed = False
        self._lock = threading.Lock()

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """Adds a process that was started. Raises `SparkUnavailable` and kills it after `close`."""
        with self._lock:
            self._running = [one for one in self._running if one.poll() is None]
            self._running.append(process)
            is_closed = self._is_closed
        if is_closed:
            self.close()
            raise SparkUnavailable("the server is shutting down")

    def close(self) -> None:
        """Kills the processes, and waits for their ends."""
        with self._lock:
            self._is_closed = True
            running, self._running = self._running, []
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def launch_jvm(settings: Mapping[str, str], processes: JavaProcesses) -> ClientServer:
    """Starts Spark's process with `settings`; it ends when this process ends, for any reason."""
    ensure_java()
    gateway = _launch(settings, processes)
    threading.Thread(target=_forward_log, args=(gateway.proc.stderr,), name="spark-log", daemon=True).start()
    return gateway


def _launch(settings: Mapping[str, str], processes: JavaProcesses) -> ClientServer:
    """Starts the process, whose standard error is a pipe; it ends when its standard input is closed.

    Raises `SparkUnavailable` if it ends before it answers.
    """
    home = Path(pyspark.__file__).parent
    with tempfile.TemporaryDirectory(prefix="delta-gateway-") as name:
        file, info = Path(name) / "spark.conf", Path(name) / "connection"
        file.write_text(_properties(settings), encoding="ascii")
        process = subprocess.Popen(
            [home / "bin" / "spark-submit", "--properties-file", file, "pyspark-shell"],
            env=_environment() | {"SPARK_HOME": str(home), "SPARK_CONNECT_MODE": "0", _INFO_VARIABLE: str(info)},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_ignore_interrupts,
        )
        processes.add(process)
        while not info.is_file():
            if process.poll() is not None:
                raise SparkUnavailable(f"its process did not start: {_first_words(process)}")
            time.sleep(_POLL_S)
        with info.open("rb") as connection:
            port = read_int(connection)
            secret = UTF8Deserializer().loads(connection)
    gateway = ClientServer(
        java_parameters=JavaParameters(port=port, auth_token=secret),
        python_parameters=PythonParameters(port=0, eager_load=False),
    )
    gateway.proc = process
    return gateway


def _environment() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)
    }


def _properties(settings: Mapping[str, str]) -> str:
    """Returns Java's properties format; all characters except letters, digits and harmless ones are escaped."""
    return "".join(f"{_escape(key)}={_escape(value)}\n" for key, value in settings.items())


def _escape(text: str) -> str:
    return "".join(
        each if each.isascii() and (each.isalnum() or each in "./_-") else _unit_escapes(each) for each in text
    )


def _unit_escapes(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _ignore_interrupts() -> None:
    """Ignores Ctrl-C in a terminal: it is for the gateway, which ends Java itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _first_words(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    lines = process.stderr.read().decode(errors="replace").strip().splitlines()
    return lines[0] if lines else f"it ended with code {process.returncode}"


def _forward_log(stderr: BinaryIO) -> None:
    """Forwards the process's log to the gateway's, line by line, until the process ends."""
    for raw in stderr:
        line = raw.decode(errors="replace").rstrip()
        level, _, text = line.partition(" ")
        if level in _LEVELS:
            _spark_log.log(_LEVELS[level], "%s", text)
        elif line.startswith(_STACK):
            _spark_log.error("%s", line)
        else:
            _spark_log.debug("%s", line)  # the launcher's messages about its own flags


def stop_jvm(gateway: ClientServer, exit_s: float = EXIT_S) -> None:
    """Ends the process, by force if it does not end within `exit_s` seconds."""
    process: subprocess.Popen[bytes] = gateway.proc
    _let_go(gateway)  # closing its input ends it
    try:
        process.wait(exit_s)
    except subprocess.TimeoutExpired:
        _spark_log.warning("Java did not end within %d s and is killed", exit_s)
        process.kill()
        process.wait()


def kill_jvm(gateway: ClientServer) -> None:
    """Kills the process."""
    process: subprocess.Popen[bytes] = gateway.proc
    process.kill()
    process.wait()
    _let_go(gateway)


def _let_go(gateway: ClientServer) -> None:
    """Closes the connection on this side. py4j's own method sends Java a request, and waits for an answer forever."""
    gateway._gateway_client.finalizer_deque.appendleft(SHUTDOWN_FINALIZER_WORKER)
    if stdin := gateway.proc.stdin:
        with suppress(OSError):
            stdin.close()
