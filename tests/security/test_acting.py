"""Probe 63 with a rule: a program acts for its users, with their rights, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.conditions import AuthenticationIncomplete, ConfigInvalidValue, ProxyUserNotAllowed
from engine.runtime.identity import Identity, Scope
from gateway.authenticators.acting import Acting, ProxyPolicy
from gateway.authenticators.password_file import User, remove_user, store_user
from gateway.authenticators.passwords import hash_password
from gateway.authenticators.peer import Peer
from gateway.hs2.gen import ttypes as t
from tests.gateway.hs2.wire import OK, V10, execute, fetch, open_session
from tests.security.secure_server import STATEMENTS, SecureServer, basic

PROXY = "hive.server2.proxy.user"
HERE = Peer("127.0.0.1")


@pytest.fixture
def server(folder: Path) -> Iterator[SecureServer]:
    store_user(folder / "users", User("hue", hash_password("huehue")))
    server = SecureServer(
        folder,
        authentication__proxy_users={"Hue": "@STAFF, bob, zoë", "bob": "ann"},
        authentication__proxy_hosts={"bob": "192.0.2.0/24"},
        authentication__admins=["zoë"],
    ).start()
    yield server
    server.stop()


def test_a_program_acts_for_its_users(server: SecureServer) -> None:
    with server.client("hue") as hue, server.client("ann") as ann:
        for key in (PROXY, f"set:hiveconf:{PROXY}"):
            session = open_session(hue, configuration={key: "ANN"})
            operation = execute(hue, session, "ROWS 3")
            assert fetch(hue, operation).status.statusCode == OK
        identity = server.engine.runs[-1].context.identity
        assert (identity.principal, identity.real_user, set(identity.groups)) == ("ann", "hue", {"staff", "Ops"})
        refused = ann.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))  # it is hue's, for ann
        assert refused.status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS
        own = open_session(hue)
        execute(hue, own, "SELECT 1")
        assert server.engine.runs[-1].context.identity.principal == "hue"
        assert hue.CloseSession(t.TCloseSessionReq(session)).status.statusCode == OK


@pytest.mark.parametrize(
    ("program", "user"), [("hue", "zoë"), ("hue", "eve"), ("hue", "*"), ("ann", "bob"), ("bob", "ann"), ("hue", "")]
)
def test_login_without_impersonation(server: SecureServer, program: str, user: str) -> None:
    """Not for administrators, unknown users and users without a rule; nor from other addresses than the rule's."""
    with server.client(program) as client:
        answer = client.OpenSession(t.TOpenSessionReq(client_protocol=V10, configuration={PROXY: user}))
        if not user:  # no user is requested
            assert server.engine.sessions[-1].principal == program
            return
        assert (answer.status.sqlState, answer.sessionHandle) == ("42501", None)
    assert server.engine.sessions == []


@pytest.mark.parametrize("gone", ["ann", "hue"])
def test_acting_ends_with_either_user(server: SecureServer, folder: Path, gone: str) -> None:
    with server.client("hue") as hue:
        session = open_session(hue, configuration={PROXY: "ann"})
        execute(hue, session, "SELECT 1")
        remove_user(folder / "users", gone)
        assert hue.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"


def test_acting_by_a_token_ends_with_it(folder: Path) -> None:
    store_user(folder / "users", User("hue", hash_password("huehue")))
    server = SecureServer(
        folder, authentication__methods=["password", "token"], authentication__proxy_users={"hue": "*"}
    ).start()
    made = server.ask("POST", "/api/2.0/token/create", {}, **basic("hue")).body
    with server.client("token", made["token_value"]) as hue:
        session = open_session(hue, configuration={PROXY: "ann"})
        execute(hue, session, "SELECT 1")
        body = {"token_id": made["token_info"]["token_id"]}
        assert server.ask("POST", "/api/2.0/token/delete", body, **basic("hue")).status == 200
        assert hue.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("hue")).status == 200
    server.stop()


def test_without_a_directory_a_name_is_what_it_is() -> None:
    acting = Acting({"hue": ProxyPolicy.parse("ann,@staff", "")})
    hue = Identity("hue", expires_ms=5)
    assert acting.identity(hue, "ann", HERE) == Identity("ann", real_user="hue", expires_ms=5)
    for own, user in (
        (hue, "bob"),
        (Identity("hue", real_user="x"), "ann"),
        (Identity("hue", scopes=frozenset({Scope.READ_ONLY})), "ann"),
        (Identity("eve"), "ann"),
    ):
        with pytest.raises(ProxyUserNotAllowed):
            acting.identity(own, user, HERE)


def test_invalid_proxy_policies(folder: Path) -> None:
    with pytest.raises(AuthenticationIncomplete, match="proxy_hosts"):
        SecureServer(folder, authentication__proxy_hosts={"hue": "10.0.0.0/8"}).start()
    with pytest.raises(ConfigInvalidValue, match="proxy_hosts"):
        SecureServer(folder, authentication__proxy_hosts={"hue": "hue.example"})
