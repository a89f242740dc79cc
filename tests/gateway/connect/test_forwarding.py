"""Calls of Spark Connect that arrive at another gateway than the one that has their session."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pyspark.sql.connect.proto as pb2
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.proto import base_pb2_grpc

from gateway.forwarding.signed_calls import HEADER
from tests.certificates import make_certificate
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.gateway.connect.lab import QuickRetries, execute_request, rows_of, table_of
from tests.gateway.gateways import Gateway, Maker, gateways
from tests.gateway.http.conftest import eventually


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Maker]:
    with gateways(tmp_path, str(tmp_path / "state")) as build:
        yield lambda **flags: build(server__connect_port=0, **flags)


@contextmanager
def connected(gateway: Gateway, user: str = "ada") -> Iterator[SparkConnectClient]:
    """Yields PySpark's client with a session that it has opened."""
    client = SparkConnectClient(f"sc://127.0.0.1:{gateway.ports.optional['connect']}/;user_id={user}")
    client.set_retry_policies([QuickRetries()])
    assert rows_of(client, "SELECT 1") == [{"1": 1}]
    yield client
    client.close()


def move(client: SparkConnectClient, gateway: Gateway) -> None:
    """Connects the client to another gateway, as a load balancer does."""
    client._channel.close()
    client._channel = grpc.insecure_channel(f"127.0.0.1:{gateway.ports.optional['connect']}")
    client._stub = base_pb2_grpc.SparkConnectServiceStub(client._channel)


def knows_ports(start: Maker, number: int = 2, **flags: object) -> list[Gateway]:
    """Starts gateways, and waits until each knows the others' ports."""
    made = [start(**flags) for _ in range(number)]
    assert eventually(lambda: all(other.connect_port for one in made for other in one.state.other_addresses()))
    return made


def test_session_is_used_and_released_through_another_gateway(start: Maker) -> None:
    first, second = knows_ports(start)
    with connected(first) as client:
        move(client, second)
        assert len(rows_of(client, "ROWS 2500")) == 2500
        assert len(first.engine.runs) >= 2 and not second.engine.runs
        client.release_session()
        move(client, first)
        with pytest.raises(PySparkException):
            rows_of(client, "SELECT 1")


def test_session_is_released_at_a_gateway_that_has_had_no_call_of_it(start: Maker) -> None:
    first, second, third = knows_ports(start, 3)
    with connected(second) as client, connected(second) as other:
        for one in (client, other):
            move(one, first)
        client.release_session()
        for gateway in (second, third):
            move(client, gateway)
            with pytest.raises(PySparkException, match="SESSION_(CLOSED|CHANGED)"):
                rows_of(client, "SELECT 1")
        assert rows_of(other, "SELECT 1") == [{"1": 1}]


def test_release_of_a_session_that_none_has_is_no_error(start: Maker) -> None:
    first, second = knows_ports(start)
    second.crash()
    with connected(first) as client:
        client.release_session()
        with pytest.raises(PySparkException, match="SESSION_CLOSED"):
            rows_of(client, "SELECT 1")


def test_error_of_the_owner_arrives_as_it_is(start: Maker) -> None:
    first, second = knows_ports(start)
    with connected(first) as client:
        found = []
        for gateway in (first, second):
            move(client, gateway)
            with pytest.raises(PySparkException) as caught:
                rows_of(client, "no such text")
            found.append((type(caught.value), caught.value.getCondition(), str(caught.value)))
        assert found[0] == found[1]


def test_running_query_is_interrupted_through_another_gateway(start: Maker) -> None:
    first, second = knows_ports(start)
    with connected(first) as client:
        errors: list[PySparkException] = []

        def sleep() -> None:
            try:
                rows_of(client, "SLEEP 60")
            except PySparkException as error:
                errors.append(error)

        thread = threading.Thread(target=sleep)
        move(client, second)
        thread.start()
        assert eventually(lambda: len(first.engine.runs) == 2)
        assert len(client.interrupt_all() or ()) == 1
        thread.join(30)
        assert [error.getSqlState() for error in errors] == ["HY008"]


def test_client_that_is_gone_ends_its_query_at_the_owner(start: Maker) -> None:
    first, second = knows_ports(start)
    with connected(first) as client:
        request = execute_request("SLEEP 60", client._session_id)
        request.client_observed_server_side_session_id = client._server_session_id or ""
        request.request_options[0].reattach_options.reattachable = False
        with grpc.insecure_channel(f"127.0.0.1:{second.ports.optional['connect']}") as channel:
            stream = base_pb2_grpc.SparkConnectServiceStub(channel).ExecutePlan(request)
            assert eventually(lambda: len(first.engine.runs) == 2)
            stream.cancel()
        registry = first.server._lifecycle.registry
        assert registry is not None and eventually(lambda: all(one.state.is_terminal for one in registry.operations()))


def test_session_of_an_ended_gateway_continues_at_its_next_owner(start: Maker) -> None:
    first, second, third = knows_ports(start, 3)
    with connected(first) as client:
        move(client, second)
        assert rows_of(client, "SELECT 1") == [{"1": 1}]
        first.crash()
        for gateway in (second, third):
            move(client, gateway)
            assert len(rows_of(client, "ROWS 10")) == 10
        assert sorted(len(one.engine.runs) for one in (second, third)) == [0, 2]


def test_call_is_forwarded_over_tls_to_the_certificate_in_the_state_folder(start: Maker, tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        one = make_certificate(tmp_path / name)
        made.append((start(server__tls_certificate=str(one.certificate), server__tls_key=str(one.key)), one))
    (first, of_first), (second, of_second) = made
    assert eventually(lambda: all(one.connect_port for one in second.state.other_addresses()))
    session_id, observed = str(uuid.uuid4()), ""
    for gateway, certificate in ((first, of_first), (second, of_second)):
        request = execute_request("ROWS 2500", session_id)
        request.client_observed_server_side_session_id = observed
        credentials = grpc.ssl_channel_credentials(certificate.certificate.read_bytes())
        with grpc.secure_channel(f"localhost:{gateway.ports.optional['connect']}", credentials) as channel:
            responses = list(base_pb2_grpc.SparkConnectServiceStub(channel).ExecutePlan(request))
        observed = responses[0].server_side_session_id
        assert table_of(responses).num_rows == 2500
    assert len(first.engine.runs) == 2 and not second.engine.runs


def test_forwarded_session_is_its_owners_alone(start: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_passwords(monkeypatch)
    users = make_users(tmp_path / "users")
    first, second = knows_ports(
        start,
        authentication__methods=["password"],
        authentication__password_file=str(users),
        lake__catalog_folder=str(tmp_path / "catalog"),
    )
    session_id = str(uuid.uuid4())

    def call(gateway: Gateway, credentials: str, observed: str) -> list[pb2.ExecutePlanResponse]:
        request = execute_request("SELECT 1", session_id)
        request.client_observed_server_side_session_id = observed
        with grpc.insecure_channel(f"127.0.0.1:{gateway.ports.optional['connect']}") as channel:
            stub = base_pb2_grpc.SparkConnectServiceStub(channel)
            return list(stub.ExecutePlan(request, metadata=[("authorization", f"Basic {credentials}")]))

    ann, bob = "YW5uOmFubmFubg==", "Ym9iOmJvYmJvYg=="  # ann:annann, bob:bobbob
    observed = call(first, ann, "")[0].server_side_session_id
    assert call(second, ann, observed)[0].server_side_session_id == observed
    for gateway in (first, second):
        with pytest.raises(grpc.RpcError) as caught:
            call(gateway, bob, observed)
        assert "SESSION_CHANGED" in caught.value.details()


@pytest.mark.parametrize("forged", ["x", "e30.00"])
def test_forged_signature_is_rejected(start: Maker, forged: str) -> None:
    first, _ = knows_ports(start)
    with grpc.insecure_channel(f"127.0.0.1:{first.ports.optional['connect']}") as channel:
        stub = base_pb2_grpc.SparkConnectServiceStub(channel)
        request = execute_request("SELECT 1", str(uuid.uuid4()))
        with pytest.raises(grpc.RpcError) as caught:
            list(stub.ExecutePlan(request, metadata=[(HEADER.lower(), forged)]))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert table_of(list(stub.ExecutePlan(request))).to_pylist() == [{"1": 1}]
    assert len(first.engine.runs) == 1
