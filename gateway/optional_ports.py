"""The front ends whose ports are closed unless a setting opens them.

A front end's module is imported by name when its port is open: its packages are optional, and slow to import. It has
the name of the front end in its statements' options, `FRONT_END`, and `make_server`, which returns a
:class:`FrontEndServer` that is not started.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from catalog.conditions import ConnectNotInstalled, FlightNotInstalled, PostgresNotInstalled
from catalog.errors import SqlError
from gateway.authenticators.exchange import Authenticator
from gateway.configuration.config import ServerSection
from gateway.forwarding.forwarder import OpenForwarder
from gateway.process.listening import ensure_port_free
from gateway.process.supervision import OnDeath
from gateway.process.tls import TlsServer
from gateway.recovery import FrontEnd
from gateway.registry import Registry


class FrontEndServer(Protocol):
    """A port's server."""

    @property
    def service(self) -> FrontEnd | None:
        """Returns the part that continues statements of a former process; None for a front end without."""
        ...

    def start(self) -> int:
        """Starts the server, and returns the port."""
        ...

    def stop(self) -> None:
        """Accepts no more calls, ends the open ones, and waits briefly for their threads."""
        ...


@runtime_checkable
class CountedServer(Protocol):
    """A port's server that knows the number of its connections."""

    def connection_count(self) -> int:
        """Returns the number of open connections."""
        ...


@runtime_checkable
class ForwardingServer(Protocol):
    """A port's server that sends calls for other gateways' sessions to these."""

    def forward(self, open_forwarder: OpenForwarder) -> None:
        """Sets the forwarder for other gateways' sessions; called before `start`."""
        ...


@dataclass(frozen=True, slots=True)
class OptionalPort:
    """A front end in the module `module`; `is_missing` makes the error for packages that are not installed."""

    module: str
    is_missing: Callable[[str], SqlError]
    uses_grpc: bool = False


# By the key in the port file; the setting is `server.<key>_port`.
OPTIONAL_PORTS: Mapping[str, OptionalPort] = {
    "connect": OptionalPort("gateway.connect.server", ConnectNotInstalled, uses_grpc=True),
    "postgres": OptionalPort("gateway.postgres.server", PostgresNotInstalled),
    "flight": OptionalPort("gateway.flight.server", FlightNotInstalled, uses_grpc=True),
}


@dataclass(slots=True)
class OptionalFrontEnds:
    """The servers of the open ports, in the order of `OPTIONAL_PORTS`."""

    config: ServerSection
    _modules: dict[str, Any] = field(default_factory=dict)
    _servers: dict[str, FrontEndServer] = field(default_factory=dict)

    def load(self) -> None:
        """Imports the modules of the open ports. Raises the error for missing packages, and `PortInUse`."""
        for name, port in self.config.optional_ports.items():
            if port < 0:
                continue
            self._modules[name] = _import(OPTIONAL_PORTS[name])
            ensure_port_free(name, self.config.host, port)

    def make(
        self,
        registry: Registry,
        authenticator: Authenticator,
        tls: TlsServer | None,
        parts: ExitStack,
        on_death: OnDeath,
    ) -> None:
        """Makes the servers, which `parts` stops."""
        ports = self.config.optional_ports
        for name, module in self._modules.items():
            server = module.make_server(registry, authenticator, self.config.host, ports[name], tls, on_death)
            parts.callback(server.stop)
            self._servers[name] = server

    def forward(self, open_forwarder: OpenForwarder) -> None:
        """Sends calls for other gateways' sessions to these."""
        for server in self._servers.values():
            if isinstance(server, ForwardingServer):
                server.forward(open_forwarder)

    def start(self) -> Mapping[str, int]:
        """Starts the servers; returns their ports."""
        return {name: server.start() for name, server in self._servers.items()}

    @property
    def connection_counts(self) -> Mapping[str, Callable[[], int]]:
        """Returns functions that count the open connections, by the key in the port file."""
        return {name: one.connection_count for name, one in self._servers.items() if isinstance(one, CountedServer)}

    @property
    def services(self) -> Mapping[str, FrontEnd]:
        """Returns the parts that continue statements of a former process, by the name in their options."""
        named = {self._modules[name].FRONT_END: server.service for name, server in self._servers.items()}
        return {name: service for name, service in named.items() if service is not None}


def _import(port: OptionalPort) -> Any:
    if port.uses_grpc:
        # gRPC's handlers around each fork, such as the start of another Java, are for children that use gRPC.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    try:
        return importlib.import_module(port.module)
    except ImportError as error:  # also PySpark's own, for a package that it misses
        raise port.is_missing(str(error).partition("\n")[0]) from error
