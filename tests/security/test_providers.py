"""A server that accepts an identity provider's tokens, and Databricks' SDK, which obtains them itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from databricks.sdk import WorkspaceClient

from catalog.conditions import AuthenticationIncomplete
from engine.runtime.identity import Method
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.hs2.wire import OK, execute, fetch, open_session
from tests.gateway.http.conftest import eventually
from tests.security.issuer import AUDIENCE, Provider, provider
from tests.security.secure_server import SESSIONS, STATEMENTS, SecureServer, basic


@pytest.fixture(scope="module")
def idp() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def server(folder: Path, idp: Provider) -> Iterator[SecureServer]:
    server = secured(folder, idp).start()
    yield server
    server.stop()


def secured(folder: Path, idp: Provider, **flags: object) -> SecureServer:
    methods = ["jwt", "token", "password"]
    given = {"jwt__issuer": idp.url, "jwt__audiences": [AUDIENCE], "authentication__methods": methods} | flags
    return SecureServer(folder, **given)


def test_token_is_accepted_by_every_front_end(server: SecureServer, idp: Provider) -> None:
    token = idp.token()
    with server.client("token", token) as client:
        execute(client, open_session(client), "SELECT 1")
    header = {"Authorization": f"Bearer {token}"}
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **header).status == 200
    assert {(one.principal, one.identity.groups) for one in server.engine.sessions} == {("ann", frozenset({"staff"}))}
    challenges = server.ask("GET", f"{STATEMENTS}/x").headers.get_all("WWW-Authenticate")
    assert challenges == ['Basic realm="delta-gateway"', 'Bearer realm="delta-gateway"']


def test_the_providers_user_is_not_the_administrator_of_that_name(folder: Path, idp: Provider) -> None:
    server = secured(folder, idp, authentication__admins=["ann"]).start()
    try:
        bearer = {"Authorization": f"Bearer {idp.token()}"}
        made = server.ask("POST", "/api/2.0/token/create", {"comment": "x"}, **bearer).body
        by_token = {"Authorization": f"Bearer {made['token_value']}"}
        session = server.ask("POST", SESSIONS, {}, **basic("ann")).body["session_id"]
        own = {"statement": "SELECT 1", "session_id": session}
        assert server.ask("POST", STATEMENTS, own, **basic("ann")).status == 200
        for header, is_admin in ((basic("ann"), True), (bearer, False), (by_token, False)):
            assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **header).status == 200
            identity = server.engine.runs[-1].context.identity
            assert (identity.principal, identity.is_admin) == ("ann", is_admin)
            if not is_admin:
                assert server.ask("POST", STATEMENTS, own, **header).status == 404
    finally:
        server.stop()


def test_a_session_outlives_no_token(server: SecureServer, idp: Provider) -> None:
    def starts(client: ThriftClient, session: t.TSessionHandle) -> bool:
        answer = client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))
        if answer.operationHandle:
            client.CloseOperation(t.TCloseOperationReq(answer.operationHandle))
        return bool(answer.status.sqlState != "28000")

    soon = int(time.time()) - 26  # four seconds of leeway remain
    with server.client("token", idp.token(exp=soon)) as client:
        session = open_session(client)
        operation = execute(client, session, "ROWS 3")
        assert eventually(lambda: not starts(client, session))
        assert fetch(client, operation).status.statusCode == OK
    answer = server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, Authorization=f"Bearer {idp.token(exp=soon)}")
    assert answer.status == 401


def test_the_sdk_gets_a_token_by_client_credentials(server: SecureServer) -> None:
    host = f"http://127.0.0.1:{server.ports.http}"
    api = WorkspaceClient(host=host, client_id="etl", client_secret="etl-secret", auth_type="oauth-m2m")
    answer = api.statement_execution.execute_statement("SELECT 1", warehouse_id="any")
    assert answer.result and answer.result.data_array == [["1"]]
    assert server.engine.sessions[-1].principal == "etl"
    with pytest.raises(Exception, match="invalid_client"):
        WorkspaceClient(host=host, client_id="etl", client_secret="x", auth_type="oauth-m2m").current_user.me()


def test_the_sdk_makes_and_uses_a_personal_access_token(server: SecureServer, idp: Provider) -> None:
    host = f"http://127.0.0.1:{server.ports.http}"
    api = WorkspaceClient(host=host, token=idp.token(), auth_type="pat")
    made = api.tokens.create(comment="ci", lifetime_seconds=60)
    assert made.token_info and [info.token_id for info in api.tokens.list()] == [made.token_info.token_id]
    by_token = WorkspaceClient(host=host, token=made.token_value, auth_type="pat")
    assert by_token.statement_execution.execute_statement("SELECT 1", warehouse_id="any").result
    identity = server.engine.sessions[-1].identity  # no directory here returns the groups
    assert (identity.principal, set(identity.groups), identity.method) == ("ann", {"staff"}, Method.TOKEN)
    api.tokens.delete(made.token_info.token_id or "")
    with pytest.raises(Exception, match="invalid token"):
        by_token.statement_execution.execute_statement("SELECT 1", warehouse_id="any")


def test_without_a_provider_nobody_is_sent_to_one(folder: Path) -> None:
    server = SecureServer(folder).start()
    answer = server.ask("GET", "/.well-known/databricks-config")
    assert (answer.status, answer.body) == (200, {})
    assert server.ask("GET", "/oidc/.well-known/oauth-authorization-server").status == 404
    server.stop()


@pytest.mark.parametrize("setting", ["jwt__issuer", "jwt__audiences"])
def test_provider_requires_settings(folder: Path, idp: Provider, setting: str) -> None:
    with pytest.raises(AuthenticationIncomplete, match=setting.replace("__", ".")):
        secured(folder, idp, **{setting: "" if setting == "jwt__issuer" else []}).start()
