"""Callbacks from the gateway's Java code while Spark plans, and announcements while Spark runs, on any thread.

py4j's callback mechanism is not used: any user on the machine can connect to its port, because Spark sets no password
for it. Here a connection is one request: a line with the password and a line with JSON; the response is a JSON line,
`null` or the error, and an Arrow stream, another JSON line, or Arrow messages, each preceded by its row count and its
length. That takes about a millisecond on the loopback device.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

Answer = Callable[[dict[str, Any]], pa.Table | dict[str, Any] | Iterator[pa.RecordBatch]]
Follow = Callable[[dict[str, Any], Iterable[bytes]], None]

logger = logging.getLogger(__name__)

_TIMEOUT_S = 60
_PAUSE_S = 0.1
_REQUEST_BYTES_MAX = 64 << 20
_HEAD = struct.Struct(">ii")
_END = -1


class CallbackServer:
    """A server on loopback, from its creation to :meth:`close`; `answer` is called on a thread for each request, and
    `follow` with each announcement and its lines.
    """

    def __init__(self, answer: Answer, follow: Follow) -> None:
        self.password = secrets.token_hex(32)
        self._server = _Server(self.password, answer, follow)
        self._is_closed = False
        threading.Thread(target=self._serve, name="questions", daemon=True).start()

    @property
    def port(self) -> int:
        """Returns the port on loopback, which the system has chosen."""
        return int(self._server.server_address[1])

    def _serve(self) -> None:
        """Accepts connections until :meth:`close`: without this thread every statement would wait for its file
        lists.
        """
        while not self._is_closed:
            try:
                self._server.serve_forever()
            except Exception:  # for example, the process is out of threads or descriptors
                logger.exception("questions of Spark were not taken; listening goes on")
                time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Ends the listening; calls that have begun may finish after this."""
        self._is_closed = True
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, password: str, answer: Answer, follow: Follow) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.password = password.encode()
        self.answer = answer
        self.follow = follow


class _Handler(socketserver.StreamRequestHandler):
    timeout = _TIMEOUT_S
    wbufsize = 1 << 16
    server: _Server

    def handle(self) -> None:
        # Bounded, because anyone on the machine can connect and send an endless line.
        given = self.rfile.readline(len(self.server.password) + 1).rstrip(b"\n")
        # In constant time; the connection ends without an answer that would help a guess.
        if not hmac.compare_digest(given, self.server.password):
            return
        callback = json.loads(self.rfile.readline(_REQUEST_BYTES_MAX))
        if "result" in callback:
            self.connection.settimeout(None)  # the next rows may take long
            with suppress(ConnectionError):  # Java was killed, which fails the query
                self.server.follow(callback, self.rfile)
            return
        try:
            answer = self.server.answer(callback)
        except Exception as error:  # noqa: BLE001  the statement raises it; Java only has to stop
            self.wfile.write(json.dumps(f"{type(error).__name__}: {error}").encode() + b"\n")
            return
        self.wfile.write(b"null\n")
        if isinstance(answer, dict):
            self.wfile.write(json.dumps(answer).encode() + b"\n")
            return
        if isinstance(answer, pa.Table):
            with pa.ipc.new_stream(self.wfile, answer.schema) as stream:
                stream.write_table(answer)
            return
        for batch in answer:
            message = batch.serialize()
            self.wfile.write(_HEAD.pack(batch.num_rows, message.size))
            self.wfile.write(message)
        self.wfile.write(_HEAD.pack(_END, 0))
