"""The Spark Connect port: gRPC's server with its limits.

A call occupies a thread while it runs, as a statement's stream does until its end; further calls than `calls_max` are
rejected. gRPC itself limits connections, messages, metadata, the streams of a connection, and the time without an
answer to its keepalive, after which the client counts as gone.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

from catalog.conditions import PortInUse
from gateway.authenticators.exchange import Authenticator
from gateway.connect.client_sessions import WIRE, ClientSessions
from gateway.connect.executions import DETACHED_S, STREAM_S
from gateway.connect.forwarding import Elsewhere
from gateway.connect.proto import pb2
from gateway.connect.rpc import SERVICE, Rpc, Streaming, Unary
from gateway.connect.service import Service
from gateway.forwarding.forwarder import OpenForwarder
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.process.tls import TlsServer
from gateway.registry import Registry
from gateway.sessions.bounded import EngineCalls

logger = logging.getLogger(__name__)

# The name in the options of its statements, for their recovery.
FRONT_END = WIRE
_LOOK_AFTER_S = 1.0
_STOP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectSettings:
    """The port's limits; with `tls` it accepts TLS only. Times are in seconds."""

    tls: TlsServer | None = None
    connections_max: int = 1000
    connection_idle_s: int = 1800
    calls_max: int = 500
    connection_streams_max: int = 200
    message_bytes_max: int = 128 << 20
    metadata_bytes_max: int = 32 << 10
    keepalive_s: int = 60
    keepalive_timeout_s: int = 20
    handshake_s: int = 20
    stream_s: float = STREAM_S
    detached_s: float = DETACHED_S

    @property
    def options(self) -> list[tuple[str, int]]:
        """Returns the options of gRPC's server."""
        return [
            ("grpc.max_allowed_incoming_connections", self.connections_max),
            ("grpc.max_connection_idle_ms", self.connection_idle_s * 1000),
            ("grpc.max_receive_message_length", self.message_bytes_max),
            ("grpc.max_send_message_length", self.message_bytes_max),
            ("grpc.max_metadata_size", self.metadata_bytes_max),
            ("grpc.absolute_max_metadata_size", self.metadata_bytes_max),
            ("grpc.max_concurrent_streams", self.connection_streams_max),
            ("grpc.keepalive_time_ms", self.keepalive_s * 1000),
            ("grpc.keepalive_timeout_ms", self.keepalive_timeout_s * 1000),
            ("grpc.keepalive_permit_without_calls", 1),
            # PySpark's clients may ping each 30 s.
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ("grpc.server_handshake_timeout_ms", self.handshake_s * 1000),
            ("grpc.so_reuseport", 0),
        ]


class ConnectServer:
    """The server. `start()` binds and serves on its own threads; `stop()` ends every call."""

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator,
        host: str,
        port: int,
        settings: ConnectSettings | None = None,
        on_death: OnDeath = ignore_death,
    ) -> None:
        """Prepares the server. `port` 0 means any."""
        self._settings = settings or ConnectSettings()
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._host, self._port = host, port
        self._sessions = ClientSessions(registry, EngineCalls(16))
        self.service = Service(self._sessions, self._settings.stream_s)
        self._rpc = rpc = Rpc(authenticator, is_encrypted=self._settings.tls is not None)
        self._threads = ThreadPoolExecutor(self._settings.calls_max, thread_name_prefix="connect")
        self._server = grpc.server(
            self._threads,
            handlers=[grpc.method_handlers_generic_handler(SERVICE, _handlers(self.service, rpc))],
            options=self._settings.options,
            maximum_concurrent_rpcs=self._settings.calls_max,
        )
        self._stopping = threading.Event()
        self._watch = supervised_thread("connect-watch", self._look_after, self._stopping.is_set, on_death)

    def forward(self, open_forwarder: OpenForwarder) -> None:
        """Sends calls for other gateways' sessions to these; called before `start`."""
        # A call that is sent on occupies a thread here, and one there.
        self._rpc.elsewhere = Elsewhere(open_forwarder(max(1, self._settings.calls_max // 2)))

    def start(self) -> int:
        """Starts the server, and returns the port. Raises `PortInUse`."""
        tls = self._settings.tls
        try:
            if tls is None:
                port = self._server.add_insecure_port(self._address)
            else:
                port = self._server.add_secure_port(self._address, _credentials(tls))
        except RuntimeError as error:
            raise PortInUse("connect", self._host, self._port, "address not available") from error
        self._server.start()
        self._watch.start()
        return int(port)

    def stop(self) -> None:
        """Accepts no more calls, ends the open ones, and waits briefly for their threads."""
        self._stopping.set()
        self._server.stop(grace=None).wait(_STOP_S)
        if self._rpc.elsewhere is not None:
            self._rpc.elsewhere.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def session_count(self) -> int:
        """Returns the number of sessions that clients use."""
        return len(list(self._sessions.all()))

    def _look_after(self) -> None:
        while not self._stopping.wait(_LOOK_AFTER_S):
            self._sessions.look_after(self._settings.detached_s)


def make_server(
    registry: Registry, authenticator: Authenticator, host: str, port: int, tls: TlsServer | None, on_death: OnDeath
) -> ConnectServer:
    """Returns the server of the port, which is not started."""
    return ConnectServer(registry, authenticator, host, port, ConnectSettings(tls=tls), on_death)


def _handlers(service: Service, rpc: Rpc) -> dict[str, Any]:
    streaming: dict[str, tuple[type[Message], Streaming]] = {
        "ExecutePlan": (pb2.ExecutePlanRequest, service.execute_plan),
        "ReattachExecute": (pb2.ReattachExecuteRequest, service.reattach_execute),
    }
    unary: dict[str, tuple[type[Message], Unary]] = {
        "ReleaseExecute": (pb2.ReleaseExecuteRequest, service.release_execute),
        "AnalyzePlan": (pb2.AnalyzePlanRequest, service.analyze_plan),
        "Config": (pb2.ConfigRequest, service.config),
        "Interrupt": (pb2.InterruptRequest, service.interrupt),
        "GetStatus": (pb2.GetStatusRequest, service.get_status),
        "ReleaseSession": (pb2.ReleaseSessionRequest, service.release_session),
        "CloneSession": (pb2.CloneSessionRequest, service.clone_session),
        "FetchErrorDetails": (pb2.FetchErrorDetailsRequest, service.fetch_error_details),
        "ArtifactStatus": (pb2.ArtifactStatusesRequest, service.artifact_status),
    }
    handlers = {name: rpc.streaming(name, kind, method) for name, (kind, method) in streaming.items()}
    handlers |= {name: rpc.unary(name, kind, method) for name, (kind, method) in unary.items()}
    artifacts = rpc.unary("AddArtifacts", pb2.AddArtifactsRequest, service.add_artifacts, is_client_streaming=True)
    return {**handlers, "AddArtifacts": artifacts}


def _credentials(tls: TlsServer) -> grpc.ServerCredentials:
    """Returns credentials with the certificate in use, which is renewed as on the other ports."""

    def current() -> Any:
        key, certificate = tls.current_pem()
        return grpc.ssl_server_certificate_configuration([(key, certificate)])

    return grpc.dynamic_ssl_server_credentials(current(), current)
