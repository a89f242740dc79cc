"""References to secrets; the configuration contains references, never the secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from catalog.secret_files import read_secret

_KINDS = ("file", "env", "systemd")
_FOLDER_OF_SYSTEMD = "CREDENTIALS_DIRECTORY"


def is_reference(value: str) -> bool:
    """Returns True for `kind:place` of a known kind; the secret itself is not looked for."""
    kind, colon, _ = value.partition(":")
    return bool(colon) and kind in _KINDS


def find_secret(reference: str, environment: Mapping[str, str]) -> str | None:
    """Returns the secret for `file:/path`, `env:NAME` or `systemd:NAME`; None if it does not exist.

    Raises errors from reading secret files.
    """
    kind, _, rest = reference.partition(":")
    if kind == "env":
        return environment.get(rest) or None
    if kind == "systemd":
        folder = environment.get(_FOLDER_OF_SYSTEMD)
        return (read_secret(Path(folder, rest)).decode().strip() or None) if folder and "/" not in rest else None
    return read_secret(Path(rest)).decode().strip() or None
