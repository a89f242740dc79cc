"""A front end that lost the thread it cannot do without ends the process, with an error."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from gateway.process.supervision import supervised_thread
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.hs2.wire import connect, serving
from tests.gateway.http.conftest import eventually, serving_http
from tests.paths import ROOT
from tests.samples import with_slow


def _shut(listener: socket.socket) -> None:
    listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("break_it", [_shut, socket.socket.close])
def test_unserved_http_port_is_reported(break_it: Callable[[socket.socket], None]) -> None:
    with serving_http() as live:
        assert live.server.listener is not None and live.deaths == []
        break_it(live.server.listener)
        assert eventually(lambda: live.deaths == ["http-loop"])


def test_unserved_thrift_port_is_reported() -> None:
    deaths: list[str] = []
    with serving(ArrowEngine(), on_death=deaths.append) as (port, server, _):
        connect(port).close()
        assert server.listener is not None and deaths == []
        _shut(server.listener)
        assert eventually(lambda: deaths == ["thrift-accept"])


def test_stopping_is_no_death() -> None:
    deaths: list[str] = []
    with serving(ArrowEngine(), on_death=deaths.append), serving_http() as live:
        pass
    assert deaths == live.deaths == []


def _fail() -> None:
    raise ValueError("a bug")


@pytest.mark.parametrize(
    ("run", "is_stopping", "deaths"),
    [(_fail, False, 1), (_fail, True, 0), (lambda: None, False, 1), (lambda: None, True, 0), (sys.exit, False, 1)],
)
def test_whatever_ends_a_thread_too_early_is_a_death(run: Callable[[], None], is_stopping: bool, deaths: int) -> None:
    reported: list[str] = []
    thread: threading.Thread = supervised_thread("watched", run, lambda: is_stopping, reported.append)
    thread.start()
    thread.join()
    assert reported == ["watched"] * deaths


PROCESS = """
import gc, socket, sys, threading
from functools import partial
from gateway.cli import serve as cli_serve
from gateway.hs2.server import ThriftServer
from gateway.http.server import HttpServer
from gateway.server import Server
from tests.gateway.arrow_engine import ArrowEngine

kind, moment, lake = {"http": HttpServer, "thrift": ThriftServer}[sys.argv[1]], sys.argv[2], sys.argv[3]

def break_port():
    gc.unfreeze()  # what the start created is in no list otherwise
    for found in [found for found in gc.get_objects() if isinstance(found, kind)]:
        found.listener.shutdown(socket.SHUT_RDWR)

def engine(config, progress, on_failure):
    if moment == "starting":
        break_port()
        while True:
            progress("waiting")
    return ArrowEngine()

cli_serve.Server = partial(Server, engine_factory=engine)
if moment == "ready":
    threading.Timer(1, break_port).start()
sys.exit(cli_serve.main([lake, "--thrift-port", "0", "--http-port", "0"]))
"""


@pytest.mark.clients
@pytest.mark.parametrize(
    ("port", "moment"), with_slow([("http", "ready"), ("thrift", "ready"), ("http", "starting")], (0,))
)
def test_the_process_ends_with_an_error_when_a_port_lost_its_thread(tmp_path: object, port: str, moment: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROCESS, port, moment, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert ended.returncode == 3, ended.stderr
    assert f"the thread {port}" in ended.stderr
