"""The inner loop starts no Java: a test that does is one of Spark's or of a client's, and is to be marked so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_JAVA = {"java", "spark-submit", "spark-class", "beeline"}


def refuse_java(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook (PEP 578): fails whatever starts Java, or a server, which does."""
    if event != "subprocess.Popen":
        return
    command = [str(arguments[0]), *map(str, arguments[1])]
    if any(Path(part).name in _JAVA for part in command) or ("gateway" in command and "serve" in command):
        raise AssertionError(f"this test starts Java and is not marked `spark` or `clients`: {' '.join(command)}")
