"""A statement API client as an application would write it: sessions, polling, chunks, links."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

API = "/api/2.0/sql"
_UNFINISHED = ("PENDING", "RUNNING")


class HttpRefused(Exception):
    """The API answered an error; `answer` is its body."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        super().__init__(f"{status} {answer}")
        self.status, self.answer = status, answer


@dataclass(frozen=True)
class HttpClient:
    """A client in the session `session_id`, if given."""

    port: int
    session_id: str | None = None
    # Seconds without a byte of the response after which a request fails.
    timeout_s: float = 90

    def session(self, **settings: str) -> HttpClient:
        opened = self.ask("POST", "/sessions", {"session_confs": settings})
        return replace(self, session_id=opened["session_id"])

    def close(self) -> None:
        if self.session_id:
            self.ask("DELETE", f"/sessions/{self.session_id}")

    def submit(self, text: str, wait: str = "50s", **fields: object) -> dict[str, Any]:
        body = {"statement": text, "wait_timeout": wait, **fields}
        return self.ask("POST", "/statements", body | ({"session_id": self.session_id} if self.session_id else {}))

    def wait(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer when the statement has ended."""
        while answer["status"]["state"] in _UNFINISHED:
            answer = self.ask("GET", f"/statements/{answer['statement_id']}?wait_timeout=50s")
        return answer

    def run(self, text: str, **fields: object) -> dict[str, Any]:
        """Returns the response for a statement that must succeed."""
        answer = self.wait(self.submit(text, "50s", **fields))
        assert answer["status"]["state"] == "SUCCEEDED", answer["status"]
        return answer

    def failure(self, text: str) -> dict[str, Any]:
        """Returns the error from a statement that must fail."""
        answer = self.wait(self.submit(text))
        assert answer["status"]["state"] == "FAILED", answer["status"]
        error: dict[str, Any] = answer["status"]["error"]
        return error

    def rows(self, text: str) -> list[list[str | None]]:
        """Returns all rows as text."""
        answer = self.run(text)
        result, rows = answer["result"], []
        while True:
            rows += result.get("data_array", [])
            if result.get("next_chunk_index") is None:
                return rows
            result = self.ask("GET", f"/statements/{answer['statement_id']}/result/chunks/{result['next_chunk_index']}")

    def arrow(self, text: str) -> tuple[dict[str, str], pa.Table]:
        """Returns SQL types by column, and all rows, through external links."""
        answer = self.run(text, format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
        chunks = []
        for index in range(answer["manifest"]["total_chunk_count"]):
            result = self.ask("GET", f"/statements/{answer['statement_id']}/result/chunks/{index}")
            with urllib.request.urlopen(result["external_links"][0]["external_link"], timeout=90) as response:
                chunks.append(pa.ipc.open_stream(io.BytesIO(response.read())).read_all())
        columns = answer["manifest"]["schema"]["columns"]
        return {column["name"]: column["type_text"].lower() for column in columns}, pa.concat_tables(chunks)

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        content = json.dumps(body).encode() if body is not None else None
        url = f"http://127.0.0.1:{self.port}{API}{path}"
        request = urllib.request.Request(url, content, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as response:
                answer: dict[str, Any] = json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            raise HttpRefused(error.code, json.loads(error.read())) from error
        return answer
