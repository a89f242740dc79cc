"""Lineage: edges as values, and their store with concurrent servers, kills, unwritable folders and leftovers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.changes import DropCatalog, DropSchema, DropTable, RenameTable, SetLocation
from catalog.conditions import CatalogUnreadable
from catalog.lineage import edges as edges_module
from catalog.lineage.edges import (
    COLUMNS_PER_EDGE_MAX,
    EDGES_PER_TARGET_MAX,
    INITIAL_LINEAGE,
    Dropped,
    Edge,
    End,
    EndKind,
    Renamed,
    with_events,
)
from catalog.lineage.recorder import LINEAGE, WAITING_MAX, LineageRecorder, open_lineage
from catalog.names import CatalogName, SchemaName, TableName
from catalog.store.entry_json import MalformedEntry
from catalog.store.file_store import FileStore, remove_catalog_leftovers
from catalog.store.files import LocalFiles
from tests.paths import ROOT

PATH = End(EndKind.PATH, ("/landing/x",))


def end(name: str) -> End:
    return End(EndKind.TABLE, ("c", "s", name))


def edge(source: str | End, target: str, at_ms: int = 1, kind: str = "INSERT", **fields: object) -> Edge:
    made = Edge(
        source=end(source) if isinstance(source, str) else source,
        target=end(target),
        statement_type=kind,
        user="ann",
        statement_id=f"id-{at_ms}",
        first_ms=at_ms,
        last_ms=at_ms,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def shown(edges: list[Edge]) -> set[tuple[str, str, str]]:
    return {(each.source.parts[-1], each.statement_type, each.target.parts[-1]) for each in edges}


def test_statements_of_one_type_make_one_edge() -> None:
    first = edge("a", "T", 5, columns=(("x", "y"),))
    later = edge("A", "t", 9, user="bob", columns=(("x", "z"),))
    earlier = edge("a", "t", 2, user="eve")
    state = with_events(INITIAL_LINEAGE, [first, later, earlier, edge("a", "t", 3, "MERGE")])
    merged = edge("A", "t", 9, user="bob", first_ms=2, count=3, columns=(("x", "z"), ("x", "y")))
    assert state.edges() == [merged, edge("a", "t", 3, "MERGE")]
    assert state.generation == 1
    assert with_events(state, []) is state and with_events(state, [Dropped(("c", "s", "other"))]) is state


def test_renamed_object_keeps_its_edges_and_dropped_one_takes_them() -> None:
    state = with_events(INITIAL_LINEAGE, [edge("a", "b"), edge("b", "c"), edge("x", "b"), edge("x", "y")])
    moved = with_events(state, [Renamed(("c", "S", "B"), ("c", "s2", "n"))])
    assert shown(moved.edges()) == {
        ("a", "INSERT", "n"),
        ("n", "INSERT", "c"),
        ("x", "INSERT", "n"),
        ("x", "INSERT", "y"),
    }
    assert moved.targets["c", "s2", "n"].target.parts == ("c", "s2", "n")
    assert shown(with_events(moved, [Dropped(("c", "s2"))]).edges()) == {("x", "INSERT", "y")}
    assert shown(with_events(state, [Dropped(("c", "s", "b"))]).edges()) == {("x", "INSERT", "y")}
    assert with_events(state, [Dropped(("C",))]).edges() == []


def test_rename_onto_a_former_name_adds_up() -> None:
    state = with_events(
        INITIAL_LINEAGE, [edge("a", "old", 1), edge("a", "new", 2), Renamed(end("new").parts, end("old").parts)]
    )
    assert state.edges() == [edge("a", "old", 2, first_ms=1, count=2)]


def test_oldest_edges_go_beyond_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [edge(f"s{n}", "t", n) for n in range(EDGES_PER_TARGET_MAX + 3)]
    retained = with_events(INITIAL_LINEAGE, many).edges()
    assert [each.last_ms for each in retained] == list(range(EDGES_PER_TARGET_MAX + 2, 2, -1))
    monkeypatch.setattr(edges_module, "TARGETS_MAX", 2)
    state = with_events(INITIAL_LINEAGE, [edge("a", "t1", 3), edge("a", "t2", 1), edge("a", "t3", 2)])
    assert {each.target.parts[-1] for each in state.edges()} == {"t1", "t3"}
    wide = edge("a", "t", columns=tuple((f"c{n}", "x") for n in range(COLUMNS_PER_EDGE_MAX + 1)))
    (found,) = with_events(INITIAL_LINEAGE, [wide, wide]).edges()
    assert found.columns == wide.columns[:-1]


def test_edges_are_the_same_after_storing() -> None:
    state = with_events(INITIAL_LINEAGE, [edge(PATH, "t", columns=(("a", "b"),)), edge("ß", "t", 2, "MERGE")])
    for each in state.targets.values():
        assert LINEAGE.from_json(json.loads(json.dumps(LINEAGE.to_json(each)))) == each
    with pytest.raises(MalformedEntry):
        LINEAGE.from_json({"edges": []})


def test_edges_outlive_the_server_and_leave_the_catalog_readable(tmp_path: Path) -> None:
    lineage = open_lineage(str(tmp_path))
    lineage.record([edge(PATH, "t")])
    lineage.record([edge("a", "t", 2)])
    assert shown(lineage.load().edges()) == {("/landing/x", "INSERT", "t"), ("a", "INSERT", "t")}
    lineage.close()
    assert open_lineage(str(tmp_path)).load().edges() == [edge("a", "t", 2), edge(PATH, "t")]
    assert remove_catalog_leftovers(str(tmp_path), time.time() + 60) == 0
    for file in (tmp_path / "lineage/objects").iterdir():
        file.write_text("{")
    with pytest.raises(CatalogUnreadable):
        open_lineage(str(tmp_path)).load()
    assert FileStore(LocalFiles(str(tmp_path))).load().generation == 0


def test_new_edge_is_written_at_once_and_a_known_one_later(tmp_path: Path) -> None:
    lineage, other = (LineageRecorder(LocalFiles(str(tmp_path)), pause_s=0.01) for _ in range(2))
    lineage.record([edge("a", "t")])
    while not other.load().edges():
        time.sleep(0.01)
    while lineage.num_waiting:
        time.sleep(0.01)
    lineage.record([edge("a", "t", 2)])
    time.sleep(0.2)
    assert (lineage.num_waiting, lineage.load().edges()[0].count) == (1, 2)
    lineage.close()
    assert other.load().edges() == [edge("a", "t", 2, first_ms=1, count=2)]


_WRITER = """
import sys
from catalog.lineage.edges import Edge, End, EndKind
from catalog.lineage.recorder import open_lineage
from catalog.store.files import LocalFiles
lineage, me = open_lineage(sys.argv[1]), sys.argv[2]
end = lambda name: End(EndKind.TABLE, ("c", "s", name))
for n in range(60):
    for source in (f"{me}-{n}", "both"):
        lineage.record([Edge(source=end(source), target=end("t"), statement_type="INSERT", user=me,
                             statement_id=str(n), first_ms=n, last_ms=n)])
lineage.close()
"""


def test_servers_that_write_at_once_lose_no_edge(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name], cwd=ROOT) for name in ("a", "b", "c")]
    assert [each.wait() for each in writers] == [0] * 3
    counts = {each.source.parts[-1]: each.count for each in open_lineage(str(tmp_path)).load().edges()}
    assert counts == {f"{name}-{n}": 1 for name in ("a", "b", "c") for n in range(60)} | {"both": 180}


def test_unwritable_folder_fails_no_statement_and_edges_wait(tmp_path: Path) -> None:
    obstacle = tmp_path / "objects"
    obstacle.write_text("")
    lineage = LineageRecorder(LocalFiles(str(tmp_path)), pause_s=0.01)
    lineage.record([edge("a", "t")])
    while lineage.failures < 2:
        time.sleep(0.01)
    assert lineage.load().edges() == [edge("a", "t")]
    lineage.record([edge(f"s{n}", "t", n) for n in range(WAITING_MAX)])
    assert (lineage.num_waiting, lineage.lost) == (WAITING_MAX, 1)
    obstacle.unlink()
    while lineage.num_waiting:
        time.sleep(0.01)
    assert len(LineageRecorder(LocalFiles(str(tmp_path))).load().edges()) == EDGES_PER_TARGET_MAX


def test_catalog_changes_are_followed_if_recording_is_off(tmp_path: Path) -> None:
    on = open_lineage(str(tmp_path))
    on.record([edge("a", "b"), edge("b", "c"), edge("x", "y")])
    on.close()
    off = open_lineage(str(tmp_path), is_on=False)
    off.record([edge("new", "edge")])
    off.follow(RenameTable(TableName("c", "s", "b"), TableName("c", "s", "b2")))
    off.follow(SetLocation(TableName("c", "s", "b"), "/x"))
    assert shown(off.load().edges()) == {("a", "INSERT", "b2"), ("b2", "INSERT", "c"), ("x", "INSERT", "y")}
    off.follow(DropTable(TableName("c", "s", "b2")))
    assert shown(off.load().edges()) == {("x", "INSERT", "y")}
    off.follow(DropSchema(SchemaName("c", "s"), True))
    assert off.load().edges() == []
    off.follow(DropCatalog(CatalogName("c")))
    off.close()
    assert open_lineage(str(tmp_path)).load().edges() == []


def test_lineage_without_files_is_in_memory() -> None:
    lineage = open_lineage(None)
    lineage.record([edge("a", "b")])
    lineage.close()
    assert lineage.load().edges() == [edge("a", "b")]
