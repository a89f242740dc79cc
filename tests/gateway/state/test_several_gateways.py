"""Several gateways with one state folder, in one process, over scripted engines."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.runtime.identity import Identity
from gateway.hs2.gen import ttypes as t
from tests.certificates import make_certificate
from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.gateway.gateways import Maker, gateways
from tests.gateway.hs2.wire import OK, cells, execute, fetch, open_session, settle, unframed_client
from tests.gateway.http.conftest import STATEMENTS, eventually

SESSIONS = "/api/2.0/sql/sessions"


@pytest.fixture(params=["disk", "object store"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    folder = str(tmp_path / "state") if request.param == "disk" else f"memory://state-{uuid.uuid4().hex}/s"
    with gateways(tmp_path, folder) as build:
        yield build


# Tests whose records differ between the two by their storage alone; `test_remote_folder.py` has that of the store.
on_disk = pytest.mark.parametrize(
    "start", ["disk", pytest.param("object store", marks=pytest.mark.slow)], indirect=True
)


def test_another_gateway_serves_a_statement_with_its_rows_and_closes_it(start: Maker) -> None:
    first, second = start(), start()
    done = first.submit("ROWS 2500")
    assert second.poll(done) == done
    status, answer = second.call("GET", f"{STATEMENTS}/{done['statement_id']}/result/chunks/0")
    assert status == 200 and answer["data_array"] == done["result"]["data_array"]
    assert second.call("DELETE", f"{STATEMENTS}/{done['statement_id']}")[0] == 200
    assert first.call("GET", f"{STATEMENTS}/{done['statement_id']}")[0] == 404
    assert second.call("GET", f"{STATEMENTS}/{done['statement_id']}")[0] == 404
    assert not second.engine.runs


def test_statements_in_another_gateways_session_run_there(start: Maker) -> None:
    first, second = start(), start()
    session = first.call("POST", SESSIONS, {})[1]
    done = second.submit("SELECT 1", session_id=session["session_id"])
    assert done["status"] == {"state": "SUCCEEDED"} and done["session"]["session_id"] == session["session_id"]
    assert len(first.engine.runs) == 1 and not second.engine.runs
    assert second.call("GET", f"{SESSIONS}/{session['session_id']}")[1]["session_id"] == session["session_id"]
    assert second.call("DELETE", f"{SESSIONS}/{session['session_id']}")[0] == 200
    assert first.call("GET", f"{SESSIONS}/{session['session_id']}")[0] == 404


@on_disk
def test_a_running_statement_is_cancelled_through_another_gateway(start: Maker) -> None:
    first, second = start(), start()
    running = first.submit("SLEEP 60", wait="0s")
    assert second.poll(running, "0s")["status"]["state"] in ("PENDING", "RUNNING")
    assert second.call("POST", f"{STATEMENTS}/{running['statement_id']}/cancel")[0] == 200
    assert first.poll(running)["status"]["state"] == "CANCELED"


def test_unknown_ids_are_unknown_at_each_gateway(start: Maker) -> None:
    first, second = start(), start()
    for gateway in (first, second):
        assert gateway.call("GET", f"{STATEMENTS}/00000000-0000-4000-8000-000000000000")[0] == 404
        assert gateway.call("GET", f"{STATEMENTS}/nonsense")[0] == 404


@on_disk
def test_links_to_results_are_valid_at_each_gateway_and_after_a_take_over(start: Maker) -> None:
    first, second = start(), start()
    done = first.submit("ROWS 10", disposition="EXTERNAL_LINKS", format="JSON_ARRAY")
    link = done["result"]["external_links"][0]["external_link"]
    elsewhere = link.replace(f":{first.ports.http}/", f":{second.ports.http}/")
    rows = first.call("GET", link)
    assert rows[0] == 200 and len(rows[1]) == 10
    assert second.call("GET", elsewhere) == rows
    assert second.call("GET", elsewhere.replace("signature=", "signature=0"))[0] == 403
    polled = second.poll(done)["result"]["external_links"][0]["external_link"]
    assert f":{second.ports.http}/" in polled
    first.crash()
    assert eventually(lambda: second.call("GET", elsewhere) == rows)


def test_sessions_of_an_ended_gateway_continue_at_another_one_at_once(start: Maker) -> None:
    first, second = start(), start()
    session = first.call("POST", SESSIONS, {})[1]
    done, running = first.submit("ROWS 10"), first.submit("SLEEP 1", wait="0s", session_id=session["session_id"])
    first.crash()
    began = time.monotonic()
    assert second.poll(done)["result"]["data_array"] == done["result"]["data_array"]
    assert second.poll(running)["status"] == {"state": "SUCCEEDED"}
    assert [run.text for run in second.engine.runs] == ["SLEEP 1"]
    assert second.engine.runs[0].context.is_repeated
    assert second.submit("SELECT 1", session_id=session["session_id"])["status"] == {"state": "SUCCEEDED"}
    assert time.monotonic() - began < 30


def test_a_later_take_over_leaves_results_of_an_earlier_one(start: Maker) -> None:
    first, second, third = start(), start(), start()
    results = [
        gateway.submit("ROWS 20000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS") for gateway in (first, second)
    ]
    first.crash()
    assert eventually(lambda: third.poll(results[0])["status"] == {"state": "SUCCEEDED"})
    second.crash()
    for result in results:
        assert third.poll(result)["manifest"]["total_row_count"] == 20000
    assert not third.engine.runs


@on_disk
def test_gateways_count_each_others_statements_by_group(start: Maker, tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text('[[admission.groups]]\nname = "all"\nmembers = ["*"]\nrunning_max = 2\n')
    first, second = start(file), start(file)
    running = [first.submit("SLEEP 60", wait="0s") for _ in range(2)]
    assert eventually(lambda: {"all": 2} in second.state.exchange_counts({}))
    time.sleep(1.5)
    others = [second.submit("SLEEP 60", wait="0s") for _ in range(2)]
    assert eventually(lambda: len(second.engine.runs) == 1)  # an equal share
    time.sleep(1)
    assert len(second.engine.runs) == 1
    for statement in running:
        first.call("POST", f"{STATEMENTS}/{statement['statement_id']}/cancel")
    assert eventually(lambda: len(second.engine.runs) == 2)
    for statement in others:
        second.call("POST", f"{STATEMENTS}/{statement['statement_id']}/cancel")


@on_disk
def test_each_gateway_lists_statements_and_sessions_of_all(start: Maker) -> None:
    first, second = start(), start()
    session = first.call("POST", SESSIONS, {})[1]["session_id"]
    done, other = first.submit("SELECT 1", session_id=session), second.submit("SELECT 1")
    first.submit("SELECT nothing")
    for gateway in (first, second):
        listed = gateway.call("GET", "/api/2.0/sql/history/queries")[1]["res"]
        assert {done["statement_id"], other["statement_id"]} < {entry["query_id"] for entry in listed}
        assert [entry["status"] for entry in listed] == ["FAILED", "FINISHED", "FINISHED"]
        assert [one["session_id"] for one in gateway.call("GET", SESSIONS)[1]["sessions"]] == [session]
        rows = list(gateway.engine.activity.queries(Identity("anonymous", is_admin=True)))
        assert {done["statement_id"], other["statement_id"]} < {row.statement_id for row in rows}
        assert [row.session_id for row in gateway.engine.activity.sessions(Identity("x", is_admin=True))] == [session]
        assert list(gateway.engine.activity.sessions(Identity("x"))) == []


@pytest.mark.parametrize("start", ["disk"], indirect=True)
def test_statement_is_forwarded_over_tls_to_the_certificate_in_the_state_folder(start: Maker, tmp_path: Path) -> None:
    certificates = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        certificates.append(make_certificate(tmp_path / name))
    first, second = (
        start(server__tls_certificate=str(one.certificate), server__tls_key=str(one.key)) for one in certificates
    )
    done = first.submit("ROWS 10")
    assert second.poll(done) == done
    addresses = (tmp_path / "state" / "gateways").glob("*/address.json")
    written = {json.loads(path.read_text())["certificate"] for path in addresses}
    assert written == {one.certificate.read_text() for one in certificates}
    for path in (tmp_path / "state" / "gateways").glob("*/address.json"):  # another server at the address
        address = json.loads(path.read_text())
        other = next(one for one in certificates if one.certificate.read_text() != address["certificate"])
        path.write_text(json.dumps(address | {"certificate": other.certificate.read_text()}))
    threading.Timer(2.0, first.crash).start()
    assert second.poll(done) == done  # after the take-over: it was not sent to the other server
    assert not first.engine.closed


def test_forwarded_statement_is_its_owners_alone(start: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_passwords(monkeypatch)
    users = make_users(tmp_path / "users")
    first, second = (
        start(
            authentication__methods=["password"],
            authentication__password_file=str(users),
            lake__catalog_folder=str(tmp_path / "catalog"),
        )
        for _ in range(2)
    )
    first.user = second.user = "ann"
    done = first.submit("SELECT 1")
    assert second.poll(done) == done
    second.user = "bob"
    assert second.call("GET", f"{STATEMENTS}/{done['statement_id']}")[0] == 404
    second.user = "nobody"
    assert second.call("GET", f"{STATEMENTS}/{done['statement_id']}")[0] == 401
    assert second.call("GET", f"{STATEMENTS}/{done['statement_id']}", forged="A.B")[0] == 401
    second.user = "ann"
    assert second.poll(done) == done


def test_thrift_calls_are_forwarded_for_handles_of_another_gateway(start: Maker) -> None:
    first, second = start(), start()
    with unframed_client(first.ports.thrift) as one, unframed_client(second.ports.thrift) as two:
        session, other = open_session(one), open_session(two)
        operation = execute(one, session, "ROWS 30")
        settle(two, operation)
        assert cells(fetch(two, operation, 10))[0] == list(range(10))
        assert cells(fetch(one, operation, 10))[0] == list(range(10, 20))
        assert cells(fetch(two, operation, 10))[0] == list(range(20, 30))
        again = execute(two, session, "SELECT 1")
        settle(two, again)
        assert cells(fetch(one, again))[0] == [1]
        assert not second.engine.runs
        assert two.CloseSession(t.TCloseSessionReq(session)).status.statusCode == OK
        assert one.GetOperationStatus(t.TGetOperationStatusReq(operation)).status.statusCode != OK
        assert two.CloseSession(t.TCloseSessionReq(other)).status.statusCode == OK


@on_disk
def test_drain_hands_a_waiting_request_over_with_its_statement(start: Maker) -> None:
    first, second = start(server__drain_deadline_s=0.2), start()
    done = first.submit("SELECT 1")
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(first.submit("SLEEP 2")))
    waiting.start()
    assert eventually(lambda: len(first.engine.runs) == 2)
    first.server.drain()
    waiting.join()
    assert answers[0]["status"] == {"state": "SUCCEEDED"}
    assert [run.text for run in second.engine.runs] == ["SLEEP 2"]
    assert second.poll(done) == done


@on_disk
def test_statement_that_begins_during_a_drain_runs_at_the_next_owner(start: Maker) -> None:
    """Its call waits until the running statements have ended, and is answered before its connection ends."""
    first, second = start(), start()
    session = first.call("POST", SESSIONS, {})[1]["session_id"]
    registry = first.server._lifecycle.registry
    assert registry is not None
    with unframed_client(first.ports.thrift) as client, ThreadPoolExecutor() as threads:
        opened = open_session(client)
        running = threads.submit(first.submit, "SLEEP 2")
        assert eventually(lambda: bool(first.engine.runs))
        threads.submit(first.server.drain)
        assert eventually(lambda: registry.is_draining)
        over_http = threads.submit(first.submit, "SELECT 1", session_id=session)
        operation = execute(client, opened, "SELECT 1")
        assert running.result()["status"] == over_http.result()["status"] == {"state": "SUCCEEDED"}
    assert [run.text for run in first.engine.runs] == ["SLEEP 2"]
    assert [run.text for run in second.engine.runs] == ["SELECT 1"] * 2
    with unframed_client(second.ports.thrift) as client:
        assert cells(fetch(client, operation))[0] == [1]


def test_session_that_is_opened_during_a_drain_is_at_another_gateway(start: Maker) -> None:
    """impyla opens one for each cursor, on the connection that it has."""
    first, second = start(), start()
    registry = first.server._lifecycle.registry
    assert registry is not None
    with unframed_client(first.ports.thrift) as client, ThreadPoolExecutor() as threads:
        open_session(client)
        running = threads.submit(first.submit, "SLEEP 2")
        assert eventually(lambda: bool(first.engine.runs))
        threads.submit(first.server.drain)
        assert eventually(lambda: registry.is_draining)
        operation = execute(client, open_session(client), "SELECT 1")
        assert cells(fetch(client, operation))[0] == [1]
        assert running.result()["status"] == {"state": "SUCCEEDED"}
    assert [run.text for run in second.engine.runs] == ["SELECT 1"]
