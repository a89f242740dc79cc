"""The server's life cycle, as its front ends and health checks see it.

    STARTING ──► READY ──► DRAINING

The registry exists from READY on. While DRAINING it rejects new work itself and still responds for running work. A part
that fails permanently (`fail`) makes the process drain and exit with an error, so that its supervisor restarts it: a
partly working server is worse than a restart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from catalog.errors import SqlError
from gateway.forwarding.forwarder import Forwarder
from gateway.observability.traffic import Traffic
from gateway.registry import Registry


class Phase(StrEnum):
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports in use; `optional` has the open ones of `gateway/optional_ports.py` by name."""

    thrift: int
    http: int
    optional: Mapping[str, int] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, int]:
        """Returns the open ports by name."""
        return {"thrift": self.thrift, "http": self.http, **self.optional}


class Lifecycle:
    """The life cycle, written by the server and read by all threads; thread-safe."""

    def __init__(self, restarts: int = 0) -> None:
        """Begins at STARTING; `restarts` is the number of restarts after a crash."""
        self.restarts = restarts
        self.traffic = Traffic()
        # Set before READY if there may be other gateways.
        self.forwarder: Forwarder | None = None
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._registry: Registry | None = None
        self._ports: Ports | None = None
        self._failure: SqlError | None = None
        self._on_failure: list[Callable[[], None]] = []

    @property
    def phase(self) -> Phase:
        """Returns the current phase: starting, ready or draining."""
        return self._phase

    @property
    def registry(self) -> Registry | None:
        """Returns the registry; None during startup."""
        return self._registry

    @property
    def ports(self) -> Ports | None:
        """Returns the ports; None during startup."""
        return self._ports

    @property
    def failure(self) -> SqlError | None:
        """Returns the first permanent failure."""
        return self._failure

    def fail(self, error: SqlError) -> None:
        """Records a part's permanent failure."""
        with self._lock:
            self._failure = self._failure or error
            callbacks, self._on_failure = self._on_failure, []
        for callback in callbacks:
            callback()

    def on_failure(self, callback: Callable[[], None]) -> None:
        """Registers `callback` for a permanent failure; runs it immediately if one has occurred."""
        with self._lock:
            if self._failure is None:
                self._on_failure.append(callback)
                return
        callback()

    def become_ready(self, registry: Registry, ports: Ports) -> None:
        """Ends the start: front ends then accept calls. Has no effect on a server that is draining already."""
        with self._lock:
            if self._phase is Phase.STARTING:
                self._registry = registry
                self._ports = ports
                self._phase = Phase.READY

    def become_draining(self) -> None:
        """Begins the shutdown, which cannot be taken back. Running statements go on, new sessions are rejected."""
        with self._lock:
            self._phase = Phase.DRAINING
