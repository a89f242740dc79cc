"""gohive, unmodified, over each transport.

`gohive.go` runs in a separate process with commands and responses, a line of JSON each. It is built once, below
`.clients`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import go_program
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow, pytest.mark.go]

SOURCE = Path(__file__).with_name("gohive.go")
GOHIVE = "github.com/beltran/gohive@v1.8.1"
ENDLESS = "SELECT id FROM range(1000000000000) WHERE sha2(cast(id AS string), 256) = ''"
TYPES = [  # a value for each type, as the client shows it
    ("true", "true"),
    ("-1Y", "-1"),
    ("300S", "300"),
    ("2147483647", "2147483647"),
    ("9007199254740991L", "9007199254740991"),
    ("float(0.5)", "0.5"),
    ("0.25D", "0.25"),
    ("12345678901234567890.0123456789BD", "12345678901234567890.0123456789"),
    ("'é€😀'", "é€😀"),
    ("cast('bytes' AS binary)", "bytes"),
    ("DATE'2024-02-29'", "2024-02-29"),
    ("TIMESTAMP_NTZ'2024-02-29 12:00:00.5'", "2024-02-29 12:00:00.5"),
    ("CAST(NULL AS INT)", None),
]


@pytest.fixture(scope="module")
def built() -> Path:
    return go_program(SOURCE, GOHIVE)


class Program:
    """A client's process."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: str, sql: str = "", **more: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": what, "sql": sql, **more}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(60) == 0


@pytest.fixture(params=["sasl", "nosasl", "http"])
def program(request: pytest.FixtureRequest, server: RealServer, built: Path) -> Iterator[Program]:
    port = server.http_port if request.param == "http" else server.thrift_port
    started = Program([str(built), request.param, str(port)])
    yield started
    started.close()


def test_values_of_all_types(program: Program) -> None:
    names = ", ".join(f"{text} AS c{number}" for number, (text, _) in enumerate(TYPES))
    assert program.ask("run", f"SELECT {names}") == {"rows": [[shown for _, shown in TYPES]]}


def test_rows_are_changed_and_read(program: Program) -> None:
    assert not program.ask("run", "CREATE OR REPLACE TABLE from_go (k INT, v STRING)").get("error")
    for text in (
        "INSERT INTO from_go VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "UPDATE from_go SET v = 'x' WHERE k = 2",
        "DELETE FROM from_go WHERE k = 3",
    ):
        assert not program.ask("run", text).get("error")
    assert program.ask("run", "SELECT * FROM from_go ORDER BY k") == {"rows": [["1", "a"], ["2", "x"]]}


def test_many_rows(program: Program) -> None:
    assert program.ask("count", "SELECT id, cast(id AS string) AS s FROM range(1000000)") == {"count": 1000000}


def test_error_is_reported_and_session_continues(program: Program) -> None:
    reported = program.ask("run", "SELECT * FROM no_such_table")["error"]
    assert "TABLE_OR_VIEW_NOT_FOUND" in reported and "\tat " not in reported
    assert program.ask("run", "SELECT 1 AS one") == {"rows": [["1"]]}


def test_a_statement_is_cancelled(program: Program) -> None:
    assert "cancel" in str(program.ask("cancel", ENDLESS)["error"]).lower()
    assert program.ask("run", "SELECT 1 AS one") == {"rows": [["1"]]}


def test_a_time_limit_ends_a_statement(program: Program) -> None:
    program.ask("run", "SET STATEMENT_TIMEOUT = 1")
    assert "STATEMENT_TIMEOUT" in program.ask("run", ENDLESS)["error"]
    assert program.ask("run", "SELECT 1 AS one") == {"rows": [["1"]]}


def test_a_second_connection(program: Program) -> None:
    assert program.ask("reconnect") == {}
    assert program.ask("run", "SELECT current_user() AS who") in ({"rows": [["ada"]]}, {"rows": [["anonymous"]]})
