"""The HTTP server of this project beside cheroot, waitress and hypercorn, and with h11 as the parser of its loop.

Run `python -m tests.bench.bench_http_servers [--repeat 3] [--only NAME ...] [--measures NAME ...]` after
`pip install cheroot waitress hypercorn h11`; what is not installed is left out. Each server is a process of its own
with 32 threads and the application of the gateway over an engine that answers at once
(`tests/gateway/arrow_engine.py`); the same requests go to each over plain sockets. Printed are medians, and ratios to
this project's server:

- latency: `SELECT 1` as a POST, one after the other on one connection; load: eight connections at once;
- pipelining: 32 requests written at once; how many were answered, and the time for each;
- slow clients: 75 send a head and 75 a body byte by byte, 50 do not read a long answer; how many of 20 others are
  answered within two seconds, and after which time;
- long polls: 64 requests that wait for statements of five seconds; how many did wait, how many threads the process has
  then, and how many of 20 others are answered;
- 990 connections that are kept alive: how many are answered again, and the memory that they take;
- what becomes of a statement whose client hangs up, and what a port with a certificate answers over TLS and without.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import json
import os
import platform
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.peer import Peer
from gateway.http import loop
from gateway.http.app import HttpOptions, create_app
from gateway.http.callers import PEER
from gateway.http.connection import Connection, HttpLimits, State
from gateway.http.server import HttpServer, HttpSettings
from gateway.http.wire import HEAD_BYTES_MAX, Head, Request
from gateway.lifecycle import Lifecycle, Ports
from gateway.process.tls import TlsFiles, TlsServer
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.bench.statement_client import MEGA, STATEMENTS, Memory, resident_bytes
from tests.certificates import Certificate, make_certificate
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import thrift_route

THREADS = 32
OPEN = 990
LIFETIME_S = 120
_STATE = "/bench/state"
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


# --- Servers, each in a process of its own ---


@dataclass(frozen=True, slots=True)
class Served:
    application: Application
    port: int
    certificate: Certificate | None


def _serve_ours(served: Served) -> None:
    files = served.certificate
    tls = TlsServer(TlsFiles(certificate=str(files.certificate), key=str(files.key))) if files else None
    limits = HttpLimits(idle_s=LIFETIME_S, head_s=LIFETIME_S, body_s=LIFETIME_S)
    settings = HttpSettings(threads=THREADS, limits=limits, tls=tls)
    HttpServer(served.application, thrift_route(), "127.0.0.1", served.port, settings=settings).start()  # type: ignore[arg-type]
    threading.Event().wait()


def _serve_h11(served: Served) -> None:
    h11 = importlib.import_module("h11")

    class H11Connection(Connection):
        """A parser for each request, since the loop writes its answers itself."""

        _parser: Any = None

        def _parse(self) -> None:
            if self._parser is None:
                self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
                self._event: Any = None
                self._body = b""
            if self._incoming:  # no bytes mean an end to h11
                self._parser.receive_data(bytes(self._incoming))
                self._incoming.clear()
            while (event := self._parser.next_event()) is not h11.NEED_DATA:
                match event:
                    case h11.Request():
                        self._event = event
                    case h11.Data():
                        self._body += event.data
                    case h11.EndOfMessage():
                        self._take_request()
                        return
                    case _:
                        pass

        def _take_request(self) -> None:
            given = self._event
            head = Head(
                method=given.method.decode(),
                target=given.target.decode(),
                version=f"HTTP/{given.http_version.decode()}",
                headers=tuple((name.decode(), value.decode("latin-1")) for name, value in given.headers),
                length=len(self._body),
                is_chunked=False,
                is_kept_alive=True,
                expects_continue=False,
            )
            self._incoming += self._parser.trailing_data[0]
            self.request, self._parser = Request(head=head, body=self._body, peer=self.peer), None
            self._enter(State.ANSWERING, float("inf"))

    vars(loop)["Connection"] = H11Connection
    _serve_ours(served)


def _serve_cheroot(served: Served) -> None:
    wsgi = importlib.import_module("cheroot.wsgi")
    server = wsgi.Server(
        ("127.0.0.1", served.port), served.application, numthreads=THREADS, timeout=LIFETIME_S, request_queue_size=512
    )
    server.keep_alive_conn_limit = OPEN + 10
    if served.certificate:
        builtin = importlib.import_module("cheroot.ssl.builtin")
        server.ssl_adapter = builtin.BuiltinSSLAdapter(str(served.certificate.certificate), str(served.certificate.key))
    server.start()


def _serve_waitress(served: Served) -> None:
    waitress = importlib.import_module("waitress")
    waitress.serve(
        served.application,
        listen=f"127.0.0.1:{served.port}",
        threads=THREADS,
        connection_limit=OPEN + 10,
        backlog=512,
        channel_timeout=LIFETIME_S,
        asyncore_use_poll=True,
    )


def _serve_hypercorn(served: Served) -> None:
    config = importlib.import_module("hypercorn.config").Config()
    serve = importlib.import_module("hypercorn.asyncio").serve
    config.bind, config.backlog, config.keep_alive_timeout = [f"127.0.0.1:{served.port}"], 512, LIFETIME_S
    if served.certificate:
        config.certfile, config.keyfile = str(served.certificate.certificate), str(served.certificate.key)

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        await serve(served.application, config, mode="wsgi", shutdown_trigger=asyncio.Event().wait)

    asyncio.run(run())


SERVERS: Mapping[str, Callable[[Served], None]] = {
    "ours": _serve_ours,
    "h11": _serve_h11,
    "cheroot": _serve_cheroot,
    "waitress": _serve_waitress,
    "hypercorn": _serve_hypercorn,
}


def _application(engine: ArrowEngine) -> Application:
    lifecycle = Lifecycle()
    registry = Registry(engine, Limits(linger_s=0, statements_running_max=1024))
    lifecycle.become_ready(registry, Ports(thrift=1, http=1))
    app = create_app(lifecycle, Anonymous(), HttpOptions(threads=THREADS))

    def application(environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        environment.setdefault(PEER, Peer("127.0.0.1"))
        if "HTTP_TRANSFER_ENCODING" not in environment:  # waitress says so of every body, and the gateway refuses it
            environment["wsgi.input_terminated"] = False
        if environment["PATH_INFO"] != _STATE:
            return app(environment, start_response)
        cancelled = sum(run.context.cancel.reason is not None for run in engine.runs)
        body = json.dumps({"cancelled": cancelled}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return application


def serve(name: str, port: int, folder: str | None) -> None:
    """Serves in this process until it is ended."""
    certificate = make_certificate(Path(folder)) if folder else None
    SERVERS[name](Served(_application(ArrowEngine()), port, certificate))


@contextlib.contextmanager
def serving(name: str, folder: str | None = None) -> Iterator[tuple[int, int]]:
    """Yields the port and the process id of a server."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    command = [sys.executable, "-m", "tests.bench.bench_http_servers", "--serve", name, "--port", str(port)]
    process = subprocess.Popen(
        [*command, *(["--folder", folder] if folder else [])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield port, process.pid
    finally:
        process.kill()
        process.wait()


# --- Requests over plain sockets ---


def _post(text: str) -> bytes:
    body = json.dumps({"statement": text, "wait_timeout": "30s"}).encode()
    head = f"POST {STATEMENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


ONE = _post("SELECT 1")


def _answer(file: BinaryIO) -> bytes:
    """Returns the body of a response with status 200."""
    status = file.readline()
    if b" 200 " not in status:
        raise OSError(f"answered {status!r}")
    length, is_chunked = 0, False
    while (line := file.readline().strip().lower()) != b"":
        name, _, value = line.partition(b":")
        length = int(value) if name == b"content-length" else length
        is_chunked = is_chunked or (name == b"transfer-encoding" and b"chunked" in value)
    if not is_chunked:
        return file.read(length)
    content = b""
    while size := int(file.readline(), 16):
        content += file.read(size)
        file.readline()
    file.readline()
    return content


class Client:
    """One connection, kept alive."""

    def __init__(self, port: int, seconds: float = 30.0, context: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.file: BinaryIO = self.socket.makefile("rb")

    def ask(self, request: bytes = ONE) -> bytes:
        self.socket.sendall(request)
        return _answer(self.file)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def _timed_ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _others(port: int, count: int = 20) -> tuple[int, float | None]:
    """Returns the number of new clients that are answered within two seconds, and their median time in ms."""
    times = []

    def once() -> None:
        client = Client(port, 2.0)
        try:
            client.ask()
        finally:
            client.close()

    for number in range(count):
        with contextlib.suppress(OSError, ValueError):
            times.append(_timed_ms(once))
        if number == 4 and not times:
            break
    return len(times), statistics.median(times) if times else None


def _await_quiet(process_id: int) -> None:
    """Waits until the process uses little processor time."""
    end, before = time.monotonic() + 60, -1.0
    while time.monotonic() < end:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if 0 <= spent - before < 0.2 and before >= 0:
            return
        before = spent
        time.sleep(1.0)


# --- What is measured ---

Figures = dict[str, float | None]


def latency(port: int, process_id: int) -> Figures:
    client = Client(port)
    for _ in range(100):
        client.ask()
    times = sorted(_timed_ms(client.ask) for _ in range(500))
    client.close()

    def several() -> None:
        own = Client(port)
        for _ in range(150):
            own.ask()
        own.close()

    with ThreadPoolExecutor(8) as threads:
        spent = _timed_ms(lambda: [done.result() for done in [threads.submit(several) for _ in range(8)]])
    return {
        "latency_ms": statistics.median(times),
        "latency_least_ms": times[0],
        "latency_p99_ms": times[-6],
        "load_ms_each": spent / 1200,
    }


def pipelining(port: int, process_id: int) -> Figures:
    client, count = Client(port, 10.0), 0
    began = time.perf_counter()
    client.socket.sendall(ONE * 32)
    with contextlib.suppress(OSError, ValueError):
        for _ in range(32):
            _answer(client.file)
            count += 1
    spent = (time.perf_counter() - began) * 1000
    client.close()
    return {"pipelined_answered": count, "pipelined_ms_each": spent / max(count, 1)}


def slow_clients(port: int, process_id: int) -> Figures:
    writers, readers = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)], []
    unfinished = ONE.replace(b"Content-Length: ", b"Content-Length: 9")
    for number, each in enumerate(writers):
        each.sendall(ONE[:20] if number % 2 else unfinished)
    is_over = threading.Event()

    def trickle() -> None:
        while not is_over.wait(0.5):
            for each in writers:
                with contextlib.suppress(OSError):
                    each.send(b"x")

    threading.Thread(target=trickle, daemon=True).start()
    for _ in range(50):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", port))
        reader.sendall(_post("ROWS 190000"))
        readers.append(reader)
    _await_quiet(process_id)  # the answers are made
    answered, median = _others(port)
    is_over.set()
    for each in (*writers, *readers):
        each.close()
    return {"slow_answered_of_20": answered, "slow_ms": median}


def long_polls(port: int, process_id: int) -> Figures:
    waiting = [Client(port, 20.0) for _ in range(64)]
    for each in waiting:
        each.socket.sendall(_post("SLEEP 5"))
    time.sleep(1.0)
    status = Path(f"/proc/{process_id}/status").read_text()
    answered, median = _others(port)
    ended = 0
    for each in waiting:
        with contextlib.suppress(OSError, ValueError):
            ended += json.loads(_answer(each.file))["status"]["state"] == "SUCCEEDED"
        each.close()
    return {
        "polls_waited_of_64": ended,
        "polls_threads": int(status.partition("Threads:")[2].split()[0]),
        "polls_answered_of_20": answered,
        "polls_ms": median,
    }


def many_connections(port: int, process_id: int) -> Figures:
    before, clients, answered = resident_bytes(process_id), [], 0
    for _ in range(OPEN):
        with contextlib.suppress(OSError, ValueError):
            client = Client(port, 5.0)
            clients.append(client)
            client.ask()
    taken = (resident_bytes(process_id) - before) / MEGA
    others, median = _others(port, 8)
    for client in clients:
        with contextlib.suppress(OSError, ValueError):
            client.ask()
            answered += 1
    for client in clients:
        client.close()
    return {"open_answered_of_990": answered, "open_mb": taken, "open_others_of_8": others, "open_ms": median}


def hang_up(port: int, process_id: int) -> Figures:
    client = Client(port)
    client.socket.sendall(_post("SLEEP 20"))
    time.sleep(1.0)
    client.close()
    time.sleep(3.0)
    requested = Client(port)
    state = json.loads(requested.ask(f"GET {_STATE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()))
    requested.close()
    return {"hang_up_cancels": state["cancelled"]}


METRICS = {each.__name__: each for each in (latency, pipelining, slow_clients, long_polls, many_connections, hang_up)}


def both_protocols(name: str) -> str:
    """Returns the protocols that a port with a certificate accepts."""
    found = []
    with tempfile.TemporaryDirectory() as folder, serving(name, folder) as (port, _):
        context = ssl.create_default_context(cafile=f"{folder}/certificate.pem")
        for kind, selected in (("TLS", context), ("plain text", None)):
            with contextlib.suppress(OSError, ValueError):
                client = Client(port, 5.0, selected)
                client.ask()
                client.close()
                found.append(kind)
    return " and ".join(found) or "neither"


def measure(name: str, selected: Sequence[str]) -> Figures:
    """Measures each server in its own process, with its peak memory."""
    found: Figures = {}
    for each in (METRICS[key] for key in selected):
        with serving(name) as (port, process_id):
            memory = Memory(process_id)
            try:
                found |= each(port, process_id)
            except OSError as error:
                print(f"{name}, {each.__name__}: {error}", file=sys.stderr, flush=True)
            memory.end()
            found[f"{each.__name__}_peak_mb"] = memory.peak[0] / MEGA
    return found


def _median(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--only", nargs="*", choices=SERVERS, default=list(SERVERS))
    arguments.add_argument("--measures", dest="metrics", nargs="*", choices=METRICS, default=list(METRICS))
    arguments.add_argument("--serve", choices=SERVERS)
    arguments.add_argument("--port", type=int)
    arguments.add_argument("--folder")
    given = arguments.parse_args()
    if given.serve:
        serve(given.serve, given.port, given.folder)
        return
    there = [name for name in given.only if name == "ours" or importlib.util.find_spec(name)]
    runs: dict[str, list[Figures]] = {name: [] for name in there}
    for _ in range(given.repeat):
        for name, found in runs.items():
            found.append(measure(name, given.metrics))
    figures = {
        name: {
            key: _median([run.get(key) for run in found]) for key in dict.fromkeys(key for run in found for key in run)
        }
        for name, found in runs.items()
    }
    base = figures.get("ours", {})
    print(f"Medians of {given.repeat}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'':24}" + "".join(f"{name:>20}" for name in figures))
    for key in dict.fromkeys(key for found in figures.values() for key in found):
        line = ""
        for medians in figures.values():
            value, own = medians.get(key), base.get(key)
            ratio = f" ({value / own:.2f})" if value is not None and own and "_of_" not in key else ""
            line += f"{'-' if value is None else f'{value:.2f}{ratio}':>20}"
        print(f"{key:24}{line}")
    print(f"{'port with a certificate':24}" + "".join(f"{both_protocols(name):>20}" for name in figures), flush=True)


if __name__ == "__main__":
    main()
