"""Where the server is in its life, as its front ends and its health checks see it.

    STARTING ──► READY ──► DRAINING

The registry exists from READY on. While DRAINING it refuses new work itself and still answers for what runs. A part
that fails for good (`fail`) makes the process drain and end with an error, so that its supervisor starts it
again: half a server is worse than none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from catalog.errors import SqlError
from gateway.sessions.registry import Registry


class Phase(StrEnum):
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports in use."""

    thrift: int
    http: int


class Lifecycle:
    """Written by the server, read by everyone; thread-safe."""

    def __init__(self, restarts: int = 0) -> None:
        """`restarts` is how often the server was started again after a crash."""
        self.restarts = restarts
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._registry: Registry | None = None
        self._ports: Ports | None = None
        self._failure: SqlError | None = None
        self._on_failure: list[Callable[[], None]] = []

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def registry(self) -> Registry | None:
        """None while the server starts."""
        return self._registry

    @property
    def ports(self) -> Ports | None:
        """None while the server starts."""
        return self._ports

    @property
    def failure(self) -> SqlError | None:
        """The first error after which a part cannot go on."""
        return self._failure

    def fail(self, error: SqlError) -> None:
        """A part of the server cannot go on."""
        with self._lock:
            self._failure = self._failure or error
            callbacks, self._on_failure = self._on_failure, []
        for callback in callbacks:
            callback()

    def on_failure(self, callback: Callable[[], None]) -> None:
        """Run `callback` when a part fails (at once if one did)."""
        with self._lock:
            if self._failure is None:
                self._on_failure.append(callback)
                return
        callback()

    def become_ready(self, registry: Registry, ports: Ports) -> None:
        with self._lock:
            if self._phase is Phase.STARTING:
                self._registry = registry
                self._ports = ports
                self._phase = Phase.READY

    def become_draining(self) -> None:
        with self._lock:
            self._phase = Phase.DRAINING
