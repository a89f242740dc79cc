"""A statement API client that discards rows, and the memory of measured processes."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

STATEMENTS = "/api/2.0/sql/statements"
MEGA = 1 << 20


def resident_bytes(process_id: int) -> int:
    with suppress(OSError), open(f"/proc/{process_id}/statm") as file:
        return int(file.read().split()[1]) * 4096
    return 0


class Memory:
    """Peaks of processes' resident sets, sampled."""

    def __init__(self, *process_ids: int) -> None:
        self._ids = process_ids
        self.idle = [resident_bytes(each) for each in process_ids]
        self.peak = list(self.idle)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            self.peak = [max(peak, resident_bytes(each)) for peak, each in zip(self.peak, self._ids, strict=True)]

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        content = json.dumps(body) if body is not None else None
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer

    def drain(self, path: str) -> int:
        """Returns a document's size in bytes; its content is discarded."""
        self._connection.request("GET", path)
        answer, size = self._connection.getresponse(), 0
        assert answer.status == 200, answer.read()
        while piece := answer.read(MEGA):
            size += len(piece)
        return size

    def run(self, text: str, **options: object) -> dict[str, Any]:
        answer = self.ask("POST", STATEMENTS, {"statement": text, "wait_timeout": "50s", **options})
        while answer.get("status", {}).get("state") in ("PENDING", "RUNNING"):
            answer = self.ask("GET", f"{STATEMENTS}/{answer['statement_id']}?wait_timeout=50s")
        assert answer.get("status", {}).get("state") == "SUCCEEDED", answer
        return answer


def fetch_links(client: Client, answer: dict[str, Any]) -> int:
    """Returns all chunks by their external links, in order."""
    size, index, total = 0, 0, answer["manifest"]["total_chunk_count"]
    while index < total:
        part = client.ask("GET", f"{STATEMENTS}/{answer['statement_id']}/result/chunks/{index}")
        for link in part["external_links"]:
            url = urlsplit(link["external_link"])
            size += client.drain(f"{url.path}?{url.query}")
            index = link["chunk_index"] + 1
    return size
