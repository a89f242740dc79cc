"""Several gateways with one state folder, in one process, over scripted engines."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gateway.configuration.loader import load_config
from gateway.forwarding.signed_calls import HEADER
from gateway.lifecycle import Ports
from gateway.server import Server
from gateway.state.journal import StateStore
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.http.conftest import STATEMENTS, eventually


@dataclass
class Gateway:
    """One gateway with its engine."""

    server: Server
    engine: ArrowEngine
    ports: Ports
    # None: requests have no credentials.
    user: str | None = None

    def call(self, method: str, path: str, body: object = None, forged: str | None = None) -> tuple[int, Any]:
        """Returns the status and the JSON of a response."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.user is not None:
            credentials = base64.b64encode(f"{self.user}:{self.user * 2}".encode()).decode()
            headers["Authorization"] = f"Basic {credentials}"
        if forged is not None:
            headers[HEADER] = forged
        url = path if path.startswith("http") else f"http://127.0.0.1:{self.ports.http}{path}"
        request = urllib.request.Request(url, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def submit(self, text: str, wait: str = "30s", **options: object) -> Any:
        status, answer = self.call("POST", STATEMENTS, {"statement": text, "wait_timeout": wait, **options})
        assert status == 200, answer
        return answer

    def poll(self, statement: Any, wait: str = "30s") -> Any:
        status, answer = self.call("GET", f"{STATEMENTS}/{statement['statement_id']}?wait_timeout={wait}")
        assert status == 200, answer
        return answer

    @property
    def state(self) -> StateStore:
        registry = self.server._lifecycle.registry
        assert registry is not None and registry.state is not None
        return registry.state

    def crash(self) -> None:
        """Ends its lease as the end of its process does; it continues to run, as nobody's gateway."""
        self.server._take_over.stop()  # type: ignore[union-attr]
        self.state.flush()  # in an object store, the end is a second after the last record
        self.state.lease.release(removes=False)

    def end(self) -> None:
        """Drains it, without the second in which clients may fetch the rest of their rows."""
        registry = self.server._lifecycle.registry
        assert registry is not None
        registry.limits = replace(registry.limits, linger_s=0)
        self.server.drain()


Maker = Callable[..., Gateway]


@contextmanager
def gateways(tmp_path: Path, state_folder: str) -> Iterator[Maker]:
    """Yields a function that starts a gateway with a configuration file and settings, and waits until all know it."""
    made: list[Gateway] = []

    def build(file: Path | None = None, **flags: object) -> Gateway:
        (tmp_path / "lake").mkdir(exist_ok=True)
        settings: dict[str, object] = {"server.thrift_port": 0, "server.http_port": 0, "server.drain_deadline_s": 5}
        settings |= {"lake.folder": str(tmp_path / "lake"), "state.folder": state_folder}
        config = load_config(file, {}, settings | {name.replace("__", "."): value for name, value in flags.items()})
        engine = ArrowEngine()
        server = Server(config, lambda _: None, lambda *_: engine)
        made.append(Gateway(server, engine, server.start()))
        assert eventually(lambda: all(len(one.state.other_addresses()) >= len(made) - 1 for one in made))
        return made[-1]

    yield build
    for gateway in made:
        gateway.end()
