"""`delta-gateway backup FILE` and `delta-gateway restore FILE`: the catalog with its grants and policies, and the audit
log, as one file.

The file is a zip archive with mode 0600: `manifest.json`, `catalog.jsonl` (see `catalog/store/backup.py`), and the
audit log's files below `audit/`. Servers may run during a backup. It does not contain tables' files, nor the files with
passwords and tokens.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from catalog.conditions import (
    BackupNotWritten,
    BackupUnreadable,
    RestoreAuditFolderMissing,
    RestoreAuditLogExists,
)
from catalog.entries import Entry
from catalog.errors import SqlError
from catalog.rest.credentials import use_credentials
from catalog.store.backup import dump_entries, ensure_empty, parse_entries, restore_entries
from catalog.store.file_store import FileStore
from catalog.store.remote import open_files
from catalog.system.audit_table import log_files
from gateway.audit.audit_log import AuditLog
from gateway.audit.chain import Broken, ChainEnd, verify
from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from gateway.configuration.storage import open_credentials
from gateway.release import VERSION

EXIT_FAILED, EXIT_USAGE = 1, 2
FORMAT = 1
MANIFEST, CATALOG, AUDIT = "manifest.json", "catalog.jsonl", "audit/"
_SIGNED_DIGESTS = "heads.jsonl"


class Manifest(msgspec.Struct, frozen=True):
    """The archive's description: `objects` is the number of catalog entries, `audit_lines` the audit log's last number,
    and `sha256` has the digest of each other file.
    """

    format: int
    release: str
    created_ms: int
    generation: int
    objects: int
    audit_lines: int
    sha256: dict[str, str]


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive whose digests were verified."""

    manifest: Manifest
    entries: tuple[Entry, ...]
    audit_files: tuple[str, ...]


def main_backup(arguments: Sequence[str]) -> int:
    given = _parser("backup", "Write a backup of the catalog and the audit log.").parse_args(arguments)
    return _run(given, lambda config: back_up(config, given.file))


def main_restore(arguments: Sequence[str]) -> int:
    parser = _parser("restore", "Restore the catalog and the audit log from a backup.")
    parser.add_argument("--replace", action="store_true", help="replace the objects of a catalog that is not empty")
    parser.add_argument("--without-audit", action="store_true", help="restore only the catalog")
    parser.add_argument("--dry-run", action="store_true", help="check the backup and print its content, change nothing")
    given = parser.parse_args(arguments)
    return _run(given, lambda config: restore(config, given))


def back_up(config: Config, file: Path) -> str:
    """Writes the archive, and returns a summary. Raises BackupNotWritten; an existing file is never replaced."""
    state = _store(config).load()
    entries = dump_entries(state)
    digests = {CATALOG: hashlib.sha256(entries).hexdigest()}
    with _new_file(file) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CATALOG, entries)
        for name, content in _audit_contents(config):
            archive.writestr(name, content)
            digests[name] = hashlib.sha256(content).hexdigest()
        chain_end, broken = _verify_audit(archive, tuple(digests))
        manifest = Manifest(
            format=FORMAT,
            release=VERSION,
            created_ms=time.time_ns() // 1_000_000,
            generation=state.generation,
            objects=len(entries.splitlines()),
            audit_lines=chain_end.seq,
            sha256=digests,
        )
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    if broken is not None:
        _warn(f"The audit log is broken in {broken.file}, line {broken.line}: {broken.reason}. It was backed up as is.")
    return f"{file}: {_summary(manifest)}"


def restore(config: Config, given: argparse.Namespace) -> str:
    """Restores the archive, and returns a summary. Everything is checked before anything is changed."""
    file: Path = given.file
    try:
        with zipfile.ZipFile(file) as archive:
            backup = _verified(archive, str(file))
            if given.dry_run:
                return f"{file}: {_summary(backup.manifest)}; nothing was changed"
            store = _store(config)
            if not given.replace:
                ensure_empty(store.load())
            if backup.audit_files and not given.without_audit:
                if not config.audit.folder:
                    raise RestoreAuditFolderMissing(str(file))
                _restore_audit(archive, backup.audit_files, Path(config.audit.folder))
    except (OSError, zipfile.BadZipFile) as error:
        raise BackupUnreadable(str(file), str(error)) from error
    generation = restore_entries(store, backup.entries, replaces=given.replace)
    return f"{file}: {_summary(backup.manifest)}; restored as generation {generation}"


def _verified(archive: zipfile.ZipFile, source: str) -> Backup:
    try:
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
        if manifest.format != FORMAT:
            raise BackupUnreadable(source, f"its format is {manifest.format}, and this release reads {FORMAT}")
        for name, digest in manifest.sha256.items():
            if hashlib.sha256(archive.read(name)).hexdigest() != digest:
                raise BackupUnreadable(source, f"the content of {name} has changed")
        entries = parse_entries(archive.read(CATALOG), source)
    except (msgspec.DecodeError, KeyError) as error:
        raise BackupUnreadable(source, str(error)) from error
    return Backup(manifest, entries, tuple(name for name in manifest.sha256 if name.startswith(AUDIT)))


def _restore_audit(archive: zipfile.ZipFile, names: tuple[str, ...], folder: Path) -> None:
    with closing(AuditLog(folder)):  # locks the folder, so that no server can write to it
        if log_files(folder):
            raise RestoreAuditLogExists(str(folder))
        for name in names:
            with open(folder / name.removeprefix(AUDIT), "xb", opener=_private) as copy:
                copy.write(archive.read(name))
                copy.flush()
                os.fsync(copy.fileno())


def _audit_contents(config: Config) -> Iterator[tuple[str, bytes]]:
    """Yields the audit log's files. The signed heads come first, so that they do not name later lines."""
    if not config.audit.folder:
        return
    folder = Path(config.audit.folder)
    heads = Path(config.audit.heads_file or folder / _SIGNED_DIGESTS)
    if heads.exists():
        yield f"{AUDIT}{_SIGNED_DIGESTS}", heads.read_bytes()
    for path in log_files(folder):
        content = path.read_bytes()
        # A server may be writing the last line.
        yield f"{AUDIT}{path.name}", content[: content.rfind(b"\n") + 1]


def _verify_audit(archive: zipfile.ZipFile, names: tuple[str, ...]) -> tuple[ChainEnd, Broken | None]:
    logs = (name for name in names if name.startswith(f"{AUDIT}audit-"))
    return verify((name.removeprefix(AUDIT), archive.read(name)) for name in logs)


def _store(config: Config) -> FileStore:
    use_credentials(open_credentials(config.storage))
    return FileStore(open_files(config.catalog_folder))


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    """Yields a temporary path whose file becomes `file` if the block succeeds."""
    partial: Path | None = None
    try:
        if file.exists():
            raise BackupNotWritten(str(file), "the file exists already")
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        partial = Path(name)
        yield partial
        os.fsync(handle)
        os.close(handle)
        os.link(partial, file)  # fails if the file exists by now
    except OSError as error:
        raise BackupNotWritten(str(file), error.strerror or str(error)) from error
    finally:
        if partial is not None:
            with suppress(OSError):
                partial.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _summary(manifest: Manifest) -> str:
    return (
        f"{manifest.objects} objects of generation {manifest.generation}, "
        f"{manifest.audit_lines} lines of the audit log, written by release {manifest.release}"
    )


def _run(given: argparse.Namespace, command: Callable[[Config], str]) -> int:
    try:
        config = load_config(given.config, os.environ, {"lake.folder": given.lake})
        if not config.catalog_folder:
            _warn("the catalog's folder is unknown; use --config or --lake.")
            return EXIT_USAGE
        sys.stdout.write(f"{command(config)}\n")
    except SqlError as error:
        _warn(error.full_message)
        return EXIT_FAILED
    return 0


def _warn(text: str) -> None:
    sys.stderr.write(f"delta-gateway: {text}\n")


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    example = f"delta-gateway {command} --config gateway.toml nightly.zip"
    parser = argparse.ArgumentParser(
        prog=f"delta-gateway {command}", description=description, **help_text("", (example,), SETTINGS)
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup, a zip archive")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the server's configuration")
    parser.add_argument("--lake", metavar="FOLDER", help="the served folder, as for `serve`")
    return parser
