"""Where the time of SELECT 1 goes, by stage, over HTTP and PyHive.

Run `python -m tests.bench.bench_stages [--statements 3000]`. One connection sends the same statement with the result
cache off. Prints milliseconds per statement: what the client waits for, the server's time from the statement's arrival
to its end (`gateway_statement_seconds`), its stages (`gateway_stage_seconds`), and the rest: the server's time outside
of stages, and the wire, which is the protocol on both sides, the record in the state folder and the client itself.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pyhive import hive

from tests.bench.statement_client import Client
from tests.server_process import ServerProcess

_STAGE = re.compile(r'^gateway_stage_seconds_sum\{stage="(\w+)"\} (\S+)$', re.MULTILINE)
_STATEMENTS = re.compile(r"^gateway_statement_seconds_sum\{[^}]*\} (\S+)$", re.MULTILINE)
_OFF = "SET gateway.result_cache = false"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=3000)
    count = parser.parse_args().statements
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        (Path(name) / "lake").mkdir()
        own = {"GATEWAY_SPARK_DRIVER_MEMORY": "2g", "GATEWAY_SPARK_CONF": "{}", "GATEWAY_SPARK_WARM_UP": "true"}
        server = ServerProcess(Path(name), str(Path(name) / "lake"), **own)
        stack.callback(server.end)
        stack.callback(server.popen.terminate)
        ports = server.ports()
        for title, run in (("HTTP", _http(ports["http"])), ("PyHive", _pyhive(ports["thrift"]))):
            run(_OFF)
            measure(title, run, ports["http"], count)


def _http(port: int) -> Callable[[str], object]:
    client = Client(port)
    session = client.ask("POST", "/api/2.0/sql/sessions", {})["session_id"]
    return lambda text: client.run(text, session_id=session)


def _pyhive(port: int) -> Callable[[str], object]:
    connection = hive.connect("127.0.0.1", port)

    def run(text: str) -> object:
        cursor = connection.cursor()
        cursor.execute(text)
        rows = cursor.fetchall() if cursor.description else []
        cursor.close()
        return rows

    return run


def measure(title: str, run: Callable[[str], object], port: int, count: int) -> None:
    """Prints a table in milliseconds per statement."""
    for _ in range(count):
        run("SELECT 1")
    before, statements_before = _sums(port)
    begin = time.perf_counter()
    for _ in range(count):
        run("SELECT 1")
    waited = (time.perf_counter() - begin) * 1000 / count
    after, statements_after = _sums(port)
    server = (statements_after - statements_before) * 1000 / count
    stages = {stage: (after[stage] - before.get(stage, 0)) * 1000 / count for stage in after}
    print(f"{title}: {count} statements, client {waited:.3f} ms, server {server:.3f} ms")
    for stage, spent in stages.items():
        print(f"  {stage:10} {spent:7.3f} ms")
    print(f"  {'other':10} {server - sum(stages.values()):7.3f} ms")
    print(f"  {'wire':10} {waited - server:7.3f} ms", flush=True)


def _sums(port: int) -> tuple[dict[str, float], float]:
    """Returns the seconds of each stage, and of all statements."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {stage: float(seconds) for stage, seconds in _STAGE.findall(text)}, sum(
        map(float, _STATEMENTS.findall(text))
    )


if __name__ == "__main__":
    main()
