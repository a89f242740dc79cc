"""Servers on one catalog folder, killed while they replace and drop views and tables: nothing is torn.

Each server counts its changes in separate views, and all replace and drop one view and one table. Answers from before a
kill hold after it, every generation in the folder is complete, and a reader sees no error at any time.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from catalog.catalog import Catalog
from catalog.changes import CreateSchema
from catalog.entries import SchemaEntry, TableEntry, ViewEntry
from catalog.names import SchemaName, TableName
from catalog.state import CatalogState
from catalog.store.entry_json import from_json
from catalog.store.file_store import GENERATIONS_RETAINED, FileStore
from catalog.store.files import LocalFiles
from tests.paths import ROOT
from tests.samples import some

SHOP = SchemaName("spark_catalog", "shop")
_SERVER = """
import random, sys
from catalog.catalog import Catalog
from catalog.changes import CreateTable, CreateView, DropTable, DropView
from catalog.entries import TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles
from catalog.names import SchemaName, TableName
folder, me, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
catalog, shop = Catalog(FileStore(LocalFiles(folder)), allowed_roots=["/data"]), SchemaName("spark_catalog", "shop")
name = lambda text: TableName("spark_catalog", "shop", text)
view = lambda text, query: CreateView(ViewEntry(name=name(text), text=query, current=shop), replace=True)
while True:
    count += 1
    catalog.change(view(f"of_{me}", f"SELECT {count}"))
    print("own", count, flush=True)
    changes = (
        view("shared", f"SELECT '{me}', {count}" + " " * random.randrange(20000)),
        CreateTable(TableEntry(name=name("stock"), location=f"/data/{me}/{count}"), replace=True),
        DropView(name("shared")),
        DropTable(name("stock")),
    )
    change = random.choice(changes)
    try:
        catalog.change(change)
        print("done", type(change).__name__, flush=True)
    except SqlError as error:
        print("refused", error.condition, flush=True)
"""


class Server:
    """A process that is killed and restarted; `counted` is the last number that it reported for its own view."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name, self.counted = folder, name, 0
        self.warnings_by_kind: Counter[str] = Counter()
        self.process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _SERVER, self.folder, self.name, str(self.counted)]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        out, err = self.process.communicate()
        assert self.process.returncode == -signal.SIGKILL, err
        for line in out.splitlines(keepends=True):
            kind, _, value = line.rstrip("\n").partition(" ")
            if line.endswith("\n") and kind == "own":
                self.counted = int(value)
            self.warnings_by_kind[line if kind != "own" else kind] += 1

    def restart(self) -> None:
        self.process = self._started()


def _ensure_whole(root: Path) -> int:
    """Checks that every retained generation is JSON and references complete files; returns their number. A removed one
    may have only its number left after a kill.
    """
    generations = sorted((root / "generations").glob("*.json"))
    for generation in generations[-GENERATIONS_RETAINED:]:
        for path, stamp in json.loads(generation.read_text())["objects"].items():
            from_json(json.loads((root / f"objects/{path}@{stamp}.json").read_text()))
    return len(generations)


def _made(state: CatalogState, server: Server) -> int:
    """Returns the number in a server's own view."""
    own = state.relations.get(TableName("spark_catalog", "shop", f"of_{server.name}"))
    return int(own.text.removeprefix("SELECT ")) if isinstance(own, ViewEntry) else 0


@pytest.mark.parametrize("kills", some((3, 60), {3}))
def test_killed_servers_leave_a_whole_catalog(tmp_path: Path, kills: int) -> None:
    random, files = Random(kills), LocalFiles(str(tmp_path / "catalog"))
    Catalog(FileStore(files)).change(CreateSchema(SchemaEntry(name=SHOP)))
    reader, servers = FileStore(files), [Server(files.root, name) for name in ("a", "b")]
    seen = 0
    try:
        for _ in range(kills):
            server, steps = random.choice(servers), random.randrange(1, 8)
            while _made(state := reader.load(), server) < server.counted + steps:
                assert state.generation >= seen, "no generation goes back"
                seen = state.generation
            time.sleep(random.uniform(0, 0.01))
            server.kill()
            made = _made(FileStore(files).load(), server)
            assert made in (server.counted, server.counted + 1), "what was answered, or what was under way"
            server.counted = made
            server.restart()
    finally:
        for server in servers:
            server.kill()
    assert _ensure_whole(Path(files.root))
    warnings_by_kind = sum((server.warnings_by_kind for server in servers), Counter[str]())
    assert warnings_by_kind["own"] > kills and any(line.startswith("done") for line in warnings_by_kind)
    assert {line.split()[1] for line in warnings_by_kind if line.startswith("refused")} <= {"TABLE_OR_VIEW_NOT_FOUND"}
    last = Catalog(FileStore(files), allowed_roots=["/data"]).view().state.relations
    assert all(isinstance(entry, ViewEntry | TableEntry) for entry in last.values())
