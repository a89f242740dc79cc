"""The archive: a gzipped tar file, readable by its owner only, whose first member describes the others.

manifest.json         {"format": 1, "release": "0.1.0", "created": "…", "generation": 7,
                       "files": {"catalog.jsonl": {"bytes": 4711, "sha256": "…"}, …}}
catalog.jsonl         each object of the catalog as a line, as `catalog/store/entry_json.py` writes it
users, tokens.json    the password file and the tokens' file, as they are
audit/audit-….jsonl   the audit log up to its last whole line, and signed heads
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.release import VERSION

# A release reads archives up to its own format.
FORMAT = 1
_MANIFEST = "manifest.json"
_MEMBER = re.compile(r"catalog\.jsonl|users|tokens\.json|audit/(audit-[0-9]{4}-[0-9]{2}-[0-9]{2}|heads)\.jsonl")
_MODE = 0o600


class BackupError(Exception):
    """A backup cannot be made or restored; the text is for people."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The content of an archive: files by member name."""

    generation: int
    files: Mapping[str, bytes]
    release: str = VERSION
    created: str = ""


def write_archive(path: Path, archive: Archive) -> None:
    """Writes an archive under a temporary name, and renames it when it is complete."""
    manifest = {
        "format": FORMAT,
        "release": archive.release,
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "generation": archive.generation,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in archive.files.items()
        },
    }
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz") as tar:
                for name, content in {_MANIFEST: json.dumps(manifest, indent=2).encode(), **archive.files}.items():
                    member = tarfile.TarInfo(name)
                    member.size, member.mode = len(content), _MODE
                    tar.addfile(member, io.BytesIO(content))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_archive(path: Path) -> Archive:
    """Returns an archive whose members all are as the manifest describes them. Raises `BackupError`."""
    try:
        with tarfile.open(path, mode="r:gz") as tar:
            members = {member.name: _content(tar, member) for member in tar if member.isfile()}
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BackupError(f"{path} cannot be read: {error}") from error
    manifest = _manifest(path, members.pop(_MANIFEST, None))
    for name in members.keys() | manifest["files"].keys():
        described, content = manifest["files"].get(name), members.get(name)
        if described is None or content is None or not _MEMBER.fullmatch(name):
            raise BackupError(f"{path} is damaged: {name} is not in both the manifest and the archive")
        if hashlib.sha256(content).hexdigest() != described["sha256"]:
            raise BackupError(f"{path} is damaged: {name} has another digest than the manifest has for it")
    return Archive(
        generation=int(manifest["generation"]),
        files=members,
        release=str(manifest["release"]),
        created=str(manifest["created"]),
    )


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return b"" if file is None else file.read()


def _manifest(path: Path, content: bytes | None) -> dict[str, Any]:
    try:
        manifest = json.loads(content or b"")
        number = manifest["format"]
        if not isinstance(number, int) or not isinstance(manifest["files"], dict):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise BackupError(f"{path} is no backup of delta-gateway: it has no manifest") from None
    if number > FORMAT:
        raise BackupError(
            f"{path} has the format {number}, and this release reads formats up to {FORMAT}: restore it with "
            f"delta-gateway {manifest.get('release')} or newer"
        )
    return dict(manifest)
