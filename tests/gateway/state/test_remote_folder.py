"""A state folder in an object store: losses after a kill, leases, take-overs with faults, and garbage."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import StateFolderNotUsable, StateFormatNotSupported, StateLost, StoreSchemeNotSupported
from catalog.store.files import Files
from catalog.store.remote import open_files
from engine.runtime.identity import Identity, Method
from gateway.results.sent_rows import SentRows
from gateway.state import remote_positions, replica
from gateway.state.addresses import Address
from gateway.state.remote_folder import RemoteFolder
from gateway.state.remote_lease import LEASE_S, RemoteLease, Shown, create_lease, lease_path, new_token
from gateway.state.remote_log_ins import RemoteLogIns
from gateway.state.replica import (
    UNKNOWN_POSITION,
    Appended,
    Positioned,
    Removed,
    Replica,
    batch_path,
    read_content,
)
from tests.gateway.arrow_engine import ArrowEngine, sleeps
from tests.gateway.hs2.wire import OK, cells, execute, fetch, open_session, status
from tests.gateway.http.conftest import eventually
from tests.gateway.state.processes import Process

NEVER_S = 600.0


@pytest.fixture
def url() -> str:
    return f"memory://state-{uuid.uuid4().hex}/s"


@pytest.fixture
def engine() -> ArrowEngine:
    return ArrowEngine()


class FaultyFiles:
    """Files of which each creation first calls `before`, and afterwards `after`; both may raise."""

    lists_freely = False

    def __init__(self, url: str) -> None:
        self._files = open_files(url)
        self.root = url
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None
        self.created: list[str] = []

    def names(self, folder: str) -> list[str]:
        return self._files.names(folder)

    def times_s(self, folder: str) -> dict[str, float]:
        return self._files.times_s(folder)

    def read(self, path: str) -> bytes:
        return self._files.read(path)

    def create(self, path: str, data: bytes) -> bool:
        self.before(path)
        is_created = self._files.create(path, data)
        self.created.append(path)
        self.after(path)
        return is_created

    def delete(self, path: str) -> None:
        self._files.delete(path)


def has_result(process: Process, statement: dict[str, Any]) -> bool:
    """Returns True if the statement has ended with the same rows; links to them have other signatures."""
    found = process.poll(statement)
    manifest: bool = found["manifest"] == statement["manifest"]
    return manifest and found["status"] == statement["status"] and bool(process.registry.operations())


def fails_once() -> Callable[[str], None]:
    failures = [OSError("no response")]

    def fail(_: str) -> None:
        if failures:
            raise failures.pop()

    return fail


# ------------------------------------------------------------------------------------------------ losses after a kill


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores a batch only when a client waits for it, and positions never."""
    monkeypatch.setattr(replica, "BATCH_S", NEVER_S)
    monkeypatch.setattr(remote_positions, "QUIET_S", NEVER_S)


@pytest.mark.usefixtures("never")
def test_kill_loses_only_statements_whose_whole_answer_was_in_one_response(url: str, engine: ArrowEngine) -> None:
    first = Process(url, engine)
    session = first.http("POST", "/api/2.0/sql/sessions", {})["session_id"]
    long = first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    engine.answers["SELECT slow"] = sleeps(600)
    running = first.submit("SELECT slow", wait_timeout="0s")
    engine.answers["SELECT slow"] = engine.answers.get("SELECT 1", sleeps(0))
    thrift = first.thrift()
    handle = execute(thrift, open_session(thrift), "SELECT 1")
    whole = first.submit("SELECT 1")
    first.crash()
    second = Process(url, engine)
    assert has_result(second, long)
    assert second.poll(running)["http_status"] == 200
    assert second.http("GET", f"/api/2.0/sql/sessions/{session}")["session_id"] == session
    assert cells(fetch(second.thrift(), handle)) == [[1]]
    assert second.poll(whole)["http_status"] == 404
    second.stop()


# The objects that the scenario creates, and one more.
NUM_PUTS = 9


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("is_before", [True, False], ids=["before the put", "after the put"])
@pytest.mark.parametrize("kill_at", range(NUM_PUTS))
def test_responses_before_a_kill_at_any_put_are_true_afterwards(
    url: str, engine: ArrowEngine, monkeypatch: pytest.MonkeyPatch, kill_at: int, *, is_before: bool
) -> None:
    """The process ends before or after its put number `kill_at`; nobody gets responses after that."""
    first = Process(url, engine)
    batches, files = first.state._replica, FaultyFiles(url)
    assert batches is not None
    batches._files = files
    killed: list[str] = []

    def kill(path: str) -> None:
        if killed or len(files.created) >= kill_at + (0 if is_before else 1):
            killed.append(path)
            with batches._changed:  # nobody waits any more
                batches._stored = 1 << 60
                batches._changed.notify_all()
            raise OSError("killed")

    if is_before:
        files.before = kill
    else:
        files.before = lambda path: kill(path) if killed else None
        files.after = kill
    answers: dict[str, Any] = {}

    def note(name: str, answer: Any) -> Any:
        if not killed:
            answers[name] = answer
        return answer

    session = note("session", first.http("POST", "/api/2.0/sql/sessions", {}))["session_id"]
    for text in ("USE lab", "ROWS 30000", "USE shop"):
        note(text, first.submit(text, session_id=session, disposition="EXTERNAL_LINKS", format="ARROW_STREAM"))
    thrift = first.thrift()
    handle = note("handle", execute(thrift, note("opened", open_session(thrift)), "ROWS 20"))
    got = note("rows", cells(fetch(thrift, handle, 5))[0])
    first.crash()
    monkeypatch.undo()
    second = Process(url, engine)
    if "session" in answers:
        found = second.submit("SELECT 1", session_id=session)
        assert found["status"] == {"state": "SUCCEEDED"}
        # The state may be stored although the response was lost.
        if "USE shop" in answers:
            assert engine.sessions[-1].current_schema == "shop"
        elif "USE lab" in answers:
            assert engine.sessions[-1].current_schema in ("lab", "shop")
    if "ROWS 30000" in answers:
        assert has_result(second, answers["ROWS 30000"])
    if "handle" in answers:
        assert status(second.thrift(), handle).operationState is not None
        rest = fetch(second.thrift(), handle, 20)
        if "rows" in answers:
            assert rest.status.errorMessage.startswith("[STATEMENT_INTERRUPTED]")
        else:
            assert rest.status.statusCode != OK or cells(rest)[0] == list(range(20))
    assert bool(killed) == (kill_at < NUM_PUTS - 1)
    assert killed or got == list(range(5))
    second.stop()


@pytest.mark.usefixtures("never")
def test_state_of_a_session_is_stored_before_the_response_to_the_statement_that_changed_it(
    url: str, engine: ArrowEngine
) -> None:
    first = Process(url, engine)
    session = first.http("POST", "/api/2.0/sql/sessions", {})["session_id"]
    first.submit("USE lab", session_id=session)
    first.crash()
    second = Process(url, engine)
    second.submit("SELECT 1", session_id=session)
    assert engine.sessions[-1].current_schema == "lab"
    second.stop()


@pytest.mark.usefixtures("never")
def test_result_that_was_being_fetched_is_interrupted(url: str, engine: ArrowEngine) -> None:
    first = Process(url, engine)
    client = first.thrift()
    session = open_session(client)
    fetched, unread = (execute(client, session, "ROWS 3000") for _ in range(2))
    assert len(cells(fetch(client, fetched, 700))[0]) == 700
    first.crash()
    second = Process(url, engine)
    failed = fetch(second.thrift(), fetched, 700)
    assert failed.status.errorMessage.startswith("[STATEMENT_INTERRUPTED]")
    assert cells(fetch(second.thrift(), unread, 3000))[0] == list(range(3000))
    second.stop()


def test_statements_run_without_records_while_the_store_does_not_respond(
    url: str, engine: ArrowEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "WAITING_BYTES_MAX", 0)
    process = Process(url, engine)
    assert process.submit("SELECT 1")["status"]["state"] == "SUCCEEDED"
    assert process.state.failures
    monkeypatch.undo()
    done = process.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    process.crash()
    second = Process(url, engine)
    assert has_result(second, done)
    second.stop()


def test_clients_wait_once_for_a_store_that_does_not_respond(files: FaultyFiles, batches: Replica) -> None:
    def fail(_: str) -> None:
        raise OSError("no response")

    files.before = fail
    batches.add(Appended("k", "1\n"))
    with batches._changed:
        batches._is_silent = True
    assert not batches.flush()
    files.before = lambda _: None
    assert eventually(batches.flush)
    batches.add(Appended("k", "2\n"))
    assert batches.flush()  # it waits again
    assert content_of(files) == {"k": b"1\n2\n"}


# ----------------------------------------------------------------------------------------------------------- batches


@pytest.fixture
def files(url: str) -> FaultyFiles:
    return FaultyFiles(url)


@pytest.fixture
def batches(files: FaultyFiles, tmp_path: Path) -> Iterator[Replica]:
    for name in ("sessions", "results"):
        (tmp_path / name).mkdir()
    made = Replica(files, "aaaaaa", tmp_path)
    made.start()
    yield made
    made.close()


def content_of(files: Files) -> dict[str, bytes]:
    return read_content(files, [f"records/{name}" for name in sorted(files.names("records"))]).journals


def test_records_of_several_sessions_are_in_one_object_after_the_results_that_they_name(
    files: FaultyFiles, batches: Replica, tmp_path: Path
) -> None:
    (tmp_path / "results" / "aaaaaa-1").write_bytes(b"rows")
    for key in ("k1", "k2"):
        assert batches.add(Appended(key, f"{key}\n"), ["aaaaaa-1"])
    assert batches.flush()
    assert files.created == ["results/aaaaaa-1.000000", batch_path("aaaaaa", 0)]
    assert content_of(files) == {"k1": b"k1\n", "k2": b"k2\n"}


@pytest.mark.parametrize("is_before", [True, False], ids=["request lost", "response lost"])
def test_batch_is_stored_once_if_its_put_failed(files: FaultyFiles, batches: Replica, *, is_before: bool) -> None:
    if is_before:
        files.before = fails_once()
    else:
        files.after = fails_once()
    batches.add(Appended("k", "1\n"))
    assert batches.flush()
    batches.add(Appended("k", "2\n"))
    batches.add(Positioned(str(uuid.UUID(int=1)), None))
    batches.add(Positioned(str(uuid.UUID(int=2)), (7, 9, 0, bytes(16))))
    assert batches.flush()
    content = read_content(files, [f"records/{name}" for name in sorted(files.names("records"))])
    assert content.journals == {"k": b"1\n2\n"}
    assert content.positions == {uuid.UUID(int=1): UNKNOWN_POSITION, uuid.UUID(int=2): SentRows(7, 9)}


@pytest.mark.parametrize("fault", ["none", "request lost", "response lost"])
def test_old_batches_are_replaced_by_the_newest_content(
    files: FaultyFiles, batches: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(replica, "BATCHES_MAX", 4)
    fail = fails_once()

    def fail_at_rewritten(path: str) -> None:
        if fault != "none" and path == batch_path("aaaaaa", 5):
            fail(path)

    if fault == "response lost":
        files.after = fail_at_rewritten
    else:
        files.before = fail_at_rewritten
    journal = tmp_path / "sessions" / "live"
    batches.add(Appended("ended", "x\n"))
    batches.add(Positioned(str(uuid.UUID(int=1)), None))
    for number in range(20):
        with open(journal, "a") as file:
            file.write(f"{number}\n")
        batches.add(Appended("live", f"{number}\n"))
        if number == 2:
            batches.add(Removed("ended"))
        assert batches.flush()
    assert eventually(lambda: len(files.names("records")) <= 5)
    content = read_content(files, [f"records/{name}" for name in sorted(files.names("records"))])
    assert list(content.journals) == ["live"]
    # The suffix may be repeated, as a journal's readers permit.
    lines = content.journals["live"].decode().split()
    assert sorted(set(lines), key=int) == [str(number) for number in range(20)] and lines[-1] == "19"
    assert content.positions == {uuid.UUID(int=1): UNKNOWN_POSITION}


def test_result_is_removed_from_the_store_after_its_file(
    files: FaultyFiles, batches: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_SWEPT_EVERY_S", 0.0)
    monkeypatch.setattr(replica, "_PART_BYTES", 3)
    for name in ("gone", "kept"):
        (tmp_path / "results" / name).write_bytes(b"rows")
    batches.add(Appended("k", "1\n"), ["gone", "kept"])
    assert batches.flush()
    assert len(files.names("results")) == 4
    (tmp_path / "results" / "gone").unlink()
    assert eventually(lambda: sorted(files.names("results")) == ["kept.000000", "kept.000001"])


# ------------------------------------------------------------------------------------------------------------ leases


def lease_of(files: Files, tmp_path: Path, lost: list[str]) -> RemoteLease:
    shown = Shown(token=new_token())
    assert create_lease(files, "aaaaaa", 1, shown)
    return RemoteLease(files, "aaaaaa", tmp_path, lambda: lost.append("lost"), lambda: None, shown)


def test_lease_that_another_gateway_has_taken_is_lost(files: FaultyFiles, tmp_path: Path) -> None:
    lost: list[str] = []
    lease = lease_of(files, tmp_path, lost)
    lease.ensure_held()
    assert lease.renew()
    assert create_lease(files, "aaaaaa", 3, Shown(token=new_token(), taker="bbbbbb"))
    lease.ensure_held()  # renewed recently
    lease._renewed -= LEASE_S
    with pytest.raises(StateLost):
        lease.ensure_held()
    assert lost == ["lost"] and not lease.renew()


def test_owner_that_was_suspended_until_the_take_over_was_forgotten_finds_its_lease_lost(
    files: FaultyFiles, tmp_path: Path
) -> None:
    lost: list[str] = []
    lease = lease_of(files, tmp_path, lost)
    files.delete(lease_path("aaaaaa", 1))
    lease._renewed -= LEASE_S
    with pytest.raises(StateLost):
        lease.ensure_held()
    assert lost == ["lost"]


@pytest.mark.parametrize("is_before", [True, False], ids=["request lost", "response lost"])
def test_lease_is_renewed_after_a_failed_put(files: FaultyFiles, tmp_path: Path, *, is_before: bool) -> None:
    lost: list[str] = []
    lease = lease_of(files, tmp_path, lost)
    if is_before:
        files.before = fails_once()
    else:
        files.after = fails_once()
    lease._renewed -= LEASE_S
    with pytest.raises(StateLost):  # it could have been taken over
        lease.ensure_held()
    lease.shown = Shown(token=lease.shown.token, counts={"all": 1})
    lease.ensure_held()
    assert lost == [] and files.names("leases") == ["aaaaaa-000000000002.json"]


def started(url: str, engine: ArrowEngine, *others: Process) -> Process:
    process = Process(url, engine)
    assert eventually(lambda: all(own_name(process) in folder_of(one)._seen for one in others))
    return process


def folder_of(process: Process) -> RemoteFolder:
    assert isinstance(process.state._folder, RemoteFolder)
    return process.state._folder


def own_name(process: Process) -> str:
    assert isinstance(process.state.lease, RemoteLease)
    return process.state.lease.name


def is_taken(folder: RemoteFolder, name: str) -> bool:
    folder.refresh()
    seen = folder._seen.get(name)
    return seen is not None and seen.shown.is_taken


def test_exactly_one_gateway_takes_over_a_crashed_one(url: str, engine: ArrowEngine) -> None:
    first = Process(url, engine)
    second, third = Process(url, engine), Process(url, engine)
    done = first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    name = own_name(first)
    first.crash()
    for process in (second, third):
        folder_of(process).refresh()
    taken = [folder_of(process).take_over(Path()) for process in (second, third)]
    assert [[one.name for one in each] for each in taken] == [[name], []]
    for process in (second, third):
        folder_of(process).refresh()
        assert process.state.locate(done["statement_id"].replace("-", "")[:12]) is not None
    assert second.recover() == 1
    assert has_result(second, done) and is_taken(folder_of(third), name)
    assert third.recover() == 0
    third.stop()
    second.stop()


def test_interrupted_take_over_is_repeated_by_another_gateway(url: str, engine: ArrowEngine) -> None:
    first, second = Process(url, engine), Process(url, engine)
    done = first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    first.crash()
    folder_of(second).refresh()
    assert len(folder_of(second).take_over(Path())) == 1
    second.crash()
    third = Process(url, engine)
    assert third.num_restored == 1 and has_result(third, done)
    files = open_files(url)
    assert {name[:6] for name in files.names("records")} == {own_name(third)}
    assert len(files.names("results")) == 1
    third.http("DELETE", f"/api/2.0/sql/statements/{done['statement_id']}")
    third.stop()
    assert files.names("records") == files.names("results") == []


def test_take_over_that_could_not_be_finished_is_finished_later(url: str, engine: ArrowEngine) -> None:
    first, second = Process(url, engine), Process(url, engine)
    done = first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    name = own_name(first)
    first.crash()
    folder = folder_of(second)
    folder.refresh()
    for taken in folder.take_over(Path()):
        taken.finish(removes=False)
    assert not is_taken(folder, name)
    assert second.recover() == 1 and has_result(second, done)
    assert is_taken(folder, name)
    assert second.recover() == 0
    second.stop()


def test_repeated_take_over_leaves_the_results_of_the_first_one(
    url: str, engine: ArrowEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Process(url, engine, memory=0), Process(url, engine, memory=0)
    done = first.submit("ROWS 30000")
    name = own_name(first)
    first.state.flush()
    first.crash()
    folder = folder_of(second)
    folder.refresh()
    monkeypatch.setattr(folder.replica, "flush", lambda: False)  # as if the store did not respond
    assert second.recover() == 1 and not is_taken(folder, name)
    assert second.recover() == 0 and not is_taken(folder, name)
    assert second.poll(done) == done
    monkeypatch.undo()
    assert second.recover() == 0 and is_taken(folder, name)
    assert second.poll(done) == done
    second.stop()


def test_statement_of_a_former_gateway_is_found_at_its_new_owner(url: str, engine: ArrowEngine) -> None:
    first, second, third = Process(url, engine), Process(url, engine), Process(url, engine)
    second.state.announce(Address(host="second", port=1))
    done = first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    first.crash()
    folder_of(second).refresh()
    assert second.recover() == 1
    folder_of(third).refresh()
    key = done["statement_id"].replace("-", "")[:12]
    place = third.state.locate(key)
    assert place is not None and place.address == Address(host="second", port=1)
    assert second.state.has_journal(key) and not third.state.has_journal(key)
    second.http("DELETE", f"/api/2.0/sql/statements/{done['statement_id']}")
    second.stop()
    third.stop()


def test_gateway_leaves_the_one_with_its_address_on_another_machine(
    url: str, engine: ArrowEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Process(url, engine)
    monkeypatch.setattr("gateway.state.remote_folder.machine_name", lambda: "other")
    second = Process(url, engine)
    for process in (first, second):
        process.state.announce(Address(host="127.0.0.1", port=8080))
    first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    assert (first.recover(), second.recover()) == (0, 0)
    first.state.lease.ensure_held()
    first.stop()
    second.stop()


def test_gateway_takes_over_the_one_with_its_address_at_once(url: str, engine: ArrowEngine) -> None:
    first, other = Process(url, engine), Process(url, engine)
    first.state.announce(Address(host="gateway", port=8080))
    other.state.announce(Address(host="other", port=8080))
    done = first.submit("ROWS 30000", format="ARROW_STREAM", disposition="EXTERNAL_LINKS")
    second = Process(url, engine)
    assert second.num_restored == 0
    second.state.announce(Address(host="gateway", port=8080))
    assert second.recover() == 1 and has_result(second, done)
    assert eventually(lambda: first.calls == ["lost"])
    assert other.calls == []
    for process in (other, second):
        process.stop()
    first.crash()


# ------------------------------------------------------------------------------------------------ format, key, logins


def test_all_gateways_have_the_same_key(url: str) -> None:
    assert RemoteFolder(url).key == RemoteFolder(url).key and len(RemoteFolder(url).key) == 32


def test_folder_of_another_format_is_rejected_with_both_versions(url: str) -> None:
    open_files(url).create("format.json", b'{"version": 2}')
    with pytest.raises(StateFormatNotSupported, match="format version 2, and this release supports version 1"):
        RemoteFolder(url)


@pytest.mark.parametrize(("name", "content"), [("format.json", b"[]"), ("key", b"short")])
def test_folder_with_other_files_is_rejected(url: str, name: str, content: bytes) -> None:
    open_files(url).create(name, content)
    with pytest.raises(StateFolderNotUsable, match=name):
        RemoteFolder(url)


def test_store_without_conditional_puts_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StoreSchemeNotSupported):
        RemoteFolder(f"local://{tmp_path}/state")


def test_login_is_valid_at_other_gateways_until_its_logout(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.state.remote_log_ins.LISTED_S", 0.0)
    one, two = RemoteLogIns(open_files(url)), RemoteLogIns(open_files(url))
    identity = Identity("ada", method=Method.PASSWORD)
    assert one.write("cookie-a", identity, "10.0.0.1", 1e12, "token")
    assert two.last_used("cookie-b") is None and two.read("cookie-b") is None
    used = two.last_used("cookie-a")
    saved = two.read("cookie-a")
    assert used is not None and saved is not None
    assert (saved.identity, saved.peer, saved.until, saved.id_token) == (identity, "10.0.0.1", 1e12, "token")
    monkeypatch.setattr("gateway.state.remote_log_ins.time.time", lambda: used + 100)
    two.use("cookie-a")
    assert one.last_used("cookie-a") == used + 100 and len(open_files(url).names("log-ins")) == 1
    two.remove("cookie-a")
    assert one.last_used("cookie-a") is None and open_files(url).names("log-ins") == []


def test_login_that_was_used_elsewhere_since_the_listing_is_read(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = RemoteLogIns(open_files(url)), RemoteLogIns(open_files(url))
    one.write("cookie-a", Identity("ada"), "10.0.0.1", 1e12, None)
    used = two.last_used("cookie-a")
    assert used is not None
    monkeypatch.setattr("gateway.state.remote_log_ins.time.time", lambda: used + 100)
    one.use("cookie-a")
    saved = two.read("cookie-a")
    assert saved is not None and saved.identity == Identity("ada")
    one.remove("cookie-a")
    assert two.read("cookie-a") is None


def test_expired_logins_are_removed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log_ins = RemoteLogIns(open_files(url))
    log_ins.write("cookie-a", Identity("ada"), "10.0.0.1", 1e12, None)
    used = log_ins.last_used("cookie-a")
    assert used is not None
    monkeypatch.setattr("gateway.state.remote_log_ins.time.time", lambda: used + 24 * 3600 + 1)
    assert RemoteLogIns(open_files(url)).last_used("cookie-a") is None
    assert open_files(url).names("log-ins") == []


def test_statement_is_recorded_locally_while_the_lease_cannot_be_renewed(url: str, engine: ArrowEngine) -> None:
    process = Process(url, engine)
    lease = process.state.lease
    assert isinstance(lease, RemoteLease)
    faulty, usual = FaultyFiles(url), lease.files
    faulty.before = lambda _: (_ for _ in ()).throw(OSError("the store does not respond"))
    lease.files, lease._renewed = faulty, lease._renewed - LEASE_S
    with pytest.raises(StateLost):
        lease.ensure_held()
    statement = process.submit("SELECT 1")
    lease.files = usual
    assert not process.state.failures
    process.state.flush()
    process.crash()
    second = Process(url, engine)
    assert second.poll(statement) == statement
    second.stop()
