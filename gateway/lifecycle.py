"""Where the server is in its life, as its front ends and its health checks see it.

    STARTING ──► READY ──► DRAINING

The registry exists from READY on. While DRAINING it refuses new work itself and still answers for what runs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum

from gateway.registry import Registry


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

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._registry: Registry | None = None
        self._ports: Ports | None = None

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

    def become_ready(self, registry: Registry, ports: Ports) -> None:
        with self._lock:
            if self._phase is Phase.STARTING:
                self._registry, self._ports, self._phase = registry, ports, Phase.READY

    def become_draining(self) -> None:
        with self._lock:
            self._phase = Phase.DRAINING
