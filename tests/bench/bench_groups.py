"""Shares and latencies of many clients in groups of equal weight, beside long statements of another group.

Run `python -m tests.bench.bench_groups [--clients 500] [--groups 10] [--seconds 60] [--results FILE]`. The clients are
connections to the statement API that send the next short statement after each response, an aggregate with a new literal
each time, so that no result is cached. Two more clients run statements of some ten seconds. Prints statements a second,
each group's share as a ratio to the mean, the percentiles of the short statements, and the number of long ones.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import statistics
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from catalog.grants.tokens import TokenOwner, TokenRequest, TokenStore
from tests.bench.statement_client import STATEMENTS
from tests.server_process import ServerProcess

LONG_CLIENTS = 2
LONG = "SELECT count(*) FROM range(4000000) WHERE sha2(cast(id + {number} AS string), 256) < '0'"
SHORT = "SELECT sum(id) FROM range(1000) WHERE id > {number}"
WARM_S = 10.0
_NUMBERS = count()


class Client:
    """One connection of a group, which sends statements until `end`."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self.latencies: list[float] = []

    async def run(self, text: str, start: float, end: float) -> None:
        """Records the latency in seconds of each statement that begins between `start` and `end`."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while (began := time.monotonic()) < end:
            body = {"statement": text.format(number=next(_NUMBERS)), "wait_timeout": "50s"}
            answer = await self._ask(reader, writer, f"POST {STATEMENTS}", json.dumps(body).encode())
            while answer["status"]["state"] in ("PENDING", "RUNNING"):
                path = f"{STATEMENTS}/{answer['statement_id']}?wait_timeout=50s"
                answer = await self._ask(reader, writer, f"GET {path}")
            assert answer["status"]["state"] == "SUCCEEDED", answer
            if began >= start:
                self.latencies.append(time.monotonic() - began)
        writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: str, body: bytes = b""
    ) -> dict[str, Any]:
        head = (
            f"{request} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(headers.partition("content-length:")[2].partition("\r\n")[0])
        found: dict[str, Any] = json.loads(await reader.readexactly(length))
        return found


async def measure(port: int, tokens: dict[str, str], clients: int, seconds: float) -> dict[str, list[Client]]:
    """Returns the clients of each group, which have run for `seconds` after the warm-up."""
    *short, long = tokens
    found = {name: [Client(port, tokens[name]) for _ in range(clients // len(short))] for name in short}
    found[long] = [Client(port, tokens[long]) for _ in range(LONG_CLIENTS)]
    start = time.monotonic() + WARM_S
    runs = [
        client.run(LONG if name == long else SHORT, start, start + seconds)
        for name, members in found.items()
        for client in members
    ]
    await asyncio.gather(*runs)
    return found


def report(found: dict[str, list[Client]], seconds: float) -> str:
    *short, long = found
    counts = Counter({name: sum(len(client.latencies) for client in found[name]) for name in short})
    latencies = sorted(each for name in short for client in found[name] for each in client.latencies)
    cut = statistics.quantiles(latencies, n=100)
    mean = counts.total() / len(counts)
    shares = [number / mean for number in counts.values()]
    long_ones = [each for client in found[long] for each in client.latencies]
    return (
        f"{sum(map(len, found.values()))} clients, {len(short)} groups: {counts.total() / seconds:.0f} statements a"
        f" second; shares {min(shares):.3f} to {max(shares):.3f} of the mean; p50 {cut[49]:.3f} s, p99 {cut[98]:.3f} s"
        f" ({cut[98] / cut[49]:.2f} x); {len(long_ones)} long ones of {statistics.median(long_ones):.1f} s beside them"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--clients", type=int, default=500)
    options.add_argument("--groups", type=int, default=10)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--results", type=Path, help="file to which the line is appended")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="groups") as name:
        folder = Path(name)
        for part in ("lake", "catalog"):
            (folder / part).mkdir(mode=0o700)
        users = [f"user{number}" for number in range(given.groups)] + ["reports"]
        store = TokenStore(folder / "tokens")
        tokens = {
            user: store.create(TokenRequest(owner=TokenOwner(principal=user, method="token")))[0] for user in users
        }
        groups = "".join(f'[[admission.groups]]\nname = "{user}"\nmembers = ["{user}"]\n' for user in users)
        (folder / "gateway.toml").write_text(groups)
        process = ServerProcess(
            folder,
            "--config",
            str(folder / "gateway.toml"),
            str(folder / "lake"),
            GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "catalog"),
            GATEWAY_AUTHENTICATION_METHODS='["token"]',
            GATEWAY_AUTHENTICATION_TOKEN_FILE=str(folder / "tokens"),
        )
        try:
            line = report(
                asyncio.run(measure(process.ports()["http"], tokens, given.clients, given.seconds)), given.seconds
            )
        finally:
            process.popen.send_signal(signal.SIGTERM)
            process.end()
    print(line)
    if given.results:
        with given.results.open("a") as file:
            file.write(f"{line}\n")


if __name__ == "__main__":
    main()
