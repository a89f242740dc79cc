"""HiveServer2's calls over HTTP: paths, headers, who the caller is, and calls that wait."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Accepted, Exchange, Mechanism, parse_plain
from gateway.authenticators.peer import Peer
from gateway.hs2.conversation import Conversation
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.http.cookies import COOKIE_NAME
from gateway.http.thrift_route import header_text
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import modifies
from tests.gateway.hs2.test_server import OPEN, call
from tests.gateway.hs2.wire import OK, cells, execute, fetch, open_session, settle, unframed_client
from tests.gateway.http.conftest import Live, eventually, serving_http

TYPE = {"Content-Type": "application/x-thrift"}
PATHS = [
    *("/cliservice", "/cliservice/", "/cliservice?o=1"),
    *("/sql/1.0/warehouses/abc123", "/sql/1.0/warehouses/abc123/", "/sql/1.0/endpoints/x-1"),
    *("/sql/protocolv1/o/0/0102-abc-xyz", "/sql/protocolv1/o/6051/a/?x=y"),
]


def basic(user: str, password: str = "x") -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def client_of(live: Live, path: str = "/cliservice", **headers: str) -> ThriftClient:
    """Returns a client that connects for each call, as Thrift's own does."""
    transport = THttpClient(live.url + path)
    transport.setCustomHeaders(headers or basic("ada"))
    return ThriftClient(TBinaryProtocol(transport))


@contextlib.contextmanager
def connection_to(live: Live) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    yield connection
    connection.close()


def post(
    connection: http.client.HTTPConnection, body: bytes = OPEN, path: str = "/cliservice", /, **headers: str
) -> tuple[int, Any, bytes]:
    connection.request("POST", path, body, TYPE | headers)
    response = connection.getresponse()
    return response.status, response.headers, response.read()


@pytest.mark.parametrize("path", PATHS)
def test_every_path_reaches_the_same_service(live: Live, path: str) -> None:
    client = client_of(live, path)
    operation = execute(client, open_session(client), "ROWS 3", runAsync=True)
    assert settle(client, operation).operationState == t.TOperationState.FINISHED_STATE
    assert cells(fetch(client, operation))[0] == [0, 1, 2]
    assert live.engine.sessions[0].principal == "ada"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/cliservices", 404),
        ("/", 405),
        ("/sql/1.0/warehouses/", 404),
        ("/sql/1.0/warehouses/a/b", 404),
        ("/sql/protocolv1/o/1", 404),
        ("/x/cliservice", 404),
    ],
)
def test_other_paths_are_not_found(live: Live, path: str, status: int) -> None:
    with connection_to(live) as connection:
        assert post(connection, OPEN, path)[0] == status


@pytest.mark.parametrize(
    ("agent", "counts"), [("DatabricksJDBCDriverOSS/3.4.5 Java/17", [[5], [3]]), ("Python/THttpClient", [[]])]
)
def test_databricks_jdbc_driver_gets_the_counts_of_changed_rows_as_a_row(
    live: Live, agent: str, counts: list[list[int]]
) -> None:
    live.engine.answers["INSERT"] = modifies(5, inserted=3)
    client = client_of(live, **basic("ada"), **{"User-Agent": agent})
    session = open_session(client)
    for text in ("INSERT", "SELECT 1"):
        operation = execute(client, session, text, runAsync=True)
        ended = settle(client, operation)
        assert ended.numModifiedRows == (5 if text == "INSERT" else -1)
        assert ended.hasResultSet is (text != "INSERT" or len(counts) > 1)
        assert cells(fetch(client, operation)) == (counts if text == "INSERT" else [[1]])


def test_other_databricks_routes_are_not_found(live: Live) -> None:
    with connection_to(live) as connection:
        connection.request("GET", "/api/2.0/connector-service/feature-flags/PYTHON/4.9.0")
        response = connection.getresponse()
        assert response.status == 404 and json.loads(response.read())["error_code"] == "ENDPOINT_NOT_FOUND"


NO_CALL = b"\x80\x01\x00\x01\x00\x00\x00\x04Open"


@pytest.mark.parametrize(
    ("method", "body", "headers", "status", "said"),
    [
        ("GET", b"", {}, 405, "method GET is not allowed"),
        ("PUT", OPEN, {}, 405, "method PUT is not allowed"),
        ("POST", OPEN, {"Content-Type": "application/json"}, 415, "application/json"),
        ("POST", OPEN, {"Content-Type": "text/plain; a=application/x-thrift"}, 415, "text/plain"),
        ("POST", OPEN, {"Host": "evil.example"}, 403, "evil.example"),
        ("POST", OPEN, {"Authorization": "Negotiate YII="}, 401, "Basic or Bearer. Kerberos is not supported"),
        ("POST", OPEN, {"Authorization": "\x80\xff"}, 401, "another scheme than Basic or Bearer"),
        ("POST", OPEN, {"Authorization": "Basic " + base64.b64encode(b"a\0b:c").decode()}, 401, "PLAIN"),
        ("POST", OPEN, {"Cookie": f"{COOKIE_NAME}=ada!1!00"}, 401, "Send the credentials again"),
        ("POST", b"", {}, 400, "not a HiveServer2 call"),
        ("POST", NO_CALL, {}, 400, "not a HiveServer2 call"),
        ("POST", b"\0\0\0\x20" + OPEN, {}, 400, "not a HiveServer2 call"),
        (
            "POST",
            call("GetInfo", t.TGetInfoReq(None, 13)).replace(b"\x80\x01\x00\x01", b"\x80\x01\x00\x02"),
            {},
            400,
            "kind 2",
        ),
    ],
)
def test_a_request_that_is_refused_says_why(
    live: Live, method: str, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    with connection_to(live) as connection:
        connection.request(method, "/cliservice", body, TYPE | headers)
        response = connection.getresponse()
        content = json.loads(response.read())
        assert response.status == status and said in content["message"] and content["error_code"]
        assert response.headers["X-Thriftserver-Error-Message"] == header_text(content["message"])
        assert (response.headers["WWW-Authenticate"] is not None) == (status == 401)
        assert response.headers["Allow"] == ("POST" if status == 405 else None)
        assert post(connection)[0] == 200  # the connection lives


@pytest.mark.parametrize(
    ("message", "line"),
    [("a\r\nb: c\n", "a b: c"), ("a\x00\x1b\x7fb", "a???b"), ("日本 é", "?? é"), ("x" * 5000, "x" * 2000)],
)
def test_a_message_is_one_line_of_a_header(message: str, line: str) -> None:
    assert header_text(message) == line


def test_a_method_that_does_not_exist_is_a_thrift_error(live: Live) -> None:
    with connection_to(live) as connection:
        status, _, reply = post(connection, OPEN.replace(b"OpenSession", b"OpenSausage"))
        assert status == 200 and b"Unknown function OpenSausage" in reply


def test_the_status_of_an_ended_statement_is_answered_again_without_a_worker(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for the same caller, while the credentials count as checked, and with each call's own number."""
    client = client_of(live)
    operation = execute(client, open_session(client), "SELECT 1", runAsync=True)
    settle(client, operation)
    message = call("GetOperationStatus", t.TGetOperationStatusReq(operation))
    at = message.index(b"GetOperationStatus") + len("GetOperationStatus")
    answered: list[str] = []
    answer = Conversation.answer

    def record(*given: Any) -> object:
        answered.append(given[2].principal)
        return answer(*given)

    monkeypatch.setattr(Conversation, "answer", record)
    replies = []
    with connection_to(live) as connection:
        for number in range(40):
            with_numbers = message[:at] + bytes(3) + bytes([number]) + message[at + 4 :]
            status, headers, reply = post(connection, with_numbers, **basic("ada"), **{"X-Request-Id": "r-1"})
            assert (
                status == 200
                and headers.get_all("X-Request-Id") == ["r-1"]
                and reply[at : at + 4] == bytes(3) + bytes([number])
            )
            replies.append(reply[:at] + reply[at + 4 :])
        assert len(set(replies)) == 1 and answered == ["ada"]
        refused = post(connection, message, **basic("eve"))[2]
        assert answered == ["ada", "eve"] and refused[:at] == replies[0][:at] and refused[at + 4 :] != replies[0][at:]
        monkeypatch.setattr("gateway.http.thrift_route._BELIEVED_S", -1.0)
        for _ in range(2):
            assert post(connection, message, **basic("ada"))[0] == 200
        assert len(answered) == 4
        client_of(live).CloseOperation(t.TCloseOperationReq(operation))
        assert post(connection, message, **basic("ada"))[2][at + 4 :] != replies[0][at:]


def test_a_body_is_limited() -> None:
    with serving_http(body_bytes_max=1000) as live, connection_to(live) as connection:
        assert post(connection)[0] == 200
        assert post(connection, OPEN + b"x" * 1000)[0] == 413


# ---------------------------------------------------------------------------------------------------- who is calling


@pytest.mark.parametrize(
    ("headers", "principal"),
    [
        (basic("ada"), "ada"),
        (basic("token", "dapi123"), "token"),
        (basic(""), "anonymous"),
        ({"Authorization": "bearer dapi123"}, "anonymous"),
        ({"X-XSRF-HEADER": "true"}, "anonymous"),
    ],
)
def test_the_header_says_who_is_calling(live: Live, headers: dict[str, str], principal: str) -> None:
    open_session(client_of(live, **headers), username="mallory")
    assert live.engine.sessions[0].principal == principal


def test_a_session_is_its_principals_on_every_front_end(live: Live) -> None:
    session = open_session(client_of(live))
    assert execute(client_of(live), session, "SELECT 1")
    mallory = client_of(live, **basic("mallory"))
    refused = mallory.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))
    assert refused.status.statusCode == t.TStatusCode.INVALID_HANDLE_STATUS
    with unframed_client(live.thrift_port) as binary:
        own = open_session(binary, username="ada")
        assert execute(binary, session, "SELECT 1") and execute(client_of(live), own, "SELECT 1")
    assert eventually(lambda: len(live.registry.sessions()) == 1)  # the connection's session ended with it
    assert client_of(live).CloseSession(t.TCloseSessionReq(session)).status.statusCode == OK
    assert live.registry.sessions() == ()


def test_http_connection_carries_calls_of_several_users(live: Live) -> None:
    with connection_to(live) as connection:
        for user in ("ada", "grace", "ada"):
            assert post(connection, **basic(user))[0] == 200
    assert [session.principal for session in live.engine.sessions] == ["ada", "grace", "ada"]


def test_a_cookie_replaces_the_credentials(live: Live) -> None:
    with connection_to(live) as connection:
        _, headers, _ = post(connection, **basic("zoë"))
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "Secure" not in cookie
        status, headers, _ = post(connection, Cookie=f"a=b; {cookie.partition(';')[0]}")
        assert status == 200 and headers["Set-Cookie"] is None
        status, headers, _ = post(connection, Cookie=cookie, **basic("grace"))  # as Thrift's client repeats it
        assert status == 200 and headers["Set-Cookie"].partition(";")[0] not in cookie
        assert post(connection, Cookie=f"{COOKIE_NAME}=x")[0] == 401
    assert [session.principal for session in live.engine.sessions] == ["zoë", "zoë", "grace"]


class OnlyAda:
    """Accepts one name and one password; counts calls."""

    mechanisms = (Mechanism.PLAIN,)

    def __init__(self) -> None:
        self.request_count = 0

    def ensure_current(self, identity: Identity) -> None:
        pass

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.PLAIN

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        raise AssertionError("no client impersonates")

    def begin(self, mechanism: Mechanism, peer: Peer) -> Exchange:
        return self

    def receive(self, message: bytes) -> Accepted:
        self.request_count += 1
        if parse_plain(message) != ("ada", "secret"):
            raise AuthenticationFailed("wrong password")
        return Accepted(Identity("ada"))


@pytest.mark.parametrize("credentials", ["DummyToken", "!!", "", base64.b64encode(b"ada").decode()])
def test_basic_credentials_without_a_user_name_nobody_and_are_no_login(live: Live, credentials: str) -> None:
    """ADBC's Spark driver sends `Basic DummyToken` if it has no user."""
    headers = {"Authorization": f"Basic {credentials}"}
    with connection_to(live) as connection:
        assert post(connection, **headers)[0] == 200
    with serving_http(authenticator=OnlyAda()) as guarded, connection_to(guarded) as connection:
        status, _, content = post(connection, **headers)
        assert status == 401 and b"user:password" in content
        assert post(connection, **basic("ada", "secret"))[0] == 200


def test_rejected_client_gets_challenge() -> None:
    with serving_http(authenticator=OnlyAda()) as live, connection_to(live) as connection:
        for headers in ({}, basic("ada", "wrong"), {"Authorization": "Bearer secret"}):
            for path in ("/cliservice", "/api/2.0/sql/statements/00000000-0000-0000-0000-000000000000"):
                connection.request("POST" if path == "/cliservice" else "GET", path, headers=TYPE | headers)
                response = connection.getresponse()
                assert response.status == 401 and json.loads(response.read())["error_code"] == "UNAUTHENTICATED"
                assert response.headers.get_all("WWW-Authenticate") == ['Basic realm="delta-gateway"']
        assert post(connection, **basic("ada", "secret"))[0] == 200


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Origin": "http://localhost"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://localhost.evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": ""}, False),
        ({"Origin": "http://["}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, False),
    ],
)
@pytest.mark.parametrize("path", ["/cliservice", "/sql/1.0/warehouses/x"])
def test_a_cookie_is_taken_from_no_page_of_another_site(
    live: Live, path: str, headers: dict[str, str], is_own: bool
) -> None:
    with connection_to(live) as connection:
        cookie = post(connection, OPEN, path, **basic("ada"))[1]["Set-Cookie"].partition(";")[0]
        status, _, content = post(connection, OPEN, path, Host="localhost", Cookie=cookie, **headers)
        assert (status, b"page of this server" in content) == ((200, False) if is_own else (403, True))
        assert post(connection, OPEN, path, Host="localhost", **basic("ada"), **headers)[0] == 200


def test_page_token_of_another_user_is_rejected() -> None:
    with serving_http() as live, connection_to(live) as connection:
        assert post(connection, Origin="http://evil.example")[0] == 403
        assert post(connection)[0] == 200


def test_credentials_are_checked_once_where_the_client_keeps_its_cookie() -> None:
    authenticator = OnlyAda()
    with serving_http(authenticator=authenticator) as live, connection_to(live) as connection:
        cookie = post(connection, **basic("ada", "secret"))[1]["Set-Cookie"].partition(";")[0]
        for _ in range(3):
            assert post(connection, Cookie=cookie)[0] == 200
    assert authenticator.request_count == 1 and len(live.engine.sessions) == 4


# ------------------------------------------------------------------------------------------------- calls that wait


def send(live: Live, body: bytes) -> http.client.HTTPConnection:
    """Returns a connection on which a call was sent and nothing read yet."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    connection.request("POST", "/cliservice", body, TYPE | basic("ada"))
    return connection


def test_calls_that_wait_hold_up_nobody(live: Live) -> None:
    """Forty calls, with six workers for others; a disconnected client's statement ends."""
    session = open_session(client_of(live))
    waiting = [send(live, call("ExecuteStatement", t.TExecuteStatementReq(session, "SLEEP 60"))) for _ in range(40)]
    assert eventually(lambda: len(live.registry.operations()) == 40)
    with connection_to(live) as connection:
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
    operation = execute(client_of(live), open_session(client_of(live)), "SELECT 1", runAsync=True)
    assert operation
    for connection in waiting:
        connection.close()
    assert eventually(lambda: live.registry.sessions()[0].operations() == ())
    assert all(run.context.cancel.reason for run in live.engine.runs if run.text == "SLEEP 60")
    assert len(live.registry.sessions()) == 2  # sessions stay


def test_calls_leave_connections_to_others() -> None:
    with serving_http(connections_max=10) as live:
        session = open_session(client_of(live))
        assert eventually(lambda: live.server.connection_count() == 0)  # the session's client has disconnected
        body = call("ExecuteStatement", t.TExecuteStatementReq(session, "SLEEP 60"))
        waiting = [send(live, body) for _ in range(9)]
        assert eventually(lambda: len(live.registry.operations()) == 9)
        with connection_to(live) as connection:
            status, headers, content = post(connection, body, **basic("ada"), **{"X-Request-Id": "r-1"})
            assert status == 429 and headers["Retry-After"] and b"9 HTTP calls" in content
            assert headers.get_all("X-Request-Id") == ["r-1"]
            connection.request("GET", "/healthz")
            response = connection.getresponse()
            assert response.status == 200 and response.read()
            waiting.pop().close()
            assert eventually(lambda: post(connection, **basic("ada"))[0] == 200)
        for one in waiting:
            one.close()


def test_connection_with_calls_has_longer_idle_timeout() -> None:
    """hive-driver is busy with a million rows for more than a minute, and does not connect again for the next call."""
    with serving_http(idle_s=1.5) as live, connection_to(live) as busy, connection_to(live) as other:
        other.connect()
        assert post(busy)[0] == 200
        connected = busy.sock
        assert other.sock.recv(1) == b""  # the server has ended it
        assert eventually(lambda: live.server.connection_count() == 1)
        assert post(busy)[0] == 200 and busy.sock is connected
    with serving_http(call_idle_s=0.1) as live, connection_to(live) as busy:
        assert post(busy)[0] == 200
        assert eventually(lambda: live.server.connection_count() == 0)


def test_a_statement_whose_handle_is_known_outlives_its_connection(live: Live) -> None:
    client = client_of(live)
    operation = execute(client, open_session(client), "SLEEP 0.7", runAsync=True)
    send(live, call("GetOperationStatus", t.TGetOperationStatusReq(operation))).close()
    assert settle(client, operation).operationState == t.TOperationState.FINISHED_STATE


def test_a_session_without_calls_ends() -> None:
    """Its statements end too: no call reports that the client is gone. A client that waits for its statement counts as
    present.
    """
    with serving_http(limits=Limits(linger_s=0, session_idle_s=1.2, reap_every_s=0.05)) as live:
        client = client_of(live)
        execute(client, open_session(client), "SLEEP 61", runAsync=True)
        execute(client, open_session(client), "SLEEP 2")
        assert eventually(lambda: live.registry.sessions() == ())
        assert live.engine.runs[0].context.cancel.reason is not None


def test_calls_are_refused_until_the_server_is_ready() -> None:
    with serving_http(is_ready=False) as live, connection_to(live) as connection:
        status, headers, body = post(connection)
        assert status == 503 and headers["Retry-After"] and b"SERVER_STARTING" in body


def test_pipelined_calls_are_answered_in_their_order(live: Live) -> None:
    sequences = [n.to_bytes(4, "big") for n in range(20)]
    body = call("OpenSession", t.TOpenSessionReq(9, "ada"))
    at = body.index(b"OpenSession") + len("OpenSession")
    head = f"POST /cliservice HTTP/1.1\r\nHost: localhost\r\nContent-Type: {TYPE['Content-Type']}\r\n"
    with connection_to(live) as connection:
        connection.connect()
        for sequence in sequences:
            message = body[:at] + sequence + body[at + 4 :]
            connection.sock.sendall(f"{head}Content-Length: {len(message)}\r\n\r\n".encode() + message)
        incoming = connection.sock.makefile("rb")
        for sequence in sequences:
            assert incoming.readline() == b"HTTP/1.1 200 OK\r\n"
            length = int(http.client.parse_headers(incoming)["Content-Length"])
            assert incoming.read(length)[at : at + 4] == sequence
