"""`delta-gateway backup` and `restore`: what a restore brings back, and what it rejects before changing anything."""

from __future__ import annotations

import errno
import hashlib
import json
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.entries import Entry
from catalog.queries.queries import with_queries
from catalog.queries.store import open_queries
from catalog.state import INITIAL_STATE, state_of
from catalog.store.entry_json import to_json
from catalog.store.file_store import FileStore
from catalog.store.remote import open_files
from catalog.store.sealed_credentials import KEY_BYTES, CredentialStore, seal, unseal
from catalog.system.audit_table import log_files
from gateway.__main__ import main
from gateway.audit.audit_log import AuditLog, log_contents
from gateway.audit.chain import verify
from tests.catalog.test_entries import ENTRIES, NAMELESS
from tests.catalog.test_saved_queries import FULL
from tests.catalog.test_stores import table

GOLDEN = Path(__file__).with_name("backup-format-1.zip")


class Site:
    """A server's catalog and audit folders, without a server."""

    def __init__(self, folder: Path) -> None:
        self.catalog, self.audit = folder / "catalog", folder / "audit"
        self.lake = folder / "lake"
        self.config = folder / "gateway.toml"
        folder.mkdir()
        self.config.write_text(
            f'[lake]\nfolder = "{self.lake}"\ncatalog_folder = "{self.catalog}"\n[audit]\nfolder = "{self.audit}"\n'
        )

    @property
    def store(self) -> FileStore:
        return FileStore(open_files(str(self.catalog)))

    def run(self, command: str, file: Path, *flags: str) -> int:
        return main([command, "--config", str(self.config), str(file), *flags])

    def objects(self) -> list[dict[str, object]]:
        return [to_json(entry) for entry in self.store.load().entries()]

    def fill(self, *entries: Entry) -> None:
        base = self.store.load()
        assert self.store.swap(base, state_of(base.generation + 1, (*base.entries(), *entries)))

    def record(self, count: int) -> None:
        log = AuditLog(self.audit)
        for number in range(count):
            log.write({"event": "e", "number": number})
        log.close()


@pytest.fixture
def old(tmp_path: Path) -> Site:
    site = Site(tmp_path / "old")
    site.fill(*ENTRIES, *NAMELESS)
    site.record(3)
    return site


@pytest.fixture
def new(tmp_path: Path) -> Site:
    return Site(tmp_path / "new")


@pytest.fixture
def file(old: Site, tmp_path: Path) -> Path:
    path = tmp_path / "nightly.zip"
    assert old.run("backup", path) == 0
    return path


def test_restore_brings_back_objects_and_audit_log(old: Site, new: Site, file: Path) -> None:
    assert new.run("restore", file) == 0
    assert new.objects() == old.objects()
    assert [path.read_bytes() for path in log_files(new.audit)] == [path.read_bytes() for path in log_files(old.audit)]
    new.record(1)  # the log continues
    assert verify(log_contents(new.audit))[0].seq == 4


def test_restore_brings_back_saved_queries(old: Site, new: Site, file: Path, tmp_path: Path) -> None:
    open_queries(str(old.catalog)).change(lambda state: with_queries(state, FULL))
    assert old.run("backup", tmp_path / "queries.zip") == 0
    assert new.run("restore", tmp_path / "queries.zip") == 0
    assert open_queries(str(new.catalog)).load().queries == {FULL.id: FULL}
    assert new.run("restore", file, "--replace", "--without-audit") == 0
    assert open_queries(str(new.catalog)).load().queries == {FULL.id: FULL}, "a backup without queries leaves them"


def test_saved_queries_are_replaced_only_on_request(
    old: Site, new: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = replace(FULL, id="own")
    open_queries(str(old.catalog)).change(lambda state: with_queries(state, FULL))
    open_queries(str(new.catalog)).change(lambda state: with_queries(state, own))
    assert old.run("backup", tmp_path / "queries.zip") == 0
    assert new.run("restore", tmp_path / "queries.zip") == 1
    assert "not empty: 1 of its objects" in capsys.readouterr().err
    assert open_queries(str(new.catalog)).load().queries == {"own": own} and new.store.load() == INITIAL_STATE
    assert new.run("restore", tmp_path / "queries.zip", "--replace") == 0
    assert open_queries(str(new.catalog)).load().queries == {FULL.id: FULL}


def test_unreadable_saved_query_is_named_before_any_change(
    old: Site, new: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "queries.zip"
    open_queries(str(old.catalog)).change(lambda state: with_queries(state, FULL))
    assert old.run("backup", file) == 0
    lines = b'{"id": 1}\n'
    with zipfile.ZipFile(file) as archive:
        digests = json.loads(archive.read("manifest.json"))["sha256"]
    digests["queries.jsonl"] = hashlib.sha256(lines).hexdigest()
    rewrite(file, "manifest.json", with_manifest(file, sha256=digests))
    rewrite(file, "queries.jsonl", lines)
    assert new.run("restore", file) == 1
    assert "line 1 of the saved queries" in capsys.readouterr().err
    assert not new.catalog.exists()


def test_restore_brings_back_encrypted_credentials(old: Site, new: Site, file: Path, tmp_path: Path) -> None:
    key, fields = bytes(KEY_BYTES), {"access_key_id": "AKIA", "secret_access_key": "hunter2"}
    CredentialStore(str(old.catalog)).put(seal("lake", ("s3://lake",), fields, key))
    assert old.run("backup", tmp_path / "credentials.zip") == 0
    with zipfile.ZipFile(tmp_path / "credentials.zip") as archive:
        assert not any(b"hunter2" in archive.read(name) for name in archive.namelist())
    for backup, flags in ((tmp_path / "credentials.zip", ()), (file, ("--replace", "--without-audit"))):
        assert new.run("restore", backup, *flags) == 0
        (restored,) = CredentialStore(str(new.catalog)).load()
        assert (restored.name, restored.urls, unseal(restored, key)) == ("lake", ("s3://lake",), fields)


def test_credentials_are_replaced_only_on_request(
    old: Site, new: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for site, name in ((old, "lake"), (new, "own")):
        CredentialStore(str(site.catalog)).put(seal(name, ("s3://lake",), {"token": "t"}, bytes(KEY_BYTES)))
    assert old.run("backup", tmp_path / "credentials.zip") == 0
    assert new.run("restore", tmp_path / "credentials.zip") == 1
    assert "not empty: 1 of its objects" in capsys.readouterr().err
    assert new.store.load() == INITIAL_STATE
    assert new.run("restore", tmp_path / "credentials.zip", "--replace") == 0
    assert [each.name for each in CredentialStore(str(new.catalog)).load()] == ["lake"]


def test_backup_is_readable_by_its_owner_only(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.glob("*nightly*")] == [file.name]


def test_existing_backup_is_not_replaced(old: Site, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = file.read_bytes()
    assert old.run("backup", file) == 1
    assert "the file exists already" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_catalog_with_objects_is_replaced_only_on_request(
    old: Site, new: Site, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new.fill(table(7))
    before = new.objects()
    assert new.run("restore", file) == 1
    assert "not empty: 1 of its objects" in capsys.readouterr().err
    assert new.objects() == before and not new.audit.exists()
    assert new.run("restore", file, "--replace") == 0
    assert new.objects() == old.objects()
    assert new.store.load().generation == 2  # the replaced objects remain in the history


def test_existing_audit_log_stays(old: Site, new: Site, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new.record(1)
    before = [path.read_bytes() for path in log_files(new.audit)]
    assert new.run("restore", file) == 1
    assert "contains an audit log" in capsys.readouterr().err
    assert new.store.load() == INITIAL_STATE
    assert new.run("restore", file, "--without-audit") == 0
    assert new.objects() == old.objects()
    assert [path.read_bytes() for path in log_files(new.audit)] == before


def test_audit_log_of_a_running_server_is_not_restored(
    new: Site, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = AuditLog(new.audit)
    assert new.run("restore", file) == 1
    assert str(new.audit) in capsys.readouterr().err
    log.close()
    assert new.run("restore", file) == 0


def test_backup_during_a_write_ends_at_the_last_whole_line(old: Site, new: Site, tmp_path: Path) -> None:
    with log_files(old.audit)[-1].open("ab") as log:
        log.write(b'{"v":1,"seq":4')
    assert old.run("backup", tmp_path / "torn.zip") == 0
    assert new.run("restore", tmp_path / "torn.zip") == 0
    assert verify(log_contents(new.audit)) == verify(log_contents(old.audit))


def test_broken_audit_log_is_backed_up_and_reported(
    old: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_files(old.audit)[-1]
    log.write_bytes(log.read_bytes().replace(b'"number":1', b'"number":9'))
    assert old.run("backup", tmp_path / "broken.zip") == 0
    assert f"broken in {log.name}, line 3" in capsys.readouterr().err
    with zipfile.ZipFile(tmp_path / "broken.zip") as archive:
        assert archive.read(f"audit/{log.name}") == log.read_bytes()


def test_dry_run_changes_nothing(old: Site, new: Site, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new.run("restore", file, "--dry-run") == 0
    assert f"{len(old.objects())} objects of generation 1, 3 lines of the audit log" in capsys.readouterr().out
    assert not new.catalog.exists() and not new.audit.exists()


def rewrite(file: Path, name: str, content: bytes) -> None:
    with zipfile.ZipFile(file) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for entry, old_content in files.items():
            archive.writestr(entry, content if entry == name else old_content)


def with_manifest(file: Path, **fields: object) -> bytes:
    with zipfile.ZipFile(file) as archive:
        return json.dumps({**json.loads(archive.read("manifest.json")), **fields}).encode()


def spoil_catalog(file: Path) -> None:
    rewrite(file, "catalog.jsonl", b'{"kind": "server"}\n')


def spoil_manifest(file: Path) -> None:
    rewrite(file, "manifest.json", b"{}")


def make_newer(file: Path) -> None:
    rewrite(file, "manifest.json", with_manifest(file, format=2))


def rename_audit_file(file: Path, new_name: str) -> None:
    with zipfile.ZipFile(file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(contents["manifest.json"])
    (old_name,) = (name for name in contents if name.startswith("audit/audit-"))
    manifest["sha256"][new_name] = manifest["sha256"].pop(old_name)
    contents |= {new_name: contents.pop(old_name), "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def lead_away(file: Path) -> None:
    rename_audit_file(file, "audit/../stray")


def hide_catalog(file: Path) -> None:
    rewrite(file, "manifest.json", with_manifest(file, sha256={}))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def remove(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (spoil_catalog, "the content of catalog.jsonl has changed"),
        (spoil_manifest, "Object missing required field"),
        (make_newer, "its format is 2, and this release reads 1"),
        (lead_away, "it contains a file audit/../stray"),
        (hide_catalog, "it has no digest of catalog.jsonl"),
        (cut, "not a zip file"),
        (remove, "No such file"),
    ],
    ids=lambda it: getattr(it, "__name__", None),
)
def test_damaged_backup_is_rejected_before_any_change(
    new: Site, file: Path, spoil: object, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(spoil)
    spoil(file)
    assert new.run("restore", file) == 1
    assert reason in capsys.readouterr().err
    assert not new.catalog.exists() and not new.audit.exists()


def test_audit_folder_that_cannot_be_written_is_named(
    new: Site, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gateway.cli.restore.os.fsync", fail)
    assert new.run("restore", file) == 1
    assert f"{new.audit} cannot be written" in capsys.readouterr().err
    assert new.store.load() == INITIAL_STATE


def test_backup_in_a_missing_folder_names_it(old: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert old.run("backup", tmp_path / "missing" / "b.zip") == 1
    assert "missing/b.zip cannot be written: No such file or directory" in capsys.readouterr().err


def test_command_without_a_catalog_says_what_to_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backup", str(tmp_path / "b.zip")]) == 2
    assert "--lake" in capsys.readouterr().err


def test_backup_of_the_first_format_is_restored(new: Site) -> None:
    """The archive was written by release 0.1.0 and is never regenerated: later releases must read it."""
    assert new.run("restore", GOLDEN) == 0
    with zipfile.ZipFile(GOLDEN) as archive:
        expected = [json.loads(line) for line in archive.read("catalog.jsonl").splitlines()]
    assert new.objects() == expected and len(expected) == 10
    assert verify(log_contents(new.audit))[0].seq == 3
