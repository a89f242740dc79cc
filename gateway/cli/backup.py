"""`delta-gateway backup FILE`: the catalog with its grants and policies, and the audit log, as one file.

The file is a zip archive with mode 0600: `manifest.json`, `catalog.jsonl` (see `catalog/store/backup.py`),
`queries.jsonl` if users have saved queries, `credentials.jsonl` if the catalog has storage credentials, which stay
encrypted, and the audit log's files below `audit/`. Servers may run during a backup. It does not contain tables' files,
nor the files with passwords and tokens, nor the key of the credentials.
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
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from catalog.conditions import (
    BackupNotWritten,
)
from catalog.errors import SqlError
from catalog.queries.store import dump_queries, open_queries
from catalog.store.backup import dump_entries
from catalog.store.credentials import use_credentials
from catalog.store.file_store import FileStore
from catalog.store.remote import open_files
from catalog.store.sealed_credentials import CredentialStore, dump_credentials
from catalog.system.audit_table import log_files
from gateway.audit.chain import Broken, ChainEnd, verify
from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from gateway.configuration.storage import open_credentials
from gateway.release import VERSION

EXIT_FAILED, EXIT_USAGE = 1, 2
FORMAT = 1
MANIFEST, CATALOG, QUERIES, CREDENTIALS = "manifest.json", "catalog.jsonl", "queries.jsonl", "credentials.jsonl"
AUDIT = "audit/"
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


def main(arguments: Sequence[str]) -> int:
    """Writes a backup and returns the exit code."""
    given = _parser().parse_args(arguments)
    return run_with_config(given, lambda config: back_up(config, given.file))


def back_up(config: Config, file: Path) -> str:
    """Writes the archive, and returns a summary. Raises BackupNotWritten; an existing file is never replaced."""
    state = open_store(config).load()
    entries = dump_entries(state)
    digests = {CATALOG: hashlib.sha256(entries).hexdigest()}
    with _new_file(file) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CATALOG, entries)
        queries = dump_queries(open_queries(config.catalog_folder).load())
        credentials = dump_credentials(CredentialStore(config.catalog_folder).load())
        optional = [(name, lines) for name, lines in ((QUERIES, queries), (CREDENTIALS, credentials)) if lines]
        for name, content in (*optional, *_audit_contents(config)):
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
    return f"{file}: {summarize(manifest)}"


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


def open_store(config: Config) -> FileStore:
    """Opens the store of the configured catalog, with the storage credentials of the configuration."""
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
        with open(handle, "rb"):
            yield partial
            os.fsync(handle)
        os.link(partial, file)  # fails if the file exists by now
    except OSError as error:
        # The file may be one that is read for the backup.
        place = f" ({error.filename})" if error.filename else ""
        raise BackupNotWritten(str(file), f"{error.strerror or error}{place}") from error
    finally:
        if partial is not None:
            with suppress(OSError):
                partial.unlink()


def summarize(manifest: Manifest) -> str:
    """Returns one line about a backup for the operator."""
    return (
        f"{manifest.objects} objects of generation {manifest.generation}, "
        f"{manifest.audit_lines} lines of the audit log, written by release {manifest.release}"
    )


def run_with_config(given: argparse.Namespace, command: Callable[[Config], str]) -> int:
    """Runs a command with the configuration of `--config` and `--lake`, and prints its result.

    Returns the exit code: `EXIT_USAGE` without a catalog folder, `EXIT_FAILED` for a `SqlError`.
    """
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


def backup_parser(command: str, description: str) -> argparse.ArgumentParser:
    """Returns the arguments that backup and restore share."""
    example = f"delta-gateway {command} --config gateway.toml nightly.zip"
    parser = argparse.ArgumentParser(
        prog=f"delta-gateway {command}", description=description, **help_text("", (example,), SETTINGS)
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup, a zip archive")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the server's configuration")
    parser.add_argument("--lake", metavar="FOLDER", help="the served folder, as for `serve`")
    return parser


def _parser() -> argparse.ArgumentParser:
    return backup_parser("backup", "Write a backup of the catalog and the audit log.")
