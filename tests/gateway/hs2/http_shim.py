"""Thrift over plain HTTP for tests of the protocol: a body is a message, its answer the reply's body."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gateway.hs2.dispatch import Dispatcher
from gateway.hs2.service import Client, Service


@contextlib.contextmanager
def serving_http(service: Service) -> Iterator[int]:
    """The port of a server over `service`; whoever asks is `ada`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = self.rfile.read(int(self.headers["Content-Length"]))
            reply = Dispatcher(service, Client("127.0.0.1", "ada")).answer(message)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-thrift")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
