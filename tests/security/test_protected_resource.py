"""OAuth clients of MCP find the identity provider, and their tokens act as their users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.issuer import Provider, provider
from tests.security.secure_server import SecureServer, basic

SQL = "/api/2.0/mcp/sql"
METADATA = "/.well-known/oauth-protected-resource"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def idp() -> Iterator[Provider]:
    with provider() as made:
        yield made


def serve(folder: Path, idp: Provider, **flags: object) -> SecureServer:
    given = {"authentication__methods": ["jwt", "password"], "jwt__issuer": idp.url, "jwt__audiences": ["gateway"]}
    return SecureServer(folder, **given | flags).start()


def test_refused_client_finds_the_provider_of_the_url(folder: Path, idp: Provider) -> None:
    server = serve(folder, idp)
    try:
        root = f"http://127.0.0.1:{server.ports.http}"
        for path in (SQL, "/api/2.0/mcp/functions/c/s"):
            answer = server.ask("POST", path, PING)
            bearer = f'Bearer realm="delta-gateway", resource_metadata="{root}{METADATA}{path}"'
            assert (answer.status, bearer in answer.headers.get_all("WWW-Authenticate", [])) == (401, True)
            assert server.ask("GET", f"{METADATA}{path}").body == {
                "resource": f"{root}{path}",
                "authorization_servers": [idp.url],
                "bearer_methods_supported": ["header"],
                "resource_name": "delta-gateway",
            }
        assert server.ask("GET", METADATA).body["resource"] == root
        others = server.ask("GET", "/api/2.0/sql/sessions").headers.get_all("WWW-Authenticate", [])
        assert others and not any("resource_metadata" in each for each in others)
        token = idp.token(aud="gateway", preferred_username="ann")
        assert server.ask("POST", SQL, PING, Authorization=f"Bearer {token}").body["result"] == {}
        wrong = idp.token(aud="another", preferred_username="ann")
        assert server.ask("POST", SQL, PING, Authorization=f"Bearer {wrong}").status == 401
    finally:
        server.stop()


def test_metadata_has_the_public_url(folder: Path, idp: Provider) -> None:
    server = serve(folder, idp, server__public_url="https://sql.example.com/lake")
    try:
        found = server.ask("GET", f"{METADATA}{SQL}").body
        assert found["resource"] == f"https://sql.example.com/lake{SQL}"
        challenge = server.ask("POST", f'{SQL}/x"%0d%0aX:', PING).headers.get_all("WWW-Authenticate", [])
        assert all("\r" not in each and each.count('"') in (2, 4) for each in challenge)
    finally:
        server.stop()


def test_server_without_a_provider_has_no_metadata(folder: Path) -> None:
    server = SecureServer(folder).start()
    try:
        assert server.ask("GET", f"{METADATA}{SQL}").status == 404
        refused = server.ask("POST", SQL, PING)
        assert (refused.status, "resource_metadata" in str(refused.headers)) == (401, False)
        assert server.ask("POST", SQL, PING, **basic("ann")).body["result"] == {}
    finally:
        server.stop()
