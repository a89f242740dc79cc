"""Gateway processes over one state folder, in this process: their front ends, a scripted engine, and their crash."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from werkzeug.test import TestResponse

from engine.runtime.identity import Identity
from engine.spool.budget import SpoolBudget
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.peer import Peer
from gateway.hs2.dispatch import Dispatcher
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.hs2.service import FRONT_END as THRIFT
from gateway.hs2.service import Client, Service
from gateway.http.app import HttpOptions, create_app
from gateway.http.delivery import FRONT_END
from gateway.lifecycle import Lifecycle, Ports
from gateway.recovery import FrontEnd, Recovery
from gateway.registry import EnsureCurrent, Registry, believe
from gateway.results.result_store import ResultStore
from gateway.sessions.limits import Limits
from gateway.state.folder import StateFolder
from gateway.state.journal import StateStore
from gateway.state.remote_folder import RemoteFolder
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.hs2.wire import DispatcherTransport
from tests.gateway.http.conftest import STATEMENTS, LocalClient

BYTES_MAX = 1 << 30


class SentTransport(DispatcherTransport):
    """Counts each response as sent."""

    def __init__(self, dispatcher: Dispatcher, client: Client) -> None:
        super().__init__(dispatcher)
        self._client = client

    def flush(self) -> None:
        super().flush()
        if before_last := self._client.take_before_last():
            before_last()


_LIMITS = Limits(reap_every_s=0.2)


class Process:
    """One gateway process. `memory` is the part of each result that is in memory."""

    def __init__(
        self,
        folder: Path | str,
        engine: ArrowEngine,
        *,
        records_max: int = BYTES_MAX,
        memory: int = 1 << 20,
        ensure_current: EnsureCurrent = believe,
        limits: Limits = _LIMITS,
    ) -> None:
        self.engine, self.place = engine, folder
        self.calls: list[str] = []
        opened = RemoteFolder(folder) if isinstance(folder, str) else StateFolder(folder)
        self.state = StateStore(
            opened,
            SpoolBudget(records_max, setting="state.bytes_max"),
            SpoolBudget(BYTES_MAX, setting="results.disk_bytes_max"),
            lambda: self.calls.append("lost"),
        )
        store = ResultStore(self.state.spool, memory)
        self.registry = Registry(engine, limits, ensure_current=ensure_current, store=store)
        self.registry.state = self.state
        lifecycle = Lifecycle()
        lifecycle.become_ready(self.registry, Ports(thrift=1, http=2))
        app = create_app(lifecycle, Anonymous(), HttpOptions(threads=8))
        self.service = Service(self.registry, Anonymous())
        self._http = LocalClient(app, TestResponse)
        front_ends: dict[str, FrontEnd] = {FRONT_END: app.extensions[FRONT_END], THRIFT: self.service}
        self._recovery = Recovery(self.registry, self.state, front_ends)
        self.num_restored = self.recover()

    def recover(self) -> int:
        """Takes over the sessions of processes that have ended; returns their number."""
        return self._recovery.take_over()

    def thrift(self, identity: Identity | str | None = "ada", descriptor: int = -1) -> ThriftClient:
        """Returns a client; `descriptor` is the socket of its connection."""
        user = Identity(identity) if isinstance(identity, str) else identity
        client = Client(Peer("127.0.0.1"), user, descriptor=descriptor)
        return ThriftClient(TBinaryProtocol(SentTransport(Dispatcher(self.service, client), client)))

    def http(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Returns a response's JSON, with its status as `http_status`."""
        options: dict[str, Any] = {} if body is None else {"json": body}
        response = self._http.open(path, method=method, **options)
        answer: dict[str, Any] = json.loads(response.data)
        return answer | {"http_status": response.status_code}

    def submit(self, text: str, **options: object) -> dict[str, Any]:
        return self.http("POST", STATEMENTS, {"statement": text, "wait_timeout": "50s", **options})

    def poll(self, statement: dict[str, Any]) -> dict[str, Any]:
        return self.http("GET", f"{STATEMENTS}/{statement['statement_id']}?wait_timeout=30s")

    def crash(self) -> None:
        """Ends as a killed process does: its lock is free, and nothing is written or removed any more."""
        if isinstance(self.state._folder, RemoteFolder) and (replica := self.state._folder.replica) is not None:
            with replica._changed:
                replica._is_ending = True
                replica._changed.notify_all()
            replica._thread.join()
        for session in (*self.registry.sessions(), *self.registry._retired):
            session.suspend()
        self.state.lease.release(removes=False)

    def stop(self) -> None:
        """Ends as at SIGTERM."""
        self.registry.drain(0)
        self.state.close()


@contextlib.contextmanager
def killed(process: Process) -> Iterator[None]:
    """Kills the process at the end of the block."""
    yield
    process.crash()
