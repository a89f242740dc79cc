"""What a server stores besides tables, read for a backup and written by a restore.

A backup may be made while the server runs: the catalog is one generation, the files of users and tokens are replaced
as a whole, and of the audit log only whole lines are taken. Restoring the catalog is one change, which running servers
see; it does not touch files of tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog.conditions import AuditNotWritten
from catalog.entries import Entry
from catalog.rest.credentials import use_credentials
from catalog.rest.secret_files import read_secret, write_secret
from catalog.state import CatalogState
from catalog.store.entry_json import MalformedEntry, from_json, to_json
from catalog.store.file_store import FileStore, state_of
from catalog.store.remote import open_files
from catalog.system.audit_table import log_files
from engine.runtime.identity import Method
from gateway.audit.chain import verify
from gateway.authenticators.password_file import parse_users
from gateway.authenticators.start import token_file
from gateway.backup.archive import Archive, BackupError
from gateway.configuration.config import Config
from gateway.configuration.storage import open_credentials

CATALOG, USERS, TOKENS, AUDIT = "catalog.jsonl", "users", "tokens.json", "audit/"
_HEADS = "heads.jsonl"


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts are; None for one that the server does not have."""

    catalog_folder: str
    password_file: Path | None = None
    token_file: Path | None = None
    audit_folder: Path | None = None


def places_of(config: Config) -> Places:
    """Returns the configured places. Raises `BackupError` if no lake and no catalog is configured."""
    use_credentials(open_credentials(config.storage))
    if not config.lake.catalog_folder and not config.lake.folder:
        raise BackupError("name the folder of tables, or a configuration with lake.folder or lake.catalog_folder")
    section = config.authentication
    return Places(
        catalog_folder=config.lake.catalog_folder or f"{config.lake.folder.rstrip('/')}/.catalog",
        password_file=Path(section.password_file) if section.password_file else None,
        token_file=token_file(config) if Method.TOKEN in section.methods else None,
        audit_folder=Path(config.audit.folder) if config.audit.folder else None,
    )


def collect(places: Places) -> Archive:
    """Returns a backup of all parts."""
    state = FileStore(open_files(places.catalog_folder)).load()
    lines = (json.dumps(to_json(entry), ensure_ascii=False) for entry in state.entries())
    files = {CATALOG: "".join(f"{line}\n" for line in lines).encode()}
    for name, path in ((USERS, places.password_file), (TOKENS, places.token_file)):
        if path is not None and path.exists():
            files[name] = read_secret(path)
    if places.audit_folder is not None and places.audit_folder.is_dir():
        signed = places.audit_folder / _HEADS
        for path in [*log_files(places.audit_folder), *([signed] if signed.exists() else [])]:
            content = path.read_bytes()
            files[AUDIT + path.name] = content[: content.rfind(b"\n") + 1]
    return Archive(state.generation, files)


def check(archive: Archive) -> CatalogState:
    """Returns the archive's catalog; raises `BackupError` if a part could not be used after a restore."""
    if CATALOG not in archive.files:
        raise BackupError("the archive has no catalog")
    entries = [_entry(number, line) for number, line in enumerate(archive.files[CATALOG].splitlines(), 1)]
    if USERS in archive.files:
        parse_users(archive.files[USERS], USERS)
    logs = [(name, archive.files[name]) for name in sorted(archive.files) if name.startswith(f"{AUDIT}audit-")]
    _, broken = verify(logs)
    if broken is not None:
        place = f"{broken.file}, line {broken.line}"
        raise BackupError(f"the audit log in the archive is broken in {place}: {broken.reason}")
    return state_of(archive.generation, entries)


def _entry(number: int, line: bytes) -> Entry:
    try:
        return from_json(json.loads(line))
    except (ValueError, MalformedEntry) as error:
        raise BackupError(f"{CATALOG}, line {number}, is no object of a catalog: {error}") from error


def restore(archive: Archive, places: Places, *, replaces: bool) -> Mapping[str, str]:
    """Writes all parts, and returns what was done with each. Everything is checked before anything is written.

    Existing parts are replaced only if `replaces`; an existing audit log never is.
    """
    state = check(archive)
    store = FileStore(open_files(places.catalog_folder))
    current = store.load()
    secrets = {USERS: places.password_file, TOKENS: places.token_file}
    existing = [places.catalog_folder] if current.generation else []
    existing += [str(path) for name, path in secrets.items() if name in archive.files and path and path.exists()]
    if existing and not replaces:
        raise BackupError(f"{', '.join(existing)} exists; --replace replaces it by the backup's")
    done: dict[str, str] = {}
    entries = list(state.entries())
    if not store.swap(current, state_of(current.generation + 1, entries)):
        raise BackupError("the catalog was changed during the restore; nothing was restored, run it again")
    done["catalog"] = f"{len(entries)} objects in {places.catalog_folder}"
    for name, path in secrets.items():
        if name in archive.files:
            done[name] = "left out: not configured here" if path is None else f"in {path}"
            if path is not None:
                write_secret(path, archive.files[name])
    done |= _restore_audit(archive, places.audit_folder)
    return done


def _restore_audit(archive: Archive, folder: Path | None) -> Mapping[str, str]:
    logs = {name.removeprefix(AUDIT): content for name, content in archive.files.items() if name.startswith(AUDIT)}
    if not logs:
        return {}
    if folder is None:
        return {"audit": "left out: not configured here"}
    if folder.is_dir() and log_files(folder):
        return {"audit": f"left out: {folder} has an audit log, and none is ever replaced"}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in logs.items():
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise AuditNotWritten(str(folder), error.strerror or str(error)) from error
    return {"audit": f"{len(logs)} files in {folder}"}
