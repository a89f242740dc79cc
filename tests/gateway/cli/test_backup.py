"""`delta-gateway backup` and `restore`: all parts, checks, and archives of earlier releases."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from catalog.grants.tokens import TokenOwner, TokenRequest, TokenStore
from catalog.state import CatalogState
from catalog.store.entry_json import from_json, to_json
from catalog.store.file_store import FileStore, state_of
from catalog.store.remote import open_files
from engine.runtime.identity import Method
from gateway.__main__ import main
from gateway.audit.audit_log import AuditLog, log_contents
from gateway.audit.chain import verify
from gateway.authenticators.password_file import User, load_users, store_user
from gateway.authenticators.passwords import hash_password
from gateway.backup.parts import CATALOG, Places, collect

# The objects of an archive in the format 1, which every later release reads.
OBJECTS = (
    {"kind": "catalog", "name": "spark_catalog", "owner": None, "comment": None, "created_ms": 1},
    {
        "kind": "schema",
        "catalog": "spark_catalog",
        "name": "shop",
        "owner": "ada",
        "comment": "Sales",
        "created_ms": 2,
    },
    {
        "kind": "table",
        "catalog": "spark_catalog",
        "schema": "shop",
        "name": "orders",
        "location": "/data/orders",
        "format": "delta",
        "managed": False,
        "owner": "ada",
        "comment": None,
        "created_ms": 3,
        "grants": [{"group": "sales", "privilege": "SELECT", "grantor": "ada"}],
    },
    {"kind": "group", "name": "sales", "members": [{"user": "bob"}]},
)


class Server:
    """The files of a server, and its configuration."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.users, self.tokens, self.audit = folder / "users", folder / "tokens.json", folder / "audit"
        self.config = folder / "gateway.toml"
        self.config.write_text(
            f'[lake]\nfolder = "{folder}/lake"\ncatalog_folder = "{folder}/catalog"\n[authentication]\n'
            f'methods = ["password", "token"]\npassword_file = "{self.users}"\ntoken_file = "{self.tokens}"\n'
            f'[audit]\nfolder = "{self.audit}"\n'
        )

    @property
    def store(self) -> FileStore:
        return FileStore(open_files(f"{self.folder}/catalog"))

    def fill(self) -> None:
        base = self.store.load()
        self.store.swap(base, state_of(1, [from_json(entry) for entry in OBJECTS]))
        store_user(self.users, User("ann", hash_password("long enough"), ("sales",)))
        TokenStore(self.tokens).create(
            TokenRequest(owner=TokenOwner(principal="ann", method=Method.PASSWORD), comment="", lifetime_s=60)
        )
        log = AuditLog(self.audit)
        for number in range(3):
            log.write({"event": "test", "number": number})
        log.close()

    def run(self, command: str, file: Path, *arguments: str) -> int:
        return main([command, str(file), "--config", str(self.config), *arguments])


def objects_of(state: CatalogState) -> list[dict[str, object]]:
    return sorted((to_json(entry) for entry in state.entries()), key=json.dumps)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    made = Server(tmp_path / "server")
    made.fill()
    return made


def test_everything_is_restored_to_another_place(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "backup.tgz", Server(tmp_path / "other")
    assert server.run("backup", file) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert other.run("restore", file, "--dry-run") == 0 and not (other.folder / "catalog").exists()
    assert other.run("restore", file) == 0
    assert "in " + str(other.users) in capsys.readouterr().out
    assert objects_of(other.store.load()) == objects_of(server.store.load())
    assert {"sales"} == {
        grant.principal.name for entry in other.store.load().relations.values() for grant in entry.grants
    }
    assert load_users(other.users) == load_users(server.users)
    assert other.users.stat().st_mode & 0o777 == 0o600
    assert len(list(TokenStore(other.tokens).entries())) == 1
    chain_end, broken = verify(log_contents(other.audit))
    assert (chain_end.seq, broken) == (3, None)
    AuditLog(other.audit).close()  # a server can go on with it


def test_existing_parts_are_replaced_only_on_demand(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "backup.tgz"
    assert server.run("backup", file) == 0
    base = server.store.load()
    server.store.swap(base, state_of(2, [from_json(entry) for entry in OBJECTS[:1]]))
    assert server.run("restore", file) == 1
    assert "--replace" in capsys.readouterr().err and server.store.load().generation == 2
    assert server.run("restore", file, "--replace") == 0
    restored = server.store.load()
    assert (restored.generation, objects_of(restored)) == (3, objects_of(base))
    assert "has an audit log, and none is ever replaced" in capsys.readouterr().out
    assert verify(log_contents(server.audit))[0].seq == 3


def test_catalog_in_a_backup_is_one_generation(tmp_path: Path) -> None:
    """While another process changes it: generation n has n tables."""
    places = Places(str(tmp_path / "catalog"))
    store, is_done = FileStore(open_files(places.catalog_folder)), threading.Event()

    def change() -> None:
        for number in range(1, 41):
            tables = [{**OBJECTS[2], "name": f"t{each}", "location": f"/t{each}"} for each in range(number)]
            entries = [from_json(entry) for entry in (*OBJECTS[:2], *tables)]
            assert store.swap(store.load(), state_of(number, entries))
        is_done.set()

    thread = threading.Thread(target=change)
    thread.start()
    found = {}
    while not is_done.is_set():
        archive = collect(places)
        found[archive.generation] = archive.files[CATALOG].count(b'"kind": "table"')
    thread.join()
    assert found and all(count == generation for generation, count in found.items())


def archive_of(path: Path, change: Callable[[dict[str, object], dict[str, bytes]], None] = lambda *_: None) -> Path:
    """Writes an archive by hand as the release 0.1.0 does; `change` changes the manifest and the files."""
    files = {"catalog.jsonl": "".join(f"{json.dumps(entry)}\n" for entry in OBJECTS).encode()}
    manifest: dict[str, object] = {
        "format": 1,
        "release": "0.1.0",
        "created": "2026-11-29T00:00:00+00:00",
        "generation": 7,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        },
    }
    change(manifest, files)
    with tarfile.open(path, "w:gz") as tar:
        for name, content in {"manifest.json": json.dumps(manifest).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_archive_of_an_earlier_release_is_restored(tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    assert server.run("restore", archive_of(tmp_path / "old.tgz")) == 0
    (table,) = server.store.load().relations.values()
    assert (table.name.table, table.owner) == ("orders", "ada")
    assert [group.name for group in server.store.load().groups.values()] == ["sales"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda manifest, files: manifest.update(format=2), "reads formats up to 1"),
        (lambda manifest, files: manifest.pop("format"), "is no backup of delta-gateway"),
        (lambda manifest, files: files.update({"catalog.jsonl": b"{}"}), "another digest"),
        (lambda manifest, files: files.clear(), "is not in both"),
        (lambda manifest, files: files.update({"../users": b""}), "is not in both"),
    ],
)
def test_damaged_and_newer_archives_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, object], dict[str, bytes]], None],
    part: str,
) -> None:
    server = Server(tmp_path / "server")
    assert server.run("restore", archive_of(tmp_path / "bad.tgz", change)) == 1
    assert part in capsys.readouterr().err and not (server.folder / "catalog").exists()


def test_file_that_is_no_archive_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server, file = Server(tmp_path / "server"), tmp_path / "text"
    file.write_text("text")
    assert server.run("restore", file) == 1 and "cannot be read" in capsys.readouterr().err
    assert server.run("backup", tmp_path / "no" / "folder.tgz") == 1
