"""One user with many long statements, over HTTP and Thrift: others go on, and too many are refused with a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.runtime.results import empty_result
from tests.gateway.hs2.wire import execute, open_session
from tests.security.secure_server import STATEMENTS, SecureServer, basic


@pytest.fixture
def server(folder: Path) -> SecureServer:
    return SecureServer(folder, statements__running_max=4, admission__queued_max=60)


def test_a_user_with_32_long_statements_stops_nobody(server: SecureServer) -> None:
    server.engine.answers["SHOW TABLES"] = lambda _: empty_result()
    server.start()
    for _ in range(32):
        answer = server.ask("POST", STATEMENTS, {"statement": "SLEEP 60", "wait_timeout": "0s"}, **basic("ann"))
        assert answer.status == 200
    refused = server.ask("POST", STATEMENTS, {"statement": "SLEEP 60", "wait_timeout": "0s"}, **basic("ann"))
    assert (refused.status, refused.body["error_code"], refused.body["sql_state"]) == (
        429,
        "REQUEST_LIMIT_EXCEEDED",
        "53400",
    )
    assert int(refused.headers["Retry-After"]) >= 1
    with server.client("bob") as client:
        for text in ("SHOW TABLES", "SELECT 1"):
            execute(client, open_session(client), text)
    server.stop()


def test_a_user_who_waits_less_goes_first(server: SecureServer) -> None:
    server.start()
    for _ in range(20):
        server.ask("POST", STATEMENTS, {"statement": "SLEEP 60", "wait_timeout": "0s"}, **basic("ann"))
    for _ in range(3):
        assert server.submit("SELECT 1", user="bob", wait_timeout="30s")["status"]["state"] == "SUCCEEDED"
    server.stop()
