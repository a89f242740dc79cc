"""Questions that our Java asks while Spark plans, on whatever thread Spark plans.

Not py4j's way of calling back: its port lets anybody on the machine in, for Spark's end of it has no password. Here a
connection is one question: a line with the password and a line of JSON; then back a line of JSON, `null` or what went
wrong, and an Arrow stream. That takes about a millisecond on the loopback device.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa

Answer = Callable[[dict[str, Any]], pa.Table]

_TIMEOUT_S = 60
_QUESTION_BYTES_MAX = 64 << 20


class QuestionServer:
    """Listens on loopback from its making to :meth:`close`; `answer` is called on a thread for each question."""

    def __init__(self, answer: Answer) -> None:
        self.password = secrets.token_hex(32)
        self._server = _Server(self.password, answer)
        threading.Thread(target=self._server.serve_forever, name="questions", daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, password: str, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.password, self.answer = password.encode(), answer


class _Handler(socketserver.StreamRequestHandler):
    timeout = _TIMEOUT_S
    wbufsize = 1 << 16
    server: _Server

    def handle(self) -> None:
        given = self.rfile.readline(len(self.server.password) + 1).rstrip(b"\n")
        if not hmac.compare_digest(given, self.server.password):
            return
        question = json.loads(self.rfile.readline(_QUESTION_BYTES_MAX))
        try:
            answer = self.server.answer(question)
        except Exception as error:  # noqa: BLE001  the statement raises it; Java only has to stop
            self.wfile.write(json.dumps(f"{type(error).__name__}: {error}").encode() + b"\n")
            return
        self.wfile.write(b"null\n")
        with pa.ipc.new_stream(self.wfile, answer.schema) as stream:
            stream.write_table(answer)
