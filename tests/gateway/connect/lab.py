"""The Spark Connect port over a scripted engine, with PySpark's client and with plain calls."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc
import pyarrow as pa
import pyspark.sql.connect.proto as pb2
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.client.retries import RetryPolicy
from pyspark.sql.connect.plan import SQL
from pyspark.sql.connect.proto import base_pb2_grpc

from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Authenticator
from gateway.connect.server import ConnectServer, ConnectSettings
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine


class QuickRetries(RetryPolicy):
    """Few retries without long pauses, for requests that a server repeats or never answers."""

    def __init__(self) -> None:
        super().__init__(max_retries=5, initial_backoff=20, max_backoff=200, min_jitter_threshold=1000)

    def can_retry(self, exception: BaseException) -> bool:
        return isinstance(exception, grpc.RpcError) and (
            exception.code() == grpc.StatusCode.UNAVAILABLE or "INVALID_CURSOR.DISCONNECTED" in str(exception)
        )


class Lab:
    """A port on a free number."""

    def __init__(
        self,
        engine: ArrowEngine | None = None,
        authenticator: Authenticator | None = None,
        limits: Limits | None = None,
        **settings: Any,
    ) -> None:
        self.engine = engine or ArrowEngine()
        self.registry = Registry(self.engine, limits or Limits(reap_every_s=0.2))
        self.server = ConnectServer(
            self.registry, authenticator or Anonymous(), "127.0.0.1", 0, ConnectSettings(**settings)
        )
        self.port = self.server.start()
        self._clients: list[SparkConnectClient] = []
        self._channels: list[grpc.Channel] = []

    def client(self, user: str = "ada", port: int | None = None, **parameters: str) -> SparkConnectClient:
        """Returns PySpark's client with a session of its own."""
        extra = "".join(f";{name}={value}" for name, value in parameters.items())
        client = SparkConnectClient(f"sc://127.0.0.1:{port or self.port}/;user_id={user}{extra}")
        client.set_retry_policies([QuickRetries()])
        self._clients.append(client)
        return client

    def stub(self) -> base_pb2_grpc.SparkConnectServiceStub:
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        self._channels.append(channel)
        return base_pb2_grpc.SparkConnectServiceStub(channel)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        for channel in self._channels:
            channel.close()
        self.server.stop()
        self.registry.drain(0)


def rows_of(client: SparkConnectClient, text: str) -> list[dict[str, Any]]:
    """Returns the rows of a text, which is sent as a relation."""
    table, *_ = client.to_table(SQL(text).to_proto(client), {})
    return list(table.to_pylist())


def execute_request(text: str, session_id: str, user: str = "ada", **fields: Any) -> pb2.ExecutePlanRequest:
    """Returns a request that may be continued after its stream was cut."""
    request = pb2.ExecutePlanRequest(
        session_id=session_id,
        user_context=pb2.UserContext(user_id=user),
        operation_id=str(uuid.uuid4()),
        plan=pb2.Plan(root=pb2.Relation(sql=pb2.SQL(query=text))),
        client_type="test",
        **fields,
    )
    request.request_options.add().reattach_options.reattachable = True
    return request


def table_of(responses: list[pb2.ExecutePlanResponse]) -> pa.Table:
    """Returns the rows in responses, in their order."""
    batches = [one.arrow_batch for one in responses if one.HasField("arrow_batch")]
    tables = [pa.ipc.open_stream(batch.data).read_all() for batch in batches]
    return pa.concat_tables(tables)


class Proxy:
    """Forwards connections to a port, and on request cuts every one that has received more than `bytes_max`."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: set[socket.socket] = set()
        self.cut_after: list[int] = []
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for one in tuple(self._open):
            with suppress(OSError):
                one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open |= {client, server}
            limit = self.cut_after.pop(0) if self.cut_after else None
            threading.Thread(target=self._pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, limit), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        passed = 0
        with suppress(OSError):
            while content := source.recv(65_536):
                passed += len(content)
                if limit is not None and passed > limit:
                    self.cuts += 1
                    break
                sink.sendall(content)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
