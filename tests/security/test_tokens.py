"""Personal access tokens over every interface: they stand for their owner, as the owner is now."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.grants.tokens import TokenStore
from engine.runtime.identity import Method
from gateway.authenticators.password_file import User, remove_user, store_user
from gateway.authenticators.passwords import hash_password
from gateway.hs2.gen import ttypes as t
from tests.gateway.hs2.wire import execute, open_session
from tests.security.secure_server import STATEMENTS, SecureServer, basic

TOKENS = "/api/2.0/token"


@pytest.fixture
def server(folder: Path) -> Iterator[SecureServer]:
    server = SecureServer(folder, authentication__methods=["password", "token"], authentication__admins=["zoë"]).start()
    yield server
    server.stop()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def create(server: SecureServer, user: str = "ann", **fields: object) -> tuple[str, str]:
    """Returns the token and its id."""
    answer = server.ask("POST", f"{TOKENS}/create", fields, **basic(user))
    assert answer.status == 200, answer.body
    return answer.body["token_value"], answer.body["token_info"]["token_id"]


def test_token_is_accepted_by_every_login(server: SecureServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token, token_id = create(server, comment="ci", lifetime_seconds=3600)
    for user in ("token", "ann", ""):
        with server.client(user, token) as client:
            execute(client, open_session(client), "SELECT 1")
    for header in (bearer(token), basic("token", token), basic("ANN", token)):
        assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **header).status == 200
        calls = server.ask("POST", "/sql/1.0/warehouses/x", b"x", Content_Type="application/x-thrift", **header)
        assert calls.status == 400  # no call, but from somebody
    identities = {session.identity for session in server.engine.sessions}
    (identity,) = identities
    assert (identity.principal, set(identity.groups), identity.method) == ("ann", {"staff", "Ops"}, Method.TOKEN)
    assert (identity.client_id, identity.expires_ms is not None) == (token_id, True)
    assert token not in caplog.text
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("bob", token)).status == 401


def test_a_revoked_token_starts_nothing_more(server: SecureServer) -> None:
    token, token_id = create(server)
    with server.client("token", token) as client:
        session = open_session(client)
        answer = server.ask("POST", f"{TOKENS}/delete", {"token_id": token_id}, **basic("ann"))
        assert (answer.status, answer.body) == (200, {})
        assert client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **bearer(token)).status == 401


def test_a_token_has_the_groups_of_its_owner_and_ends_with_the_owner(server: SecureServer, folder: Path) -> None:
    token, _ = create(server)
    with server.client("token", token) as client:
        session = open_session(client)
        store_user(folder / "users", User("ann", hash_password("new"), ("staff",)))
        assert client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"
    with server.client("token", token) as client:
        execute(client, open_session(client), "SELECT 1")
    assert server.engine.sessions[-1].identity.groups == {"staff"}
    remove_user(folder / "users", "ann")
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **bearer(token)).status == 401


def test_everybody_sees_their_own_and_an_administrator_all(server: SecureServer) -> None:
    (_, of_ann), (_, of_bob) = create(server), create(server, "bob")

    def ids(user: str) -> list[str]:
        infos = server.ask("GET", f"{TOKENS}/list", **basic(user)).body["token_infos"]
        assert not any("value" in name for info in infos for name in info)
        return [info["token_id"] for info in infos]

    assert (ids("ann"), ids("bob"), ids("zoë")) == ([of_ann], [of_bob], [of_ann, of_bob])
    for token_id in (of_bob, "none"):
        answer = server.ask("POST", f"{TOKENS}/delete", {"token_id": token_id}, **basic("ann"))
        assert (answer.status, "cannot be found" in answer.body["message"]) == (400, True)
    assert server.ask("POST", f"{TOKENS}/delete", {"token_id": of_bob}, **basic("zoë")).status == 200


def test_a_token_makes_none_that_can_do_more(server: SecureServer) -> None:
    short, _ = create(server, lifetime_seconds=3600)
    assert server.ask("POST", f"{TOKENS}/create", {"lifetime_seconds": 7200}, **bearer(short)).status == 400
    made = server.ask("POST", f"{TOKENS}/create", {}, **bearer(short)).body["token_info"]
    assert made["expiry_time"] - made["creation_time"] <= 3_600_000
    reading, _ = create(server, scope="read-only")
    answer = server.ask("POST", f"{TOKENS}/create", {}, **bearer(reading))
    assert (answer.status, answer.body["error_code"]) == (403, "PERMISSION_DENIED")
    administrators, _ = create(server, "zoë", scope="read-only")
    for token in (reading, administrators):
        answer = server.ask("POST", f"{TOKENS}/delete", {"token_id": made["token_id"]}, **bearer(token))
        assert (answer.status, answer.body["error_code"]) == (403, "PERMISSION_DENIED")
    own, own_id = create(server, scope="read-only")
    assert server.ask("POST", f"{TOKENS}/delete", {"token_id": own_id}, **bearer(own)).status == 200
    assert server.ask("POST", f"{TOKENS}/delete", {"token_id": made["token_id"]}, **basic("ann")).status == 200
    assert server.ask("GET", f"{TOKENS}/list", **bearer(administrators)).body["token_infos"][0]["scope"] == "read-only"


@pytest.mark.parametrize("body", [{"lifetime_seconds": 0}, {"lifetime_seconds": "1"}, {"scope": "all"}, {"x": 1}, []])
def test_malformed_token_requests(server: SecureServer, body: object) -> None:
    assert server.ask("POST", f"{TOKENS}/create", body, **basic("ann")).status == 400


def test_anonymous_principal_has_no_tokens(server: SecureServer, folder: Path) -> None:
    for method, path in (("POST", "create"), ("GET", "list"), ("POST", "delete")):
        assert server.ask(method, f"{TOKENS}/{path}", {}).status == 401
    assert server.ask("POST", f"{TOKENS}/create", b"{}", Content_Type="text/plain", **basic("ann")).status == 415
    assert TokenStore(folder / "catalog" / "tokens.json").entries() == ()


def test_a_server_without_tokens_says_so(folder: Path) -> None:
    server = SecureServer(folder).start()
    answer = server.ask("POST", f"{TOKENS}/create", {}, **basic("ann"))
    assert (answer.status, "authentication.methods" in answer.body["message"]) == (403, True)
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **bearer("dgp_x")).status == 401
    server.stop()
