"""PyHive and impyla beyond queries: asynchronous statements, logs, catalog calls, the missing-table message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import impala.dbapi
import pytest
from pyhive import hive
from pyhive.exc import ProgrammingError
from TCLIService.ttypes import TOperationState
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from catalog.conditions import AuthenticationFailed
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import Accepted, Mechanism, parse_plain
from gateway.authenticators.peer import Peer
from tests.clients.conftest import Served
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.hs2.wire import serving

pytestmark = pytest.mark.clients


@pytest.fixture
def pyhive(served: Served) -> Iterator[Any]:
    configuration = {"spark.sql.shuffle.partitions": "3", "set:hiveconf:hive.exec.parallel": "true"}
    connection = hive.connect("127.0.0.1", served.port, username="ada", database="lab", configuration=configuration)
    yield connection
    connection.close()


@pytest.fixture(params=["PLAIN", "NOSASL"])
def impyla(request: pytest.FixtureRequest, served: Served) -> Iterator[Any]:
    connection = impala.dbapi.connect("127.0.0.1", served.port, user="ada", auth_mechanism=request.param)
    yield connection
    connection.close()


def test_pyhive_sends_its_settings_and_its_schema_by_statement(pyhive: Any, served: Served) -> None:
    session = served.engine.sessions[-1]
    assert session.settings == {"spark.sql.shuffle.partitions": "3", "hiveconf:hive.exec.parallel": "true"}
    assert served.engine.runs[-1].text == "USE `lab`"


def test_pyhive_polls_and_reads_logs(pyhive: Any) -> None:
    cursor = pyhive.cursor()
    cursor.execute("SLEEP 0.2", async_=True)
    states, logs = list[int](), list[str]()
    while not states or states[-1] in (TOperationState.INITIALIZED_STATE, TOperationState.RUNNING_STATE):
        states.append(cursor.poll(get_progress_update=True).operationState)
        logs += cursor.fetch_logs()
    assert states[-1] == TOperationState.FINISHED_STATE and logs[-1].startswith("finished after ")
    assert cursor.fetchall() == [(0.2,)]


def test_pyhive_cancels(pyhive: Any, served: Served) -> None:
    cursor = pyhive.cursor()
    cursor.execute("SLEEP 300", async_=True)
    cursor.cancel()
    assert cursor.poll().operationState == TOperationState.CANCELED_STATE


def test_pyhive_finds_its_words_for_a_missing_table(pyhive: Any) -> None:
    """PyHive's SQLAlchemy dialect recognizes a missing table by this expression."""
    with pytest.raises(hive.OperationalError) as raised:
        pyhive.cursor().execute("DESCRIBE lab.nope")
    assert re.search(r"TExecuteStatementResp.*SemanticException.*Table not found lab\.nope", str(raised.value.args[0]))


def test_pyhive_describes_columns(pyhive: Any) -> None:
    cursor = pyhive.cursor()
    cursor.execute("SELECT types")
    assert [(name, kind) for name, kind, *_ in cursor.description][:2] == [
        ("bo", "BOOLEAN_TYPE"),
        ("ti", "TINYINT_TYPE"),
    ]


class Nobody:
    """Refuses everyone."""

    mechanisms = (Mechanism.PLAIN,)

    def ensure_current(self, identity: Identity) -> None:
        pass

    def mechanism_for(self, user: str, peer: Peer) -> Mechanism:
        return Mechanism.PLAIN

    def act_for(self, identity: Identity, user: str, peer: Peer) -> Identity:
        raise AssertionError("no client impersonates")

    def begin(self, mechanism: Mechanism, peer: Peer) -> Nobody:
        return self

    def receive(self, message: bytes) -> Accepted:
        user, password = parse_plain(message)
        raise AuthenticationFailed(f"the password {password!r} is wrong for {user}.")


def test_rejected_login_reports_the_reason() -> None:
    with serving(ArrowEngine(), authenticator=Nobody()) as (port, _, _):
        with pytest.raises(TTransportException, match="the password 'x' is wrong for ada"):
            hive.connect("127.0.0.1", port, username="ada")
        with pytest.raises(TTransportException, match="read 0 bytes"):  # nothing to say it with before the first call
            impala.dbapi.connect("127.0.0.1", port, user="ada", auth_mechanism="NOSASL").cursor()


def test_impyla_lists_the_catalog(impyla: Any) -> None:
    cursor = impyla.cursor()
    assert cursor.database_exists("lab") and not cursor.database_exists("nowhere")
    assert cursor.table_exists("t", "lab") and not cursor.table_exists("nope", "lab")
    assert [tuple(entry) for entry in cursor.get_table_schema("t", "lab")] == [("i", "INT"), ("s", "STRING")]
    cursor.get_databases()
    assert [row[0] for row in cursor.fetchall()] == ["default", "lab"]
    cursor.get_functions("lab")
    assert [row[2] for row in cursor.fetchall()] == ["abs", "concat"]


def test_impyla_survives_the_methods_that_only_impala_has(impyla: Any) -> None:
    cursor = impyla.cursor()
    cursor.execute("SELECT 1")
    for method in (cursor.get_profile, cursor.get_summary):
        with pytest.raises(TApplicationException):
            method()
    assert cursor.ping()
    assert cursor.get_log().startswith("finished after ")
    assert cursor.fetchall() == [(1,)]


def test_impyla_counts_modified_rows(impyla: Any) -> None:
    cursor = impyla.cursor()
    cursor.execute("INSERT")
    assert cursor.rowcount == 3
    cursor.execute("USE lab")
    assert cursor.rowcount == -1


def test_impyla_waits_and_cancels(impyla: Any, served: Served) -> None:
    cursor = impyla.cursor()
    known = len(served.engine.runs)
    cursor.execute_async("SLEEP 300")
    assert cursor.is_executing()
    cursor.cancel_operation()
    assert served.engine.runs[known].context.cancel.reason is not None


def test_impyla_reads_columns(impyla: Any) -> None:
    cursor = impyla.cursor()
    cursor.execute("ROWS 20000")
    batch = cursor.fetchcolumnar()
    assert sum(len(block) for block in batch) == 20000


def test_pyhive_knows_a_statement_without_a_result_set(pyhive: Any) -> None:
    cursor = pyhive.cursor()
    for text in ("USE lab", "INSERT"):
        cursor.execute(text, async_=True)
        assert cursor.description is None
        with pytest.raises(ProgrammingError, match="No result set"):
            cursor.fetchone()


def test_pyhive_gets_an_empty_result_of_a_statement_that_it_waits_for(pyhive: Any) -> None:
    """Spark's own server answers so too."""
    cursor = pyhive.cursor()
    for text in ("USE lab", "INSERT"):
        cursor.execute(text)
        assert [column[0] for column in cursor.description] == ["Result"] and cursor.fetchall() == []


def test_pyhive_runs_a_statement_many_times(pyhive: Any) -> None:
    cursor = pyhive.cursor()
    cursor.executemany("INSERT", [{"a": 1}, {"a": 2}, {"a": 3}])
    assert cursor.fetchall() == []
    cursor.execute("SELECT 1")
    assert cursor.fetchall() == [(1,)]


def test_impyla_runs_a_statement_many_times(impyla: Any) -> None:
    cursor = impyla.cursor()
    cursor.executemany("INSERT", [{"a": 1}, {"a": 2}])
    assert not cursor.has_result_set and cursor.description is None and cursor.rowcount == 6
    cursor.execute("SELECT 1")
    assert cursor.fetchall() == [(1,)]
