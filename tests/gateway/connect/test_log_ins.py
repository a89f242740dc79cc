"""Logins over the Spark Connect port, and TLS."""

from __future__ import annotations

import uuid
from base64 import b64encode
from pathlib import Path
from typing import Any

import grpc
import pytest
from pyspark.sql.connect.proto import base_pb2_grpc

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity, Method
from gateway.authenticators.exchange import Accepted, Mechanism
from gateway.authenticators.peer import Peer
from gateway.process.tls import TlsFiles, TlsServer
from tests.certificates import make_certificate
from tests.gateway.connect.lab import Lab, execute_request, table_of


class Users:
    """Accepts the token `good` and the password `secret`, and records the client's side."""

    mechanisms = (Mechanism.BEARER, Mechanism.PLAIN)

    def __init__(self) -> None:
        self.peers: list[Peer] = []

    def begin(self, mechanism: Mechanism, peer: Peer) -> Any:
        self.peers.append(peer)
        return self

    def receive(self, message: bytes) -> Accepted:
        if message == b"good":
            return Accepted(Identity("ada", method=Method.TOKEN))
        if message == b"\0bob\0secret":
            return Accepted(Identity("bob", method=Method.PASSWORD))
        raise AuthenticationFailed("the credentials are wrong.")

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.PLAIN

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        raise AssertionError("no client of this port acts for another user")

    def ensure_current(self, identity: Identity) -> None:
        pass


def _basic(text: str) -> str:
    return f"Basic {b64encode(text.encode()).decode()}"


LOG_INS = {"Bearer good": "ada", "bearer good": "ada", _basic("bob:secret"): "bob"}
REJECTED = (None, "Bearer bad", _basic("bob:wrong"), _basic("bob"), "Basic %", "Negotiate x", "good", "")


@pytest.mark.parametrize("header", LOG_INS)
def test_user_comes_from_the_credentials_and_not_from_the_request(header: str) -> None:
    lab = Lab(authenticator=Users())
    try:
        request = execute_request("SELECT 1", str(uuid.uuid4()), user="root")
        responses = list(lab.stub().ExecutePlan(request, metadata=[("authorization", header)]))
        assert table_of(responses).num_rows == 1
        assert [session.principal for session in lab.registry.sessions()] == [LOG_INS[header]]
    finally:
        lab.close()


@pytest.mark.parametrize("header", REJECTED)
def test_wrong_or_missing_credentials_are_rejected_at_every_call(header: str | None) -> None:
    lab = Lab(authenticator=Users())
    try:
        request = execute_request("SELECT 1", str(uuid.uuid4()), user="ada")
        metadata = [] if header is None else [("authorization", header)]
        with pytest.raises(grpc.RpcError) as caught:
            list(lab.stub().ExecutePlan(request, metadata=metadata))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert "good" not in caught.value.details() and lab.registry.sessions() == ()
    finally:
        lab.close()


def test_anonymous_client_is_the_user_that_it_names(lab: Lab) -> None:
    list(lab.stub().ExecutePlan(execute_request("SELECT 1", str(uuid.uuid4()), user="eve")))
    list(lab.stub().ExecutePlan(execute_request("SELECT 1", str(uuid.uuid4()), user="")))
    assert sorted(session.principal for session in lab.registry.sessions()) == ["anonymous", "eve"]
    origins = {
        (session.origin.wire, session.origin.peer, session.origin.user_agent) for session in lab.registry.sessions()
    }
    assert origins == {("connect", "127.0.0.1", "test")}


def test_port_with_a_certificate_takes_tls_only_and_renews_it(tmp_path: Path) -> None:
    made = make_certificate(tmp_path)
    users = Users()
    tls = TlsServer(TlsFiles(certificate=str(made.certificate), key=str(made.key)))
    lab = Lab(authenticator=users, tls=tls)
    request = execute_request("SELECT 1", str(uuid.uuid4()))
    metadata = [("authorization", "Bearer good")]
    try:
        with pytest.raises(grpc.RpcError) as caught:
            list(lab.stub().ExecutePlan(request, metadata=metadata))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        _ensure_answers(lab, made.certificate.read_bytes(), request, metadata)
        assert users.peers[-1].is_encrypted
        (tmp_path / "new").mkdir()
        renewed = make_certificate(
            tmp_path / "new",
        )
        for old, new in ((made.certificate, renewed.certificate), (made.key, renewed.key)):
            old.write_bytes(new.read_bytes())
        _ensure_answers(lab, renewed.certificate.read_bytes(), request, metadata)
    finally:
        lab.close()


def _ensure_answers(lab: Lab, authority: bytes, request: Any, metadata: list[tuple[str, str]]) -> None:
    """Runs the request on a new connection that trusts `authority` alone."""
    options = [("grpc.ssl_target_name_override", "localhost"), ("grpc.use_local_subchannel_pool", 1)]
    credentials = grpc.ssl_channel_credentials(authority)
    with grpc.secure_channel(f"127.0.0.1:{lab.port}", credentials, options) as channel:
        stub = base_pb2_grpc.SparkConnectServiceStub(channel)
        responses = list(stub.ExecutePlan(request, metadata=metadata))
    assert table_of(responses).num_rows == 1
