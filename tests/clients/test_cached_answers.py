"""Result cache over every front end: one client runs the query, all others get the cached answer.

Each client adds its own comment to the same query, by which the history finds it.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from pyhive import hive

from tests.clients.fix_server import RealServer
from tests.clients.http_client import HttpClient
from tests.clients.test_databricks_connector import connect

pytestmark = [pytest.mark.clients, pytest.mark.spark]

TABLE = "default.asked_by_all"
Ask = Callable[[str], list[tuple[int, ...]]]


@pytest.fixture(scope="module")
def clients(server: RealServer) -> Iterator[dict[str, Ask]]:
    """Yields a persistent connection for each client."""
    http = server.http()
    with (
        closing(hive.connect("127.0.0.1", server.thrift_port, username="ann")) as pyhive,
        connect(server.http_port) as databricks,
        connect(server.http_port, use_cloud_fetch=False) as direct,
    ):

        def by_cursor(connection: Any) -> Ask:
            def ask(text: str) -> list[tuple[int, ...]]:
                with closing(connection.cursor()) as cursor:
                    cursor.execute(text)
                    return [tuple(map(int, row)) for row in cursor.fetchall()]

            return ask

        yield {
            "statement API": lambda text: [tuple(map(int, filter(None, row))) for row in http.rows(text)],
            "links to Arrow": lambda text: [tuple(row.values()) for row in http.arrow(text)[1].to_pylist()],
            "PyHive": by_cursor(pyhive),
            "databricks-sql-connector": by_cursor(databricks),
            "databricks-sql-connector without links": by_cursor(direct),
        }


def _history(http: HttpClient, mark: str) -> list[bool]:
    """Returns whether each statement with the mark was answered from the cache, oldest first."""
    text = f"SELECT from_cache FROM system.queries WHERE contains(statement_text, '{mark}') AND NOT contains("
    return [row == ["true"] for row in http.rows(f"{text}statement_text, 'system') ORDER BY created")]


def test_concurrent_identical_queries_share_one_execution(server: RealServer, clients: dict[str, Ask]) -> None:
    http = server.http()
    http.run(f"CREATE OR REPLACE TABLE {TABLE} AS SELECT id AS n FROM range(10)")
    total = 45
    for added in range(4):
        if added:
            http.run(f"INSERT INTO {TABLE} VALUES ({added})")
            total += added
        for first in (True, False):
            for name, ask in clients.items():
                mark = f"{name} {added} {first}"
                assert ask(f"SELECT sum(n), count(*) /* {mark} */ FROM {TABLE} WHERE n >= 0") == [(total, 10 + added)]
                is_first_of_all = first and name == next(iter(clients))
                assert _history(http, f"/* {mark} */") == [not is_first_of_all], mark


def test_the_history_and_the_profile_say_so(server: RealServer) -> None:
    http = server.http()
    http.run(f"CREATE OR REPLACE TABLE {TABLE}_told AS SELECT id AS n FROM range(10)")
    text = f"SELECT sum(n) + 1 FROM {TABLE}_told WHERE n > 1"
    for is_cached in (False, True):
        plan = "\n".join(str(row[0]) for row in http.rows(f"EXPLAIN {text}"))
        assert f"the answer is {'there' if is_cached else 'not there'}" in plan
        answer = http.run(text)
        statement = answer["statement_id"]
        assert answer["manifest"]["from_result_cache"] is is_cached
        profile = http.ask("GET", f"/statements/{statement}/profile")
        assert profile["from_cache"] is profile["from_result_cache"] is is_cached
        url = f"http://127.0.0.1:{server.http_port}/api/2.0/sql/history/queries?include_metrics=true"
        with urllib.request.urlopen(url, timeout=90) as response:
            (reported,) = (each for each in json.loads(response.read())["res"] if each["query_id"] == statement)
        assert reported["metrics"]["result_from_cache"] is is_cached


def test_a_session_does_without_over_each_front_end(server: RealServer) -> None:
    server.http().run(f"CREATE OR REPLACE TABLE {TABLE}_off AS SELECT id AS n FROM range(10)")
    text = f"SELECT sum(n) + 2 AS s /* off */ FROM {TABLE}_off WHERE n > 1"
    http = server.http(use_cached_result="false")
    with closing(hive.connect("127.0.0.1", server.thrift_port, username="ann")) as connection:
        cursor = connection.cursor()
        for switched in ("SET gateway.result_cache = off", "SET USE_CACHED_RESULT = true"):
            cursor.execute(switched)
            for _ in range(2):
                cursor.execute(text)
                assert cursor.fetchall() == [(46,)]
                assert http.rows(text) == [["46"]]
    assert _history(server.http(), "/* off */") == [*[False] * 6, True, False]
    http.close()


def test_identical_concurrent_queries_run_once(server: RealServer, clients: dict[str, Ask]) -> None:
    """Each client in a separate thread; all but the first have waited, or come a little later."""
    http = server.http()
    http.run(f"CREATE OR REPLACE TABLE {TABLE}_once AS SELECT id AS n FROM range(100000)")
    slow = "aggregate(sequence(1, 400), 0, (a, x) -> a + x) > 0"
    text = f"SELECT count(*), sum(n) FROM {TABLE}_once WHERE {slow} AND n >= 0 /* once */"
    with ThreadPoolExecutor(len(clients)) as pool:
        answers = list(pool.map(lambda ask: ask(text), clients.values()))
    assert answers == [[(100_000, 4_999_950_000)]] * len(clients)
    assert sorted(_history(http, "/* once */")) == [False] + [True] * (len(clients) - 1)
