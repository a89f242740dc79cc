"""A result larger than the server's memory limit passes through it, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from engine.runtime.results import ResultStream, sql_field
from engine.spool.budget import SpoolBudget
from engine.spool.spool import Spool
from gateway.results.result_store import ResultStore
from tests.bench.statement_client import MEGA, Memory
from tests.gateway.http.conftest import Live, eventually
from tests.paths import ROOT

RESULT_BYTES, MEMORY_BYTES_MAX = 400 << 20, 256 << 20
CLIENT = """
import sys
from tests.bench.statement_client import Client, STATEMENTS, fetch_links
client = Client(int(sys.argv[1]))
answer = client.run("BIG", disposition="EXTERNAL_LINKS", format="ARROW_STREAM")
print(fetch_links(client, answer), client.drain(f"{STATEMENTS}/{answer['statement_id']}/result/file?format=arrow"))
client.ask("DELETE", f"{STATEMENTS}/{answer['statement_id']}")
"""


def test_memory_is_bounded_whatever_the_size(live: Live, tmp_path: Path) -> None:
    schema = pa.schema([sql_field("text", pa.string(), "string")])
    texts = pa.array([f"{number:0>100}" for number in range(10_000)])

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(RESULT_BYTES // texts.nbytes):
            yield pa.record_batch([pa.concat_arrays([texts, texts[:1]])], schema=schema)  # with separate memory

    live.engine.answers["BIG"] = lambda _: ResultStream(schema=schema, source=batches())
    store = live.registry.store = ResultStore(Spool(tmp_path, SpoolBudget(1 << 30)), 1 << 20)
    memory = Memory(os.getpid())
    client = subprocess.run([sys.executable, "-c", CLIENT, str(live.port)], cwd=ROOT, capture_output=True, text=True)
    memory.end()
    assert client.returncode == 0, client.stderr
    assert all(int(size) > RESULT_BYTES * 0.95 for size in client.stdout.split())
    assert memory.peak[0] - memory.idle[0] < MEMORY_BYTES_MAX, f"{(memory.peak[0] - memory.idle[0]) // MEGA} MB"
    assert eventually(lambda: store.held_bytes() == 0 and not list(tmp_path.iterdir()))
