"""Statements on a REST catalog's tables when it answers late, wrongly, twice or not at all, or is replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run
from tests.rest.catalog_server import CLIENT_ID, CLIENT_SECRET
from tests.rest.conftest import RestServer

Opened = Callable[..., LakeSession]


@pytest.fixture
def open_session(tmp_path: Path, server: RestServer, spark_driver: SparkDriver) -> Iterator[Opened]:
    opened = []

    def session(**given: Any) -> LakeSession:
        options = EngineOptions(
            lake_folder=str(tmp_path), allowed_roots=(str(server.folder),), rest_catalogs=(server.options(**given),)
        )
        engine = LakeEngine(open_sources(options), spark_driver)
        opened.append(engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None))
        return opened[-1]

    yield session
    server.faults()
    for each in opened:
        each.close()


def ids(server: RestServer, name: str) -> list[int]:
    """Returns the ids that another client reads."""
    found: list[int] = server.other_client().load_table(name).scan().to_arrow()["id"].sort().to_pylist()
    return found


CHANGES = {
    "INSERT INTO elsewhere.a.t VALUES (7)": [1, 2, 7],
    "UPDATE elsewhere.a.t SET id = 9 WHERE id = 2": [1, 9],
    "DELETE FROM elsewhere.a.t WHERE id = 1": [2],
    "MERGE INTO elsewhere.a.t t USING (SELECT explode(array(2, 3)) AS id) s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *": [1, 3],
}


@pytest.mark.spark
@pytest.mark.diagonals("text", "fault", step=3)
@pytest.mark.parametrize("text", CHANGES)
@pytest.mark.parametrize(
    ("fault", "is_made"),
    [
        ({"status": 409}, True),
        ({"status": 502, "applies": True}, True),
        ({"status": 0, "applies": True}, True),
        ({"status": 503, "applies": True}, True),
        ({"status": 504}, None),
        ({"status": 500}, None),
        ({"status": 400}, False),
        ({"status": 403}, False),
    ],
)
def test_a_change_is_made_once_or_not_at_all(
    open_session: Opened, server: RestServer, text: str, fault: dict[str, Any], is_made: bool | None
) -> None:
    """None: unknown outcome, and the files stay."""
    session = open_session()
    run(session, "CREATE OR REPLACE TABLE elsewhere.a.t AS SELECT explode(array(1L, 2L)) AS id")
    folder = server.folder / "a" / "t"
    before = {each.name for each in folder.rglob("*.parquet")}
    server.faults({"method": "POST", "contains": "/tables/t", **fault})
    if is_made:
        run(session, text)
        assert ids(server, "a.t") == CHANGES[text]
    else:
        error = refuse(session, text)
        left = {each.name for each in folder.rglob("*.parquet")} - before
        if is_made is None:
            assert error.sqlstate == "08007" and (left or text.startswith("DELETE"))
        else:
            assert error.condition == "REST_CATALOG_REFUSED" and not left
        assert ids(server, "a.t") == [1, 2]
        run(session, text)
        assert ids(server, "a.t") == CHANGES[text]


@pytest.mark.spark
def test_a_token_that_ends_while_a_statement_runs(open_session: Opened, server: RestServer) -> None:
    """The client's next token invalidates the previous one: here between the rows and their commit."""
    session = open_session(token="", credential=f"{CLIENT_ID}:{CLIENT_SECRET}")
    server.faults({"method": "POST", "contains": "/tables/made", "holds": True})
    with ThreadPoolExecutor(1) as pool:
        made: Future[Any] = pool.submit(run, session, "CREATE TABLE elsewhere.b.made AS SELECT id FROM range(3)")
        _wait(lambda: any("/tables/made" in each and each.startswith("POST") for each in server.requests()))
        server.client(token="", credential=f"{CLIENT_ID}:{CLIENT_SECRET}").has_namespace(("a",))
        server.release()
        made.result(60)
    assert ids(server, "b.made") == [0, 1, 2]
    assert rows(session, "SELECT count(*) FROM elsewhere.b.made") == [(3,)]


@pytest.mark.parametrize("text", ["DESCRIBE elsewhere.shop.orders", "SHOW TABLES IN elsewhere.shop"])
@pytest.mark.spark
def test_a_statement_that_waits_for_a_catalog_is_cancelled(open_session: Opened, server: RestServer, text: str) -> None:
    session = open_session(timeout_s=60.0)
    rows(session, text)
    server.faults({"method": "GET", "contains": "/shop", "holds": True})
    request, ends = StatementRequest(identity=Identity("ann")), []
    server.requests()
    with ThreadPoolExecutor(1) as pool:
        running: Future[Any] = pool.submit(session.execute, text, request)
        _wait(lambda: any("/shop" in each for each in server.requests()))
        began = time.monotonic()
        request.cancel.cancel()
        error = running.exception(30)
        ends.append(time.monotonic() - began)
    server.release()
    assert isinstance(error, SqlError) and error.condition == "OPERATION_CANCELED" and ends[0] < 5
    assert rows(session, text)  # the catalog is not taken for one that does not answer


def _wait(has_come: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    pause = threading.Event()
    while not has_come():
        assert time.monotonic() < ends, "it does not come"
        pause.wait(0.05)
