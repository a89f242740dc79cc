"""Sessions, statements and results after the gateway's process was killed."""

from __future__ import annotations

import os
import socket
import stat
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

from catalog.conditions import LogInEnded, OperationNotFound, StateFormatNotSupported, TableNotFound
from catalog.store.remote import open_files
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.identity import Identity, Method
from engine.runtime.results import ResultStream
from engine.spool.budget import SpoolBudget
from gateway.hs2.gen import ttypes as t
from gateway.sessions.limits import Limits
from gateway.sessions.requested import WantedResult
from gateway.state.folder import LEASE_S, Lease, StateFolder
from gateway.state.records import SessionOpened, StatementClosed, decode
from gateway.state.remote_positions import RemotePositions
from tests.gateway.arrow_engine import ArrowEngine, answer_of_rows, fails, modifies, rows, sleeps
from tests.gateway.hs2.wire import INVALID, OK, State, cells, execute, fetch, open_session, settle, status
from tests.gateway.http.conftest import eventually
from tests.gateway.state.processes import Process

NESTED = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "name": pa.array(["a", None, "ü"]),
        "tags": pa.array([["x", None], [], None], pa.list_(pa.string())),
    }
)
TYPES = {"tags": "array<string>"}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(params=["disk", "object store"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return tmp_path / "state" if request.param == "disk" else f"memory://state-{uuid.uuid4().hex}/s"


@pytest.fixture
def engine() -> Iterator[ArrowEngine]:
    made = ArrowEngine()
    made.answers["SELECT nested"] = rows(NESTED, TYPES)
    made.answers["SELECT missing"] = fails(TableNotFound("default.missing"))
    made.answers["INSERT two"] = modifies(2, 2)
    yield made


def killed_and_restarted(process: Process, **options: Any) -> Process:
    # In an object store, after a second without records and responses.
    positions = process.state.positions
    if isinstance(positions, RemotePositions):
        assert eventually(lambda: not positions._unknown)
    process.state.flush()
    process.crash()
    return Process(process.place, process.engine, **options)


@pytest.mark.parametrize("memory", [0, 1 << 20], ids=["rows in files", "rows in memory"])
@pytest.mark.parametrize("text", ["SELECT nested", "ROWS 30000", "SELECT missing", "INSERT two", "SELECT 1", "USE lab"])
def test_ended_statement_has_its_outcome_again(folder: Path | str, engine: ArrowEngine, text: str, memory: int) -> None:
    engine.tables["lab", "t"] = NESTED
    first = Process(folder, engine, memory=memory)
    before = first.submit(text)
    second = killed_and_restarted(first, memory=memory)
    runs = len(engine.runs)
    assert second.poll(before) == before
    assert len(engine.runs) == runs
    again = killed_and_restarted(second, memory=memory)
    assert again.poll(before) == before
    again.stop()


def test_polls_of_an_ended_statement_write_its_rows_once(disk: Path, engine: ArrowEngine) -> None:
    process = Process(disk, engine, memory=1 << 20)
    submitted = process.submit("ROWS 30000")
    held_bytes = process.state.spool.held_bytes()
    assert held_bytes
    for _ in range(3):
        assert process.poll(submitted) == submitted
    assert process.state.spool.held_bytes() == held_bytes
    process.stop()


def test_chunks_and_options_are_as_requested_before(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    options = {"format": "ARROW_STREAM", "row_limit": 25_000, "disposition": "INLINE"}
    before = first.submit("ROWS 30000", **options)
    second = killed_and_restarted(first)
    assert before["manifest"]["truncated"] and before["manifest"]["total_row_count"] == 25_000
    assert second.poll(before) == before
    second.stop()


def test_running_query_runs_again(folder: Path | str, engine: ArrowEngine) -> None:
    """With the same id, time and parameters."""
    first = Process(folder, engine)
    engine.answers["SELECT slow"] = sleeps(600)
    submitted = first.submit("SELECT slow", wait_timeout="0s", parameters=[{"name": "p", "value": "5", "type": "INT"}])
    assert eventually(lambda: bool(engine.runs))
    (before,) = engine.runs
    engine.answers["SELECT slow"] = rows(NESTED, TYPES)
    second = killed_and_restarted(first)
    ended = second.poll(submitted)
    assert ended["status"]["state"] == "SUCCEEDED" and ended["manifest"]["total_row_count"] == 3
    again = engine.runs[-1]
    assert again.context.is_repeated and again.context.transaction_id == submitted["statement_id"]
    assert [(one.name, one.value, one.sql_type) for one in again.parameters] == [("p", "5", "INT")]
    assert again.context.instant_us == before.context.instant_us
    assert not before.context.is_repeated
    second.stop()


def test_running_dataframe_does_not_run_again(folder: Path | str, engine: ArrowEngine) -> None:
    """Its plan is not in the records, and the description that is there is no SQL."""
    first = Process(folder, engine)
    engine.answers["DataFrame: Slow"] = sleeps(600)
    session = first.registry.open_session(Identity("ada"))
    operation = session.execute(DataFramePlan(plan=b"", inputs=(), description="DataFrame: Slow"))
    operation.recorder.record()
    assert eventually(lambda: bool(engine.runs))
    second = killed_and_restarted(first)
    (restored,) = second.registry.operations()
    assert restored.id == operation.id and restored.text == "DataFrame: Slow"
    assert restored.error is not None and restored.error.condition == "STATEMENT_INTERRUPTED"
    assert [run.text for run in engine.runs] == ["DataFrame: Slow"]
    second.stop()


def test_running_query_runs_again_at_the_versions_that_it_read(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    is_read = threading.Event()

    def reads(request: Any) -> ResultStream:
        request.on_versions({"/lake/default/t": "7"})
        is_read.set()
        return sleeps(600)(request)

    engine.answers["SELECT slow"] = reads
    submitted = first.submit("SELECT slow", wait_timeout="0s")
    assert is_read.wait(60)
    engine.answers["SELECT slow"] = rows(NESTED, TYPES)
    second = killed_and_restarted(first)
    assert second.poll(submitted)["status"]["state"] == "SUCCEEDED"
    assert engine.runs[-1].context.versions == {"/lake/default/t": "7"}
    second.stop()


def test_running_write_is_repeated_with_its_transaction_id(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    engine.answers["INSERT slow"] = sleeps(600)
    submitted = first.submit("INSERT slow", wait_timeout="0s")
    engine.answers["INSERT slow"] = modifies(7, 7)
    second = killed_and_restarted(first)
    assert second.poll(submitted)["result"]["data_array"] == [["7", "7"]]
    assert engine.runs[-1].context.transaction_id == submitted["statement_id"]
    second.stop()


def test_running_write_is_repeated_with_its_settings(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    engine.answers["INSERT slow"] = sleeps(600)
    session = first.registry.open_session(Identity("ada"))
    settings = {"spark.sql.sources.partitionOverwriteMode": "DYNAMIC"}
    operation = session.execute("INSERT slow", wanted=WantedResult(settings=settings))
    assert eventually(lambda: bool(engine.runs))
    operation.options = lambda: {"front_end": "http"}
    operation.recorder.record()
    engine.answers["INSERT slow"] = modifies(7, 7)
    second = killed_and_restarted(first)
    assert eventually(lambda: len(engine.runs) > 1)
    assert [run.context.settings for run in engine.runs] == [settings, settings]
    second.stop()


def test_statement_that_no_client_knows_does_not_run_again(folder: Path | str, engine: ArrowEngine) -> None:
    """A synchronous statement over Thrift: its client gets no handle, but a broken connection."""
    first = Process(folder, engine)
    client = first.thrift()
    session = open_session(client)
    engine.answers["INSERT slow"] = sleeps(600)
    thread = threading.Thread(target=lambda: client.ExecuteStatement(t.TExecuteStatementReq(session, "INSERT slow")))
    thread.start()
    assert eventually(lambda: bool(engine.runs))
    second = killed_and_restarted(first)
    thread.join()
    assert second.num_restored == 1 and not second.registry.operations()
    assert [run.text for run in engine.runs] == ["INSERT slow"]
    second.stop()


def test_closed_statements_and_sessions_stay_closed(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    single, session = first.submit("SELECT 1"), first.http("POST", "/api/2.0/sql/sessions", {})["session_id"]
    open_one, closed = (first.submit(text, session_id=session) for text in ("SELECT 1", "SELECT nested"))
    for statement in (single, closed):
        first.http("DELETE", f"/api/2.0/sql/statements/{statement['statement_id']}")
    first.submit("SELECT 1", session_id=session)  # its record is written with that of the closed statement
    second = killed_and_restarted(first)
    assert [second.poll(one)["http_status"] for one in (single, closed, open_one)] == [404, 404, 200]
    second.http("DELETE", f"/api/2.0/sql/sessions/{session}")
    third = killed_and_restarted(second)
    assert third.num_restored == 0 and third.poll(open_one)["http_status"] == 404
    third.stop()
    if isinstance(folder, Path):
        assert {path.name for path in folder.rglob("*") if path.is_file()} == {"key", "format.json"}
    else:
        files = open_files(folder)
        assert files.names("records") == files.names("results") == []


def test_thrift_session_continues_with_its_handles(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    engine.tables["lab", "t"] = NESTED
    session = open_session(first.thrift(), configuration={"spark.sql.ansi.enabled": "false"})
    execute(first.thrift(), session, "USE lab")
    operation = execute(first.thrift(), session, "SELECT nested")
    second = killed_and_restarted(first)
    client = second.thrift()
    assert status(client, operation).operationState == State.FINISHED_STATE
    assert cells(fetch(client, operation))[0] == [1, 2, 0]
    assert execute(client, session, "SELECT 1") is not None
    restored = engine.sessions[-1]
    assert (restored.current_schema, restored.settings) == ("lab", {"spark.sql.ansi.enabled": "false"})
    second.stop()


@pytest.mark.parametrize("memory", [0, 1 << 20], ids=["rows in files", "rows in memory"])
def test_fetches_continue_after_the_last_row_that_was_sent(
    folder: Path | str, engine: ArrowEngine, memory: int
) -> None:
    process = Process(folder, engine, memory=memory)
    session = open_session(process.thrift())
    operation, got = execute(process.thrift(), session, "ROWS 5000"), list[int]()
    while True:
        page = cells(fetch(process.thrift(), operation, 1300))
        if not page[0]:
            break
        got += page[0]
        process = killed_and_restarted(process, memory=memory)
    assert got == list(range(5000))
    assert cells(fetch(process.thrift(), operation, 1300, t.TFetchOrientation.FETCH_FIRST))[0] == list(range(1300))
    process.stop()


def test_fetches_of_clients_that_gave_up_do_not_skip_rows(folder: Path | str, engine: ArrowEngine) -> None:
    """While a query runs again, a client may give up its fetch, and repeat it on another connection."""
    first = Process(folder, engine)
    engine.answers["SELECT late"] = sleeps(600)
    session = open_session(first.thrift())
    operation = execute(first.thrift(), session, "SELECT late", runAsync=True)
    may_end = threading.Event()

    def ends(request: Any) -> ResultStream:
        may_end.wait(60)
        return answer_of_rows(5000)(request)

    engine.answers["SELECT late"] = ends
    second = killed_and_restarted(first)
    gone = [socket.socketpair() for _ in range(2)]
    with ThreadPoolExecutor() as threads:
        for _, theirs in gone:
            theirs.close()
        clients = [second.thrift(descriptor=ours.fileno()) for ours, _ in gone]
        given_up = [threads.submit(fetch, client, operation, 700) for client in clients]
        may_end.set()
    assert [each.result().status.errorMessage[:20] for each in given_up] == ["[OPERATION_CANCELED]"] * 2
    ours, theirs = socket.socketpair()
    with ours, theirs:
        client = second.thrift(descriptor=ours.fileno())
        assert [cells(fetch(client, operation, 700))[0][0] for _ in range(3)] == [0, 700, 1400]
    for ours, _ in gone:
        ours.close()
    second.stop()


@pytest.mark.parametrize("text", ["INSERT two", "SELECT nested", "SELECT missing"])
def test_session_whose_client_closes_no_statement_goes_on(disk: Path, engine: ArrowEngine, text: str) -> None:
    """As with PyHive's cursors: the oldest statements are evicted at the limit, restored ones too."""
    process = Process(disk, engine)
    session = open_session(process.thrift())

    def run() -> None:
        operation = execute(process.thrift(), session, text, runAsync=True)
        if settle(process.thrift(), operation).operationState == State.FINISHED_STATE:
            fetch(process.thrift(), operation)

    for _ in range(Limits().statements_per_session_max):
        run()
    process = killed_and_restarted(process)
    run()
    process.stop()


@pytest.mark.parametrize(
    "limits",
    [
        Limits(reap_every_s=0.2, statements_per_session_max=4),
        Limits(reap_every_s=0.2, statements_per_user_max=4),
    ],
    ids=["of a session", "of a user"],
)
def test_oldest_restored_statement_is_evicted_at_the_limit(disk: Path, engine: ArrowEngine, limits: Limits) -> None:
    """Rows that an HTTP client read by their numbers have no recorded position. The oldest statement is evicted, and
    then those that were read since.
    """
    process = Process(disk, engine, limits=limits)
    session = process.http("POST", "/api/2.0/sql/sessions", {})["session_id"]
    before = [process.submit("ROWS 5", session_id=session) for _ in range(4)]
    process = killed_and_restarted(process, limits=limits)
    later = [process.submit("ROWS 5", session_id=session)["http_status"] for _ in range(5)]
    assert (later, [process.poll(each)["http_status"] for each in before]) == ([200] * 5, [404, 200, 200, 200])
    process.stop()


def test_position_is_known_after_two_kills_without_a_fetch(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    session = open_session(first.thrift())
    operation = execute(first.thrift(), session, "ROWS 5000")
    got = cells(fetch(first.thrift(), operation, 700))[0]
    third = killed_and_restarted(killed_and_restarted(first))
    assert got + cells(fetch(third.thrift(), operation, 5000))[0] == list(range(5000))
    third.stop()


def test_records_of_all_gateways_count_towards_the_limit(folder: Path | str, engine: ArrowEngine) -> None:
    first, second = (Process(folder, engine, records_max=20_000) for _ in range(2))
    first.submit("ROWS 400")
    second.submit("SELECT 1")
    assert not second.state.failures
    held = first.state.budget.held_bytes()
    assert held > 4000

    def exchange() -> bool:
        first.state.exchange_counts({})
        second.state.exchange_counts({})
        return second.state.budget.elsewhere == held

    assert eventually(exchange)
    second.submit("ROWS 1500")
    assert second.state.failures and second.state.budget.held_bytes() + held <= 20_000
    first.stop()
    second.stop()


@pytest.mark.parametrize("is_same", [True, False], ids=["same order", "another order"])
def test_streamed_result_continues_if_it_begins_with_the_rows_that_were_sent(
    folder: Path | str, engine: ArrowEngine, *, is_same: bool
) -> None:
    """In another order its client would miss some rows, and get others twice."""
    first = Process(folder, engine)
    client = first.thrift()
    session = open_session(client)

    def announces(request: Any) -> ResultStream:
        request.on_rows(answer_of_rows(9000)(request))
        return sleeps(600)(request)

    engine.answers["SELECT more"] = announces
    operation = execute(client, session, "SELECT more", runAsync=True)
    assert settle(client, operation).operationState == State.FINISHED_STATE
    got = [each for count in (700, 1, 5000) for each in cells(fetch(client, operation, count))[0]]
    other = pa.table({"id": [1, 0, *range(2, 9000)], "name": [f"row {n}" for n in (1, 0, *range(2, 9000))]})
    engine.answers["SELECT more"] = answer_of_rows(9000) if is_same else rows(other)
    second = killed_and_restarted(first)
    if is_same:
        assert settle(second.thrift(), operation).operationState == State.FINISHED_STATE
        assert got + cells(fetch(second.thrift(), operation, 9000))[0] == list(range(9000))
    else:
        assert settle(second.thrift(), operation).operationState == State.ERROR_STATE
        failed = fetch(second.thrift(), operation, 9000)
        assert failed.status.errorMessage.startswith("[STATEMENT_INTERRUPTED]")
    second.stop()


def test_statement_whose_login_has_ended_fails_and_leaves_the_others(disk: Path, engine: ArrowEngine) -> None:
    first = Process(disk, engine)
    session = first.http("POST", "/api/2.0/sql/sessions", {})["session_id"]
    ended = first.submit("SELECT nested", session_id=session)
    engine.answers["SELECT slow"] = sleeps(600)
    running = first.submit("SELECT slow", session_id=session, wait_timeout="0s")
    (journal,) = (first.state.lease.folder / "sessions").iterdir()
    journal.write_text(journal.read_text().replace('"method":"anonymous"', '"method":"anonymous","expires_ms":1'))
    first.crash()
    second = Process(disk, engine, ensure_current=_ensure_not_expired)
    assert second.poll(ended) == ended
    assert second.poll(running)["status"]["error"]["message"].startswith("[AUTHENTICATION_FAILED.ENDED]")
    second.stop()


def _ensure_not_expired(identity: Identity) -> None:
    if identity.expires_ms is not None:
        raise LogInEnded()


def test_statement_whose_result_is_lost_fails(folder: Path | str, engine: ArrowEngine) -> None:
    """It does not run again: of a statement that had ended the parameters are not recorded."""
    first = Process(folder, engine, memory=0)
    before = first.submit("ROWS 30000")
    first.state.flush()
    names = {path.name for path in first.state.spool.folder.iterdir()}
    for name in names:
        (first.state.spool.folder / name).unlink()
    if isinstance(folder, str):  # where the file is in parts, or will be
        store, root = fsspec.url_to_fs(folder)
        for path in store.find(root):
            if Path(path).stem in names:
                store.rm(path)
    second = killed_and_restarted(first, memory=0)
    assert second.poll(before)["status"]["error"]["message"].startswith("[STATEMENT_INTERRUPTED]")
    second.stop()


def test_recovered_statement_is_hidden_from_other_principals(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    session = open_session(first.thrift("ada"))
    operation = execute(first.thrift("ada"), session, "SELECT nested")
    second = killed_and_restarted(first)
    guessed = t.TOperationHandle(t.THandleIdentifier(operation.operationId.guid, bytes(16)), 0, True)
    assert fetch(second.thrift("ben"), operation).status.statusCode == INVALID
    assert fetch(second.thrift("ada"), guessed).status.statusCode == INVALID
    assert fetch(second.thrift("ada"), operation).status.statusCode == OK
    second.stop()


@pytest.mark.parametrize("method", [Method.ANONYMOUS, Method.PASSWORD])
def test_client_without_a_login_has_its_session_again_by_the_secret(
    folder: Path | str, engine: ArrowEngine, method: Method
) -> None:
    """As over NOSASL, where only OpenSession has a user; only if there was no authentication before either."""
    first = Process(folder, engine)
    session = open_session(first.thrift(Identity("ada", method=method)))
    operation = execute(first.thrift(Identity("ada", method=method)), session, "SELECT nested")
    guessed = t.TOperationHandle(t.THandleIdentifier(operation.operationId.guid, bytes(16)), 0, True)
    second = killed_and_restarted(first)
    assert fetch(second.thrift(None), guessed).status.statusCode == INVALID
    expected = OK if method is Method.ANONYMOUS else INVALID
    assert fetch(second.thrift(None), operation).status.statusCode == expected
    assert fetch(second.thrift(Identity("ada", method=method)), operation).status.statusCode == OK
    second.stop()


def test_secrets_of_handles_are_not_in_the_folder(folder: Path | str, engine: ArrowEngine) -> None:
    process = Process(folder, engine)
    secret = open_session(process.thrift()).sessionId.secret
    (journal,) = (process.state.lease.folder / "sessions").iterdir()
    content = journal.read_bytes()
    (opened,) = (record for record, _ in decode(content) if isinstance(record, SessionOpened))
    assert len(opened.secret) == 64
    assert secret not in content and secret.hex() not in content.decode()
    process.stop()


def test_files_are_private(disk: Path, engine: ArrowEngine) -> None:
    before = os.umask(0)
    try:
        process = Process(disk, engine, memory=0)
        process.submit("ROWS 30000")
        found = (disk, *disk.rglob("*"))
        assert all(stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600) for path in found)
        assert len(found) > 6
        process.stop()
    finally:
        os.umask(before)


def test_statements_run_without_records_when_their_limit_is_reached(folder: Path | str, engine: ArrowEngine) -> None:
    process = Process(folder, engine, records_max=500)
    assert process.submit("SELECT nested")["status"]["state"] == "SUCCEEDED"
    assert process.submit("SELECT nested")["status"]["state"] == "SUCCEEDED"
    assert process.state.failures
    process.stop()


def test_sessions_continue_with_a_lower_limit_of_their_records(folder: Path | str, engine: ArrowEngine) -> None:
    engine.tables["lab", "t"] = NESTED
    first = Process(folder, engine)
    session = open_session(first.thrift())
    found = execute(first.thrift(), session, "SELECT 1")
    answered = first.submit("SELECT nested")
    second = killed_and_restarted(first, records_max=100)
    assert cells(fetch(second.thrift(), found)) == [[1]]
    assert second.poll(answered) == answered
    assert second.state.budget.held_bytes() > 100
    second.stop()


@pytest.mark.parametrize("is_recorded", [True, False], ids=["session recorded", "session not recorded"])
def test_session_is_recorded_after_a_full_disk(folder: Path | str, engine: ArrowEngine, *, is_recorded: bool) -> None:
    process = Process(folder, engine)
    engine.tables["lab", "t"] = NESTED
    budget, full = process.state.budget, SpoolBudget(0, setting="state.bytes_max")
    process.state.budget = budget if is_recorded else full
    session = open_session(process.thrift())
    process.state.budget = full
    lost = execute(process.thrift(), session, "SELECT nested", runAsync=True)
    settle(process.thrift(), lost)
    execute(process.thrift(), session, "USE lab")
    process.state.budget = budget
    process.thrift().CloseOperation(t.TCloseOperationReq(lost))
    found = execute(process.thrift(), session, "SELECT 1")
    second = killed_and_restarted(process)
    assert fetch(second.thrift(), lost).status.statusCode == INVALID
    assert cells(fetch(second.thrift(), found)) == [[1]]
    execute(second.thrift(), session, "SELECT 1")
    assert engine.sessions[-1].current_schema == "lab"
    second.stop()


def test_session_with_an_unreadable_journal_is_left_out(disk: Path, engine: ArrowEngine) -> None:
    first = Process(disk, engine)
    sessions = [first.http("POST", "/api/2.0/sql/sessions", {})["session_id"] for _ in range(2)]
    broken, whole = (first.submit("SELECT nested", session_id=session) for session in sessions)
    path = first.state.lease.folder / "sessions" / sessions[0].replace("-", "")[:12]
    path.write_bytes(b"{not json}\n" + path.read_bytes())
    second = killed_and_restarted(first)
    assert [second.poll(one)["http_status"] for one in (broken, whole)] == [404, 200]
    second.stop()


def journal_of(process: Process, statement: dict[str, Any]) -> Path:
    return process.state.lease.folder / "sessions" / str(statement["statement_id"]).replace("-", "")[:12]


def test_unreadable_line_leaves_out_its_statement_alone(disk: Path, engine: ArrowEngine) -> None:
    first = Process(disk, engine)
    statements = [first.submit(text) for text in ("SELECT 1", "SELECT nested", "ROWS 1500")]
    (path,) = {journal_of(first, one) for one in statements}
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    path.write_bytes(lines[0] + b"{not json}\n" + lines[2])
    second = killed_and_restarted(first)
    assert [second.poll(one)["http_status"] for one in statements] == [200, 404, 200]
    third = killed_and_restarted(second)
    assert third.poll(statements[2]) == statements[2]
    third.stop()


def test_statements_without_a_session_belong_to_their_principals(disk: Path, engine: ArrowEngine) -> None:
    """Although their records are in one file."""
    first = Process(disk, engine)
    ids = {}
    for user in ("ada", "ben"):
        session = first.registry.open_single_session(Identity(user))
        operation = session.execute("SELECT nested")
        first.registry.retire_after(session, operation)
        operation.recorder.record()
        ids[user] = operation.id
    assert len(list((first.state.lease.folder / "sessions").iterdir())) == 1
    second = killed_and_restarted(first)
    assert second.num_restored == 2
    for user, other in (("ada", "ben"), ("ben", "ada")):
        assert second.registry.find_operation(ids[user], Identity(user))[1].id == ids[user]
        with pytest.raises(OperationNotFound):
            second.registry.find_operation(ids[user], Identity(other))
    second.stop()


def test_records_of_closed_statements_without_a_session_are_removed(disk: Path, engine: ArrowEngine) -> None:
    process = Process(disk, engine)
    first, newest = process.submit("SELECT nested"), dict[str, Any]()
    folder = process.state.lease.folder / "sessions"
    for _ in range(120):
        newest = process.submit("ROWS 1500")
        process.http("DELETE", f"/api/2.0/sql/statements/{newest['statement_id']}")
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert len(sizes) == 2 and sum(sizes) < 1_200_000
    assert journal_of(process, first).stat().st_size < 40_000  # all others in it have ended
    assert process.state.num_sessions == 1
    newest = process.submit("SELECT nested")
    second = killed_and_restarted(process)
    assert second.poll(first) == first and second.poll(newest) == newest
    for statement in (first, newest):
        second.http("DELETE", f"/api/2.0/sql/statements/{statement['statement_id']}")
    assert not list((second.state.lease.folder / "sessions").iterdir()) and not second.state.num_sessions
    assert not second.state.budget.held_bytes()
    second.stop()


def test_nothing_is_recorded_of_a_statement_that_has_ended(disk: Path, engine: ArrowEngine) -> None:
    """Its thread may do so while a client closes it."""
    process = Process(disk, engine)
    first, second = (
        process.state.open_journal(str(process.state.new_session_id(is_single=True)), "ada", is_single=True)
        for _ in range(2)
    )
    assert first is not None and second is not None
    closed = StatementClosed(id="1")
    assert first.append(closed) and second.append(closed)
    first.remove()
    assert not first.append(closed) and second.append(closed)
    second.remove()
    assert process.state.num_sessions == 0 and not second.append(closed)
    process.stop()


def test_full_disk_leaves_whole_lines_in_a_shared_journal(disk: Path, engine: ArrowEngine) -> None:
    process = Process(disk, engine)
    budget, full = process.state.budget, SpoolBudget(0, setting="state.bytes_max")
    before = process.submit("SELECT nested")
    process.state.budget = full
    missing = process.submit("SELECT nested")
    process.state.budget = budget
    after = process.submit("SELECT nested")
    assert process.state.failures
    second = killed_and_restarted(process)
    assert [second.poll(one)["http_status"] for one in (before, missing, after)] == [200, 404, 200]
    second.stop()


def test_suspended_process_appends_nothing_to_a_file_that_was_taken_over(disk: Path, engine: ArrowEngine) -> None:
    """Although it has the file open."""
    first = Process(disk, engine)
    lease = first.state.lease
    assert isinstance(lease, Lease)
    session = open_session(first.thrift())
    statement = first.submit("SELECT nested")
    lease._ending.set()  # no beats, as in a process that is suspended; its lock is held
    lease._thread.join()
    lease._ending.clear()
    os.utime(lease.folder / "lock", (0, 0))
    second = Process(disk, engine)
    assert second.num_restored == 2
    before = {path.name: path.read_bytes() for path in (second.state.lease.folder / "sessions").iterdir()}
    lease._renewed -= LEASE_S
    first.submit("SELECT 1")
    execute(first.thrift(), session, "SELECT 1")
    assert first.state.failures and "lost" in first.calls
    after = {path.name: path.read_bytes() for path in (second.state.lease.folder / "sessions").iterdir()}
    assert len(before) == 2 and before == after
    assert second.poll(statement) == statement
    second.stop()


def test_folder_of_version_1_becomes_one_of_version_2(disk: Path, engine: ArrowEngine) -> None:
    """With its sessions of one statement, each of which has a journal of its own."""
    first = Process(disk, engine)
    session = first.registry.open_session(Identity("ada"))
    session.is_single = True
    operation = session.execute("SELECT nested")
    first.registry.retire_after(session, operation)
    operation.recorder.record()
    (disk / "format.json").write_text('{"version": 1}')
    second = killed_and_restarted(first)
    assert (disk / "format.json").read_text() == '{"version": 2}'
    assert second.registry.find_operation(operation.id, Identity("ada"))[1].id == operation.id
    second.stop()


def test_incomplete_last_line_is_ignored(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    statement = first.submit("SELECT nested")
    (path,) = (first.state.lease.folder / "sessions").iterdir()
    path.write_bytes(path.read_bytes() + b'{"type":"closed","id":"')
    second = killed_and_restarted(first)
    assert second.poll(statement) == statement
    second.http("DELETE", f"/api/2.0/sql/statements/{statement['statement_id']}")
    assert killed_and_restarted(second).num_restored == 0


def test_results_without_a_statement_are_removed(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine, memory=0)
    needed = first.submit("ROWS 30000")
    (first.state.spool.folder / "unused").write_bytes(b"rows")
    second = killed_and_restarted(first, memory=0)
    files = [path.name for path in second.state.spool.folder.iterdir()]
    assert len(files) == 1 and "unused" not in files
    assert second.poll(needed) == needed
    second.stop()


def test_orderly_end_leaves_sessions_to_the_next_process(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    session = open_session(first.thrift())
    statement = first.submit("ROWS 30000")
    first.stop()
    second = Process(folder, engine)
    assert second.poll(statement) == statement
    assert execute(second.thrift(), session, "SELECT 1") is not None
    second.stop()


def test_live_process_keeps_its_sessions(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    statement = first.submit("SELECT nested")
    second = Process(folder, engine)
    assert second.num_restored == 0
    assert first.poll(statement) == statement
    first.stop()
    second.stop()


@pytest.mark.parametrize("version", [0, 3, "x"])
def test_folder_of_another_format_is_rejected(disk: Path, version: object) -> None:
    disk.mkdir(0o700)
    (disk / "format.json").write_text(f'{{"version": "{version}"}}')
    with pytest.raises(StateFormatNotSupported) as raised:
        StateFolder(disk)
    assert str(version) in raised.value.message and "version 2" in raised.value.message


def test_long_session_does_not_grow_without_limit(folder: Path | str, engine: ArrowEngine) -> None:
    process = Process(folder, engine)
    session = process.http("POST", "/api/2.0/sql/sessions", {})["session_id"]
    for _ in range(40):
        statement = process.submit("ROWS 1500", session_id=session)
        process.http("DELETE", f"/api/2.0/sql/statements/{statement['statement_id']}")
    (journal,) = (process.state.lease.folder / "sessions").iterdir()
    assert journal.stat().st_size < 600_000
    last = process.submit("SELECT nested", session_id=session)
    assert killed_and_restarted(process).poll(last) == last


def test_session_of_an_impersonator_belongs_to_both(folder: Path | str, engine: ArrowEngine) -> None:
    first = Process(folder, engine)
    session = first.registry.open_session(Identity("ben", real_user="app"))
    session.record()
    second = killed_and_restarted(first)
    restored = second.registry.session(session.id, Identity("ben", real_user="app"))
    assert restored.identity == Identity("ben", real_user="app")
    second.stop()
