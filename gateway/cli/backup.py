"""`delta-gateway backup FILE` and `restore FILE`: the catalog with its grants, users, tokens and the audit log."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.errors import SqlError
from gateway.backup.archive import BackupError, read_archive, write_archive
from gateway.backup.parts import Places, check, collect, places_of, restore
from gateway.cli.help import SETTINGS, help_text
from gateway.configuration.loader import load_config

EXIT_FAILED = 1
_BACKUP_NOTES = """\
The server may run. FILE has secrets and is readable by its owner only. Tables are not in it: they are in the lake.
"""
_RESTORE_NOTES = """\
Everything is checked before anything is written. The catalog is replaced by one change, which running servers see;
an existing audit log is never replaced. Archives of older releases can be restored.
"""


def main(arguments: Sequence[str]) -> int:
    """Makes a backup; returns the exit code."""
    given = _parser(
        "backup",
        "Back up the catalog with its grants, users, tokens and the audit log.",
        help_text(
            _BACKUP_NOTES,
            (
                "delta-gateway backup gateway.backup.tgz --config /etc/gateway.toml",
                "delta-gateway backup gateway.backup.tgz /data/lake",
            ),
            SETTINGS,
        ),
    ).parse_args(arguments)
    return _run(given, _back_up)


def restore_main(arguments: Sequence[str]) -> int:
    """Restores a backup; returns the exit code."""
    parser = _parser(
        "restore",
        "Restore a backup.",
        help_text(
            _RESTORE_NOTES,
            (
                "delta-gateway restore gateway.backup.tgz --config /etc/gateway.toml --dry-run",
                "delta-gateway restore gateway.backup.tgz --config /etc/gateway.toml --replace",
            ),
            SETTINGS,
        ),
    )
    parser.add_argument("--replace", action="store_true", help="replace an existing catalog, users and tokens")
    parser.add_argument("--dry-run", action="store_true", help="only check the archive")
    return _run(parser.parse_args(arguments), _restore)


def _run(given: argparse.Namespace, action: Callable[[argparse.Namespace, Places], None]) -> int:
    try:
        action(given, places_of(load_config(given.config, os.environ, {"lake.folder": given.folder})))
    except BackupError as error:
        sys.stderr.write(f"delta-gateway: {error}\n")
        return EXIT_FAILED
    except SqlError as error:
        sys.stderr.write(f"delta-gateway: {error.full_message}\n")
        return EXIT_FAILED
    except OSError as error:
        sys.stderr.write(f"delta-gateway: {error.filename or given.file}: {error.strerror or error}\n")
        return EXIT_FAILED
    return 0


def _back_up(given: argparse.Namespace, places: Places) -> None:
    archive = collect(places)
    check(archive)
    write_archive(given.file, archive)
    others = len(archive.files) - 1
    sys.stdout.write(f"{given.file}: generation {archive.generation} of the catalog, and {others} other files\n")


def _restore(given: argparse.Namespace, places: Places) -> None:
    archive = read_archive(given.file)
    sys.stdout.write(f"made {archive.created} by release {archive.release}, generation {archive.generation}\n")
    if given.dry_run:
        check(archive)
        sys.stdout.write("The archive can be restored.\n")
        return
    for part, done in restore(archive, places, replaces=given.replace).items():
        sys.stdout.write(f"{part}: {done}\n")


def _parser(name: str, description: str, texts: Mapping[str, Any]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"delta-gateway {name}", description=description, **texts)
    parser.add_argument("file", type=Path, metavar="FILE", help="the archive")
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder of tables, as for serve")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the server's configuration")
    return parser
