"""`delta-gateway serve`: starts, prints progress and connection settings, drains on a signal.

The first SIGTERM or SIGINT drains, or aborts the start; a second one ends the process immediately. The process also
ends if a thread that serves a port ends by itself, or if a part fails permanently: the exit code makes a supervisor
restart it.

Without a configured folder a sample lake is served, next to the other files in the working directory.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, TextIO

from catalog.conditions import LakeNotFound, StartFailed
from catalog.errors import SqlError
from engine.sample.lake import ensure_sample_lake
from gateway.cli.banner import Banner
from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.config import Config, LogFormat, LogLevel
from gateway.configuration.loader import load_config
from gateway.configuration.umask import apply_umask
from gateway.observability.log_format import format_step, set_up_log
from gateway.process.lifeline import Lifeline, take_lifeline
from gateway.server import Server

logger = logging.getLogger(__name__)

EXIT_START_FAILED = 2
EXIT_FAILED = 3
_EXIT_FORCED = 1
_NOTES = """\
Tables are the folders FOLDER/schema/table that contain _delta_log or Iceberg metadata; FOLDER/table is in the schema
default. The HTTP port also has the console, a page for queries.
"""
_EXAMPLES = (
    "delta-gateway serve                     # a sample lake in ./sample-lake",
    "delta-gateway serve /data/lake",
    "delta-gateway serve s3://bucket/lake --config gateway.toml",
    "delta-gateway serve /data/lake --thrift-port 0 --http-port 0 --port-file ports.json",
)
# Values for the signal queue that are not signal numbers.
_THREAD_DIED, _PART_FAILED = 0, -1
_AFTER_DRAINING_S = 20.0
# Time for the number of tables in the banner; listing a large object store takes longer.
_COUNTED_WITHIN_S = 5.0
# Python's defaults, but full collections are ten times less frequent. With the columns of ten thousand tables each
# takes up to a second, in which no other thread runs.
_COLLECTED_EVERY = (700, 10, 100)


class StopRequested(Exception):
    """A signal arrived while the server was starting."""


class Console:
    """Operator output: a line for each step, with the seconds since the start."""

    def __init__(self, stream: TextIO, signals: SimpleQueue[int]) -> None:
        self._stream = stream
        self._signals = signals
        self._began = time.monotonic()
        self.is_starting = True
        self.format = LogFormat.TEXT

    def step(self, text: str) -> None:
        """Writes a line with the seconds since the start.

        Raises `StopRequested` if a signal arrived during the start.
        """
        self.say(f"[{time.monotonic() - self._began:5.1f} s] {text}")
        if self.is_starting and not self._signals.empty():
            raise StopRequested()

    def say(self, text: str, level: int = logging.INFO) -> None:
        """Writes a line at once, as text or JSON; `level` is only in JSON."""
        line = text if self.format is LogFormat.TEXT else format_step(text, level)
        self._stream.write(line + "\n")
        self._stream.flush()

    def show_banner(self, banner: Banner) -> None:
        """Prints how to connect: lines on standard output, or one record in a JSON log."""
        if self.format is LogFormat.JSON:
            self.say(banner.line)
        else:
            sys.stdout.write(banner.text)
            sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Serves until a signal; returns the exit code."""
    given = _parser().parse_args(arguments)
    gc.set_threshold(*_COLLECTED_EVERY)
    lifeline = take_lifeline()
    signals: SimpleQueue[int] = SimpleQueue()
    _listen_to_signals(signals)
    console = Console(sys.stderr, signals)
    try:
        config = load_config(given.config, os.environ, _flags(given))
        set_up_log(config.log.level.upper(), config.log.format, sys.stderr)
        console.format = config.log.format
        lifeline.tell(log_format=config.log.format)
        apply_umask(config.lake.umask)
        config = with_lake(_on_former_ports(config, lifeline), console.step)
        server = Server(config, console.step, on_death=lambda _: signals.put(_THREAD_DIED), restarts=lifeline.restarts)
        ports = server.start()
        lifeline.tell(ports=ports.numbers)
    except StopRequested:
        console.say("stopped before it was ready")
        return EXIT_FAILED if signals.get() == _THREAD_DIED else 0
    except SqlError as error:
        console.say(f"delta-gateway: [{error.condition}] {error.full_message}", logging.ERROR)
        return EXIT_START_FAILED
    except Exception as error:  # the operator gets one line for any error
        logger.debug("the start failed", exc_info=error)
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        console.say(f"delta-gateway: {StartFailed(reason).full_message}", logging.ERROR)
        return EXIT_START_FAILED
    # Full collections leave out what the start created: 200,000 objects of modules, 50 ms in which no thread runs.
    gc.collect()
    gc.freeze()
    console.is_starting = False
    console.step("ready")
    console.show_banner(Banner(config, ports, server.count_tables(_COUNTED_WITHIN_S)))
    server.on_failure(lambda: signals.put(_PART_FAILED))
    if signals.get() == _THREAD_DIED:
        return _end_with_error(server, config, console)
    server.drain()
    console.step("stopped")
    code = 0
    if (failure := server.failure) is not None:
        console.say(f"delta-gateway: [{failure.condition}] {failure.full_message}", logging.ERROR)
        code = EXIT_FAILED
    if server.leaves_threads:
        os._exit(code)  # the interpreter would wait for the remaining threads
    return code


def _on_former_ports(config: Config, lifeline: Lifeline) -> Config:
    """Replaces unspecified ports by the ones used before a crash: clients reconnect to these."""
    server, former = config.server, lifeline.ports
    thrift, http = server.thrift_port or former.get("thrift", 0), server.http_port or former.get("http", 0)
    optional: dict[str, Any] = {
        f"{name}_port": port or former.get(name, 0) for name, port in server.optional_ports.items()
    }
    return replace(config, server=replace(server, thrift_port=thrift, http_port=http, **optional))


def _end_with_error(server: Server, config: Config, console: Console) -> int:
    """Drains, but ends in any case: the failure that ended the thread may prevent others from ending."""
    console.step("a port has no thread that serves it any more (the log has the reason); stopping")
    forced = threading.Timer(config.server.drain_deadline_s + _AFTER_DRAINING_S, os._exit, [EXIT_FAILED])
    forced.daemon = True
    forced.start()
    server.drain()
    console.step("stopped")
    if server.leaves_threads:
        os._exit(EXIT_FAILED)
    return EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway serve",
        description="Serve a folder of Delta and Iceberg tables.",
        allow_abbrev=False,
        **help_text(_NOTES, _EXAMPLES, {**SETTINGS, "JAVA_HOME": "the Java to use; otherwise java on the PATH"}),
    )
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="folder of tables; a sample lake if left out")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file; `delta-gateway config` prints one")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--thrift-port", type=int, metavar="PORT", help="for HiveServer2 clients (10000), 0 for any")
    parser.add_argument("--http-port", type=int, metavar="PORT", help="for the HTTP API (8080), 0 for any")
    parser.add_argument(
        "--connect-port", type=int, metavar="PORT", help="for Spark Connect clients, 0 for any (closed)"
    )
    parser.add_argument(
        "--postgres-port", type=int, metavar="PORT", help="for PostgreSQL's clients, 0 for any (closed)"
    )
    parser.add_argument(
        "--flight-port", type=int, metavar="PORT", help="for Arrow Flight SQL clients, 0 for any (closed)"
    )
    parser.add_argument("--port-file", metavar="FILE", help="written as JSON with the ports in use, when ready")
    parser.add_argument("--log-level", choices=tuple(LogLevel), help="least severe level logged (info)")
    parser.add_argument("--log-format", choices=tuple(LogFormat), help="text, or an object of JSON a line (text)")
    return parser


def _listen_to_signals(signals: SimpleQueue[int]) -> None:
    seen: list[int] = []

    def handle(number: int, _: FrameType | None) -> None:
        if seen:
            os._exit(_EXIT_FORCED)
        seen.append(number)
        signals.put(number)  # the only queue that a signal handler may use

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


def _flags(arguments: argparse.Namespace) -> dict[str, object]:
    return {
        "lake.folder": arguments.folder,
        "server.host": arguments.host,
        "server.thrift_port": arguments.thrift_port,
        "server.http_port": arguments.http_port,
        "server.connect_port": arguments.connect_port,
        "server.postgres_port": arguments.postgres_port,
        "server.flight_port": arguments.flight_port,
        "server.port_file": arguments.port_file,
        "log.level": arguments.log_level,
        "log.format": arguments.log_format,
    }


SAMPLE_LAKE = "sample-lake"


def with_lake(config: Config, progress: Callable[[str], None]) -> Config:
    """Returns `config` with an existing folder; writes the sample lake if none is configured. Raises LakeNotFound."""
    folder = config.lake.folder
    if not folder:
        folder = os.path.abspath(SAMPLE_LAKE)
        ensure_sample_lake(folder, progress)
    elif ":" not in folder.partition("/")[0]:  # not a URI; a URI is accessed when it is first listed
        folder = os.path.abspath(folder)
        if not os.path.isdir(folder):
            raise LakeNotFound(folder)
    return replace(config, lake=replace(config.lake, folder=folder))
