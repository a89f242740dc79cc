"""The store for saved queries: concurrent servers, kills, unreadable files, and leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.conditions import CatalogNotWritable, SavedQueryUnreadable
from catalog.grants.privileges import PrincipalKind
from catalog.queries.queries import (
    Level,
    QueryContent,
    QueryParameter,
    SavedQuery,
    Share,
    moved_path,
    queries_of,
    with_queries,
    without_queries,
)
from catalog.queries.store import (
    QUERIES,
    QueryStore,
    dump_queries,
    open_queries,
    parse_queries,
    query_from_json,
    query_to_json,
)
from catalog.store.entry_json import MalformedEntry
from catalog.store.file_store import GENERATIONS_RETAINED, FileStore, remove_catalog_leftovers
from catalog.store.files import LocalFiles
from tests.catalog.faulty_files import Crash, Fault, FaultyFiles
from tests.paths import ROOT

FULL = SavedQuery(
    id="0" * 32,
    owner="zoë",
    content=QueryContent(
        display_name="Revenue",
        query_text="SELECT '𝄞' -- \n",
        description="d",
        parent_path="/a/b",
        catalog="c",
        schema="s",
        parameters=(QueryParameter(name="day", type="DATE", value=None, title="Day"),),
        chart='{"kind":"bar"}',
    ),
    created_ms=1,
    updated_ms=2,
    updated_by="ann",
    size=100,
    version=3,
    shares=(Share(kind=PrincipalKind.GROUP, name="Staff", level=Level.VIEW),),
)

_WRITER = """
import sys
from catalog.queries.queries import QueryContent, SavedQuery, with_queries
from catalog.queries.store import open_queries
store, me = open_queries(sys.argv[1]), sys.argv[2]
for n in range(int(sys.argv[3])):
    query = SavedQuery(id=f"{me}-{n}", owner=me, content=QueryContent(display_name=str(n), query_text="x" * 5000),
                       created_ms=0, updated_ms=0, updated_by=me, size=1)
    store.change(lambda state: with_queries(state, query))
    print(n, flush=True)
"""


def query(name: str, **fields: object) -> SavedQuery:
    return replace(FULL, id=name, **fields)  # type: ignore[arg-type]


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_query_is_the_same_after_storing() -> None:
    for each in (FULL, query("1", content=QueryContent(display_name="q"), shares=(), version=1)):
        assert query_from_json(json.loads(json.dumps(query_to_json(each)))) == each
    assert parse_queries(dump_queries(queries_of(1, [FULL, query("1")])), "backup") == (FULL, query("1"))


def test_unknown_right_makes_a_query_unreadable() -> None:
    fields = json.loads(json.dumps(query_to_json(FULL)))
    fields["shares"][0]["level"] = "CAN_RUN"
    with pytest.raises(MalformedEntry):
        query_from_json(fields)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def give_away(file: Path) -> None:
    file.write_text(file.read_text().replace('"owner": "zoë"', '"owner": "ann"'))


def put_another_query(file: Path) -> None:
    file.write_text(file.read_text().replace('"id": "a"', '"id": "b"'))


def put_a_version_that_is_no_number(file: Path) -> None:
    file.write_text(file.read_text().replace('"version": 3', '"version": "three"'))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncate, "no JSON"),
        (put_a_version_that_is_no_number, "Expected `int`"),
        (give_away, "it belongs to ann, and not to zoë"),
        (put_another_query, "it describes b"),
        (Path.unlink, "No such file"),
    ],
)
def test_unreadable_query_leaves_the_others_readable(
    tmp_path: Path, damage: Callable[[Path], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    open_queries(str(tmp_path)).change(lambda state: with_queries(state, query("a"), query("c")))
    (file,) = (tmp_path / "queries/objects").glob("a@*")
    damage(file)
    store = open_queries(str(tmp_path))
    for _ in range(2):
        state = store.load()
        assert set(state.queries) == {"c"}
        assert (state.unreadable["a"].label, list(state.unreadable)) == ("zoë", ["a"])
        assert reason in state.unreadable["a"].reason
    (line,) = (record.getMessage() for record in caplog.records)
    assert file.name in line and reason in line
    store.change(lambda state: with_queries(state, query("d")))
    assert set(open_queries(str(tmp_path)).load().unreadable) == {"a"}, "it stays for whoever restores the file"
    with pytest.raises(SavedQueryUnreadable, match="query a "):
        dump_queries(store.load())
    store.change(lambda state: without_queries(state, ["a"]))
    assert set(store.load().queries) == {"c", "d"} and not store.load().unreadable
    assert FileStore(LocalFiles(str(tmp_path))).load().generation == 0


def test_file_that_cannot_be_opened_is_read_again_by_the_next_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_queries(str(tmp_path)).change(lambda state: with_queries(state, query("a"), query("c")))
    store, read = open_queries(str(tmp_path)), LocalFiles.read

    def fails(files: LocalFiles, path: str) -> bytes:
        if path.startswith("objects/a@"):
            raise PermissionError(13, "Permission denied")
        return read(files, path)

    monkeypatch.setattr(LocalFiles, "read", fails)
    assert store.load().unreadable["a"].reason == "Permission denied"
    assert set(store.change(lambda state: with_queries(state, query("d"))).queries) == {"c", "d"}
    monkeypatch.undo()
    assert set(store.load().queries) == {"a", "c", "d"} and not store.load().unreadable


def test_unreadable_query_of_an_earlier_release_has_no_known_owner(tmp_path: Path) -> None:
    open_queries(str(tmp_path)).change(lambda state: with_queries(state, query("a")))
    (generation,) = (tmp_path / "queries/generations").glob("*1.json")
    record = json.loads(generation.read_text())
    del record["labels"]
    generation.write_text(json.dumps(record))
    assert set(open_queries(str(tmp_path)).load().queries) == {"a"}
    (file,) = (tmp_path / "queries/objects").glob("a@*")
    truncate(file)
    assert open_queries(str(tmp_path)).load().unreadable["a"].label is None


def test_servers_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 40) for name in ("a", "b", "c")]
    assert [each.communicate()[1] for each in writers] == [None] * 3
    assert [each.returncode for each in writers] == [0] * 3
    stored = open_queries(str(tmp_path)).load()
    assert set(stored.queries) == {f"{name}-{n}" for name in ("a", "b", "c") for n in range(40)}
    assert stored.generation == 120


def test_killed_server_loses_no_answered_change(tmp_path: Path) -> None:
    for kill in range(5):
        process = writer(tmp_path, f"k{kill}", 1000)
        assert process.stdout is not None
        for _ in range(3 + kill):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        answered = 3 + kill + len(process.stdout.read().splitlines())
        process.wait()
        found = [each for each in open_queries(str(tmp_path)).load().queries if each.startswith(f"k{kill}-")]
        assert len(found) in (answered, answered + 1), "what was answered, or what was under way"


@pytest.mark.parametrize("at", range(2))
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_crash_leaves_the_old_or_the_new_state(tmp_path: Path, fault: Fault, at: int) -> None:
    files = LocalFiles(str(tmp_path))
    QueryStore(files).change(lambda state: with_queries(state, query("old")))
    with pytest.raises(Crash):
        QueryStore(FaultyFiles(files, fault, at)).change(lambda state: with_queries(state, query("new")))
    is_committed = fault is Fault.CRASH_AFTER and at == 1
    assert set(QueryStore(files).load().queries) == ({"old", "new"} if is_committed else {"old"})


def test_full_disk_is_a_named_error_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = QueryStore(LocalFiles(str(tmp_path)))
    store.change(lambda state: with_queries(state, query("old")))

    def fails(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalFiles, "create", fails)
    with pytest.raises(CatalogNotWritable, match="No space left"):
        store.change(lambda state: with_queries(state, query("new")))
    monkeypatch.undo()
    assert set(store.load().queries) == {"old"}


def test_leftovers_of_killed_servers_are_removed_and_queries_stay(tmp_path: Path) -> None:
    store = open_queries(str(tmp_path))
    for n in range(GENERATIONS_RETAINED + 3):
        store.change(lambda state: with_queries(state, query("kept", updated_ms=n)))  # noqa: B023
    folder = tmp_path / "queries/objects"
    assert len(list(folder.iterdir())) == GENERATIONS_RETAINED
    orphan = folder / QUERIES.object_file("gone", "3-0badc0de").removeprefix("objects/")
    temporary = folder / f"{orphan.name}.{'0' * 32}.tmp"
    for path in (orphan, temporary):
        path.write_text("{}")
    assert remove_catalog_leftovers(str(tmp_path), time.time() - 60) == 0
    for path in (orphan, temporary):
        os.utime(path, (0, 0))
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    assert remove_catalog_leftovers(str(tmp_path), time.time()) == 2
    assert open_queries(str(tmp_path)).load().queries == {"kept": query("kept", updated_ms=GENERATIONS_RETAINED + 2)}


def test_removed_query_is_gone_for_another_server(tmp_path: Path) -> None:
    one, other = open_queries(str(tmp_path)), open_queries(str(tmp_path))
    one.change(lambda state: with_queries(state, query("a"), query("b")))
    assert set(other.load().queries) == {"a", "b"}
    one.change(lambda state: without_queries(state, ["a"]))
    assert set(other.load().queries) == {"b"}


@pytest.mark.parametrize(
    ("path", "folder", "new_folder", "moved"),
    [
        ("/a", "/a", "/b", "/b"),
        ("/a/x/y", "/a", "/b/c", "/b/c/x/y"),
        ("/a/x", "/a", "/", "/x"),
        ("/a", "/a", "/", "/"),
        ("/a", "/a", "/a", "/a"),
    ],
)
def test_moved_path(path: str, folder: str, new_folder: str, moved: str) -> None:
    assert moved_path(path, folder, new_folder) == moved
