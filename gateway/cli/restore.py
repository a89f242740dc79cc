"""`delta-gateway restore FILE`: restores what `delta-gateway backup` saved; the format is in `backup.py`."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import zipfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from catalog.conditions import (
    AuditNotWritten,
    BackupUnreadable,
    RestoreAuditFolderMissing,
    RestoreAuditLogExists,
    RestoreNotEmpty,
)
from catalog.entries import Entry
from catalog.queries.queries import SavedQuery
from catalog.queries.store import ensure_no_queries, open_queries, parse_queries, restore_queries
from catalog.store.backup import ensure_empty, parse_entries, restore_entries
from catalog.store.sealed_credentials import CredentialStore, SealedCredential, parse_credentials
from catalog.system.audit_table import log_files
from gateway.audit.audit_log import AuditLog
from gateway.cli.backup import (
    AUDIT,
    CATALOG,
    CREDENTIALS,
    FORMAT,
    MANIFEST,
    QUERIES,
    Manifest,
    backup_parser,
    open_store,
    run_with_config,
    summarize,
)
from gateway.configuration.config import Config

_AUDIT_FILE = re.compile(r"audit/(audit-\d{4}-\d\d-\d\d|heads)\.jsonl")


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive whose digests were verified; `audit_files` are the names of the audit log's files in it."""

    manifest: Manifest
    entries: tuple[Entry, ...]
    # None for these two: the backup has none, and those of the server stay.
    queries: tuple[SavedQuery, ...] | None
    credentials: tuple[SealedCredential, ...] | None
    audit_files: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Restores a backup and returns the exit code."""
    given = _parser().parse_args(arguments)
    return run_with_config(given, lambda config: restore(config, given))


def restore(config: Config, given: argparse.Namespace) -> str:
    """Restores the archive, and returns a summary. Everything is checked before anything is changed."""
    file: Path = given.file
    backup = _read(file)
    if given.dry_run:
        return f"{file}: {summarize(backup.manifest)}; nothing was changed"
    store, queries = open_store(config), open_queries(config.catalog_folder)
    credentials = CredentialStore(config.catalog_folder)
    if not given.replace:
        ensure_empty(store.load())
        if backup.queries is not None:
            ensure_no_queries(queries.load())
        if backup.credentials is not None and (others := credentials.load()):
            raise RestoreNotEmpty(len(others))
    if backup.audit_files and not given.without_audit:
        if not config.audit.folder:
            raise RestoreAuditFolderMissing(str(file))
        _restore_audit(file, backup.audit_files, Path(config.audit.folder))
    generation = restore_entries(store, backup.entries, replaces=given.replace)
    if backup.queries is not None:
        restore_queries(queries, backup.queries, replaces=given.replace)
    if backup.credentials is not None:
        credentials.restore(backup.credentials, replaces=given.replace)
    return f"{file}: {summarize(backup.manifest)}; restored as generation {generation}"


def _read(file: Path) -> Backup:
    """Returns the archive's content. Raises BackupUnreadable."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
            if manifest.format != FORMAT:
                raise BackupUnreadable(str(file), f"its format is {manifest.format}, and this release reads {FORMAT}")
            for name, digest in manifest.sha256.items():
                # A name with a path would be written outside the folder.
                if name not in (CATALOG, QUERIES, CREDENTIALS) and not _AUDIT_FILE.fullmatch(name):
                    raise BackupUnreadable(str(file), f"it contains a file {name}")
                if hashlib.sha256(archive.read(name)).hexdigest() != digest:
                    raise BackupUnreadable(str(file), f"the content of {name} has changed")
            if CATALOG not in manifest.sha256:
                raise BackupUnreadable(str(file), f"it has no digest of {CATALOG}")
            entries = parse_entries(archive.read(CATALOG), str(file))
            queries = credentials = None
            if QUERIES in manifest.sha256:
                queries = parse_queries(archive.read(QUERIES), str(file))
            if CREDENTIALS in manifest.sha256:
                credentials = parse_credentials(archive.read(CREDENTIALS), str(file))
    except (OSError, zipfile.BadZipFile, msgspec.DecodeError, KeyError) as error:
        raise BackupUnreadable(str(file), str(error)) from error
    audit_files = tuple(name for name in manifest.sha256 if _AUDIT_FILE.fullmatch(name))
    return Backup(manifest, entries, queries, credentials, audit_files)


def _restore_audit(file: Path, names: Sequence[str], folder: Path) -> None:
    """Writes the log's files, one at a time. Raises AuditNotWritten."""
    with closing(AuditLog(folder)):  # locks the folder, so that no server can write to it
        if log_files(folder):
            raise RestoreAuditLogExists(str(folder))
        try:
            with zipfile.ZipFile(file) as archive:
                for name in names:
                    with open(folder / name.removeprefix(AUDIT), "xb", opener=_private) as copy:
                        copy.write(archive.read(name))
                        copy.flush()
                        os.fsync(copy.fileno())
        except OSError as error:
            raise AuditNotWritten(str(folder), error.strerror or str(error)) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _parser() -> argparse.ArgumentParser:
    parser = backup_parser("restore", "Restore the catalog and the audit log from a backup.")
    parser.add_argument("--replace", action="store_true", help="replace the objects of a catalog that is not empty")
    parser.add_argument("--without-audit", action="store_true", help="restore only the catalog")
    parser.add_argument("--dry-run", action="store_true", help="check the backup and print its content, change nothing")
    return parser
