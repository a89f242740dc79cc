"""Separate environments for clients whose packages conflict with ours, created once below the repository."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from tests.paths import ROOT

_FOLDER = ROOT / ".clients"
_INSTALL_S = 900


def client_environment(name: str, *packages: str) -> Path:
    """Returns the `bin` folder in an environment with these packages."""
    folder = _FOLDER / name
    stamp = folder / ".installed"
    wanted = hashlib.sha256("\n".join((sys.version, *packages)).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, clear=True, with_pip=True)
        command: list[str | Path] = [
            folder / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*command, *packages], check=True, timeout=_INSTALL_S)
        stamp.write_text(wanted)
    return folder / "bin"
