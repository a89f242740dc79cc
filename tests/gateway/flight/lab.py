"""The Flight port over a scripted engine, with PyArrow's client and ADBC's driver."""

from __future__ import annotations

import warnings
from base64 import b64encode
from typing import Any

import adbc_driver_flightsql.dbapi
import pyarrow as pa
from pyarrow import flight

from engine.spool.budget import SpoolBudget
from engine.spool.spool import OwnedSpool
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Authenticator
from gateway.flight.messages import pack, unpack
from gateway.flight.server import FlightServer, FlightSettings
from gateway.registry import Registry
from gateway.results.result_store import ResultStore
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine


class Lab:
    """A port on a free number."""

    def __init__(
        self,
        authenticator: Authenticator | None = None,
        limits: Limits | None = None,
        host: str = "127.0.0.1",
        spool_bytes_max: int = 1 << 30,
        **settings: Any,
    ) -> None:
        self.engine = ArrowEngine()
        self.spool = OwnedSpool(None, SpoolBudget(spool_bytes_max))
        self.registry = Registry(self.engine, limits or Limits(reap_every_s=0.2), store=ResultStore(self.spool))
        self.server = FlightServer(
            self.registry, authenticator or Anonymous(), host, 0, FlightSettings(gather_s=0.2, **settings)
        )
        self.port = self.server.start()
        self._clients: list[Any] = []

    @property
    def location(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def client(self, *middleware: Any, location: str = "", **options: Any) -> flight.FlightClient:
        """Returns PyArrow's client, on a connection of its own."""
        generic = [("grpc.use_local_subchannel_pool", 1)]
        client = flight.FlightClient(
            location or self.location, middleware=list(middleware), generic_options=generic, **options
        )
        self._clients.append(client)
        return client

    def connect(self, user: str = "ada", password: str = "x", **options: str) -> Any:
        """Returns a connection of ADBC's driver."""
        names = {"username": user, "password": password, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            connection = adbc_driver_flightsql.dbapi.connect(self.location, db_kwargs=names, autocommit=True)
        self._clients.append(connection)
        return connection

    def close(self) -> None:
        for client in self._clients:
            try:
                client.close()
            except Exception as error:  # noqa: BLE001 - of a port that was stopped
                print("a client does not close:", error)
        self.server.stop()
        self.registry.drain(0)
        self.spool.close()


def query_info(client: flight.FlightClient, text: str, options: Any = None) -> Any:
    """Returns the FlightInfo of a statement."""
    descriptor = flight.FlightDescriptor.for_command(pack("CommandStatementQuery", query=text))
    return client.get_flight_info(descriptor, options)


def rows_of(client: flight.FlightClient, text: str, options: Any = None) -> pa.Table:
    info = query_info(client, text, options)
    return pa.concat_tables(client.do_get(endpoint.ticket, options).read_all() for endpoint in info.endpoints)


def command_rows(client: flight.FlightClient, kind: str, **fields: Any) -> pa.Table:
    """Returns the rows of a metadata command; its FlightInfo has the columns of its stream."""
    info = client.get_flight_info(flight.FlightDescriptor.for_command(pack(kind, **fields)))
    table = client.do_get(info.endpoints[0].ticket).read_all()
    assert info.schema.equals(table.schema, check_metadata=True)
    return table


def act(client: flight.FlightClient, name: str, body: bytes, options: Any = None) -> list[bytes]:
    """Returns the bodies of an action's results."""
    return [one.body.to_pybytes() for one in client.do_action(flight.Action(name, body), options)]


def prepared(client: flight.FlightClient, text: str) -> Any:
    """Returns the message about a text that was prepared."""
    (body,) = act(client, "CreatePreparedStatement", pack("ActionCreatePreparedStatementRequest", query=text))
    kind, message = unpack(body)
    assert kind == "ActionCreatePreparedStatementResult"
    return message


def basic_header(user: str, password: str) -> Any:
    """Returns the options of calls with this header."""
    header = b"Basic " + b64encode(f"{user}:{password}".encode())
    return flight.FlightCallOptions(headers=[(b"authorization", header)])
