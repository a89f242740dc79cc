"""Metrics of a server's front ends: failed logins, responses, connections, certificate, limit of results."""

from __future__ import annotations

import base64
import datetime as dt
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from cryptography import x509
from pyhive import hive
from thrift.transport.TTransport import TTransportException

from gateway.authenticators.password_file import User, store_user
from gateway.authenticators.passwords import hash_password
from gateway.lifecycle import Ports
from tests.certificates import make_certificate
from tests.gateway.http.conftest import eventually
from tests.gateway.http.exposition import samples
from tests.gateway.test_server import SmallServer

PASSWORD = "a long password"


def get(ports: Ports, path: str, context: ssl.SSLContext, password: str) -> tuple[int, str]:
    login = base64.b64encode(f"ann:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {login}"}
    request = urllib.request.Request(f"https://localhost:{ports.http}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60, context=context) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_front_ends_have_metrics(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    certificate.key.chmod(0o600)
    users = tmp_path / "users"
    store_user(users, User("ann", hash_password(PASSWORD), ()))
    server = SmallServer(
        lake__folder=str(tmp_path / "lake"),
        lake__catalog_folder=str(tmp_path / "catalog"),
        server__tls_certificate=str(certificate.certificate),
        server__tls_key=str(certificate.key),
        authentication__methods=["password"],
        authentication__password_file=str(users),
        results__disk_bytes_max=123 << 20,
    )
    ports = server.server.start()
    context = certificate.client_context()

    def metrics() -> dict[str, float]:
        code, text = get(ports, "/metrics", context, PASSWORD)
        assert code == 200
        return samples(text)

    before = metrics()
    assert before["gateway_login_failures_total"] == 0
    expires = x509.load_pem_x509_certificate(certificate.certificate.read_bytes()).not_valid_after_utc
    assert dt.datetime.fromtimestamp(before["gateway_certificate_expiry_timestamp_seconds"], dt.UTC) == expires
    assert before["gateway_results_disk_max_bytes"] == 123 << 20
    assert get(ports, "/metrics", context, "wrong")[0] == 401
    assert get(ports, "/nowhere", context, PASSWORD)[0] == 404
    with pytest.raises(TTransportException):
        hive.connect("127.0.0.1", ports.thrift, username="ann", password="wrong password", auth="LDAP")
    with socket.create_connection(("127.0.0.1", ports.thrift)):
        assert eventually(lambda: metrics()['gateway_connections{protocol="thrift"}'] == 1)
        after = metrics()
        assert after["gateway_login_failures_total"] == 2
        assert after['gateway_http_responses_total{code="401"}'] == 1
        assert after['gateway_http_responses_total{code="404"}'] == 1
        assert after['gateway_http_responses_total{code="200"}'] >= 1
        assert after['gateway_connections{protocol="http"}'] == 1
    assert eventually(lambda: metrics()['gateway_connections{protocol="thrift"}'] == 0)
    server.server.drain()
