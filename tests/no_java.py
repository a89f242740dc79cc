"""The inner loop starts no Java: a test that does must be marked as a Spark or client test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_LAUNCHERS = {"spark-submit", "spark-class", "beeline"}


def refuse_java(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook (PEP 578): fails whatever starts Java, or a server, which does."""
    if event != "subprocess.Popen":
        return
    command = [str(arguments[0]), *map(str, arguments[1])]
    launches = any(Path(part).name in _LAUNCHERS for part in command) or _is_java(command[0])
    if launches or ("gateway" in command and "serve" in command):
        raise AssertionError(f"this test starts Java and is not marked `spark` or `clients`: {' '.join(command)}")


def _is_java(program: str) -> bool:
    """Returns if it is real Java; tests have scripts with this name."""
    path = Path(program)
    return path.name == "java" and not (path.is_file() and path.read_bytes()[:2] == b"#!")
