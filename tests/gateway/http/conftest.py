"""The HTTP interface over a scripted engine: in process (`api`), or as a server on a port (`live`)."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from engine.engine import Engine
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.peer import Peer
from gateway.hs2.server import ThriftServer, ThriftSettings
from gateway.http.app import HttpOptions, create_app
from gateway.http.callers import PEER
from gateway.http.connection import HttpLimits
from gateway.http.hosts import KnownHosts
from gateway.http.row_links import RowLinkMaker
from gateway.http.server import HttpServer, HttpSettings
from gateway.http.staged_links import LinkSigner, StagedLinks
from gateway.http.thrift_route import ThriftRoute
from gateway.lifecycle import Lifecycle, Ports
from gateway.process.tls import TlsServer
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine

STATEMENTS = "/api/2.0/sql/statements"


class LocalClient(Client):
    """Sends from this machine by default."""

    def open(self, *arguments: Any, **options: Any) -> TestResponse:
        own = {"REMOTE_ADDR": "127.0.0.1", PEER: Peer("127.0.0.1")}
        return super().open(*arguments, **options | {"environ_base": own | options.get("environ_base", {})})


@dataclass
class Api:
    """Requests to the application, and its engine."""

    engine: ArrowEngine
    registry: Registry
    lifecycle: Lifecycle
    client: Client = field(repr=False)
    peer: str = "127.0.0.1"

    def request(self, method: str, path: str, body: object = None, **headers: str) -> TestResponse:
        """`body` is sent as JSON."""
        options: dict[str, Any] = {} if body is None else {"json": body}
        return self.client.open(
            path,
            method=method,
            headers=headers,
            environ_base={"REMOTE_ADDR": self.peer, PEER: Peer(self.peer)},
            **options,
        )

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Returns a successful request's JSON."""
        response = self.request(method, path, body)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = json.loads(response.data)
        return answer

    def submit(self, text: str, **options: object) -> dict[str, Any]:
        """Returns the answer to a statement, when it has ended: on a slow machine the default wait may be too short."""
        return self.ask("POST", STATEMENTS, {"statement": text, "wait_timeout": "50s", **options})

    def refuse(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """Returns a failing request's status and error code."""
        response = self.request(method, path, body, **headers)
        answer = json.loads(response.data)
        assert response.status_code >= 400 and answer["message"], answer
        return response.status_code, answer["error_code"]


Maker = Callable[..., Api]


@pytest.fixture
def make_api() -> Iterator[Maker]:
    made: list[Api] = []

    def build(*, threads: int = 8, is_ready: bool = True, **limits: float) -> Api:
        engine, lifecycle = ArrowEngine(), Lifecycle()
        registry = Registry(engine, Limits(linger_s=0, **limits))  # type: ignore[arg-type]
        if is_ready:
            lifecycle.become_ready(registry, Ports(thrift=10000, http=8080))
        app = create_app(lifecycle, Anonymous(), HttpOptions(threads=threads))
        made.append(Api(engine, registry, lifecycle, LocalClient(app, TestResponse)))
        return made[-1]

    yield build
    for api in made:
        api.registry.drain(0)


@pytest.fixture
def api(make_api: Maker) -> Api:
    return make_api()


@dataclass
class Live:
    """A server on a local port."""

    engine: ArrowEngine
    registry: Registry
    server: HttpServer
    route: ThriftRoute
    thrift: ThriftServer
    thrift_port: int
    deaths: list[str]

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def thrift_route(authenticator: Authenticator | None = None, staged: StagedLinks | None = None) -> ThriftRoute:
    signer = LinkSigner(lifetime_s=900)
    links = RowLinkMaker(signer=signer, staged=staged or StagedLinks(signer))
    return ThriftRoute(authenticator or Anonymous(), KnownHosts(), links)


@contextlib.contextmanager
def serving_http(
    *,
    threads: int = 6,
    authenticator: Authenticator | None = None,
    tls: TlsServer | None = None,
    port: int = 0,
    is_ready: bool = True,
    limits: Limits | None = None,
    over: Engine | None = None,
    **http_limits: float,
) -> Iterator[Live]:
    """Yields a server with these `HttpLimits`, and the Thrift server whose calls it takes; `over` another engine."""
    authenticator = authenticator or Anonymous()
    engine, lifecycle = ArrowEngine(), Lifecycle()
    registry, deaths = Registry(over or engine, limits or Limits(linger_s=0)), list[str]()
    app = create_app(lifecycle, authenticator, HttpOptions(threads=threads))
    route = thrift_route(authenticator)
    settings = HttpSettings(threads=threads, limits=HttpLimits(**http_limits), tls=tls)  # type: ignore[arg-type]
    server = HttpServer(app, route, "127.0.0.1", port, settings=settings, on_death=deaths.append)
    server.start()
    thrift = ThriftServer(registry, authenticator, "127.0.0.1", 0, ThriftSettings(tls=tls), deaths.append)
    thrift_port = thrift.start()
    if is_ready:
        lifecycle.become_ready(registry, Ports(thrift=thrift_port, http=server.port))
        route.open(thrift.conversations())
    yield Live(engine, registry, server, route, thrift, thrift_port, deaths)
    registry.drain(0)
    thrift.stop()
    server.stop()


@pytest.fixture
def live() -> Iterator[Live]:
    with serving_http() as live:
        yield live


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Returns whether `condition` comes true; a busy machine may take much longer than a quiet one."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
