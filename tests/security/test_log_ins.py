"""Probes 57 to 66, 72 and 74 in the security reference: who may log in, how, and under which name."""

from __future__ import annotations

import base64
import contextlib
import http.client
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest
from argon2 import PasswordHasher

from engine.runtime.identity import Method
from gateway.authenticators.password_file import User, store_user
from gateway.hs2.gen import ttypes as t
from tests.gateway.hs2.wire import OK, V10, connect, execute, fetch, open_session, read_all
from tests.security.secure_server import SESSIONS, STATEMENTS, SecureServer, basic

REFUSED = "Wrong user name or password, or invalid token."
SELECT = {"statement": "SELECT 1"}


def test_user_is_same_principal_with_every_login(server: SecureServer) -> None:
    with server.client("ANN", "annann") as client:
        assert fetch(client, execute(client, open_session(client), "SELECT 1")).status.statusCode == OK
    assert server.ask("POST", STATEMENTS, SELECT, **basic("Ann", "annann")).body["status"]["state"] == "SUCCEEDED"
    assert {session.principal for session in server.engine.sessions} == {"ann"}
    identity = server.engine.sessions[0].identity
    assert set(identity.groups) == {"staff", "Ops"}
    assert (identity.method, identity.is_admin) == (Method.PASSWORD, False)
    assert server.engine.runs[0].context.identity == identity


@pytest.mark.parametrize(
    ("user", "password"),
    [("ann", "x"), ("eve", "x"), ("ann ", "annann"), ("*", "x"), ("", "annann"), ("ann", ""), ("a" * 10_000, "x")],
)
def test_failed_logins_have_the_same_error(server: SecureServer, user: str, password: str) -> None:
    connection, status, text = server.negotiate((1, b"PLAIN"), (5, f"\0{user}\0{password}".encode()))
    assert status == 4 and REFUSED in text and read_all(connection) == b""
    answer = server.ask("POST", STATEMENTS, SELECT, **basic(user, password))
    assert (answer.status, answer.body["sql_state"]) == (401, "28P01") and REFUSED in answer.body["message"]
    assert answer.headers.get_all("WWW-Authenticate") == ['Basic realm="delta-gateway"']
    assert server.engine.sessions == []


@pytest.mark.parametrize(
    ("frames", "status"),
    [
        ([(1, b"ANONYMOUS"), (5, b"")], 3),
        ([(1, b"DIGEST-MD5"), (5, b"")], 3),
        ([(1, b"GSSAPI"), (5, b"")], 3),
        ([(1, b"BEARER"), (5, b"x")], 3),
        ([(1, b"PLAIN"), (5, b"bob\0ann\0annann")], 4),
        ([(1, b"PLAIN"), (5, b"\0ann")], 4),
        ([(1, b"PLAIN"), (5, b"\0ann\0annann\0")], 4),
        ([(1, b"PLAIN"), (5, b"\0ann\0ann\xff")], 4),
        ([(1, b"PLAIN"), (5, b"x" * 65_537)], 0),
    ],
)
def test_invalid_mechanism_or_message_ends_the_connection(
    server: SecureServer, frames: list[tuple[int, bytes]], status: int
) -> None:
    connection, found, _ = server.negotiate(*frames)
    assert found == status and read_all(connection) == b""


def test_a_transport_without_a_log_in_ends_before_the_first_call(server: SecureServer) -> None:
    connection = connect(server.ports.thrift)
    connection.sendall(b"\x80\x01\x00\x01\x00\x00\x00\x0bOpenSession\x00\x00\x00\x00")
    assert read_all(connection) == b""


PATHS = [
    ("POST", STATEMENTS),
    ("GET", f"{STATEMENTS}/00000000-0000-0000-0000-000000000000"),
    ("DELETE", f"{STATEMENTS}/00000000-0000-0000-0000-000000000000"),
    ("POST", f"{STATEMENTS}/00000000-0000-0000-0000-000000000000/cancel"),
    ("GET", f"{STATEMENTS}/00000000-0000-0000-0000-000000000000/result/chunks/0"),
    ("POST", SESSIONS),
    ("DELETE", f"{SESSIONS}/00000000-0000-0000-0000-000000000000"),
    ("POST", "/cliservice"),
    ("POST", "/sql/1.0/warehouses/x"),
]
HEADERS = {
    "none": "",
    "a token": "Bearer abc",
    "no base64": "Basic ann:annann",
    "no colon": "Basic " + base64.b64encode(b"annann").decode(),
    "Latin-1": "Basic " + base64.b64encode("zoë:zoëzoë".encode("latin-1")).decode(),
    "another scheme": "Digest username=ann",
    "two": basic("ann")["Authorization"] + ", " + basic("bob")["Authorization"],
}


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_no_path_answers_without_credentials(server: SecureServer, method: str, path: str) -> None:
    kind = {"Content_Type": "application/x-thrift"} if "sql/1.0" in path or "cli" in path else {}
    for header in HEADERS.values():
        given = {"Authorization": header} if header else {}
        answer = server.ask(method, path, SELECT if method == "POST" else None, **kind, **given)
        assert (answer.status, answer.body["error_code"]) == (401, "UNAUTHENTICATED")
    assert server.engine.sessions == []


def test_a_header_that_says_two_things_is_no_request(server: SecureServer) -> None:
    for name in ("Authorization", "authorization", "Content-Type", "Origin", "Sec-Fetch-Site", "Cookie"):
        connection = connect(server.ports.http)
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{name}: a\r\n{name}: b\r\n\r\n".encode())
        expected = b"HTTP/1.1 200" if name == "Cookie" else b"HTTP/1.1 400"  # browsers may send several cookies
        assert connection.recv(12) == expected


@pytest.mark.parametrize("key", ["hive.server2.proxy.user", "set:hiveconf:hive.server2.proxy.user"])
def test_impersonation_is_denied(server: SecureServer, key: str) -> None:
    with server.client("ann") as client:
        refused = client.OpenSession(t.TOpenSessionReq(client_protocol=V10, configuration={key: "bob"}))
        assert (refused.status.sqlState, refused.sessionHandle) == ("42501", None)
        open_session(client, username="bob", password="bobbob")  # the connection is ann's
        open_session(client, configuration={"DelegationUID": "bob", "kyuubi.session.proxy.user": "bob"})
    headers = {"X_Trino_User": "bob", "X_Forwarded_User": "bob", "X_Remote_User": "bob"}
    assert server.ask("POST", f"{STATEMENTS}?doAs=bob&user=bob", SELECT, **headers, **basic("ann")).status == 200
    assert {session.principal for session in server.engine.sessions} == {"ann"}


def test_guesses_are_slowed_down_for_the_guesser(server: SecureServer) -> None:
    for _ in range(5):
        assert server.ask("POST", STATEMENTS, SELECT, **basic("ann", "guess")).status == 401
    answer = server.ask("POST", STATEMENTS, SELECT, **basic("ann"))
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
    assert answer.body["error_code"] == "REQUEST_LIMIT_EXCEEDED"
    _, status, text = server.negotiate((1, b"PLAIN"), (5, b"\0ann\0annann"))
    assert status == 4 and "Try again in 1 seconds" in text
    answer = server.ask("POST", "/cliservice", b"x", Content_Type="application/x-thrift", **basic("ann"))
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
    assert server.ask("POST", STATEMENTS, SELECT, **basic("bob")).status == 200


def test_many_correct_log_ins_at_the_same_time_all_succeed(server: SecureServer, folder: Path) -> None:
    costly = PasswordHasher(time_cost=4, memory_cost=19 << 10, parallelism=1)
    store_user(folder / "users", User("ann", costly.hash("annann")))
    with ThreadPoolExecutor(30) as pool:
        request = [pool.submit(server.ask, "POST", STATEMENTS, SELECT, **basic("ann")) for _ in range(30)]
        assert [answer.result().status for answer in request] == [200] * 30


def test_statements_see_known_users(server: SecureServer) -> None:
    assert [server.engine.activity.knows_user(name) for name in ("ann", "zoë", "Ann", "eve")] == [
        True,
        True,
        False,
        False,
    ]


# ------------------------------------------------------------------------------------------------------------ browsers

OWN = {"Sec_Fetch_Site": "same-origin"}
FORM = {"Content_Type": "application/x-www-form-urlencoded"}


def browser_log_in(server: SecureServer, user: str = "ann", password: str = "annann", **headers: str) -> str:
    """Returns the cookie, or an empty one."""
    form = urlencode({"user": user, "password": password}).encode()
    answer = server.ask("POST", "/login", form, **(FORM | (headers or OWN)))
    assert "annann" not in answer.content.decode()
    return (answer.headers["Set-Cookie"] or "").partition(";")[0]


def test_a_browser_logs_in_by_a_form_and_out_again(server: SecureServer) -> None:
    page = server.ask("GET", "/login")
    assert page.status == 200 and "default-src 'none'" in page.headers["Content-Security-Policy"]
    cookie = browser_log_in(server)
    assert cookie.startswith("dgw=") and cookie != browser_log_in(server)
    assert b"<strong>ann</strong>" in server.ask("GET", "/login", Cookie=cookie).content
    answer = server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN)
    assert answer.body["status"]["state"] == "SUCCEEDED"
    assert server.ask("GET", f"{STATEMENTS}/{answer.body['statement_id']}", Cookie=cookie).status == 200
    assert server.ask("POST", "/logout", b"", Cookie=cookie, **FORM, **OWN).status == 303
    assert server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN).status == 401
    assert server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN, **basic("bob")).status == 200


@pytest.mark.slow
def test_logins_of_others_keep_a_cookie_valid(server: SecureServer) -> None:
    cookie = browser_log_in(server)
    form = urlencode({"user": "bob", "password": "bobbob"}).encode()
    headers = {name.replace("_", "-"): value for name, value in (FORM | OWN).items()}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.ports.http, timeout=60)) as connection:
        for _ in range(10_050):
            connection.request("POST", "/login", form, headers)
            response = connection.getresponse()
            response.read()
            assert response.status == 303
    assert b"<strong>ann</strong>" in server.ask("GET", "/login", Cookie=cookie).content


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({"Sec_Fetch_Site": "same-origin"}, True),
        ({"Sec_Fetch_Site": "none"}, True),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Sec_Fetch_Site": "cross-site"}, False),
        ({"Origin": "http://localhost"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Sec_Fetch_Site": "cross-site", "Origin": "http://localhost"}, False),
        ({}, False),
    ],
)
def test_a_cookie_changes_something_for_pages_of_this_server_only(
    server: SecureServer, headers: dict[str, str], is_own: bool
) -> None:
    headers |= {"Host": "localhost"}
    cookie = browser_log_in(server)
    statement = server.submit(user="ann")["statement_id"]
    for method, path in (("POST", STATEMENTS), ("POST", f"{STATEMENTS}/{statement}/cancel"), ("POST", "/logout")):
        body = SELECT if path == STATEMENTS else None
        answer = server.ask(method, path, body, Cookie=cookie, **headers)
        assert (answer.status in (200, 303)) == is_own
        if not is_own:
            assert answer.status == 403
    assert server.ask("DELETE", f"{STATEMENTS}/{statement}", Cookie="dgw=x", **headers).status == (
        401 if is_own else 403
    )
    if len(headers) > 1 and not is_own:
        assert browser_log_in(server, **headers) == ""  # nor is anybody logged in by another site


def test_a_form_says_only_that_it_was_wrong(server: SecureServer) -> None:
    form = urlencode({"user": "<b>eve", "password": "x"}).encode()
    answer = server.ask("POST", "/login", form, **FORM, **OWN)
    assert answer.status == 401 and b"The user name or password is wrong." in answer.content
    assert not [text for text in (b"<b>eve", b"AUTHENTICATION_FAILED", b"28P01") if text in answer.content]
    assert answer.headers["Set-Cookie"] is None
    assert server.ask("POST", "/login", {"user": "ann", "password": "annann"}, **OWN).status == 415


def test_browser_gets_no_basic_challenge_for_a_missing_login(server: SecureServer) -> None:
    for mode in ("cors", "navigate"):
        answer = server.ask("GET", f"{STATEMENTS}/x", Sec_Fetch_Mode=mode)
        assert (answer.status, answer.headers.get_all("WWW-Authenticate")) == (401, None)
    answer = server.ask("GET", f"{STATEMENTS}/x")
    assert (answer.status, answer.headers.get_all("WWW-Authenticate")) == (401, ['Basic realm="delta-gateway"'])


@pytest.mark.parametrize(
    "page",
    ["", "#query/7", "?theme=dark#table/spark_catalog.shop.orders", "connect", "connect/?a=b&c=%20#d", "a.b/c~d-e"],
)
def test_login_returns_to_the_requested_page(server: SecureServer, page: str) -> None:
    form = urlencode({"user": "ann", "password": "annann", "next": page}).encode()
    answer = server.ask("POST", "/login", form, **FORM, **OWN)
    assert (answer.status, answer.headers["Location"]) == (303, f"./{page}")


@pytest.mark.parametrize(
    "page",
    [
        *("https://evil.example/", "//evil.example", "/\\evil.example", "\\evil.example", "/connect", "javascript:1"),
        *("../up", "a/../../b", "a//evil.example", "a\nSet-Cookie: x=y", "#a b", "?a=\r\n", '#"><b>', "é", "#" * 1501),
    ],
)
def test_login_never_redirects_to_another_site(server: SecureServer, page: str) -> None:
    form = urlencode({"user": "ann", "password": "annann", "next": page}).encode()
    answer = server.ask("POST", "/login", form, **FORM, **OWN)
    assert (answer.status, answer.headers["Location"]) == (303, "./")
    shown = server.ask("GET", f"/login?{urlencode({'next': page})}").content
    assert b'name="next" value=""' in shown and b'const next = "";' in shown


def test_page_keeps_its_query_when_it_requires_a_login(server: SecureServer) -> None:
    assert server.ask("GET", "/?a=b&c=%20").headers["Location"] == "login?next=%3Fa%3Db%26c%3D%2520"


def test_no_log_has_a_secret(server: SecureServer, caplog: pytest.LogCaptureFixture) -> None:
    """Nor does an answer, but for the cookie that is given."""
    caplog.set_level(logging.DEBUG)
    cookie = browser_log_in(server).partition("=")[2]
    with server.client() as client:
        session = open_session(client)
        execute(client, session, "SELECT 1")
    for header in (
        basic("ann"),
        basic("bob", "annann"),
        {"Authorization": "annann"},
        {"Authorization": "Bearer annann"},
    ):
        assert b"annann" not in server.ask("POST", STATEMENTS, SELECT, **header).content
    assert server.ask("POST", STATEMENTS, SELECT, Cookie=f"dgw={cookie}", **OWN).status == 200
    secret = session.sessionId.secret.hex()
    assert not [text for text in ("annann", cookie, secret) if text in caplog.text]
    assert "a log-in of 'bob' from 127.0.0.1 was refused" in caplog.text
