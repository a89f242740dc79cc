"""Variables, EXECUTE IMMEDIATE and scripts as real clients send them, over Thrift and HTTP."""

from __future__ import annotations

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from tests.clients.fix_server import RealServer
from tests.clients.http_client import HttpClient

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCRIPT = """BEGIN
  DECLARE n INT DEFAULT 0;
  WHILE n < base DO
    SET n = n + 2;
  END WHILE;
  SELECT n, 'a;b' AS t;
END;"""


def test_pyhive_sends_whole_scripts(server: RealServer) -> None:
    with hive.connect("localhost", server.thrift_port) as connection, connection.cursor() as cursor:
        for text in ("DECLARE VARIABLE base INT DEFAULT 3", "SET VAR base = base + 2"):
            cursor.execute(text)
            assert cursor.description[0][0] == "Result" and cursor.fetchall() == []
        cursor.execute(SCRIPT)
        assert cursor.fetchall() == [(6, "a;b")]
        cursor.execute("EXECUTE IMMEDIATE 'SELECT ? * base' USING 2")
        assert cursor.fetchall() == [(10,)]
        cursor.execute("BEGIN SET base = 0; END")
        assert cursor.description[0][0] == "Result" and cursor.fetchall() == []
        with pytest.raises(OperationalError, match="DIVIDE_BY_ZERO"):
            cursor.execute("BEGIN SET base = 1 / base; END")
        cursor.execute("SELECT base")
        assert cursor.fetchall() == [(0,)]


def test_variables_live_in_a_session_over_http(server: RealServer) -> None:
    client = HttpClient(server.http_port)
    session, other = client.session(), client.session()
    assert session.run("DECLARE VARIABLE base INT DEFAULT 3")["manifest"]["total_row_count"] == 0
    assert session.run("SET VAR base = 5")["manifest"]["total_row_count"] == 0
    assert session.rows(SCRIPT) == [["6", "a;b"]]
    assert "UNRESOLVED_COLUMN" in other.failure("SELECT base")["message"]
    assert "UNRESOLVED_COLUMN" in client.failure("SELECT base")["message"]
    ended = session.submit("BEGIN LOOP SET base = base + 1; END LOOP; END", wait="0s")
    session.ask("POST", f"/statements/{ended['statement_id']}/cancel", {})
    assert session.wait(ended)["status"]["state"] == "CANCELED"
    session.run("SET gateway.statement.timeout = 1")
    assert "STATEMENT_TIMEOUT" in session.failure("BEGIN LOOP SET base = 1; END LOOP; END")["message"]
    session.run("RESET gateway.statement.timeout")
    assert session.rows("SELECT 1") == [["1"]]
    session.close()
    other.close()
