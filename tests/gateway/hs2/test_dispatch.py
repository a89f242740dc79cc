"""Errors below the service: unknown methods, malformed bodies, empty requests."""

from __future__ import annotations

import pytest
from thrift.Thrift import TApplicationException

from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer
from gateway.hs2.dispatch import RPCS, Dispatcher
from gateway.hs2.gen import TCLIService
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.hs2.service import Client
from tests.gateway.hs2.wire import OK, Lab, execute, open_session


def test_every_method_of_the_interface_is_served() -> None:
    assert set(RPCS) == {name for name in vars(TCLIService.Iface) if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(RPCS))
def test_every_method_survives_an_empty_request(client: ThriftClient, name: str) -> None:
    """A request without a handle yields a status in its response, or an exception if the response has none."""
    try:
        response = getattr(client, name)(getattr(t, f"T{name}Req")())
    except TApplicationException:
        assert name == "GetQueryId"
    else:
        assert (response.status.statusCode == OK) == (name == "OpenSession")


def test_an_unknown_method_is_an_exception_and_the_connection_lives(
    client: ThriftClient, session: t.TSessionHandle
) -> None:
    client._oprot.writeMessageBegin("PingImpalaHS2Service", 1, 5)
    session.write(client._oprot)  # a binary handle, which no decoder for text must touch
    client._oprot.writeMessageEnd()
    client._oprot.trans.flush()
    name, kind, sequence = client._iprot.readMessageBegin()
    error = TApplicationException()
    error.read(client._iprot)
    assert (name, kind, sequence, error.type) == ("PingImpalaHS2Service", 3, 5, TApplicationException.UNKNOWN_METHOD)
    assert execute(client, session, "SELECT 1")


def test_error_after_an_answer_does_not_lose_it(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(Peer("127.0.0.1"), afterwards=lambda: 1 / 0)  # type: ignore[arg-type]
    dispatcher = Dispatcher(lab.service, client)
    dispatcher.follow_up()
    dispatcher.follow_up()
    assert caplog.text.count("what follows an answer to 127.0.0.1 could not begin") == 1


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x0c\x00\x01", b"\x0c\x00\x01\x0d\x00\x04\x08\x08\x7f\xff\xff\xff"])
def test_a_malformed_body_is_an_exception_and_the_connection_lives(client: ThriftClient, body: bytes) -> None:
    client._oprot.writeMessageBegin("OpenSession", 1, 5)
    client._oprot.trans.write(body)
    client._oprot.trans.flush()
    _, kind, sequence = client._iprot.readMessageBegin()
    error = TApplicationException()
    error.read(client._iprot)
    assert (kind, sequence, error.type) == (3, 5, TApplicationException.PROTOCOL_ERROR)
    assert open_session(client)


def test_client_awaits_no_statement_after_an_error(lab: Lab) -> None:
    operation = lab.registry.open_session(Identity("ann")).execute("SELECT 1")
    client = Client(Peer("127.0.0.1"))
    with pytest.raises(ZeroDivisionError), client.awaiting(operation):
        assert client.awaited is operation
        raise ZeroDivisionError
    assert client.awaited is None
